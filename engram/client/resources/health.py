"""Whether the server can do its work."""

from engram.client._request import Operation, Request
from engram.health import HealthReport


def get_health() -> Operation[HealthReport]:
    """Ask whether server, database and embedder are ready.

    A server that is not ready answers too; ``status`` and the parts say what is wrong.
    """
    return Request("GET", "/health/ready", HealthReport, expected=frozenset({503}))
