"""Lines that come in, as models: each is checked by itself, and in its place among the others. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from engram.problems import FieldError, InvalidInputProblem
from engram.transfer.line import Line
from engram.transfer.lines import Summary
from engram.transfer.schemas import (
    FORMAT,
    FORMAT_VERSION,
    RECORDS,
    Counts,
    FooterLine,
    HeaderLine,
)

L = TypeVar("L", bound=Line)

_MOST_TOLD = 50
_ORDER = {kind: place for place, kind in enumerate(RECORDS)}
_KEYS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "memory": lambda line: (line.id,),
    "memory_version": lambda line: (line.memory_id, line.version),
    "entity": lambda line: (line.id,),
    "mention": lambda line: (line.entity_id, line.memory_id),
    "edge": lambda line: (line.source_id, line.target_id, line.relation_type),
    "edge_version": lambda line: (line.source_id, line.target_id, line.relation_type, line.recorded_until),
    "fact": lambda line: (line.id,),
    "fact_closure": lambda line: (line.fact_id, line.recorded_at),
    "merge": lambda line: (line.id,),
}


@dataclass(frozen=True, slots=True)
class Numbered:
    """A line and its number, from 1 on."""

    number: int
    line: Any

    def wrong(self, field: str, message: str) -> InvalidInputProblem:
        return wrong(self.number, field, message)


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines of one type, in the order of their keys."""

    kind: str
    lines: list[Numbered]

    def halves(self) -> tuple[Batch, Batch]:
        middle = len(self.lines) // 2
        return Batch(self.kind, self.lines[:middle]), Batch(self.kind, self.lines[middle:])


def wrong(number: int, field: str, message: str) -> InvalidInputProblem:
    return InvalidInputProblem.of(f"line {number}.{field}" if field else f"line {number}", message)


class Lines:
    """What has come of a file: which lines may come next."""

    def __init__(self) -> None:
        self.summary = Summary()
        self.footer: FooterLine | None = None
        self._kind = ""
        self._key: tuple[Any, ...] | None = None

    @property
    def counts(self) -> Counts:
        return Counts.model_validate({kind: self.summary.counts[kind] for kind in RECORDS})

    def header(self, raw: bytes) -> HeaderLine:
        """The first line. Raises InvalidInputProblem for one that begins another format, or another version of it."""
        record = _parsed(raw, 1)
        if record.get("type") != "header" or record.get("format") != FORMAT:
            raise wrong(1, "format", f"this is no export of an agent: its first line names the format {FORMAT}")
        if record.get("version") != FORMAT_VERSION:
            raise wrong(1, "version", f"must be {FORMAT_VERSION}, the version that this server reads")
        header = _modelled(HeaderLine, record, 1)
        self.summary.add(raw, "header")
        return header

    def batches(self, raws: Sequence[bytes]) -> list[Batch]:
        """Further lines. Raises InvalidInputProblem for what is wrong in them, of all of them what can be told."""
        batches: list[Batch] = []
        errors: list[FieldError] = []
        for raw in raws:
            number = self.summary.lines + 1
            try:
                line = self._next(raw, number)
            except InvalidInputProblem as problem:
                errors += problem.errors
                self.summary.add(raw, "")
                if len(errors) >= _MOST_TOLD:
                    break
                continue
            if line is None:
                continue
            if not batches or batches[-1].kind != self._kind:
                batches.append(Batch(self._kind, []))
            batches[-1].lines.append(Numbered(number, line))
        if errors:
            first = errors[0]
            raise InvalidInputProblem(f"{first.field}: {first.message}", errors=errors[:_MOST_TOLD])
        return batches

    def _next(self, raw: bytes, number: int) -> Line | None:
        if self.footer is not None:
            raise wrong(number, "", "nothing may come after the footer")
        record = _parsed(raw, number)
        kind = record.get("type")
        if kind == "footer":
            self.footer = self._closed(_modelled(FooterLine, record, number), number)
            return None
        if not isinstance(kind, str) or kind not in RECORDS:
            known = ", ".join(RECORDS)
            raise wrong(number, "type", f"must be one of {known}, or footer")
        line = _modelled(RECORDS[kind], record, number)
        self._place(kind, _KEYS[kind](line), number)
        self.summary.add(raw, kind)
        return line

    def _place(self, kind: str, key: tuple[Any, ...], number: int) -> None:
        if self._kind and _ORDER[kind] < _ORDER[self._kind]:
            raise wrong(number, "type", f"{kind} must not come after {self._kind}")
        if kind == self._kind and self._key is not None and key <= self._key:
            raise wrong(number, "", f"is the same {kind} as the line before, or comes out of the order of ids")
        self._kind, self._key = kind, key

    def _closed(self, footer: FooterLine, number: int) -> FooterLine:
        if footer.lines != self.summary.lines:
            raise wrong(number, "lines", f"must be {self.summary.lines}: lines are missing, or were added")
        if footer.counts != self.counts:
            raise wrong(number, "counts", "must be those of the lines before")
        if footer.sha256 != self.summary.sha256:
            raise wrong(number, "sha256", "must be that of the lines before: they have been changed")
        return footer


def _modelled(model: type[L], record: dict[str, Any], number: int) -> L:
    try:
        return model.model_validate(record)
    except ValidationError as error:
        found = [
            wrong(number, ".".join(map(str, one["loc"])), _message(one)).errors[0]
            for one in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise InvalidInputProblem(f"{found[0].field}: {found[0].message}", errors=found[:_MOST_TOLD]) from None


def _message(error: Any) -> str:
    known = {"missing": "is required", "extra_forbidden": "is not known here"}.get(error["type"])
    return known or str(error["msg"]).removeprefix("Value error, ").replace("Input should ", "must ")


def _parsed(raw: bytes, number: int) -> dict[str, Any]:
    try:
        record = json.loads(raw.decode(), object_pairs_hook=_distinct, parse_constant=_refused)
    except UnicodeDecodeError as error:
        raise wrong(number, "", f"is not UTF-8: byte {error.start} cannot be read") from None
    except json.JSONDecodeError as error:
        raise wrong(number, "", f"is not JSON: {error.msg} (column {error.colno})") from None
    except ValueError as error:
        raise wrong(number, "", str(error)) from None
    except RecursionError:
        raise wrong(number, "", "is nested too deeply") from None
    if not isinstance(record, dict):
        raise wrong(number, "", "must be a JSON object")
    return record


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("gives a field twice in one object")
    return found


def _refused(constant: str) -> None:
    raise ValueError(f"holds {constant}, which is no number of JSON")
