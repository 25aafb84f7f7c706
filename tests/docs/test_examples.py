"""What the pages show is what happens."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs.pages import Page, all_pages
from tests.docs.running import lasting, run_python, run_shell, shown_commands


@pytest.mark.parametrize("page", [page for page in all_pages() if page.blocks("python")], ids=str)
def test_python_prints_what_the_page_says(
    page: Page, live_server: str, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    monkeypatch.setenv("ENGRAM_BASE_URL", live_server)
    monkeypatch.setenv("ENGRAM_DATABASE_URL", database_url)  # for the library without a server
    for printed, said in run_python(page):
        assert lasting(printed) == lasting(said or "")


@pytest.mark.parametrize("page", [page for page in all_pages() if page.blocks("console")], ids=str)
def test_commands_print_what_the_page_says(
    page: Page, live_server: str, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # For an operator's commands, which work on the server's own database.
    monkeypatch.setenv("ENGRAM_DATABASE_URL", database_url)
    shown = shown_commands(page)
    if any("curl " in one.command for one in shown) and not shutil.which("curl"):
        pytest.skip("curl is not installed")
    ran = run_shell([one.command for one in shown], live_server, tmp_path)
    assert len(ran) == len(shown)
    for one, (status, output) in zip(shown, ran, strict=True):
        assert status == 0, f"{one.command}\n{output}"
        assert lasting(output) == lasting(one.output), one.command
