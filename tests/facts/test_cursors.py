"""Cursors that somebody made: what the database cannot take is refused, in whatever list."""

from __future__ import annotations

import httpx
import pytest

from engram.paging import encode_cursor

NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"


@pytest.mark.parametrize(
    ("path", "params", "key"),
    [
        ("/v1/facts", {}, ("0001-01-01T00:00:00+14:00", NOWHERE)),
        ("/v1/facts", {}, ("9999-12-31T23:59:59-14:00", NOWHERE)),
        ("/v1/facts/triples", {}, (10**30, "a", "b", "c", "d")),
        ("/v1/facts/triples", {}, (1, "a", "b", "\x00", "d")),
        ("/v1/facts/triples", {"sort_by": "recency"}, ("2024-01-01T00:00:00Z", "\x00", "b", "c", "d")),
        ("/v1/facts/related", {"entity": "alice"}, (10**30, "a")),
        ("/v1/facts/related", {"entity": "alice"}, (1, "\x00")),
        (f"/v1/memories/{NOWHERE}/history", None, ("2024-01-01T00:00:00Z", NOWHERE, 2**31)),
    ],
)
async def test_a_cursor_that_the_database_cannot_take_is_refused(
    http: httpx.AsyncClient, agent_id: str, path: str, params: dict[str, str] | None, key: tuple[str | int, ...]
) -> None:
    asked = {"agent_id": agent_id, **params} if params is not None else {}
    answer = await http.get(path, params={**asked, "cursor": encode_cursor(*key)})
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["cursor"]
