"""Hashes by which the database knows nodes, words and slots. Pure.

Each holds the user, so that no statement can mix partitions up: what is not of the same user has another key. They are
16 bytes of BLAKE2b: narrow in every index, whatever the length of a name.
"""

from __future__ import annotations

from hashlib import blake2b
from uuid import UUID


def node_key(user_id: str | None, node: str) -> UUID:
    """Of a node by its name, as ``names.node_name`` gives it."""
    return _key(b"node", user_id, node)


def word_key(user_id: str | None, word: str) -> UUID:
    return _key(b"word", user_id, word)


def slot_key(user_id: str | None, subject: str, predicate: str) -> UUID:
    """Of the place where facts of a subject, as it is spelt, and a predicate supersede each other."""
    return _key(b"slot", user_id, subject, predicate)


def _key(kind: bytes, user_id: str | None, *texts: str) -> UUID:
    digest = blake2b(digest_size=16, person=kind)
    for text in (user_id, *texts):
        # Lengths, and not separators: no two lists of texts are one.
        encoded = text.encode() if text is not None else b""
        digest.update(b"-" if text is None else b"%d:" % len(encoded))
        digest.update(encoded)
    return UUID(bytes=digest.digest())


def value_slot_key(user_id: str | None, subject: str, relation: str) -> UUID:
    """Of the place where values of a relation, in any tense, are ordered: of a canonical subject and a stem. No fact
    that was appended is in one."""
    return _key(b"value", user_id, subject, relation)
