"""How the embedded Postgres is set: for a small machine that it shares with Engram."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_SETTINGS = {
    # Reached through a socket in a private folder and from nowhere else.
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "effective_cache_size": "1GB",
    "random_page_cost": "1.1",
    # Parallel plans share memory through /dev/shm, of which a container has 64 MB; a few cores gain little.
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "max_wal_size": "1GB",
    "wal_compression": "on",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Little in the log, and nothing of what users stored: no statements, no values, no DETAIL lines.
    "log_min_messages": "warning",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "log_min_duration_statement": "-1",
    "log_parameter_max_length_on_error": "0",
}


def server_settings(socket_dir: Path, more: Mapping[str, str]) -> str:
    """A configuration file for a server that listens in ``socket_dir``; ``more`` goes over our choices."""
    chosen = {**_SETTINGS, "unix_socket_directories": str(socket_dir), **more}
    lines = [f"{name} = {_quoted(value)}" for name, value in chosen.items()]
    return "\n".join(["# Written by Engram at every start: changes made here are lost.", *lines, ""])


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
