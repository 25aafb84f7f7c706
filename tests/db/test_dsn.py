from __future__ import annotations

import pytest

from engram.db.dsn import parse_dsn
from engram.problems import ConfigurationProblem


def password_of(url: str) -> str | None:
    password = parse_dsn(url).password
    return password.get_secret_value() if password is not None else None


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg"])
def test_every_usual_scheme_names_the_same_database(scheme: str) -> None:
    assert parse_dsn(f"{scheme}://ann:secret@db:5433/engram").url == "postgresql://ann@db:5433/engram"


@pytest.mark.parametrize(
    ("written", "password"),
    [
        ("p%40ss%2Fw%25rd%3A%23%3F", "p@ss/w%rd:#?"),
        ("plain", "plain"),
        ("with@sign", "with@sign"),
        ("caf%C3%A9", "café"),
    ],
)
def test_a_password_is_decoded_and_kept_out_of_sight(written: str, password: str) -> None:
    dsn = parse_dsn(f"postgresql://ann:{written}@db/engram")
    assert password_of(f"postgresql://ann:{written}@db/engram") == password
    for shown in (str(dsn), repr(dsn), dsn.url):
        assert password not in shown
        assert written not in shown


def test_a_password_among_the_parameters_is_kept_out_of_sight_too() -> None:
    url = "postgresql:///engram?host=/run/pg&user=ann&password=secret&sslmode=require"
    assert password_of(url) == "secret"
    assert parse_dsn(url).url == "postgresql:///engram?host=/run/pg&user=ann&sslmode=require"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:hunter2@db/engram",
        "ann:hunter2@db/engram",
        "postgresql://ann:hunter2/more@db/engram",
        "postgresql://ann:hunter2#more@db/engram",
        "postgresql://ann:x@db:hunter2/engram",
        "postgresql://ann:x@[hunter2/engram",
        "postgresql://ann:x@db/engram?hunter2",
        "",
    ],
)
def test_what_cannot_be_read_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigurationProblem) as caught:
        parse_dsn(url)
    assert "postgresql://" in caught.value.detail
    assert "hunter2" not in caught.value.detail
    assert caught.value.__cause__ is None
