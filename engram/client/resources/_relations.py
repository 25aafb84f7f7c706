"""What a caller may give as a relation."""

from collections.abc import Mapping
from typing import Any

from engram.facts.statements.schemas import Relation

RelationGiven = tuple[str, str, str] | list[str] | Mapping[str, Any] | Relation
