"""The stages that are timed. A closed list: each is a series in every scrape."""

from __future__ import annotations

from typing import Literal, get_args

StageName = Literal[
    "database.connection",
    "recall.embed",
    "recall.agent",
    "recall.aim",
    "recall.arms",
    "recall.walk",
    "recall.rank",
    "recall.show",
    "write.look",
    "write.embed",
    "write.prepare",
    "write.store",
    "write.link",
]
"""The operation, and which part of it."""

Purpose = Literal["query", "passage"]
"""What a text is embedded for: to be asked, or to be found."""

STAGES: tuple[StageName, ...] = get_args(StageName)
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)
