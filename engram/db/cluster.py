"""One Postgres data directory and the server on it: made, configured, started and stopped."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from engram.db.cluster_settings import server_settings
from engram.db.postmaster import Address, Postmaster
from engram.db.programs import Programs
from engram.problems import ConfigurationProblem

START_SECONDS = 300.0
"""How long a server may take to start: after a crash it first replays its log."""

_STOP_SECONDS = 60.0
_POLL_SECONDS = 0.05
_MAX_LOG_BYTES = 10 * 1024 * 1024
# The shortest limit among the systems that we run on, less the name of the socket and a final NUL.
_MAX_SOCKET_DIR = 104 - len("/.s.PGSQL.5432.lock") - 1
# Needs no quoting, neither in a setting that lists folders nor in a URL that lists hosts.
_PLAIN_PATH = re.compile(r"[\w./ @+=-]+")
_INCLUDE = "include_if_exists 'engram.conf'"


class Cluster:
    """Not for concurrent use: the caller holds a lock on the directory."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._log = data / "server.log"
        self._postmaster = Postmaster(data)
        self._programs = Programs(data)

    def create(self) -> None:
        """Make the data directory if missing. Raises ``ConfigurationProblem`` for a useless one."""
        try:
            found = (self.data / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            self._initialise()
            return
        shipped = self._programs.run("postgres", "--version").split()[-1].partition(".")[0]
        if found != shipped:
            raise ConfigurationProblem(
                f"{self.data} was written by PostgreSQL {found}; this Engram brings PostgreSQL {shipped}. "
                f"Serve it with PostgreSQL {found} and set ENGRAM_DATABASE_URL, "
                "or choose another ENGRAM_DATA_DIR."
            )

    def run(self, settings: Mapping[str, str]) -> Address:
        """Have the server run and answer, whatever state it was left in. Settings take effect at a start."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            address = self._postmaster.address()
            if address is not None and self._answers(address):
                return address
            if not self._postmaster.is_alive():
                self._start(settings)
            elif time.monotonic() > deadline:
                raise ConfigurationProblem(f"The Postgres in {self.data} does not answer; see {self._log}.")
            else:
                time.sleep(_POLL_SECONDS)

    def create_database(self, address: Address, name: str) -> None:
        """Create a database unless it exists. ``name`` is a plain identifier."""
        statement = (
            f"SELECT 'CREATE DATABASE {name}' "
            f"WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '{name}') \\gexec\n"
        )
        self._programs.run("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *_at(address), stdin=statement)

    def is_alive(self) -> bool:
        return self._postmaster.is_alive()

    def stop(self) -> None:
        """Stop the server at once, whoever is connected; what was committed stays."""
        # Not left to pg_ctl: it would signal whatever process has the number in the file.
        if not self._postmaster.is_alive():
            return
        problem: ConfigurationProblem | None = None
        for mode, patience in (("fast", 1.0), ("immediate", 5.0)):
            try:
                self._control("stop", f"--mode={mode}", timeout=_STOP_SECONDS)
            except ConfigurationProblem as error:
                # It may have been on its way out: what interrupts this process at a terminal interrupts the server.
                if self._postmaster.is_gone(within=patience):
                    return
                problem = error
            else:
                return
        assert problem is not None
        raise problem

    def _initialise(self) -> None:
        if self.data.exists() and any(self.data.iterdir()):
            raise ConfigurationProblem(f"{self.data} is not empty, and holds no PostgreSQL data.")
        # Elsewhere first: a cluster that was killed halfway through must not be taken for a whole one.
        staging = self.data.with_name(self.data.name + ".new")
        if staging.exists():
            shutil.rmtree(staging)
        self._make_private(staging)
        # The built-in locale sorts the same on every machine and after every upgrade of the system.
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--encoding=UTF8"]
        trust = ["--username=postgres", "--auth-local=trust", "--auth-host=reject"]
        self._open_way_to(staging)
        options = ["--pgdata", str(staging), "--no-instructions", *trust, *locale]
        self._programs.run("initdb", *options, as_owner=True)
        staging.rename(self.data)

    def _start(self, settings: Mapping[str, str]) -> None:
        self._postmaster.clear_remains()
        self._configure(settings)
        if self._log.exists() and self._log.stat().st_size > _MAX_LOG_BYTES:
            self._log.replace(self._log.with_suffix(".log.1"))
        said_before = self._log.stat().st_size if self._log.exists() else 0
        try:
            self._control("start", f"--log={self._log}", timeout=START_SECONDS)
        except ConfigurationProblem as problem:
            reason = self._last_complaint(said_before) or problem.detail
            raise ConfigurationProblem(
                f"The Postgres in {self.data} does not start: {reason} Its log is {self._log}."
            ) from problem

    def _configure(self, settings: Mapping[str, str]) -> None:
        (self.data / "engram.conf").write_text(server_settings(self._socket_dir(), settings))
        main = self.data / "postgresql.conf"
        if _INCLUDE not in main.read_text().splitlines():
            with main.open("a") as file:
                file.write(f"\n# Written by Engram at every start. ALTER SYSTEM goes over it.\n{_INCLUDE}\n")

    def _socket_dir(self) -> Path:
        """The data directory, or a folder under the temporary one if its path is too long for a socket."""
        path = str(self.data)
        if len(os.fsencode(path)) <= _MAX_SOCKET_DIR and _PLAIN_PATH.fullmatch(path):
            return self.data
        # With the inode: the server of a deleted directory of that name may still hold its own socket.
        digest = hashlib.sha256(f"{path}\0{self.data.stat().st_ino}".encode()).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"engram-{digest}"
        self._make_private(folder)
        return folder

    def _make_private(self, folder: Path) -> None:
        """Create a folder for the server's user alone: whoever reaches the socket may do everything."""
        owner = self._programs.user
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            found = folder.lstat()
            if found.st_uid != owner.uid or found.st_mode & 0o077 or folder.is_symlink():
                raise ConfigurationProblem(f"{folder} must belong to its user alone.") from None
        else:
            os.chown(folder, owner.uid, owner.gid)

    def _answers(self, address: Address) -> bool:
        try:
            self._programs.run("pg_isready", "--quiet", *_at(address))
        except ConfigurationProblem:
            return False
        return True

    def _control(self, action: str, *options: str, timeout: float) -> None:
        wait = ["--wait", f"--timeout={round(timeout)}", "--silent"]
        target = ["--pgdata", str(self.data), *wait, *options]
        self._open_way_to(self.data)
        self._programs.run("pg_ctl", action, *target, as_owner=True, timeout=timeout + 10)

    def _open_way_to(self, data: Path) -> None:
        self._programs.open_way_to(data)
        self._programs.open_way_to(self._programs.folder / "pg_ctl")

    def _last_complaint(self, start: int) -> str | None:
        """The last thing that the server's log says, after ``start`` bytes, to explain its end."""
        try:
            with self._log.open("rb") as file:
                file.seek(start)
                complaints = re.findall(r"(?:FATAL|PANIC|ERROR): +(.*)", file.read().decode(errors="replace"))
        except OSError:
            return None
        return f"{complaints[-1].rstrip('.')}." if complaints else None


def _at(address: Address) -> list[str]:
    return ["-h", str(address.socket_dir), "-p", str(address.port), "-U", "postgres", "-d", "postgres"]
