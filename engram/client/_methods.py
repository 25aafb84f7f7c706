"""From an endpoint to a method.

An endpoint is a plain function: it takes the arguments, by name and type, and returns an operation. The
functions here make methods of it, which keep the signature and perform the operation, each in its own way. So
every endpoint is written once, and a resource class is a table of what can be called::

    class Memories(Resource):
        get = call(get_memory)                 # client.memories.get(memory_id) -> MemoryDetail

    class AsyncAgentMemories(Resource):
        create = acall(scoped(create_memory))  # await scope.memories.create(content, ...) -> MemoryCreated
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args

import httpx

from engram.client._connection import finish
from engram.client._exports import AsyncExport, Export
from engram.client._files import AsyncGraphExport, GraphExport
from engram.client._pages import AsyncListing, Page, Slice
from engram.client._request import Operation, Sender

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Resource:
    """What can be done with one kind of thing, through the client it came from."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender


def call(endpoint: Callable[P, Operation[T]]) -> Callable[Concatenate[Resource, P], T]:
    """A method that blocks and returns the result."""

    def method(self: Resource, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return finish(endpoint(*args, **kwargs).perform(self._sender))

    return _described(method, endpoint)


def acall(
    endpoint: Callable[P, Operation[T]],
) -> Callable[Concatenate[Resource, P], Coroutine[Any, Any, T]]:
    """A method that is awaited."""

    async def method(self: Resource, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await endpoint(*args, **kwargs).perform(self._sender)

    return _described(method, endpoint)


def pages(endpoint: Callable[P, Operation[Slice[T]]]) -> Callable[Concatenate[Resource, P], Page[T]]:
    """A method that blocks and returns the first page of a list."""

    def method(self: Resource, /, *args: P.args, **kwargs: P.kwargs) -> Page[T]:
        return Page(self._sender, finish(endpoint(*args, **kwargs).perform(self._sender)))

    return _described(method, endpoint, Page)


def apages(
    endpoint: Callable[P, Operation[Slice[T]]],
) -> Callable[Concatenate[Resource, P], AsyncListing[T]]:
    """A method that returns a list to be awaited or iterated."""

    def method(self: Resource, /, *args: P.args, **kwargs: P.kwargs) -> AsyncListing[T]:
        return AsyncListing(self._sender, endpoint(*args, **kwargs))

    return _described(method, endpoint, AsyncListing)


def lines(endpoint: Callable[P, Operation[httpx.Response]]) -> Callable[Concatenate[Resource, P], Export]:
    """A method that blocks until an answer begins, and returns its lines."""

    def method(self: Resource, /, *args: P.args, **kwargs: P.kwargs) -> Export:
        return Export(self._sender, endpoint(*args, **kwargs))

    return _described(method, endpoint, Export)


def alines(endpoint: Callable[P, Operation[httpx.Response]]) -> Callable[Concatenate[Resource, P], AsyncExport]:
    """A method that returns lines not yet asked for."""

    def method(self: Resource, /, *args: P.args, **kwargs: P.kwargs) -> AsyncExport:
        return AsyncExport(self._sender, endpoint(*args, **kwargs))

    return _described(method, endpoint, AsyncExport)


def file(endpoint: Callable[P, Operation[httpx.Response]]) -> Callable[Concatenate[Resource, P], GraphExport]:
    """A method that blocks until an answer begins, and returns a file in pieces."""

    def method(self: Resource, /, *args: P.args, **kwargs: P.kwargs) -> GraphExport:
        return GraphExport(self._sender, endpoint(*args, **kwargs))

    return _described(method, endpoint, GraphExport)


def afile(endpoint: Callable[P, Operation[httpx.Response]]) -> Callable[Concatenate[Resource, P], AsyncGraphExport]:
    """A method that returns a file not yet asked for."""

    def method(self: Resource, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGraphExport:
        return AsyncGraphExport(self._sender, endpoint(*args, **kwargs))

    return _described(method, endpoint, AsyncGraphExport)


def _described(method: F, endpoint: Callable[..., Any], container: Any = None) -> F:
    """The method with the endpoint's documentation and signature, for ``help`` and interactive completion.

    Type checkers need none of this. The endpoint's annotations must be objects, not text, to be taken apart.
    """
    functools.update_wrapper(method, endpoint)
    signature = inspect.signature(endpoint)
    (result,) = get_args(signature.return_annotation)
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[this, *signature.parameters.values()],
        return_annotation=_answer(container, result),
    )
    return method


def _answer(container: Any, result: Any) -> Any:
    if container is None:
        return result
    return container[result] if hasattr(container, "__class_getitem__") else container
