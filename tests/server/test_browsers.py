"""What browsers are told: headers on every answer, and which pages of other origins may read."""

from __future__ import annotations

import re

import asyncpg
import httpx
import pytest
from fastapi import FastAPI
from pydantic import ValidationError

from engram.settings import Settings
from tests.fixtures.servers import LOCAL

ADDRESSES = ("/v1/agents", "/v1/agents/x", "/nowhere", "/health/live", "/health/ready", "/openapi.json")
FOREIGN = "https://app.example.com"


@pytest.fixture
async def plain(app: FastAPI):
    """Without a look at OpenAPI, which says nothing of preflights."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=LOCAL) as client:
        yield client


async def break_the_database(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("ALTER TABLE agents RENAME COLUMN language TO sprache")
    await connection.close()


def is_marked(response: httpx.Response) -> bool:
    expected = {
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
        "cross-origin-resource-policy": "same-origin",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    }
    return {name: response.headers.get(name) for name in expected} == expected


async def test_every_answer_is_marked(plain: httpx.AsyncClient, database_url: str) -> None:
    answers = [await plain.get(address) for address in ADDRESSES]
    answers += [
        await plain.get("/v1/agents", headers={"host": "evil.example"}),
        await plain.put("/v1/agents"),
        await plain.post("/v1/agents", content=b"{"),
        await plain.post("/v1/agents", json={"name": "x"}),
    ]
    await break_the_database(database_url)
    answers.append(await plain.get("/v1/agents"))
    assert {answer.status_code for answer in answers} >= {200, 201, 404, 405, 415, 421, 422, 500}
    assert [str(answer.url) for answer in answers if not is_marked(answer)] == []


class TestDocumentation:
    async def test_the_page_loads_nothing_from_elsewhere(self, plain: httpx.AsyncClient) -> None:
        page = await plain.get("/docs")
        parts = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert [part for part in parts if "//" in part] == []
        loaded = [await plain.get(f"/{part}") for part in parts if not part.startswith("data:")]
        assert {response.headers["content-type"].partition(";")[0] for response in loaded} == {
            "text/css",
            "text/javascript",
        }
        assert "openapi.json" in loaded[-1].text

    async def test_its_policy_allows_scripts_of_this_server_and_no_other(self, plain: httpx.AsyncClient) -> None:
        page = await plain.get("/docs")
        policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert re.search(r"<script(?![^>]*\bsrc=)|\bon\w+=|<style", page.text) is None

    async def test_its_swagger_ui_reads_openapi_3_1(self, plain: httpx.AsyncClient) -> None:
        script = (await plain.get("/docs/swagger-ui-bundle.js")).text
        found = re.search(r'PACKAGE_VERSION:"(\d+)', script)
        assert found is not None
        assert int(found[1]) >= 5
        assert (await plain.get("/openapi.json")).json()["openapi"].startswith("3.1")


def preflight(**changes: str) -> dict[str, str]:
    return {
        "origin": FOREIGN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,idempotency-key,x-request-id",
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }


async def test_no_origin_may_read_unless_it_is_named(plain: httpx.AsyncClient) -> None:
    answers = [
        await plain.get("/v1/agents", headers={"origin": FOREIGN}),
        await plain.get("/nowhere", headers={"origin": "null"}),
        await plain.options("/v1/agents", headers=preflight()),
        await plain.options("/v1/memories/recall", headers=preflight()),
    ]
    assert [answer.status_code for answer in answers] == [200, 404, 405, 405]
    assert [name for answer in answers for name in answer.headers if name.startswith("access-control")] == []


class TestNamedOrigins:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"cors_origins": f"{FOREIGN}, http://localhost:3000"})

    async def test_they_may_read_answers_and_errors(self, plain: httpx.AsyncClient, database_url: str) -> None:
        answers = [await plain.get(address, headers={"origin": FOREIGN}) for address in ADDRESSES]
        await break_the_database(database_url)
        answers.append(await plain.get("/v1/agents", headers={"origin": FOREIGN}))
        assert answers[-1].status_code == 500
        for answer in answers:
            assert answer.headers["access-control-allow-origin"] == FOREIGN
            assert answer.headers["access-control-expose-headers"] == "X-Request-ID, Retry-After, Idempotent-Replayed"
            assert "access-control-allow-credentials" not in answer.headers
            assert "origin" in answer.headers["vary"].lower()

    async def test_they_may_send_what_requests_need(self, plain: httpx.AsyncClient) -> None:
        answer = await plain.options("/v1/agents", headers=preflight())
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == FOREIGN
        assert is_marked(answer)
        assert answer.headers["x-request-id"]

    @pytest.mark.parametrize(
        "changed",
        [
            {"origin": "https://evil.example"},
            {"origin": f"{FOREIGN}.evil.example"},
            {"origin": FOREIGN.replace("https", "http")},
            {"origin": "null"},
            {"access_control_request_method": "TRACE"},
            {"access_control_request_headers": "cookie"},
        ],
    )
    async def test_anything_else_is_refused(self, plain: httpx.AsyncClient, changed: dict[str, str]) -> None:
        answer = await plain.options("/v1/agents", headers=preflight(**changed))
        assert (answer.status_code, answer.json()["type"]) == (403, "foreign-origin")
        if "origin" in changed:
            assert "access-control-allow-origin" not in answer.headers
            read = await plain.get("/v1/agents", headers={"origin": changed["origin"]})
            assert "access-control-allow-origin" not in read.headers

    async def test_they_change_nothing_about_hosts(self, plain: httpx.AsyncClient) -> None:
        answer = await plain.options("/v1/agents", headers=preflight(host="evil.example"))
        assert answer.status_code == 421


class TestAnyOrigin:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"cors_origins": "*"})

    async def test_any_may_read_but_none_with_credentials(self, plain: httpx.AsyncClient) -> None:
        for answer in (
            await plain.get("/v1/agents", headers={"origin": FOREIGN, "cookie": "a=b"}),
            await plain.options("/v1/agents", headers=preflight()),
        ):
            assert answer.headers["access-control-allow-origin"] == "*"
            assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "origins",
    ["app.example.com", f"{FOREIGN}/", f"{FOREIGN}/path", "https://*.example.com", "null", "https://App.Example"],
)
def test_what_is_no_origin_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, origins: str) -> None:
    monkeypatch.setenv("ENGRAM_CORS_ORIGINS", origins)
    with pytest.raises(ValidationError, match="cors_origins"):
        Settings()


def test_blank_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_CORS_ORIGINS", " ")
    assert Settings().cors_origins is None
