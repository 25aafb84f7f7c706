"""Where sentences end, in any script. Pure."""

from __future__ import annotations

import re

# Behind the mark, a closing quote and white space. CJK marks need no white space.
SENTENCE_END = re.compile(r"""(?<=[.!?…])\s+|(?<=[.!?…]["'”’)\]])\s+|(?<=[。！？；])\s*|\n+""")


def sentences(text: str) -> list[str]:
    """``text`` cut where sentences or lines end; put together they are ``text`` again. No sentence is empty."""
    ends = [match.end() for match in SENTENCE_END.finditer(text) if 0 < match.end() < len(text)]
    ends = sorted(set(ends))
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if start < end]
