"""SQL statements that take long, in the log: their text, and never their parameters."""

from __future__ import annotations

import time
from typing import Any

import asyncpg
import structlog
from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext

from engram.characters import one_line
from engram.db.timing import TimedStatements
from engram.telemetry.counting import statement_was_slow

MAX_SQL_CHARS = 500

log = structlog.get_logger(__name__)


class SlowStatements:
    """Logs statements that take longer than ``seconds``; 0 logs none, and watches nothing.

    A statement takes from when it is sent until its answer is read. Where the process is busy with something else,
    that counts too. One that fails, or that its caller gives up, is logged like one that does not.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def watch(self, connection: asyncpg.Connection) -> None:
        """Watch what is run on the driver's connection itself."""
        if self._seconds:
            assert isinstance(connection, TimedStatements)
            connection.on_statement = self._on_statement

    def watch_engine(self, engine: Engine) -> None:
        """Watch what SQLAlchemy runs: it prepares its statements, which the connection does not time."""
        if self._seconds:
            event.listen(engine, "before_cursor_execute", _on_begin)
            event.listen(engine, "after_cursor_execute", self._on_end)
            event.listen(engine, "handle_error", self._on_error)

    def _on_end(self, connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        self._on_statement(statement, time.monotonic() - context.engram_started, None)

    def _on_error(self, failure: ExceptionContext) -> None:
        # There may be an error before any statement was sent.
        started = getattr(failure.execution_context, "engram_started", None)
        if started is not None:
            error = failure.original_exception
            # SQLAlchemy's are of a few classes only; the driver's, which it was made from, say what happened.
            self._on_statement(failure.statement or "", time.monotonic() - started, error.__cause__ or error)

    def _on_statement(self, sql: str, seconds: float, error: BaseException | None) -> None:
        if seconds <= self._seconds:
            return
        statement_was_slow()
        # Of an error its class alone: its message may repeat values.
        failed = {} if error is None else {"failed": type(error).__name__}
        log.warning("statement.slow", seconds=round(seconds, 3), sql=_beginning(sql), **failed)


def _on_begin(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
    context.engram_started = time.monotonic()


def _beginning(sql: str) -> str:
    line = one_line(sql)
    return line if len(line) <= MAX_SQL_CHARS else line[: MAX_SQL_CHARS - 1] + "…"
