"""The Python SDK: a client of Engram's HTTP API, in a blocking and an asynchronous form."""

from engram.client._client import AsyncEngram, Engram
from engram.client._errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    EngramError,
    FieldError,
    InternalServerError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    UnprocessableEntityError,
)
from engram.client._exports import AsyncExport, Export
from engram.client._files import AsyncGraphExport, GraphExport
from engram.client._pages import AsyncListing, AsyncPage, Page
from engram.client._scope import AgentScope, AsyncAgentScope

__all__ = [
    "APIConnectionError",
    "APIStatusError",
    "APITimeoutError",
    "AgentScope",
    "AsyncAgentScope",
    "AsyncEngram",
    "AsyncExport",
    "AsyncGraphExport",
    "AsyncListing",
    "AsyncPage",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "Engram",
    "EngramError",
    "Export",
    "FieldError",
    "GraphExport",
    "InternalServerError",
    "NotFoundError",
    "Page",
    "PermissionDeniedError",
    "RateLimitError",
    "UnprocessableEntityError",
]
