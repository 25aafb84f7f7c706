"""Where the server listens: on this machine alone, unless there are keys or it is told otherwise."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable
from ipaddress import ip_address

from engram.problems import ConfigurationProblem
from engram.settings import Settings

LISTEN_BACKLOG = 2048
"""Connections that may wait to be taken."""


def listen(settings: Settings) -> list[socket.socket]:
    """Sockets on every address of ``settings.host``, listening; a port of 0 is one that is free.

    Nothing is answered before ``refuse_open_door`` has let it. Raises ConfigurationProblem for an address that cannot
    be had.
    """
    addresses = _addresses(settings)
    opened: list[socket.socket] = []
    port = settings.port
    try:
        for family, address in addresses:
            opened.append(_listening(family, address, port))
            port = opened[0].getsockname()[1]
    except OSError as error:
        for listener in opened:
            listener.close()
        raise ConfigurationProblem(_refusal(settings.host, port, error)) from error
    return opened


def refuse_open_door(listeners: Iterable[socket.socket], settings: Settings) -> None:
    """For a server without keys: raises ConfigurationProblem where others than this machine can reach it, unless it is
    told that they may."""
    if settings.insecure_bind or all(ip_address(listener.getsockname()[0]).is_loopback for listener in listeners):
        return
    raise ConfigurationProblem(
        f"There are no API keys, and Engram refuses to listen on {settings.host or 'all addresses'}: whoever can reach "
        "it could read and erase all memories. Make a key first (engram keys create --role admin), use --host "
        "127.0.0.1, or set ENGRAM_INSECURE_BIND=true where the network around it can be trusted."
    )


def url_of(listener: socket.socket) -> str:
    address, port = listener.getsockname()[:2]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _addresses(settings: Settings) -> list[tuple[socket.AddressFamily, str]]:
    try:
        found = socket.getaddrinfo(
            settings.host or None, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise ConfigurationProblem(f"The host {settings.host} is not known: {error.strerror or error}.") from error
    # IPv4 first: its URL is the one to be shown.
    unique = {(family, str(where[0])): None for family, _, _, _, where in found}
    return sorted(unique, key=lambda address: address[0] != socket.AF_INET)


def _listening(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address, port))
        # At once, and not when all is ready: two servers may bind one port, but not both listen on it.
        listener.listen(LISTEN_BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is taken, perhaps by another Engram. "
            "Stop it, or choose another port with --port or ENGRAM_PORT (0: any that is free)."
        )
    return f"Cannot listen on port {port} of {host}: {error.strerror or error}."
