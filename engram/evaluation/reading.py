"""Reading a set from its folder. Raises EvaluationError, naming file, line and field, for whatever is wrong with it."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from engram.evaluation.problems import EvaluationError
from engram.evaluation.questions import UNANSWERABLE, Question, QuestionSet
from engram.evaluation.records import ExtractionRecord, MemoryRecord, QuestionRecord
from engram.memories.dedup import dedup_hash

R = TypeVar("R", bound=BaseModel)


def read_set(folder: Path) -> QuestionSet:
    """The set in ``folder``: ``memories.jsonl`` and ``queries.jsonl``, each gzipped (``.gz``) or not, and beside them
    ``openie.jsonl`` where there is one."""
    memories_file, queries_file = _file(folder, "memories"), _file(folder, "queries")
    memories, queries = _content(memories_file), _content(queries_file)
    banks, same = _banks(memories, memories_file)
    questions, left_out = _questions(queries, queries_file, same)
    digest = hashlib.sha256()
    for content in (memories, queries):
        digest.update(hashlib.sha256(content).digest())
    return QuestionSet(
        folder.resolve().name, digest.hexdigest(), banks, questions, left_out, *_extractions(folder, same)
    )


def _file(folder: Path, name: str) -> Path:
    if not folder.is_dir():
        raise EvaluationError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}")
    path = _file_if_any(folder, name)
    if path is None:
        raise EvaluationError(f"{folder}: holds neither {name}.jsonl nor {name}.jsonl.gz")
    return path


def _file_if_any(folder: Path, name: str) -> Path | None:
    paths = (folder / f"{name}{suffix}" for suffix in (".jsonl.gz", ".jsonl"))
    return next((path for path in paths if path.is_file()), None)


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise EvaluationError(f"{path}: not readable as gzip: {error}") from None


def _records(content: bytes, path: Path, kind: type[R]) -> Iterator[tuple[str, R]]:
    """The records of all lines that are not blank, each with its place."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            yield place, kind.model_validate_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise EvaluationError(f"{place}{f', {field}' if field else ''}: {first['msg']}") from None


def _banks(content: bytes, path: Path) -> tuple[dict[str, list[MemoryRecord]], dict[tuple[str, str], str]]:
    """Memories by bank, and for each (bank, id) the id under which it will be found.

    That is the first id of memories that are stored once, because text, session and time are the same.
    """
    banks: dict[str, list[MemoryRecord]] = {}
    same: dict[tuple[str, str], str] = {}
    first: dict[tuple[str, bytes], str] = {}
    for place, record in _records(content, path, MemoryRecord):
        if (record.ns, record.id) in same:
            raise EvaluationError(f"{place}, id: {record.id!r} is there already in bank {record.ns!r}")
        stored = dedup_hash(record.text, user_id=None, session_id=record.session, valid_from=record.ts)
        same[record.ns, record.id] = first.setdefault((record.ns, stored), record.id)
        if same[record.ns, record.id] == record.id:
            banks.setdefault(record.ns, []).append(record)
    if not banks:
        raise EvaluationError(f"{path}: holds no memory")
    return banks, same


def _extractions(
    folder: Path, same: dict[tuple[str, str], str]
) -> tuple[dict[tuple[str, str], ExtractionRecord], str | None]:
    """What was found in memories, by bank and the id under which each is stored, and a fingerprint; of memories that
    are stored once the first counts."""
    path = _file_if_any(folder, "openie")
    if path is None:
        return {}, None
    content = _content(path)
    found: dict[tuple[str, str], ExtractionRecord] = {}
    for place, record in _records(content, path, ExtractionRecord):
        if (record.ns, record.id) not in same:
            raise EvaluationError(f"{place}, id: bank {record.ns!r} has no memory {record.id!r}")
        found.setdefault((record.ns, same[record.ns, record.id]), record)
    return found, hashlib.sha256(content).hexdigest()


def _questions(content: bytes, path: Path, same: dict[tuple[str, str], str]) -> tuple[list[Question], int]:
    """Questions that are asked, and how many are not."""
    questions: dict[str, Question] = {}
    left_out = 0
    for place, record in _records(content, path, QuestionRecord):
        if not record.gold or record.type in UNANSWERABLE:
            left_out += 1
            continue
        unknown = [id for id in record.gold if (record.ns, id) not in same]
        if unknown:
            raise EvaluationError(f"{place}, gold: bank {record.ns!r} has no memory {unknown[0]!r}")
        id = f"{record.ns}/{record.id}"
        if id in questions:
            raise EvaluationError(f"{place}, id: {record.id!r} is there already in bank {record.ns!r}")
        gold = frozenset(same[record.ns, name] for name in record.gold)
        questions[id] = Question(id, record.ns, record.query, gold, record.type)
    if not questions:
        raise EvaluationError(f"{path}: holds no question that has gold")
    return list(questions.values()), left_out
