"""Where a server may listen."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engram.problems import ConfigurationProblem
from engram.server.sockets import listen, refuse_open_door, url_of
from engram.settings import Settings


@contextmanager
def listening(**settings: object) -> Iterator[list[socket.socket]]:
    sockets = listen(Settings.model_validate({"port": 0, **settings}))
    try:
        yield sockets
    finally:
        for opened in sockets:
            opened.close()


def test_a_free_port_is_found_and_told() -> None:
    with listening() as (opened,):
        url = url_of(opened)
        assert url == f"http://127.0.0.1:{opened.getsockname()[1]}"
        assert not url.endswith(":0")
        socket.create_connection(opened.getsockname()).close()


def test_all_addresses_of_a_name_have_one_port() -> None:
    with listening(host="localhost") as sockets:
        assert len({opened.getsockname()[1] for opened in sockets}) == 1
        assert url_of(sockets[0]).startswith("http://127.0.0.1:")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_this_machine_alone_may_always_be_served(host: str) -> None:
    if host == "::1" and not _has_ipv6():
        pytest.skip("no IPv6 here")
    with listening(host=host) as sockets:
        assert sockets
        refuse_open_door(sockets, Settings(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_other_machines_may_not_be_let_in_by_mistake(host: str) -> None:
    settings = Settings(host=host, port=0)
    with listening(host=host) as sockets, pytest.raises(ConfigurationProblem, match="no API keys") as caught:
        refuse_open_door(sockets, settings)
    assert "ENGRAM_INSECURE_BIND=true" in caught.value.detail


def test_other_machines_are_let_in_on_request() -> None:
    with listening(host="0.0.0.0", insecure_bind=True) as (opened,):
        refuse_open_door([opened], Settings(host="0.0.0.0", insecure_bind=True))
        assert opened.getsockname()[0] == "0.0.0.0"


def test_a_port_that_is_taken_is_told_with_what_to_do() -> None:
    with listening() as (opened,):
        port = opened.getsockname()[1]
        with pytest.raises(ConfigurationProblem, match=f"Port {port} .* taken.*ENGRAM_PORT"):
            listen(Settings(port=port))


def test_a_port_is_free_again_at_once() -> None:
    with listening() as (opened,):
        port = opened.getsockname()[1]
        client = socket.create_connection(opened.getsockname())
        opened.accept()[0].close()
        client.close()
    with listening(port=port):
        pass


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_an_address_that_this_machine_does_not_have_is_told(host: str) -> None:
    with pytest.raises(ConfigurationProblem, match=host):
        listen(Settings(host=host, port=0, insecure_bind=True))


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
