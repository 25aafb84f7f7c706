"""What a client writes and deletes, and what its ledger learns of it."""

from __future__ import annotations

from random import Random

from benchmarks.reliability.asking import Answer, Asker
from benchmarks.reliability.ledger import Edge, State, Write
from benchmarks.reliability.load import Load
from benchmarks.reliability.samples import Kind
from benchmarks.reliability.truth import differs
from benchmarks.reliability.vectors import vector_of

_LARGEST_BATCH = 20
_REPEATED = 0.5
"""The part of the writes that failed which is sent again: the others stay as open as their answers left them."""

RELATIONS = ("causal", "supports", "contradicts", "derived_from")


class Writer:
    """One client's writes. Some of those that failed are sent again, as an application would."""

    def __init__(self, asker: Asker, load: Load, random: Random) -> None:
        self._asker = asker
        self._load = load
        self._random = random
        self._failed: list[Write] = []

    async def write(self) -> Answer[object]:
        return await self._send(self._again(batch=False) or self._new(1), Kind.write)

    async def write_embedded(self) -> Answer[object]:
        return await self._send(self._new(1), Kind.write_embedded)

    async def batch(self) -> Answer[object]:
        number = self._random.randint(2, _LARGEST_BATCH)
        return await self._send(self._again(batch=True) or self._new(number), Kind.batch)

    async def delete(self) -> Answer[object] | None:
        entry = self._load.ledger.pick(self._random, self._agent())
        if entry is None or entry.id is None:
            return None
        entry.state = State.deleting
        answer = await self._asker.ask(Kind.delete, self._asker.engram.memories.delete(entry.id))
        if answer.value is None:
            entry.state = State.maybe_deleted
        else:
            entry.state, entry.deleted_at = State.deleted, answer.sample.ended
        return answer

    async def edge(self) -> Answer[object] | None:
        agent_id, ledger = self._agent(), self._load.ledger
        source, target = ledger.pick(self._random, agent_id), ledger.pick(self._random, agent_id)
        if source is None or target is None or source is target or not (source.id and target.id):
            return None
        relation = self._random.choice(RELATIONS)
        create = self._asker.engram.graph.create_edge
        # An end may be deleted by another client meanwhile.
        answer = await self._asker.ask(Kind.edge, create(source.id, target.id, relation), may_be_gone=True)
        if answer.value is not None:
            ledger.edges.append(Edge(source, target, relation))
        elif answer.gone and source.state is target.state is State.stored:
            self._load.wrong(f"an edge between {source.id} and {target.id}, which stand, was answered 404")
        return answer

    async def erase(self) -> Answer[object]:
        """An agent that is made, written to and erased."""
        engram, ask = self._asker.engram, self._asker.ask
        made = await ask(Kind.agent, engram.agents.create(f"passing {self._random.getrandbits(64):x}"))
        if made.value is None:
            return made
        id = made.value.id
        written = await ask(Kind.write_embedded, engram.memories.create(id, "Soon gone.", embedding=vector_of("gone")))
        if written.value is None:
            return written
        began = await ask(Kind.agent, engram.agents.delete(id))
        if began.sample.ok:
            self._load.ledger.erased.append(id)
            read = await ask(Kind.get, engram.memories.get(written.value.id), may_be_gone=True)
            if read.value is not None:
                self._load.wrong(f"memory {written.value.id} was read after its agent was erased")
        return began

    def _agent(self) -> str:
        return self._random.choice(list(self._load.agents.values()))

    def _new(self, number: int) -> Write:
        return self._load.ledger.sending(self._agent(), self._load.texts.items(number))

    def _again(self, *, batch: bool) -> Write | None:
        write = next((write for write in self._failed if (len(write.entries) > 1) is batch), None)
        if write is not None:
            self._failed.remove(write)
            write.resending()
        return write

    async def _send(self, write: Write, kind: Kind) -> Answer[object]:
        answer = await (self._send_batch(write) if kind is Kind.batch else self._send_one(write, kind))
        if answer.value is None:
            write.settle(State.refused if answer.says_nothing_was_stored else State.unknown)
            if self._random.random() < _REPEATED:
                self._failed.append(write)
        return answer

    async def _send_one(self, write: Write, kind: Kind) -> Answer[object]:
        (entry,) = write.entries
        vector = vector_of(entry.content) if kind is Kind.write_embedded else None
        create = self._asker.engram.memories.create
        answer = await self._asker.ask(kind, create(entry.agent_id, **entry.item, embedding=vector))
        if answer.value is not None:
            if differs(entry, answer.value):
                self._load.wrong(f"memory {answer.value.id} was answered otherwise than it was written")
            self._acknowledged(write, [(answer.value.id, answer.value.deduplicated)])
        return answer

    async def _send_batch(self, write: Write) -> Answer[object]:
        create_many = self._asker.engram.memories.create_many
        items = [entry.item for entry in write.entries]
        answer = await self._asker.ask(Kind.batch, create_many(write.entries[0].agent_id, items))
        if answer.value is not None:
            self._acknowledged(write, [(one.id, one.deduplicated) for one in answer.value.results])
        return answer

    def _acknowledged(self, write: Write, results: list[tuple[str, bool]]) -> None:
        if any(standing for _, standing in results) and not write.repeated:
            self._load.wrong("a text that was written for the first time was answered as standing already")
        if len({standing for _, standing in results}) > 1:
            self._load.wrong("a batch that was repeated had been stored in part")
        self._load.ledger.acknowledged(write, [id for id, _ in results])
