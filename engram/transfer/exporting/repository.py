"""SQL of an export: pages of rows in the order of their keys. Scope: every table of every statement is read within the
tenant and the agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any, get_args
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from engram.db.database import driver
from engram.db.parameters import Parameters
from engram.db.portions import portion, shown
from engram.tenants.scope import Scope
from engram.transfer.exporting.selection import Selection
from engram.transfer.schemas import RECORDS, Owed

PAGE = 500
"""Rows of a page that are read at once; fewer where they are long."""

_STATE = (
    "status, content, key, user_id, session_id, tags, metadata, source, confidence, valid_from, valid_until,"
    " stated_until, earlier, recorded_at, deleted_at, superseded_by, declared_entities,"
    " declared_relations, declared_quantities, sensitivity, withheld, chunks"
)
_EDGE = (
    "source_id, target_id, relation_type, weight, origin, label, reason, valid_from, valid_until, earlier,"
    " recorded_at, invalidated_at"
)
_FACT = (
    "id, user_id, subject, predicate, object, confidence, valid_from, valid_until, stated_until, supersede, status,"
    " closed_by, superseded_by, sources, recorded_at, updated_at"
)
_FACT_SIZE = "octet_length(sources::text) + octet_length(subject) + octet_length(object) + 1000"

Row = dict[str, Any]
Key = tuple[Any, ...]


class ExportRepository:
    """Reads within one snapshot. Each method gives pages: lists of rows that are together in memory."""

    def __init__(self, connection: AsyncConnection, scope: Scope, selection: Selection, dimension: int) -> None:
        self._driver = driver(connection)
        self._tenant_id = scope.tenant_id
        self._only = scope.agent_id
        self._selection = selection
        # What a row takes: its vector, and the vectors of its passages, of which there is one for two hundred
        # characters or fewer.
        self._size = f"octet_length(metadata::text) + octet_length(tags::text) + {6 * dimension}" + (
            f" + octet_length(content) * {1 + dimension // 32}"
        )

    async def bound(self, idle_seconds: float) -> None:
        """Let the database end the transaction by itself where nothing is asked in it for so long."""
        await self._driver.execute(
            "SELECT set_config('idle_in_transaction_session_timeout', $1, true)", f"{round(idle_seconds * 1000)}ms"
        )

    async def agent(self) -> Row | None:
        row = await self._driver.fetchrow(
            """
            SELECT id, name, language, metadata, decay_multipliers, hop_penalty, created_at, updated_at, (
                SELECT jsonb_build_object(
                    'entity_types', o.entity_types, 'verbs', o.verbs, 'attributes', o.attributes
                ) FROM ontologies o WHERE o.agent_id = $1 AND o.tenant_id = $2
            ) AS ontology
            FROM agents
            WHERE id = $1 AND tenant_id = $2 AND ($3::uuid IS NULL OR id = $3) AND NOT importing
            """,
            self._selection.agent_id,
            self._tenant_id,
            self._only,
        )
        return dict(row) if row else None

    async def counts(self) -> dict[str, int]:
        """Lines by their type."""
        chosen = self._selection
        p = Parameters()
        relations = {
            "memory": chosen.memories(p),
            "entity": chosen.entities(p),
            "mention": chosen.mentions(p),
            "edge": chosen.edges(p),
            "fact": chosen.facts(p),
            "merge": chosen.merges(p),
        }
        if chosen.whole and chosen.history:
            relations["memory_version"] = f"memory_versions v WHERE {chosen.mine('v', p)}"
            relations["edge_version"] = f"edge_versions w WHERE {chosen.mine('w', p)}"
            relations["fact_closure"] = chosen.closures(p)
        columns = ", ".join(f"(SELECT count(*) FROM {relation}) AS {kind}" for kind, relation in relations.items())
        row = await self._driver.fetchrow(f"SELECT {columns}", *p.values)
        assert row is not None  # of scalars
        return {**dict.fromkeys(RECORDS, 0), **dict(row)}

    async def memories(self) -> AsyncIterator[list[Row]]:
        """With the projections that are owed to each, and its passages' vectors where vectors are wanted."""
        # As of a moment a memory is as if it had never been anything else.
        stated = ", stated_at" if self._selection.whole else ""
        columns = f"id, version, updated_at, dedup_hash, {_STATE}{stated}{self._embedding}"
        async for page in self._portions(self._selection.memories, columns, ("m.id",), ("uuid",)):
            ids = [row["id"] for row in page]
            owed = await self._owed(ids)
            passages = await self._passages(ids) if self._selection.embeddings else {}
            followed = await self._standing([row["superseded_by"] for row in page if row["superseded_by"]])
            for row in page:
                row["owed"] = owed.get(row["id"], [])
                row["passages"] = passages.get(row["id"], [])
                # What superseded it may be gone for good, or left out. That it did stays known where a memory was
                # superseded before it held.
                if row["superseded_by"] not in followed and row["valid_until"] != row["valid_from"]:
                    row["superseded_by"] = None
            yield page

    async def memory_versions(self) -> AsyncIterator[list[Row]]:
        columns = f"memory_id, version, recorded_from, recorded_until, ended_by, {_STATE}{self._embedding}"

        def relation(p: Parameters) -> str:
            return f"memory_versions v WHERE {self._selection.mine('v', p)}"

        async for page in self._portions(relation, columns, ("v.memory_id", "v.version"), ("uuid", "int")):
            yield page

    async def entities(self) -> AsyncIterator[list[Row]]:
        columns = """t.id, t.name, t.display_name, t.created_at, t.swept_at, ARRAY(
            SELECT a.alias FROM entity_aliases a
            WHERE a.agent_id = t.agent_id AND a.tenant_id = t.tenant_id AND a.entity_id = t.id ORDER BY a.alias
        ) AS aliases"""
        async for page in self._pages(self._selection.entities, columns, ("t.id",), ("uuid",)):
            yield page

    async def mentions(self) -> AsyncIterator[list[Row]]:
        columns = "n.entity_id, n.memory_id, n.is_subject, n.recognized"
        keys = ("n.entity_id", "n.memory_id")
        async for page in self._pages(self._selection.mentions, columns, keys, ("uuid", "uuid")):
            yield page

    async def edges(self) -> AsyncIterator[list[Row]]:
        columns = f"{_of('e', _EDGE)}, e.updated_at"
        keys = ("e.source_id", "e.target_id", "e.relation_type")
        async for page in self._pages(self._selection.edges, columns, keys, ("uuid", "uuid", "text")):
            yield page

    async def edge_versions(self) -> AsyncIterator[list[Row]]:
        columns = f"{_of('w', _EDGE)}, w.recorded_from, w.recorded_until"
        keys = ("w.source_id", "w.target_id", "w.relation_type", "w.recorded_until")

        def relation(p: Parameters) -> str:
            return f"edge_versions w WHERE {self._selection.mine('w', p)}"

        async for page in self._pages(relation, columns, keys, ("uuid", "uuid", "text", "timestamptz")):
            yield page

    async def facts(self) -> AsyncIterator[list[Row]]:
        async for page in self._portions(self._selection.facts, _FACT, ("f.id",), ("uuid",), size=_FACT_SIZE):
            closers = {row["superseded_by"] for row in page if row["superseded_by"]}
            left_out = closers - await self._believed(closers)
            for row in page:
                # What ended it is left out, and the end stays: as its writer's word.
                if row["superseded_by"] in left_out and row["status"] == "standing":
                    row |= {"stated_until": row["valid_until"], "closed_by": None, "superseded_by": None}
            yield page

    async def fact_closures(self) -> AsyncIterator[list[Row]]:
        columns = "c.fact_id, c.recorded_at, c.status, c.valid_until, c.closed_by, c.superseded_by"
        keys = ("c.fact_id", "c.recorded_at")
        async for page in self._pages(self._selection.closures, columns, keys, ("uuid", "timestamptz")):
            yield page

    async def merges(self) -> AsyncIterator[list[Row]]:
        columns = "g.id, g.name, g.other, g.recorded_at, g.undone_at"
        async for page in self._pages(self._selection.merges, columns, ("g.id",), ("uuid",)):
            yield page

    @property
    def _embedding(self) -> str:
        return ", embedding" if self._selection.embeddings else ""

    async def _portions(
        self, relation: Any, columns: str, keys: Sequence[str], types: Sequence[str], *, size: str | None = None
    ) -> AsyncIterator[list[Row]]:
        """Rows that may be long, as many at once as may be held; ``size`` is what one takes that is no memory."""
        names = [_name(key) for key in keys]
        alias = keys[0].partition(".")[0]
        after: Key | None = None
        more = True
        while more:
            p = Parameters()
            rows = f"SELECT {_of(alias, columns)} FROM {relation(p)}{_beyond(keys, types, after, p)}"
            rows += f" ORDER BY {', '.join(keys)} LIMIT {PAGE + 1}"
            found = await self._driver.fetch(
                portion(rows, columns=columns, size=size or self._size, order=", ".join(names), limit=str(PAGE)),
                *p.values,
            )
            page, more = shown(found)
            if page:
                after = tuple(page[-1][name] for name in names)
                yield page

    async def _pages(
        self, relation: Any, columns: str, keys: Sequence[str], types: Sequence[str]
    ) -> AsyncIterator[list[Row]]:
        names = [_name(key) for key in keys]
        after: Key | None = None
        while True:
            p = Parameters()
            rows = await self._driver.fetch(
                f"SELECT {columns} FROM {relation(p)}{_beyond(keys, types, after, p)}"
                f" ORDER BY {', '.join(keys)} LIMIT {PAGE}",
                *p.values,
            )
            if rows:
                after = tuple(rows[-1][name] for name in names)
                yield [dict(row) for row in rows]
            if len(rows) < PAGE:
                return

    async def _owed(self, ids: Sequence[UUID]) -> dict[UUID, list[str]]:
        if not self._selection.whole:
            return {}
        rows = await self._driver.fetch(
            """
            SELECT memory_id, array_agg(projection ORDER BY projection) AS owed FROM pending_projections
            WHERE agent_id = $1 AND tenant_id = $2 AND memory_id = ANY ($3::uuid[]) AND projection = ANY ($4::text[])
            GROUP BY memory_id
            """,
            self._selection.agent_id,
            self._tenant_id,
            list(ids),
            get_args(Owed),
        )
        return {row["memory_id"]: row["owed"] for row in rows}

    async def _passages(self, ids: Sequence[UUID]) -> dict[UUID, list[Any]]:
        p = Parameters()
        rows = await self._driver.fetch(
            f"SELECT s.memory_id, s.embedding FROM {self._selection.passages(p)}"
            f" AND s.memory_id = ANY ({p(list(ids), 'uuid[]')}) ORDER BY s.memory_id, s.position",
            *p.values,
        )
        found: dict[UUID, list[Any]] = {}
        for row in rows:
            found.setdefault(row["memory_id"], []).append(row["embedding"])
        return found

    async def _standing(self, ids: Sequence[UUID]) -> set[UUID]:
        if not ids or not self._selection.whole:
            return set()
        p = Parameters()
        rows = await self._driver.fetch(
            f"SELECT m.id FROM {self._selection.memories(p)} AND m.id = ANY ({p(list(ids), 'uuid[]')})", *p.values
        )
        return {row["id"] for row in rows}

    async def _believed(self, ids: Collection[UUID]) -> set[UUID]:
        """Those of these facts that the export holds."""
        if not ids or not self._selection.whole:
            return set()
        p = Parameters()
        rows = await self._driver.fetch(
            f"SELECT f.id FROM {self._selection.facts(p)} AND f.id = ANY ({p(list(ids), 'uuid[]')})", *p.values
        )
        return {row["id"] for row in rows}


def _beyond(keys: Sequence[str], types: Sequence[str], after: Key | None, p: Parameters) -> str:
    if after is None:
        return ""
    values = ", ".join(p(value, kind) for value, kind in zip(after, types, strict=True))
    return f" AND ({', '.join(keys)}) > ({values})"


def _of(alias: str, columns: str) -> str:
    return ", ".join(f"{alias}.{column}" for column in columns.split(", "))


def _name(column: str) -> str:
    return column.rpartition(".")[2]
