"""Use case: an agent from the lines of an export, wholly or not at all, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager

from uuid_utils.compat import uuid7

from engram.embeddings.base import Embedder
from engram.memories.tuning import MemoryTuning
from engram.memories.vectors import VectorIndex
from engram.problems import ConflictProblem, PermissionDeniedProblem, UnavailableProblem
from engram.tenants.database import TenantDatabase
from engram.tenants.roles import Role
from engram.tenants.scope import Scope
from engram.text.terms import LANGUAGES
from engram.transfer.importing.making import Making, Wanted
from engram.transfer.importing.reading import Lines, wrong
from engram.transfer.importing.staging import AbandonedImports, Staging
from engram.transfer.lines import LineTooLong, Pieces
from engram.transfer.schemas import AgentImported, HeaderLine

BATCH_LINES = 1_000
BATCH_BYTES = 8 * 1024 * 1024
"""Of lines that are written in one transaction. A line that is longer by itself goes alone."""


class ImportService:
    def __init__(
        self,
        database: TenantDatabase,
        embedder: Embedder,
        index: VectorIndex,
        abandoned: AbandonedImports,
        *,
        tuning: MemoryTuning,
        longest_line: int,
        at_once: int,
        owed: Sequence[str] = (),
    ) -> None:
        """Each import holds a line of at most ``longest_line`` bytes and a batch of others; ``at_once`` may do so.
        ``owed`` are the projections whose work no file has: it is owed to what was imported."""
        self._database = database
        self._embedder = embedder
        self._index = index
        self._abandoned = abandoned
        self._tuning = tuning
        self._longest = longest_line
        self._free = at_once
        self._most = at_once
        self._owed = owed

    async def take(
        self, scope: Scope, pieces: AsyncIterator[bytes], wanted: Wanted, confirm: Callable[[], Awaitable[None]]
    ) -> AgentImported:
        """Make the agent that ``pieces`` of a file describe. ``confirm`` is asked before it is shown: it may raise.

        Raises PermissionDeniedProblem for less than an admin of the whole tenant, InvalidInputProblem with the line and
        the field for what is no export, ConflictProblem where the name or an id is taken or the model is another, and
        UnavailableProblem where too many imports are under way. Then nothing of it is left.
        """
        scope.require(Role.admin)
        if scope.agent_id is not None:
            raise PermissionDeniedProblem("This key is for one agent: it makes no others.")
        with self._place():
            await self._abandoned.clear(of=scope.tenant_id)
            lines = Lines()
            async with aclosing(_groups(pieces, self._longest, lines)) as groups:
                first = await anext(groups, None)
                if first is None:
                    raise wrong(1, "", "the file is empty")
                header = await asyncio.to_thread(lines.header, first[0])
                embedded = self._checked(header, wanted)
                staging = Staging(self._database, scope, uuid7(), self._index.model_id)
                one = Making(
                    self._database,
                    self._embedder,
                    staging,
                    header,
                    wanted,
                    embedded=embedded,
                    passage_chars=self._tuning.passage_chars,
                    owed=self._owed,
                )
                await one.begin()
                async with staging.alive():
                    async for raws in groups:
                        for batch in await asyncio.to_thread(lines.batches, raws):
                            await one.write(batch)
                    if lines.footer is None:
                        raise wrong(lines.summary.lines + 1, "", "the footer is missing: the file was cut off")
                    if header.counts != lines.counts:
                        raise wrong(1, "counts", "must be those of the lines that follow")
                    await one.observe()
                    await confirm()
                    agent = await one.end(lines)
        return AgentImported(id=agent.id, agent=agent, counts=lines.counts, embedded=one.totals.embedded)

    def _checked(self, header: HeaderLine, wanted: Wanted) -> bool:
        """Whether the vectors of the file are used."""
        if header.agent.language not in LANGUAGES:
            raise wrong(1, "agent.language", f"must be one of {', '.join(LANGUAGES)}")
        if wanted.reembed or not header.options.embeddings:
            return False
        ours, theirs = self._embedder.model, header.model
        if (ours.provider, ours.name, ours.dimension) != (theirs.provider, theirs.name, theirs.dimension):
            raise ConflictProblem(
                f"The file's vectors are of {theirs.provider}/{theirs.name} ({theirs.dimension} dimensions), and this"
                f" server's are of {ours.provider}/{ours.name} ({ours.dimension}). reembed=true makes them anew."
            )
        return True

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._free:
            raise UnavailableProblem(f"The server is importing {self._most} agents already.", retry_after=10)
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1


async def _groups(pieces: AsyncIterator[bytes], longest: int, lines: Lines) -> AsyncGenerator[list[bytes]]:
    """Lines that are read together, none empty; the first is alone."""
    cut = Pieces(longest)
    group: list[bytes] = []
    size = 0
    headed = False
    try:
        async for piece in pieces:
            for line in cut.lines(piece):
                group.append(line)
                size += len(line)
                if not headed or len(group) >= BATCH_LINES or size >= BATCH_BYTES:
                    yield group
                    headed, group, size = True, [], 0
    except LineTooLong:
        number = lines.summary.lines + len(group) + 1
        raise wrong(number, "", f"has more than the {longest} bytes that are read of one line") from None
    if rest := cut.rest():
        group.append(rest)
    if group:
        yield group
