"""What is logged, where to, and how."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import logging, structlog
from engram.logs import configure_logging
from engram.settings import Settings
configure_logging(Settings())
log = structlog.get_logger()
log.debug("quiet")
log.info("told", number=1)
logging.getLogger("library").warning("from %s", "a library")
logging.getLogger("httpx").info("chatter")
def fail(secret):
    raise LookupError("lost")
try:
    fail("hunter" + "2")
except LookupError:
    log.exception("failed")
    logging.getLogger("library").exception("failed too")
"""


def run(folder: Path, program: str = PROGRAM, **settings: str) -> list[str]:
    variables = {f"ENGRAM_{name.upper()}": value for name, value in settings.items()}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=folder,
        env=variables | {"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_programs_get_one_object_a_line(tmp_path: Path) -> None:
    told, library, failed, failed_too = (json.loads(line) for line in run(tmp_path, log_format="json"))
    assert (told["event"], told["level"], told["number"]) == ("told", "info", 1)
    assert told["timestamp"].endswith("Z")
    assert (library["event"], library["level"]) == ("from a library", "warning")
    assert "LookupError: lost" in failed["exception"]
    assert "LookupError: lost" in failed_too["exception"]


@pytest.mark.parametrize("form", ["console", "json"])
def test_tracebacks_do_not_show_values(tmp_path: Path, form: str) -> None:
    said = "\n".join(run(tmp_path, log_format=form))
    assert said.count("LookupError: lost") == 2
    assert "hunter2" not in said


def test_a_reader_sees_events_without_colours_in_a_file(tmp_path: Path) -> None:
    said = "\n".join(run(tmp_path))
    assert "told" in said
    assert "number=1" in said
    assert "\x1b" not in said


def test_the_level_counts_for_both_kinds_of_loggers(tmp_path: Path) -> None:
    assert [json.loads(line)["event"] for line in run(tmp_path, log_format="json", log_level="error")] == [
        "failed",
        "failed too",
    ]
    assert "quiet" in "\n".join(run(tmp_path, log_level="debug"))


TALKATIVE = """
import asyncio, logging, structlog
from pydantic import BaseModel
from engram.logs import configure_logging
from engram.settings import Settings
configure_logging(Settings())
log = structlog.get_logger()
class Model(BaseModel):
    number: int
def parse():
    Model.model_validate({"number": "zirconium"})
try:
    try:
        parse()
    except ValueError as error:
        raise LookupError("lost") from error
except LookupError:
    log.exception("failed")
    logging.getLogger("library").exception("failed too")
try:
    try:
        parse()
    finally:
        raise ExceptionGroup("several", [KeyError("a key"), LookupError("lost")])
except ExceptionGroup:
    log.exception("failed thrice")
"""


@pytest.mark.parametrize("form", ["console", "json"])
def test_errors_whose_messages_repeat_input_are_told_by_their_class(tmp_path: Path, form: str) -> None:
    said = "\n".join(run(tmp_path, TALKATIVE, log_format=form))
    assert "zirconium" not in said
    assert said.count("ValidationError") == 3
    assert said.count("direct cause") == 2
    assert said.count("During handling") == 1
    assert said.count("LookupError: lost") == 3
    assert "a key" in said
    assert said.count("in parse") == 3
