"""Failures that only HTTP knows."""

from __future__ import annotations

from engram.problems import Problem


class BadRequestProblem(Problem):
    """The request cannot be read."""

    status = 400
    type = "bad-request"
    title = "Bad request"


class TooLargeProblem(Problem):
    status = 413
    type = "body-too-large"
    title = "Body too large"


class UnsupportedMediaTypeProblem(Problem):
    status = 415
    type = "unsupported-media-type"
    title = "Unsupported media type"


class MisdirectedProblem(Problem):
    """The request names a host that this server does not answer for."""

    status = 421
    type = "misdirected"
    title = "Misdirected request"
