"""The page of known faults names tests that exist, and says of every fault what keeps it out."""

from __future__ import annotations

import ast
import re
from functools import cache

from tests.docs.pages import ROOT, page

PAGE = page("docs/faults.md")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
IMPOSSIBLE = "Cannot occur: "


@cache
def named_in(path: str) -> frozenset[str]:
    """Names of the tests of a file, also of those in classes."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def rows() -> list[tuple[str, str, str]]:
    """Id, fault, and what keeps it out, of every row that has an id."""
    return re.findall(r"^\| ([A-Z]\d+) \| ([^|]+) \| ([^|]*) \|$", PAGE.text, re.MULTILINE)


def test_every_test_that_the_page_names_exists() -> None:
    named = NAMED.findall(PAGE.text)
    assert named
    missing = [f"{path}::{name}" for path, name in named if not (ROOT / path).exists() or name not in named_in(path)]
    assert missing == []


def test_nothing_that_looks_like_a_test_is_misspelt() -> None:
    assert len(re.findall(r"`[^`]*::[^`]*`", PAGE.text)) == len(NAMED.findall(PAGE.text))


def test_every_fault_is_kept_out_by_a_test_or_for_a_reason() -> None:
    assert len(rows()) == len(re.findall(r"^\| [A-Z]\d+ \|", PAGE.text, re.MULTILINE))
    bare = [id for id, _, kept in rows() if not NAMED.search(kept) and not kept.startswith(IMPOSSIBLE)]
    assert bare == []


def test_every_fault_has_one_row() -> None:
    ids = [id for id, _, _ in rows()]
    assert len(ids) == len(set(ids))
