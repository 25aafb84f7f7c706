"""The server or its database is killed while memories are written, set and changed: what was acknowledged is there, and
what was not is there as a whole or not at all."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from engram import Engram, EngramError
from tests.server.conftest import data_dir
from tests.server.test_run import Start, start

__all__ = ["data_dir", "start"]

BATCH = 40
ENOUGH = 4
"""Acknowledged writes of each writer, before the kill and after it."""

PATIENCE = 120.0
"""Seconds for what may have to wait until a database has recovered."""


@dataclass
class Ledger:
    """What was sent and what was acknowledged: numbers, by writer."""

    sent: Counter[str] = field(default_factory=Counter)
    acknowledged: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


Deed = Callable[[Engram, int], object]


@contextmanager
def busy(url: str, ledger: Ledger, deeds: dict[str, Deed]) -> Iterator[None]:
    """While writers write, each one thing after the other, whatever becomes of it."""
    stop = threading.Event()

    def write(name: str, deed: Deed) -> None:
        with Engram(url, max_retries=0, timeout=30) as client:
            while not stop.is_set():
                ledger.sent[name] += 1
                number = ledger.sent[name]
                try:
                    deed(client, number)
                except EngramError:
                    stop.wait(0.05)  # it is away
                else:
                    ledger.acknowledged[name].append(number)

    threads = [threading.Thread(target=write, args=each, daemon=True) for each in deeds.items()]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a request never ends"


def until_acknowledged(ledger: Ledger, names: list[str], more: int) -> None:
    """Until each writer has so many more writes acknowledged."""
    goal = {name: len(ledger.acknowledged[name]) + more for name in names}
    deadline = time.monotonic() + PATIENCE
    while any(len(ledger.acknowledged[name]) < goal[name] for name in names):
        assert time.monotonic() < deadline, (ledger.sent, ledger.acknowledged)
        time.sleep(0.01)


def world(client: Engram) -> tuple[str, str, dict[str, Deed]]:
    """An agent, a memory of it, and what is done to them."""
    agent = client.agents.create("clerk").id
    note = client.memories.create(agent, "The note says 0.").id

    def batch(client: Engram, number: int) -> None:
        client.memories.create_many(agent, [f"Batch {number} has item {at}." for at in range(BATCH)])

    def set_one(client: Engram, number: int) -> None:
        client.memories.set(agent, "one", f"one is {number}.")

    def set_two(client: Engram, number: int) -> None:
        client.memories.set(agent, "two", f"two is {number}.", tags=["two"])

    def update(client: Engram, number: int) -> None:
        client.memories.update(note, content=f"The note says {number}.")

    return agent, note, {"batch": batch, "one": set_one, "two": set_two, "note": update}


def check(client: Engram, agent: str, note: str, ledger: Ledger) -> None:
    current = list(client.memories.list(agent, limit=200))
    batches = Counter(memory.content.split()[1] for memory in current if memory.content.startswith("Batch"))
    assert set(batches.values()) <= {BATCH}
    assert {str(number) for number in ledger.acknowledged["batch"]} <= set(batches)

    for key in ("one", "two"):
        (value,) = [memory for memory in current if memory.key == key]
        line = [state for state in client.memories.history(value.id, limit=200) if state.recorded_until is None]
        line.sort(key=lambda state: state.valid_from)
        numbers = Counter(int(state.content.rstrip(".").split()[-1]) for state in line)
        assert set(numbers.values()) == {1}
        assert set(ledger.acknowledged[key]) <= set(numbers)
        assert all(before.valid_until == after.valid_from for before, after in pairwise(line))
        assert (line[-1].id, line[-1].valid_until) == (value.id, None)

    said = [state.content for state in client.memories.history(note, limit=200)]
    assert {f"The note says {number}." for number in ledger.acknowledged["note"]} <= set(said)
    assert [state.version for state in client.memories.history(note, limit=200)] == [*range(len(said), 0, -1)]
    # And it goes on.
    client.memories.set(agent, "one", "one is over.")
    assert "one is over." in [hit.content for hit in client.memories.recall(agent, "one is over")]


def test_a_server_that_is_killed_loses_nothing_that_it_acknowledged(start: Start, data_dir: Path) -> None:
    ledger = Ledger()
    first = start(data_dir=data_dir)
    url = first.url
    with Engram(url) as client:
        agent, note, deeds = world(client)
    with busy(url, ledger, deeds):
        until_acknowledged(ledger, [*deeds], ENOUGH)
        first.send(signal.SIGKILL)
    second = start(data_dir=data_dir)
    with Engram(second.url) as client:
        check(client, agent, note, ledger)


def test_a_database_that_is_killed_loses_nothing_that_was_acknowledged(start: Start, data_dir: Path) -> None:
    ledger = Ledger()
    url = start(data_dir=data_dir).url
    with Engram(url) as client:
        agent, note, deeds = world(client)
        with busy(url, ledger, deeds):
            until_acknowledged(ledger, [*deeds], ENOUGH)
            os.kill(int((data_dir / "postgres" / "postmaster.pid").read_text().split(maxsplit=1)[0]), signal.SIGKILL)
            refused = sum(ledger.sent.values()) - sum(map(len, ledger.acknowledged.values()))
            until_acknowledged(ledger, [*deeds], ENOUGH)
        assert sum(ledger.sent.values()) - sum(map(len, ledger.acknowledged.values())) > refused
        check(client, agent, note, ledger)
