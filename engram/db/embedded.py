"""The database of an Engram that was given none: a Postgres of its own, under the data directory."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from urllib.parse import quote

from engram.db.cluster import START_SECONDS, Cluster
from engram.db.leases import Lease, exclusive
from engram.db.postmaster import Address
from engram.problems import ConfigurationProblem

_DATABASE = "engram"
_LOCK_SECONDS = START_SECONDS + 60


class EmbeddedPostgres:
    """A share in the Postgres under ``<data_dir>/postgres``, used by all processes with that data directory.

    The first to ``start`` starts it, the last to ``stop`` stops it, and the end of the interpreter stops too.
    A process that dies without a word gives up its share all the same: the server then runs on until another
    one joins it and leaves. A process that wants a clean stop on SIGTERM turns the signal into an exit.

    The server listens on a Unix socket alone, in a folder that only its user may enter, and asks for no
    password. Postgres refuses to run as root. Started by root it runs as the system user
    ``embedded_postgres``, which is created when missing, and the folders above the data directory become
    passable (not readable) to all users.
    """

    def __init__(self, data_dir: Path, cluster: Cluster, address: Address, lease: Lease) -> None:
        self._data_dir = data_dir
        self._cluster = cluster
        self._lease: Lease | None = lease
        self._stopping = Lock()
        self._process = os.getpid()
        self._place = f"/{_DATABASE}?host={quote(str(address.socket_dir))}&port={address.port}"
        self.dsn = self.dsn_of("postgres")
        atexit.register(self.stop)

    @classmethod
    def start(cls, data_dir: Path, settings: Mapping[str, str] | None = None) -> EmbeddedPostgres:
        """Start the server or join the one that runs, with a database ``engram``. Blocks until it answers.

        ``settings`` are Postgres's, over ours; they count only if this call is what starts the server. Raises
        ``ConfigurationProblem`` if the data directory cannot be used or the server does not start, and
        ``UnavailableProblem`` if another process is at it for minutes.
        """
        data_dir = data_dir.expanduser().resolve()
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
            with exclusive(_lock_file(data_dir), timeout=_LOCK_SECONDS):
                lease = Lease(data_dir / "postgres.users")
                cluster = Cluster(data_dir / "postgres")
                try:
                    cluster.create()
                    address = cluster.run(settings or {})
                    cluster.create_database(address, _DATABASE)
                    server = cls(data_dir, cluster, address, lease)
                except BaseException:
                    if lease.release():
                        with suppress(ConfigurationProblem):  # what went wrong first is what matters
                            cluster.stop()
                    raise
        except OSError as error:
            raise ConfigurationProblem(
                f"The data directory {data_dir} cannot be used: {error.strerror or error} "
                f"({error.filename or data_dir}). Make it writable, or choose another with ENGRAM_DATA_DIR."
            ) from error
        return server

    def dsn_of(self, role: str) -> str:
        """The URL by which a role connects. ``dsn`` is the superuser's."""
        return f"postgresql://{role}@{self._place}"

    def revive(self) -> bool:
        """Start the server again if it died while this process used it; whether it had. Blocks until it answers.

        Raises ``ConfigurationProblem`` if it does not start.
        """
        with self._stopping:
            if self._lease is None or self._cluster.is_alive():
                return False
            with exclusive(_lock_file(self._data_dir), timeout=_LOCK_SECONDS):
                self._cluster.run({})
            return True

    def stop(self) -> None:
        """Leave the server; the last to leave stops it. Blocks until it is done. Again does nothing."""
        if os.getpid() != self._process:
            return  # a fork of the process that holds the share
        with self._stopping:
            lease, self._lease = self._lease, None
            if lease is None:
                return
            atexit.unregister(self.stop)
            try:
                with exclusive(_lock_file(self._data_dir), timeout=_LOCK_SECONDS):
                    if lease.release():
                        self._cluster.stop()
            except FileNotFoundError:
                lease.release()  # the directory was deleted: a server without its files ends by itself


def _lock_file(data_dir: Path) -> Path:
    return data_dir / "postgres.lock"
