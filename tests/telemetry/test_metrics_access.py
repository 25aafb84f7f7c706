"""Who may read the measurements."""

from __future__ import annotations

import httpx
import pytest

from engram.settings import Settings
from tests.telemetry.scrapes import scrape

TOKEN = "pässword of the scraper"


async def test_without_a_token_whoever_reaches_the_server_may_read(http: httpx.AsyncClient) -> None:
    await scrape(http)


class TestWithAToken:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return Settings.model_validate({**settings.model_dump(), "metrics_token": TOKEN})

    @pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
    async def test_a_scrape_that_brings_it_reads(self, http: httpx.AsyncClient, scheme: str) -> None:
        response = await http.get("/metrics", headers={"authorization": f"{scheme} {TOKEN}".encode()})
        assert response.status_code == 200

    @pytest.mark.parametrize(
        "given", [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"]
    )
    async def test_any_other_is_refused_by_a_problem(self, http: httpx.AsyncClient, given: str | None) -> None:
        headers = {} if given is None else {"authorization": given.encode()}
        response = await http.get("/metrics", headers=headers)
        assert (response.status_code, response.json()["type"]) == (401, "unauthenticated")
        assert response.headers["content-type"] == "application/problem+json"
        assert response.headers["www-authenticate"].startswith("Bearer")
        assert "engram_" not in response.text.replace("ENGRAM_METRICS_TOKEN", "")
        assert TOKEN not in response.text

    async def test_the_rest_of_the_server_does_not_ask_for_it(self, http: httpx.AsyncClient) -> None:
        assert (await http.get("/health/live")).status_code == 200


def test_a_blank_token_is_none() -> None:
    assert Settings.model_validate({"metrics_token": " "}).metrics_token is None


def test_the_token_does_not_show() -> None:
    assert TOKEN not in repr(Settings.model_validate({"metrics_token": TOKEN}))
