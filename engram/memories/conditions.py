"""Conditions on metadata as SQL. What each means, and what has no meaning, ``memories/filters.py`` says."""

from __future__ import annotations

import json
from typing import Any

from engram.db.parameters import Parameters
from engram.memories.filters import path_of

_COMPARISONS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def condition(alias: str, name: str, operator: str, operand: Any, p: Parameters) -> str:
    """True or false of every row, whatever its metadata hold."""
    value = _value(alias, name, p)
    match operator:
        case "exists":
            return f"({value}) IS {'NOT ' if operand else ''}NULL"
        case "in":
            chosen = f"ARRAY(SELECT jsonb_array_elements({p(json.dumps(operand), 'jsonb')}))"
            return f"coalesce(({value}) = ANY ({chosen}), false)"
        case "contains":
            return _contains(value, operand, p)
        case "eq":
            return f"coalesce(({value}) = {p(json.dumps(operand), 'jsonb')}, false)"
        case "ne":
            return f"({value}) IS DISTINCT FROM {p(json.dumps(operand), 'jsonb')}"
        case _:
            return _compared(value, _COMPARISONS[operator], operand, p)


def _compared(value: str, sign: str, operand: Any, p: Parameters) -> str:
    """Values of another type than the operand's neither precede nor follow it. Texts are in the order of code points,
    which that of ISO 8601 is too, whatever the collation of the database."""
    if isinstance(operand, str):
        text = f"(({value}) #>> '{{}}') COLLATE \"C\""
        return f"coalesce(jsonb_typeof({value}) = 'string' AND {text} {sign} {p(operand, 'text')}, false)"
    encoded = p(json.dumps(operand), "jsonb")
    return f"coalesce(jsonb_typeof({value}) = 'number' AND ({value}) {sign} {encoded}, false)"


def _value(alias: str, name: str, p: Parameters) -> str:
    """What the metadata have under a name: SQL's null where there is nothing, JSON's where there is a null."""
    metadata = f"{alias}.metadata"
    direct = f"{metadata} -> {p(name, 'text')}"
    path = path_of(name)
    if len(path) == 1:
        return direct
    # Step by step: as a path, a number would be a place in a list.
    steps = " -> ".join(p(step, "text") for step in path)
    return f"CASE WHEN {metadata} ? {p(name, 'text')} THEN {direct} ELSE {metadata} -> {steps} END"


def _contains(value: str, operand: Any, p: Parameters) -> str:
    """An element of a list, or a part of a text, to the letter: no pattern characters."""
    element = f"(jsonb_typeof({value}) = 'array' AND ({value}) @> {p(json.dumps([operand]), 'jsonb')})"
    if not isinstance(operand, str):
        return f"coalesce({element}, false)"
    part = f"(jsonb_typeof({value}) = 'string' AND position({p(operand, 'text')} in ({value}) #>> '{{}}') > 0)"
    return f"coalesce({element} OR {part}, false)"
