"""What a client reads, and whether it is the truth."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from benchmarks.reliability.asking import Answer, Asker
from benchmarks.reliability.ledger import State
from benchmarks.reliability.load import Load
from benchmarks.reliability.samples import Kind
from benchmarks.reliability.truth import missed, shown_wrongly
from benchmarks.reliability.vectors import vector_of
from engram.memories.schemas import Memory

_TOP_K = 10


class Reader:
    """One client's reads."""

    def __init__(self, asker: Asker, load: Load, random: Random) -> None:
        self._asker = asker
        self._load = load
        self._random = random

    async def recall(self) -> Answer[object] | None:
        return await self._recall(Kind.recall)

    async def recall_embedded(self) -> Answer[object] | None:
        return await self._recall(Kind.recall_embedded)

    async def get(self) -> Answer[object] | None:
        entry = self._load.ledger.pick(self._random, self._agent(), standing=False)
        if entry is None or entry.id is None:
            return None
        before = entry.state
        answer = await self._asker.ask(Kind.get, self._asker.engram.memories.get(entry.id), may_be_gone=True)
        if answer.value is not None:
            self._check("get", entry.agent_id, [answer.value], answer)
        elif answer.gone and before is entry.state is State.stored:
            self._load.wrong(f"get: memory {entry.id}, which stands, was answered 404")
        return answer

    async def list(self) -> Answer[object] | None:
        agent_id = self._agent()
        entry = self._load.ledger.pick(self._random, agent_id)
        session = entry.item["session_id"] if entry and self._random.random() < 0.5 else None
        listing = self._asker.engram.memories.list(agent_id, limit=50, session_id=session)
        answer = await self._asker.ask(Kind.list, listing)
        if answer.value is not None:
            found = answer.value.data
            self._check("list", agent_id, found, answer)
            if entry is not None and entry.state is State.stored and not found:
                self._load.wrong(f"list: nothing of agent {agent_id}, session {session}, where a memory stands")
        return answer

    async def edges(self) -> Answer[object] | None:
        entry = self._load.ledger.pick(self._random, self._agent())
        if entry is None or entry.id is None:
            return None
        answer = await self._asker.ask(
            Kind.edges, self._asker.engram.graph.get_edges(entry.id, limit=50), may_be_gone=True
        )
        if answer.gone and entry.state is State.stored:
            self._load.wrong(f"edges: memory {entry.id}, which stands, was answered 404")
        for edge in answer.value.data if answer.value is not None else ():
            other = self._load.ledger.by_id.get(edge.target_memory_id)
            if other is None:
                continue  # its write is not answered yet
            if other.agent_id != entry.agent_id:
                self._load.wrong(f"edges: {entry.id} leads to {other.id}, a memory of another agent")
            if other.deleted_at is not None and other.deleted_at < answer.sample.began:
                self._load.wrong(f"edges: {entry.id} leads to {other.id}, whose deletion was acknowledged before")
        return answer

    async def agent(self) -> Answer[object]:
        """The agent of a name, by one of three ways, which has to be the one that it was at first."""
        name = self._random.choice(list(self._load.agents))
        expected, agents, ask = self._load.agents[name], self._asker.engram.agents, self._asker.ask
        answer: Answer[object]
        match self._random.randrange(3):
            case 0:
                answer = made = await ask(Kind.agent, agents.create(name))
                shown = [made.value.id] if made.value is not None else None
            case 1:
                answer = listed = await ask(Kind.agent, agents.list(name=name))
                shown = [one.id for one in listed.value.data] if listed.value is not None else None
            case _:
                answer = counted = await ask(Kind.agent, agents.stats(expected))
                shown = [counted.value.agent_id] if counted.value is not None else None
        if shown not in (None, [expected]):
            self._load.wrong(f"agent {name} was answered as {shown} where it is {expected}")
        return answer

    async def _recall(self, kind: Kind) -> Answer[object] | None:
        agent_id = self._agent()
        entry = self._load.ledger.pick(self._random, agent_id)
        if entry is None:
            return None
        vector = vector_of(entry.content) if kind is Kind.recall_embedded else None
        query = entry.content if vector else self._load.texts.question(entry.content, self._random)
        recall = self._asker.engram.memories.recall(agent_id, query, top_k=_TOP_K, embedding=vector)
        answer = await self._asker.ask(kind, recall)
        if answer.value is not None:
            hits = answer.value.results
            self._check("recall", agent_id, hits, answer)
            if missed(entry, hits):
                self._load.wrong(
                    f"recall: {len(hits)} hits of agent {agent_id} without {entry.id}, whose text was asked"
                )
        return answer

    def _agent(self) -> str:
        return self._random.choice(list(self._load.agents.values()))

    def _check(self, what: str, agent_id: str, memories: Iterable[Memory], answer: Answer[object]) -> None:
        for wrong in shown_wrongly(self._load.ledger, agent_id, memories, answer.sample.began):
            self._load.wrong(f"{what}: {wrong}")
