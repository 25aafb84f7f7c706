"""What can go wrong in a use case, named once: HTTP, the command line and the worker each show it their own way.

A ``Problem`` carries what RFC 9457 asks of a problem document. Services and repositories raise these and nothing
framework-specific; ``engram.server.errors`` turns them into responses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing that is wrong with one field. ``field`` is a dotted path such as ``items.3.content``."""

    field: str
    message: str


class Problem(Exception):
    """Base of all expected failures.

    ``status`` is the HTTP status, ``type`` a stable slug, ``title`` the same for every instance of a type,
    ``detail`` says what happened this time, and ``retry_after`` is seconds, where waiting helps.
    """

    status = 500
    type = "internal-error"
    title = "Internal error"

    public_detail: str | None = None
    """What clients are told instead of ``detail``, where that says how the server is set up."""

    def __init__(self, detail: str, *, errors: Sequence[FieldError] = (), retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[Any, ...]:
        # Some are made of other things than a detail: what is pickled is what was made.
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[Problem], args: tuple[Any, ...], state: dict[str, Any]) -> Problem:
    problem = kind.__new__(kind, *args)
    problem.__dict__.update(state)
    return problem


class AuthenticationProblem(Problem):
    """Nobody that the server knows is asking."""

    status = 401
    type = "unauthenticated"
    title = "Authentication needed"


class PermissionDeniedProblem(Problem):
    """Whoever asks is known, and may not do this."""

    status = 403
    type = "permission-denied"
    title = "Permission denied"


class NotFoundProblem(Problem):
    status = 404
    type = "not-found"
    title = "Not found"


class ConflictProblem(Problem):
    status = 409
    type = "conflict"
    title = "Conflict"


class InvalidInputProblem(Problem):
    """A request that is well-formed but cannot be right; names the fields."""

    status = 422
    type = "invalid-input"
    title = "Invalid input"

    @classmethod
    def of(cls, field: str, message: str) -> InvalidInputProblem:
        return cls(f"{field}: {message}", errors=[FieldError(field, message)])


class UnavailableProblem(Problem):
    """Something the server needs is not there right now; trying again may help."""

    status = 503
    type = "unavailable"
    title = "Temporarily unavailable"


class ConfigurationProblem(Problem):
    """The server cannot run as configured. Shown at start, before anything is served."""

    status = 500
    type = "configuration"
    title = "Configuration error"
