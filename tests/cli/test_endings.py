"""How commands end: exit statuses, one line on stderr, nothing on stdout that is not the answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engram import __version__
from engram.cli import configuration

from .conftest import Run, finish, start

NOBODY = "http://127.0.0.1:1"


def is_one_line(text: str) -> bool:
    return text.startswith("engram: ") and text.count("\n") == 1 and text.endswith("\n")


def test_version_is_shown(run: Run) -> None:
    assert run("--version").stdout == f"engram {__version__}\n"


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_names_all_commands(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert outcome.status == 0
    for command in ("serve", "migrate", "doctor", "demo", "remember", "recall", "edges", "import"):
        assert f" {command} " in outcome.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("recall",),
        ("rcall", "x"),
        ("recall", "x", "--no-such-option"),
        ("recall", "x", "--top-k", "0"),
        ("recall", "x", "--top-k", "many"),
        ("recall", "x", "--graph-weight", "1.5"),
        ("recall", "x", "--relation", "friendship"),
        ("remember", "x", "--metadata", "colour"),
        ("remember", "x", "--metadata", "{not json"),
        ("import",),
        ("import", "x", "--format", "xml"),
        ("serve", "--port", "70000"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert outcome.status == 2
    assert is_one_line(outcome.stderr)
    assert "--help" in outcome.stderr
    assert outcome.stdout == ""


@pytest.mark.parametrize(
    "arguments", [("remember", "x"), ("recall", "x"), ("edges", "00000000-0000-7000-8000-000000000000")]
)
def test_without_a_server_the_error_says_how_to_start_one(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments, "--url", NOBODY)
    assert outcome.status == 1
    assert is_one_line(outcome.stderr)
    assert NOBODY in outcome.stderr
    assert "engram serve --port 1" in outcome.stderr
    assert outcome.stdout == ""


def test_the_password_in_a_url_is_not_shown(run: Run) -> None:
    for url in ("http://me:hush@127.0.0.1:1", "ftp://me:hush@127.0.0.1:1"):
        outcome = run("recall", "x", "--url", url)
        assert outcome.status == 1
        assert is_one_line(outcome.stderr)
        assert "hush" not in outcome.stderr


def test_what_a_file_name_holds_cannot_steer_the_terminal(run: Run) -> None:
    outcome = run("import", "no\x1b[31m\nsuch")
    assert outcome.status == 1
    assert is_one_line(outcome.stderr)
    assert "\x1b" not in outcome.stderr


def test_an_unexpected_error_is_one_line_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("first\nsecond")

    monkeypatch.setattr(configuration, "Settings", type("Settings", (), {"model_validate": broken}))
    outcome = run("migrate")
    assert outcome.status == 1
    assert is_one_line(outcome.stderr)
    assert "ENGRAM_DEBUG" in outcome.stderr


def test_debugging_shows_where_an_error_came_from(tmp_path: Path) -> None:
    outcome = finish(start("recall", "x", "--url", NOBODY, cwd=tmp_path, ENGRAM_DEBUG="1"))
    assert outcome.status == 1
    assert "Traceback" in outcome.stderr
    assert outcome.stdout == ""


def test_settings_that_cannot_be_used_are_named_without_their_value(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_PORT", "sesame")
    outcome = run("serve")
    assert outcome.status == 1
    assert is_one_line(outcome.stderr)
    assert "ENGRAM_PORT" in outcome.stderr
    assert "sesame" not in outcome.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("doctor", "--json")])
def test_a_reader_that_leaves_early_is_told_nothing(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    process = start(*arguments, cwd=tmp_path, ENGRAM_DATA_DIR=str(tmp_path / "data"))
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=30) == 1


def test_the_sdk_alone_says_what_the_command_line_needs(tmp_path: Path) -> None:
    code = "import sys; sys.modules['typer'] = None\nfrom engram.cli.main import main\nsys.exit(main(['--version']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=60,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 1
    assert is_one_line(done.stderr)
    assert "engram[server]" in done.stderr
