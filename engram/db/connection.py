"""Opening one connection: session settings, codecs, and errors that help without showing a password."""

from __future__ import annotations

import contextlib

import asyncpg
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_delay, wait_exponential

from engram.characters import one_line
from engram.db.dsn import Dsn
from engram.db.failures import as_unavailable, is_refused_connection, sqlstate
from engram.db.timing import TimedStatements
from engram.db.vectors import register_vectors
from engram.problems import ConfigurationProblem, UnavailableProblem

_HINTS = {
    "28P01": "Check the user and the password in the database URL.",
    "28000": "Check the user in the database URL, and what the server's pg_hba.conf allows.",
    "3D000": "Create the database, or correct its name in the database URL.",
}

_CLOSE_SECONDS = 2.0


class BoundedConnection(TimedStatements):
    """A connection that does not wait for ever for the other side's goodbye."""

    async def close(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109 (asyncpg's signature)
        # On time-out asyncpg drops the connection, which is all that was wanted.
        with contextlib.suppress(TimeoutError):
            await super().close(timeout=timeout or _CLOSE_SECONDS)


async def open_connection(dsn: Dsn, *, connect_timeout: float, statement_timeout: float | None) -> asyncpg.Connection:
    """Connect, in UTC and with pgvector's codecs. Both times are in seconds; ``None`` is no limit.

    Raises ``UnavailableProblem`` where trying again may help and ``ConfigurationProblem`` where it will not.
    """
    try:
        connection: asyncpg.Connection = await asyncpg.connect(
            dsn.url,
            password=dsn.password.get_secret_value() if dsn.password is not None else None,
            timeout=connect_timeout,
            connection_class=BoundedConnection,
            # A walk of two hops has twenty thousand characters. Not kept, it would be planned for each recall, which
            # takes longer than to run it.
            max_cacheable_statement_size=0,
            server_settings={
                "application_name": "engram",
                "timezone": "UTC",
                # Compiling a plan takes longer than any of our statements run.
                "jit": "off",
                # A role may set otherwise for itself.
                "row_security": "on",
                # Our statements are planned once a connection, for parameters in general: planning a walk anew takes
                # as long as running it, and the planner takes an agent that it has not counted yet for an empty one.
                "plan_cache_mode": "force_generic_plan",
                "statement_timeout": "0" if statement_timeout is None else str(max(1, round(statement_timeout * 1000))),
                # Without it Citus keeps SET LOCAL on the coordinator; a plain Postgres ignores it.
                "citus.propagate_set_commands": "local",
            },
        )
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, ValueError) as error:
        raise _as_problem(dsn, error) from error
    try:
        await register_vectors(connection)
    except BaseException as error:
        problem = as_unavailable(error, connection_lost=connection.is_closed())
        connection.terminate()
        if problem is not None:
            raise problem from error
        raise
    return connection


def patiently(seconds: float) -> AsyncRetrying:
    """Attempts that go on while the database is away, for so many seconds; then its problem is raised."""
    return AsyncRetrying(
        retry=retry_if_exception_type(UnavailableProblem),
        stop=stop_after_delay(seconds),
        wait=wait_exponential(multiplier=0.1, max=1),
        reraise=True,
    )


def _as_problem(dsn: Dsn, error: Exception) -> ConfigurationProblem | UnavailableProblem:
    reason = one_line(str(error)).rstrip(".") or type(error).__name__
    if is_refused_connection(error):
        away = UnavailableProblem(f"The database at {dsn} cannot be reached: {reason}", retry_after=1)
        away.public_detail = "The database cannot be reached."
        return away
    hint = _HINTS.get(sqlstate(error) or "", "Check the database URL.")
    return ConfigurationProblem(f"The database at {dsn} refuses the connection: {reason}. {hint}")
