"""Unicode normalisation in a time that is linear in the text.

Python sorts a run of combining marks by insertion: a run of n takes n squared, with the interpreter's lock held, and
nothing else in the process goes on. Sorted before, stably and by the same numbers, a run is the same run to it, and
there is nothing left to move.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Literal

Form = Literal["NFC", "NFKC"]

_LONG_RUN = 31
_LAST_PLANE_WITH_MARKS = 0x30000
_DECOMPOSED: dict[Form, Literal["NFD", "NFKD"]] = {"NFC": "NFD", "NFKC": "NFKD"}


def normal(form: Form, text: str) -> str:
    """The same as ``unicodedata.normalize(form, text)``."""
    if text.isascii():
        return text
    full = _DECOMPOSED[form]

    def ordered(run: re.Match[str]) -> str:
        marks = "".join(unicodedata.normalize(full, mark) for mark in run.group())
        return "".join(sorted(marks, key=unicodedata.combining))

    return unicodedata.normalize(form, _long_run(full).sub(ordered, text))


@cache
def _long_run(full: Literal["NFD", "NFKD"]) -> re.Pattern[str]:
    """Characters that are sorted behind what they stand on: marks, and what falls apart into nothing else."""
    marks = []
    for code in range(_LAST_PLANE_WITH_MARKS):
        char = chr(code)
        if unicodedata.combining(char) or (
            unicodedata.decomposition(char) and all(map(unicodedata.combining, unicodedata.normalize(full, char)))
        ):
            marks.append(re.escape(char))
    return re.compile(f"[{''.join(marks)}]{{{_LONG_RUN},}}")
