"""The one tree of exceptions."""

from __future__ import annotations

from collections.abc import Sequence

from engram.wire import ResponseModel


class EngramError(Exception):
    """Base of every error that the SDK raises."""


class APIConnectionError(EngramError):
    """The server could not be reached, or the connection broke, and trying again did not help."""


class APITimeoutError(APIConnectionError):
    """The server did not answer in time, and trying again did not help."""


class FieldError(ResponseModel):
    """One thing that is wrong with one field. ``field`` is a dotted path such as ``items.3.content``."""

    field: str
    message: str


class APIStatusError(EngramError):
    """The server refused.

    ``status_code``
        HTTP status.
    ``detail``
        What happened, in a sentence.
    ``request_id``
        What the server's log calls this request; None where it did not say.
    ``errors``
        The fields that are wrong, where the server named some.
    ``retry_after``
        Seconds the server asked to wait; None where it asked for nothing.
    """

    def __init__(
        self,
        status_code: int,
        detail: str,
        request_id: str | None = None,
        errors: Sequence[FieldError] = (),
        retry_after: float | None = None,
    ) -> None:
        # All of them go to the base, so that the error survives pickling on its way out of a worker process.
        super().__init__(status_code, detail, request_id, tuple(errors), retry_after)
        self.status_code = status_code
        self.detail = detail
        self.request_id = request_id
        self.errors = tuple(errors)
        self.retry_after = retry_after

    def __str__(self) -> str:
        fields = [f"{error.field}: {error.message}" for error in self.errors if error.field not in self.detail]
        text = f"{self.status_code}: {'; '.join([self.detail, *fields])}"
        return f"{text} (request {self.request_id})" if self.request_id else text


class BadRequestError(APIStatusError):
    """400: the request cannot be understood."""


class AuthenticationError(APIStatusError):
    """401: no API key, or one that the server does not know."""


class PermissionDeniedError(APIStatusError):
    """403: the API key may not do this."""


class NotFoundError(APIStatusError):
    """404: there is no such thing, or not for this API key."""


class ConflictError(APIStatusError):
    """409: what is there already does not allow it."""


class UnprocessableEntityError(APIStatusError):
    """422: an argument is wrong; ``errors`` names it.

    Also raised, before anything is sent, for arguments that cannot be put into a request at all, such as NaN.
    """


class RateLimitError(APIStatusError):
    """429: too many requests; ``retry_after`` says when to come back."""


class InternalServerError(APIStatusError):
    """5xx: the server failed, or is not ready."""


_BY_STATUS: dict[int, type[APIStatusError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    422: UnprocessableEntityError,
    429: RateLimitError,
}


def error_class(status_code: int) -> type[APIStatusError]:
    """The class of errors for an HTTP status."""
    if status_code >= 500:
        return InternalServerError
    return _BY_STATUS.get(status_code, APIStatusError)


def unsendable(field: str, message: str) -> UnprocessableEntityError:
    """What the server would have answered, had the argument reached it."""
    return UnprocessableEntityError(
        422, f"{field}: {message}" if field else message, errors=[FieldError(field=field, message=message)]
    )
