"""Logs: one line an event, on stderr, for a reader or for a program. Standard output belongs to answers."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import Processor

from engram.settings import Settings
from engram.telemetry.errors import traceback_of

_CHATTY = ("uvicorn", "alembic", "httpx", "httpcore", "openai", "asyncio", "sqlalchemy", "pgqueuer")


def configure_logging(settings: Settings, **of_process: object) -> None:
    """Send what structlog and the standard library log to stderr, in the settings' format and from their level on.

    ``of_process`` is in every line.
    """
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        lambda _logger, _method, event: {**event, **of_process},
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendering = _rendering(settings)
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def _rendering(settings: Settings) -> list[Processor]:
    # Tracebacks of our own: the richer kinds print local variables, and the plain ones messages of the database, which
    # hold what users stored.
    exceptions = structlog.processors.ExceptionRenderer(lambda found: traceback_of(found[1]))
    if settings.log_format == "json":
        return [exceptions, structlog.processors.JSONRenderer()]
    return [
        exceptions,
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=0
        ),
    ]
