"""Everything that changes memories which stand, each use case in a service of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from engram.db.database import Database
from engram.memories.changes.edges import SupersessionEdges, ThematicLinks
from engram.memories.changes.reindexing import Reindexing
from engram.memories.changes.restoring import RestorationService
from engram.memories.changes.revising import RevisionService
from engram.memories.changes.setting import SettingService
from engram.memories.changes.writing import Writing
from engram.memories.purging.facts import FactSources
from engram.memories.purging.service import PurgeService
from engram.memories.versions.service import HistoryService


@dataclass(frozen=True, slots=True)
class MemoryChanges:
    setting: SettingService
    revisions: RevisionService
    restorations: RestorationService
    purges: PurgeService
    histories: HistoryService

    @classmethod
    def assemble(
        cls,
        writing: Writing,
        database: Database,
        reindexing: Reindexing,
        edges: SupersessionEdges,
        links: ThematicLinks,
        facts: FactSources,
        *,
        recovery: timedelta,
    ) -> MemoryChanges:
        """``recovery`` is how long what was deleted can be restored."""
        return cls(
            SettingService(writing, edges),
            RevisionService(writing, reindexing, links),
            RestorationService(writing, reindexing, edges, recovery=recovery),
            PurgeService(database, writing.database, writing.agents, writing.entities, facts, recovery=recovery),
            HistoryService(writing.database),
        )
