"""The pages of the documentation, and what a test can take out of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_ROW = re.compile(r"^\| *`([^`|]+)`", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block, and the text block right after it: what the first one prints."""

    language: str
    text: str
    output: str | None


@dataclass(frozen=True)
class Page:
    path: Path

    def __str__(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def blocks(self, language: str) -> list[Block]:
        found = list(_FENCE.finditer(self.text))
        blocks = []
        for fence, following in zip_longest(found, found[1:]):
            gap = self.text[fence.end() : following.start()] if following else "."
            printed = following["text"] if following and following["language"] == "text" and not gap.strip() else None
            blocks.append(Block(fence["language"], fence["text"], printed))
        return [block for block in blocks if block.language == language]

    @property
    def prose(self) -> str:
        """The page without its fenced blocks."""
        return _FENCE.sub("", self.text)

    def links(self) -> list[str]:
        return _LINK.findall(self.prose)

    def anchors(self) -> set[str]:
        """What a link may name after ``#``, spelt as code hosts do."""
        return {_anchor(heading) for heading in _HEADING.findall(self.prose)}

    def rows(self) -> set[str]:
        """The code in the first cell of every table row."""
        return set(_ROW.findall(self.prose))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def page(name: str) -> Page:
    return Page(ROOT / name)


def all_pages() -> list[Page]:
    top = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    return [Page(path) for path in (*top, *sorted((ROOT / "docs").glob("*.md")))]
