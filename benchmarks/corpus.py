"""Stores that look like people's: Zipfian words, topics, names, sessions, hubs. Seeded: the same every time. Pure.

A memory is a turn of a session. A session keeps to a few topics, a topic to its own words, so the embeddings of a
topic's memories lie together. Names are Zipfian too, so that a few are hubs. Every tenth memory declares what it is
about; the others mention names in their text only, where they are recognised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random
from typing import Any

STARTED = datetime(2024, 1, 1, tzinfo=UTC)

# Words that hold a sentence together, and a memory's place in it.
COMMON = (
    "the a of to and in is was for on that with at as by from it they we I you he she this have had not but what"
    " about when my your their there then very really just"
).split()
_ONSETS = "b br c ch cl d dr f fl g gr h j k l m n p pl pr qu r s sh sl st t th tr v w z".split()
_VOWELS = "a e i o u ai ea ee io oo ou".split()
_CODAS = "b ck d g l ll m n nd ng nt p r rd rk s sh ss st t th x".split()


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the store's language is. Numbers grow with the root of its size, as Heaps' law has it."""

    memories: int
    seed: int = 7
    session_turns: int = 24
    words_a_topic: int = 120
    topics: int = field(init=False)
    names: int = field(init=False)

    def __post_init__(self) -> None:
        root = self.memories**0.5
        object.__setattr__(self, "topics", max(8, round(1.2 * root)))
        object.__setattr__(self, "names", max(40, round(8 * root)))


class Corpus:
    """Memories and the questions that are asked of them."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        random = Random(shape.seed)
        words = _distinct(random, max(2_000, shape.topics * 20), _word)
        self._names = _distinct(random, shape.names, _name)
        self._name_weights = list(accumulate(1 / (rank + 3) for rank in range(shape.names)))
        # A topic's words overlap with others': each draws from all, the frequent ones more often.
        overall = list(accumulate(1 / (rank + 10) ** 0.7 for rank in range(len(words))))
        self._topics = [random.choices(words, cum_weights=overall, k=shape.words_a_topic) for _ in range(shape.topics)]
        self._word_weights = list(accumulate(1 / (rank + 1) for rank in range(shape.words_a_topic)))
        self._topic_weights = list(accumulate(1 / (rank + 5) ** 0.5 for rank in range(shape.topics)))

    def memories(self, start: int = 0, count: int | None = None) -> Iterator[dict[str, Any]]:
        """Items of ``create_many``, by number: any part can be made without the parts before it."""
        end = self.shape.memories if count is None else start + count
        for number in range(start, end):
            yield self._memory(number)

    def questions(self, count: int, seed: int = 11) -> list[str]:
        """Questions about memories of the store: some of their words, often a name, among words that say nothing."""
        random = Random(f"questions {seed} {self.shape.seed}")
        return [self.question_about(random.randrange(self.shape.memories), random) for _ in range(count)]

    def question_about(self, number: int, random: Random, name: str | None = None) -> str:
        """A question about the memory of this number; it names ``name``, or now and then one that people name."""
        said = [word.strip(".?").lower() for word in self._memory(number)["content"].split()[1:]]
        own = [word for word in dict.fromkeys(said) if word not in COMMON]
        chosen = random.sample(own, min(len(own), random.randint(3, 5)))
        rest = random.choices(COMMON, k=3)
        named = [name] if name else [self._name(random)] if random.random() < 0.4 else []
        return " ".join(["What", *rest[:2], *chosen[:2], rest[2], *chosen[2:], *named]) + "?"

    def _memory(self, number: int) -> dict[str, Any]:
        random = Random(f"{self.shape.seed} {number}")
        session = number // self.shape.session_turns
        topics, speakers = self._session(session)
        topic = self._topics[random.choice(topics)]
        speaker = random.choice(speakers)
        names = [self._name(random) for _ in range(random.choice((0, 0, 1, 1, 2)))]
        text = f"{speaker}: {self._sentence(random, topic, names)}"
        if random.random() < 0.3:
            text += f" {self._sentence(random, topic, [])}"
        if random.random() < 0.15:
            text = text[:-1] + "?"
        item: dict[str, Any] = {
            "content": text,
            "session_id": f"session-{session:06d}",
            "user_id": f"user-{session % 97:02d}",
            "tags": [f"tag-{random.randrange(20):02d}"],
            "metadata": {"channel": random.choice(("chat", "mail", "call")), "batch": number // 1000},
            "valid_from": (STARTED + timedelta(minutes=7 * session + 0.2 * (number % self.shape.session_turns))),
        }
        if random.random() < 0.1:
            item["entities"] = [{"name": names[0] if names else self._name(random), "role": "subject"}]
        return item

    def _session(self, session: int) -> tuple[list[int], list[str]]:
        random = Random(f"session {self.shape.seed} {session}")
        topics = random.choices(range(self.shape.topics), cum_weights=self._topic_weights, k=3)
        return topics, [self._name(random).split()[0] for _ in range(2)]

    def _sentence(self, random: Random, topic: list[str], names: list[str]) -> str:
        length = random.randint(8, 18)
        own = random.choices(topic, cum_weights=self._word_weights, k=length // 2)
        words = own + random.choices(COMMON, k=length - len(own)) + names
        random.shuffle(words)
        return " ".join(words).capitalize() + "."

    def _name(self, random: Random) -> str:
        return random.choices(self._names, cum_weights=self._name_weights)[0]


def _distinct(random: Random, count: int, make: Any) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found.setdefault(make(random))
    return list(found)


def _word(random: Random) -> str:
    return "".join(
        random.choice(_ONSETS) + random.choice(_VOWELS) + (random.choice(_CODAS) if random.random() < 0.6 else "")
        for _ in range(random.choice((1, 2, 2, 3)))
    )


def _name(random: Random) -> str:
    return " ".join(_word(random).capitalize() for _ in range(2))
