"""Lists that fetch their further pages by themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from engram.client._connection import finish
from engram.client._errors import EngramError
from engram.client._request import Operation, Request, Sender

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class PageModel(Protocol[T_co]):
    """What the wire models of pages have in common."""

    @property
    def data(self) -> Sequence[T_co]: ...

    @property
    def next_cursor(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Slice(Generic[T]):
    """What one request brought of a list, and the operation that brings what follows."""

    data: list[T]
    next_cursor: str | None
    total: int | None
    following: Operation[Slice[T]] | None


class Listing(Generic[T]):
    """The operation that fetches one slice of a list."""

    def __init__(self, path: str, model: type[PageModel[T]], params: Mapping[str, object]) -> None:
        self._path = path
        self._model = model
        self._params = params

    async def perform(self, sender: Sender) -> Slice[T]:
        # A page model is a pydantic model too, which its protocol cannot say: hence Any.
        model: Any = self._model
        page: PageModel[T] = await sender.send(Request("GET", self._path, model, params=self._params))
        return Slice(
            data=list(page.data),
            next_cursor=page.next_cursor,
            total=getattr(page, "total", None),
            following=self._after(page.next_cursor),
        )

    def _after(self, cursor: str | None) -> Listing[T] | None:
        if cursor is None:
            return None
        if cursor == self._params.get("cursor"):
            raise EngramError(f"GET {self._path}: the server says that this page is followed by itself")
        return Listing(self._path, self._model, {**self._params, "cursor": cursor})


class _Fetched(Generic[T]):
    """A page that is here.

    ``data``
        The items of this page alone.
    ``next_cursor``
        Where the next page begins; None on the last.
    ``total``
        How many there are in all, where the server was asked to count.
    """

    def __init__(self, sender: Sender, piece: Slice[T]) -> None:
        self._sender = sender
        self._following = piece.following
        self.data = piece.data
        self.next_cursor = piece.next_cursor
        self.total = piece.total

    def __getitem__(self, name: str) -> Any:
        if name not in ("data", "next_cursor", "total"):
            raise KeyError(name)
        return getattr(self, name)

    def __bool__(self) -> bool:
        return bool(self.data) or self._following is not None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.data)}{', and more' if self._following else ''}>"


class Page(_Fetched[T]):
    """A page of a list. Iterating gives its items, then those of all further pages, fetched as needed."""

    def next_page(self) -> Page[T] | None:
        """The next page; None after the last."""
        if self._following is None:
            return None
        return Page(self._sender, finish(self._following.perform(self._sender)))

    def __iter__(self) -> Iterator[T]:
        page: Page[T] | None = self
        while page is not None:
            yield from page.data
            page = page.next_page()


class AsyncPage(_Fetched[T]):
    """As ``Page``; iterate with ``async for``."""

    async def next_page(self) -> AsyncPage[T] | None:
        """The next page; None after the last."""
        if self._following is None:
            return None
        return AsyncPage(self._sender, await self._following.perform(self._sender))

    async def __aiter__(self) -> AsyncIterator[T]:
        page: AsyncPage[T] | None = self
        while page is not None:
            for item in page.data:
                yield item
            page = await page.next_page()


class AsyncListing(Generic[T]):
    """A list not yet asked for: ``async for`` gives all its items, ``await`` its first page."""

    def __init__(self, sender: Sender, operation: Operation[Slice[T]]) -> None:
        self._sender = sender
        self._operation = operation

    def __await__(self) -> Generator[Any, None, AsyncPage[T]]:
        return self._first_page().__await__()

    async def __aiter__(self) -> AsyncIterator[T]:
        async for item in await self._first_page():
            yield item

    async def _first_page(self) -> AsyncPage[T]:
        return AsyncPage(self._sender, await self._operation.perform(self._sender))
