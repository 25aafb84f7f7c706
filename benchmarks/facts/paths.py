"""Whether the path that answers a question is among the first 200 from where it begins, and at which place.

A walk visits no node twice, and some of the paths that the set calls right do: they are counted apart, and cannot be
found. What a walk over the database gives is held against ``FactGraph`` over the same facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path as Folder
from typing import Any
from uuid import UUID

from benchmarks.facts.client import Client, connected
from benchmarks.facts.sets import questions, triples
from benchmarks.facts.walker import Walker
from benchmarks.figures import Figure, Sheet, Size, at_least
from benchmarks.serving import serving
from benchmarks.store import Stores
from engram.facts import FactGraph
from engram.facts.graph import MAX_PATHS
from engram.facts.names import node_name, predicate_name

HOPS = 3
LIMIT = 200

Shown = tuple[tuple[str, ...], tuple[str, ...], tuple[bool, ...]]
"""A path as its nodes, its predicates, and whether each hop is walked forward."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    start: str
    gold: Shown

    @property
    def simple(self) -> bool:
        return len(set(self.gold[0])) == len(self.gold[0])


async def measure(stores: Stores, folder: Folder, said: Callable[[str], None]) -> list[Figure]:
    sets = {name: triples(folder / f"{name}_kb.tsv.gz") for name in ("pq2", "pq3")}
    sheet = Sheet("facts-paths", size := Size(facts=sum(map(len, sets.values())), agents=len(sets)))
    every: list[Question] = []
    ranks: list[int | None] = []
    async with stores.fresh(size) as store, serving(store) as server, store.services() as services:
        for name, items in sets.items():
            asked = [_question(raw) for raw in questions(folder / f"{name}_questions.jsonl.gz")]
            async with connected(server.url, name) as client:
                said(f"{name}, {len(items):,} facts, {len(asked):,} questions")
                await client.load(items)
                walker = Walker(services, UUID(client.agent_id))
                ranks += await _one(sheet, name, asked, walker, client, FactGraph.from_facts(await walker.facts()))
            every += asked
    _share(sheet, "both, gold path from the gold start", every, ranks, target=True)
    return sheet.figures


async def _one(
    sheet: Sheet, name: str, asked: Sequence[Question], walker: Walker, client: Client, graph: FactGraph
) -> list[int | None]:
    starts = sorted({question.start for question in asked})
    sheet.add(f"{name}, questions", len(asked), "questions")
    sheet.add(f"{name}, of which the gold path visits a node twice", sum(not one.simple for one in asked), "questions")
    walked = {start: _shown(await walker.walk(start, hops=HOPS, limit=LIMIT)) for start in starts}
    inside = {start: _shown(graph.traverse([start], hops=HOPS, limit=LIMIT)) for start in starts}
    same = sum(walked[start] == inside[start] for start in starts)
    of = ("starts", float(len(starts)))
    sheet.add(f"{name}, walks that give what FactGraph does", same, "starts", beside=of, target=at_least(1.0))
    ranks = [_rank(question, walked[question.start]) for question in asked]
    _share(sheet, f"{name}, gold path from the gold start", asked, ranks)
    whole = {start: _shown(graph.traverse([start], hops=HOPS, limit=MAX_PATHS)) for start in starts}
    _share(sheet, f"{name}, among all paths", asked, [_rank(question, whole[question.start]) for question in asked])
    for how, texts in (
        ("the start's name", [question.start for question in asked]),
        ("the question's text", [question.text for question in asked]),
    ):
        answers = {text: await _answer(client, text) for text in sorted(set(texts))}
        found = [_rank(question, answers[text]) for question, text in zip(asked, texts, strict=True)]
        _share(sheet, f"{name}, over HTTP by {how}", asked, found)
    return ranks


async def _answer(client: Client, text: str) -> list[Shown]:
    answer = await client.recall_graph(text, hops=HOPS, limit=LIMIT)
    return [
        (
            tuple(path["nodes"]),
            tuple(edge["predicate"] for edge in path["edges"]),
            tuple(edge["forward"] for edge in path["edges"]),
        )
        for path in answer["paths"]
    ]


def _share(
    sheet: Sheet, name: str, asked: Sequence[Question], ranks: Sequence[int | None], *, target: bool = False
) -> None:
    found = sorted(rank for rank in ranks if rank is not None)
    simple = sum(question.simple for question in asked)
    bound = at_least(0.99) if target else None
    all_of, simple_of = ("questions", float(len(asked))), ("no node twice", float(simple))
    sheet.add(f"{name}: found", len(found), "questions", better="higher", beside=all_of, target=bound)
    sheet.add(f"{name}: found of those that can be", len(found), "questions", better="higher", beside=simple_of)
    if found:
        sheet.add(f"{name}: rank, mean", sum(found) / len(found), "place")
        for percent in (50, 90, 100):
            sheet.add(f"{name}: rank, p{percent}", found[max(0, -(-len(found) * percent // 100) - 1)], "place")


def _question(raw: dict[str, Any]) -> Question:
    relations = tuple(predicate_name(relation) for relation in raw["relations"])
    nodes = tuple(node_name(node) for node in raw["path"])
    return Question(raw["query"], raw["start"], (nodes, relations, (True,) * len(relations)))


def _shown(paths: Iterable[Any]) -> list[Shown]:
    return [(path.nodes, tuple(edge.predicate for edge in path.edges), path.directions) for path in paths]


def _rank(question: Question, paths: Sequence[Shown]) -> int | None:
    return next((place for place, path in enumerate(paths, start=1) if path == question.gold), None)
