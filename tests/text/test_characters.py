"""What the OpenAPI document says of texts is what the server asks of them."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from engram.wire import Content, Label, Name, Note, Query

KINDS = {"content": Content, "query": Query, "label": Label, "name": Name, "note": Note}
ADAPTERS = {name: TypeAdapter(kind) for name, kind in KINDS.items()}
PATTERNS = {name: re.compile(adapter.json_schema()["pattern"]) for name, adapter in ADAPTERS.items()}


def is_taken(kind: str, text: str) -> bool:
    try:
        ADAPTERS[kind].validate_python(text)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_every_character_of_the_first_plane_is_judged_alike(kind: str) -> None:
    for code in range(0x10000):
        char = chr(code)
        if unicodedata.category(char) not in ("Cs", "Cn"):  # no pattern knows surrogates, nor a new Unicode
            for text in (char, f"a{char}b"):
                assert is_taken(kind, text) == bool(PATTERNS[kind].search(text)), (kind, hex(code))


@pytest.mark.parametrize("kind", KINDS)
def test_no_pattern_refuses_what_the_server_takes(kind: str) -> None:
    for code in range(0x10000, sys.maxunicode + 1, 7):
        assert PATTERNS[kind].search(chr(code)) or not is_taken(kind, chr(code)), hex(code)


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text(min_size=1, max_size=20))
@example(text="a\n")
@example(text="\u200b\U000e0020")
def test_texts_are_judged_alike(kind: str, text: str) -> None:
    assert not is_taken(kind, text) or PATTERNS[kind].search(text)
