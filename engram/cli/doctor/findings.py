"""What the doctor says: one finding a line, with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    ok = "ok"
    warn = "warn"
    fail = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """``fix`` says how to mend what is not ok; empty where ``detail`` says it."""

    name: str
    status: Status
    detail: str
    fix: str = ""


def ok(name: str, detail: str) -> Finding:
    return Finding(name, Status.ok, detail)


def warn(name: str, detail: str, fix: str = "") -> Finding:
    return Finding(name, Status.warn, detail, fix)


def fail(name: str, detail: str, fix: str = "") -> Finding:
    return Finding(name, Status.fail, detail, fix)
