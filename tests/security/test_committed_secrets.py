"""Nothing that is committed is, or looks like, a secret."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings

from engram.tenants.keys import new_key

ROOT = Path(__file__).parents[2]

# Made up, to show or test what a URL or a setting looks like. By file and kind: lines move.
EXAMPLES = {
    ("README.md", "Basic Auth Credentials"),
    ("docs/configuration.md", "Basic Auth Credentials"),
    ("docs/operations.md", "Basic Auth Credentials"),
    ("engram/db/dsn.py", "Basic Auth Credentials"),
    ("tests/", "Basic Auth Credentials"),
    ("tests/", "Secret Keyword"),
    ("tests/telemetry/test_traces.py", "Hex High Entropy String"),
}


def committed() -> list[str]:
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a clone: what is committed is not known")
    return [name for name in listed.stdout.decode().split("\0") if name]


def secrets_in(*files: Path) -> list[tuple[str, str]]:
    """(file, kind) of what looks like a secret."""
    with default_settings():
        found = SecretsCollection()
        for file in files:
            found.scan_file(str(file))
        return [(name, secret.type) for name, secret in found]


def test_no_secret_is_committed() -> None:
    files = [ROOT / name for name in committed() if (ROOT / name).is_file()]
    found = {(str(Path(name).relative_to(ROOT)), kind) for name, kind in secrets_in(*files)}
    unknown = {
        (name, kind)
        for name, kind in found
        if not any(name.startswith(example) and kind == of for example, of in EXAMPLES)
    }
    assert not unknown


def test_a_key_of_ours_would_be_found(tmp_path: Path) -> None:
    leaked = tmp_path / "settings.py"
    leaked.write_text(f'ENGRAM_API_KEY = "{new_key()}"\n')
    assert secrets_in(leaked)
