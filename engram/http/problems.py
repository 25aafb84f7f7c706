"""Failures that only HTTP knows."""

from __future__ import annotations

from engram.problems import Problem


class BadRequestProblem(Problem):
    """The request cannot be read."""

    status = 400
    type = "bad-request"
    title = "Bad request"


class ForeignOriginProblem(Problem):
    """A browser asks for a page of another origin, which may not do that here."""

    status = 403
    type = "foreign-origin"
    title = "Foreign origin"


class SlowBodyProblem(Problem):
    """The body, or the rest of it, does not come."""

    status = 408
    type = "slow-body"
    title = "Body too slow"


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


class RateLimitedProblem(Problem):
    """The caller has asked too often of late; ``retry_after`` says when it may again."""

    status = 429
    type = "rate-limited"
    title = "Too many requests"
