"""How the embedded Postgres is set: for a machine that it shares with Engram, as large as that is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engram.db.machine import memory_bytes

_MB = 1024 * 1024

_SETTINGS = {
    # Reached through a socket in a private folder and from nowhere else.
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "work_mem": "16MB",
    "random_page_cost": "1.1",
    # Parallel plans share memory through /dev/shm, of which a container has 64 MB; a few cores gain little.
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    # A page first changed after a checkpoint goes into the log whole, and a write of many memories changes pages
    # all over the indexes: the fewer checkpoints, the less it writes. After a crash the log is replayed in a minute.
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "wal_buffers": "16MB",
    "wal_compression": "on",
    # An agent that fills up is known to the planner soon after it began.
    "autovacuum_naptime": "10s",
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
    chosen = {**_SETTINGS, **_sizes(memory_bytes()), "unix_socket_directories": str(socket_dir), **more}
    lines = [f"{name} = {_quoted(value)}" for name, value in chosen.items()]
    return "\n".join(["# Written by Engram at every start: changes made here are lost.", *lines, ""])


def _sizes(memory: int) -> dict[str, str]:
    """An eighth of the memory for pages, which the system caches too: of 4 GB that holds the indexes of a hundred
    thousand memories."""
    return {
        "shared_buffers": _between(memory // 8, 128, 1024),
        "maintenance_work_mem": _between(memory // 16, 128, 512),
        "effective_cache_size": _between(memory // 2, 1024, 1024 * 1024),
    }


def _between(size: int, least: int, most: int) -> str:
    return f"{min(max(size // _MB, least), most):d}MB"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
