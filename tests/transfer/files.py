"""Exports as tests handle them: lines taken apart and put together again, over plain HTTP."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import httpx

from engram.transfer.schemas import MEDIA_TYPE, RECORDS

Record = dict[str, Any]

NDJSON = {"content-type": MEDIA_TYPE}


async def exported(http: httpx.AsyncClient, agent_id: str, **params: Any) -> bytes:
    response = await http.get(f"/v1/agents/{agent_id}/export", params=params)
    assert response.status_code == 200, response.text
    return response.content


async def imported(http: httpx.AsyncClient, file: bytes, **params: Any) -> httpx.Response:
    return await http.post("/v1/agents/import", params=params, content=file, headers=NDJSON)


async def made_of(http: httpx.AsyncClient, file: bytes, **params: Any) -> str:
    """The id of the agent that a file makes."""
    response = await imported(http, file, **params)
    assert response.status_code == 201, response.text
    id: str = response.json()["id"]
    return id


def records(file: bytes) -> list[Record]:
    """All lines, header and footer included."""
    assert file.endswith(b"\n")
    return [json.loads(line) for line in file.splitlines()]


def of_type(file: bytes, kind: str) -> list[Record]:
    return [record for record in records(file) if record["type"] == kind]


def file_of(lines: Iterable[Record], *, kinds: Iterable[str] = RECORDS) -> bytes:
    """The lines between header and footer, closed as an export is; the header's counts are made right."""
    header, *between = (dict(line) for line in lines if line["type"] != "footer")
    found = Counter(line["type"] for line in between)
    counts = {kind: found[kind] for kind in kinds}
    header["counts"] = counts
    written = [json.dumps(line).encode() + b"\n" for line in (header, *between)]
    footer = {
        "type": "footer",
        "lines": len(written),
        "counts": counts,
        "sha256": hashlib.sha256(b"".join(written)).hexdigest(),
    }
    return b"".join([*written, json.dumps(footer).encode(), b"\n"])


def changed(file: bytes, kind: str, change: Callable[[Record], object], *, place: int = 0) -> bytes:
    """The same file with one line of a type changed, closed as if a server had written it."""
    lines = records(file)
    change([line for line in lines if line["type"] == kind][place])
    return file_of(lines)


def told(file: bytes) -> list[Record]:
    """What two exports of the same things have in common: all but the agent's id, and when they were made."""
    header, *rest, footer = records(file)
    header["exported_at"] = header["agent"]["id"] = footer["sha256"] = None
    return [header, *rest, footer]
