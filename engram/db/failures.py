"""Which failures of the database are passing ones, and what a caller is told about them.

Nothing here repeats a statement or its values: they hold what users stored.
"""

from __future__ import annotations

import asyncpg
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from engram.problems import UnavailableProblem

QUERY_CANCELED = "57014"

_AWAY = "The database is not available right now."
_BY_STATE = {
    QUERY_CANCELED: "The database took too long over a statement and gave it up.",
    "40001": "The database could not complete this beside other changes.",
    "40P01": "The database could not complete this beside other changes.",
    "55P03": "Another change holds a lock on the same rows.",
    "53100": "The database has run out of disk space.",
    "53200": "The database has run out of memory.",
    "53300": "The database has no connection left.",
    "57P01": _AWAY,  # shut down, or this connection was ended by an administrator
    "57P02": _AWAY,  # another process of the server crashed
    "57P03": _AWAY,  # starting or stopping
    "57P05": _AWAY,  # this connection was idle for too long
    "25006": "The database takes no changes right now: it is read-only.",  # a standby, after a failover
    "25P03": _AWAY,  # this transaction was idle for too long
}
_CONNECTION_CLASS = "08"
_OF_DATABASE = (
    SQLAlchemyError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
)


def sqlstate(error: BaseException) -> str | None:
    """The five characters by which Postgres names an error, of a driver's or SQLAlchemy's exception."""
    if isinstance(error, DBAPIError):
        error = error.orig or error
    state = getattr(error, "sqlstate", None)
    return state if isinstance(state, str) else None


def as_unavailable(error: BaseException, *, connection_lost: bool = False) -> UnavailableProblem | None:
    """The problem to raise for a passing failure; ``None`` for anything else, which is to be raised as it is.

    ``connection_lost`` says that the connection is closed, whatever the driver's error says.
    """
    if is_exhausted(error):
        return UnavailableProblem("All connections to the database are busy.", retry_after=1)
    state = sqlstate(error)
    if state in _BY_STATE:
        return UnavailableProblem(_BY_STATE[state], retry_after=1)
    if (state or "").startswith(_CONNECTION_CLASS) or (connection_lost and isinstance(error, _OF_DATABASE)):
        return UnavailableProblem(_AWAY, retry_after=1)
    return None


def is_exhausted(error: BaseException) -> bool:
    """Whether somebody waited for a connection of the pool in vain."""
    return isinstance(error, PoolTimeout)


def is_refused_connection(error: BaseException) -> bool:
    """Whether opening a connection failed in a way that may pass: nobody listens, or not yet."""
    if isinstance(error, asyncpg.PostgresError):
        return as_unavailable(error) is not None
    # asyncpg reports a server that hangs up in mid-handshake as one of these; time-outs are OSErrors too.
    return isinstance(error, (OSError, asyncpg.InternalClientError))
