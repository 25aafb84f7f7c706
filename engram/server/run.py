"""Running a server until it is told to stop."""

from __future__ import annotations

from engram.logs import configure_logging
from engram.server.sockets import listen, refuse_open_door
from engram.settings import Settings


def serve(settings: Settings) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; then finish what was begun, and stop the embedded Postgres.

    Configures logs. Raises ConfigurationProblem where the server cannot run as configured, and UnavailableProblem
    where the database does not answer, before anything is served.
    """
    configure_logging(settings)
    listeners = listen(settings)
    try:
        if settings.database_url is None and not (settings.data_dir / "postgres").exists():
            # Where nothing was ever stored there is no key, and no need to begin.
            refuse_open_door(listeners, settings)
        # A supervisor answers nothing itself: it has no use for the app, nor for the memory that this takes.
        if settings.workers > 1:
            from engram.server.workers.supervisor import supervise  # noqa: PLC0415

            supervise(settings, listeners)
        else:
            from engram.server.alone import serve_alone  # noqa: PLC0415

            serve_alone(settings, listeners)
    finally:
        for listener in listeners:
            listener.close()
