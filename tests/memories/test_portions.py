"""Pages of memories that are longer than a page may be."""

from __future__ import annotations

from engram.memories.criteria import PastCriteria
from engram.tenants.scope import DEFAULT_SCOPE
from tests.fixtures.spaces import Space

LONG = "🜨" * 2_000_000


async def test_the_first_memory_of_a_page_is_shown_whatever_its_size(space: Space) -> None:
    large = {"metadata": {"text": "🜨" * 190_000}, "embedding": space.vector(1)}
    written = [await space.remember(content, **large) for content in ("short", LONG[1:], LONG)]
    found: list[list[str]] = []
    cursor = None
    while cursor is not None or not found:
        page = await space.services.memories.list(
            DEFAULT_SCOPE,
            space.agent_id,
            PastCriteria(),
            status=None,
            limit=50,
            cursor=cursor,
            include_total=False,
        )
        found.append([memory.id for memory in page.data])
        cursor = page.next_cursor
    assert found == [[memory.id] for memory in reversed(written)]
