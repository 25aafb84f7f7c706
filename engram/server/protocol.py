"""HTTP/1.1 as uvicorn speaks it, with bounds on what a connection may hold without a request to show for it.

A body is bounded where it is read. Of a head, its address and headers, the app sees nothing before it is whole; of an
answer, nothing after it is given away. Only the protocol can say that these are too large, or do not move.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from itertools import chain

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from engram.problems import Problem
from engram.server.errors import problem_response
from engram.server.middleware.security_headers import API_HEADERS

MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 128


class BoundedHttp(HttpToolsProtocol):
    """Refuses heads of more than 64 KiB or 128 headers, and ends connections that neither ask nor take their answer.

    A request pays a microsecond for it: timers run only for heads that come in pieces, and answers that do not leave.
    """

    head_seconds = 20.0
    """How long a client may take over a head, from the connection on, or from its first byte."""

    answer_seconds = 60.0
    """How long a client may take nothing of an answer that waits for it."""

    _unparsed = 0  # bytes since the last of a body: what the parser holds of a head, or of trailers, nobody can see
    _too_large = False
    _unsent = 0
    _answered: RequestResponseCycle | None = None
    _asking: asyncio.TimerHandle | None = None
    _sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._asking, self._sending):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        # uvicorn tells the latest request alone. Of several in a row it is the first that is being answered.
        if self._answered is not None and not self._answered.response_complete:
            self._answered.disconnected = True
            self._answered.message_event.set()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._too_large = True
            self.send_400_response("")
        # What comes while nothing is being answered must lead to a request before long. It may also be the rest of a
        # body that was refused, whose end uvicorn waits for as long as there is one byte a minute.
        if self._asking is None and (self.cycle is None or self.cycle.response_complete):
            self._expect_head()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are no headers: nobody between here and the client has looked at them as such
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        size = len(self.url) + sum(map(len, chain.from_iterable(self.headers)))
        if size > MAX_HEAD_BYTES or len(self.headers) > MAX_HEADERS:
            self._too_large = True
            raise ValueError("the head of the request is too large")  # ends the parsing, and is answered below
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, or too large a one, and hang up. An answer that is due to another is not mixed
        with this one."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_TOO_LARGE if self._too_large else _MALFORMED)
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_sending()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch_sending()  # closed is a connection only when all is sent

    def _expect_head(self) -> None:
        self._asking = self.loop.call_later(self.head_seconds, self.transport.close)

    def _watch_sending(self) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        if self._unsent and self._sending is None:
            self._sending = self.loop.call_later(self.answer_seconds, self._check_sending)

    def _check_sending(self) -> None:
        self._sending = None
        if self.transport.get_write_buffer_size() >= self._unsent:
            self.transport.abort()
        else:
            self._watch_sending()


def _answer(status: HTTPStatus, kind: str, title: str, detail: str) -> bytes:
    problem = Problem(detail)
    problem.status, problem.type, problem.title = status, kind, title
    response = problem_response(problem, {"Connection": "close"})
    head = b"".join(b"%s: %s\r\n" % header for header in (*response.raw_headers, *API_HEADERS))
    return STATUS_LINE[status] + head + b"\r\n" + bytes(response.body)


_MALFORMED = _answer(HTTPStatus.BAD_REQUEST, "bad-request", "Bad request", "This is not a request in HTTP/1.1.")
_TOO_LARGE = _answer(
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    "head-too-large",
    "Request head too large",
    f"The address and the headers of a request may have {MAX_HEAD_BYTES} bytes, and {MAX_HEADERS} headers.",
)
