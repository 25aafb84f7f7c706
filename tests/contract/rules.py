"""What the server asks of a request that a JSON Schema cannot say."""

from __future__ import annotations

from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, Response
from schemathesis.specs.openapi.checks import positive_data_acceptance

BEYOND_SCHEMA = {
    "must be later than": "no schema compares two fields",
    "must be a JSON object": "no schema says what is written in a text",
    "names no entity": "no schema says what is a pronoun, or has a canonical form",
    "must not name a field twice": "no schema says what is written in a text",
    "say which memories": "no schema asks for one field of several, none of which is empty",
    "goes with no other criterion": "no schema asks for one field of several, none of which is empty",
    "source_id and target_id must differ": "no schema compares two fields",
    "must differ from source_id": "no schema compares two fields",
    "is the same node as name already": "no schema folds case, and compares two fields",
    "must contain more than spaces, hyphens and underscores": "no schema says what a predicate becomes",
    "of a key's value stays": "whether a memory has a key, the server knows",
    "is when it took the place of": "what a memory superseded, the server knows",
    "is settled by": "what a memory was superseded by, the server knows",
    "is that of the memory whose place is taken": "whose a memory is, the server knows",
    "must not be before that of": "when a memory began, the server knows",
    "reaches into the time of another value": "when a key's values hold, the server knows",
    "belongs to another agent than source_id": "whose a memory is, the server knows",
    "is not a cursor that this list gave": "a cursor is opaque",
    "dimensions; the model": "the model's dimension is known when the server runs",
    "must not be nested deeper than": "no schema counts levels",
    "must not be blank": "what shows nothing in Unicode's higher planes is not in the pattern",
    "is no unit of measurement that is known": "what is measured in, a library knows",
    "is outside the years 1 to 9999 in UTC": "what an offset does to a date-time is not in its format",
}
"""Parts of messages, and why a request that is right by the schema may get them."""


@schemathesis.check
def acceptance_of_what_is_right(ctx: CheckContext, response: Response, case: Case) -> bool | None:
    """As the check that it replaces, but for what no schema can say."""
    if response.status_code == 422 and all(_is_beyond_schema(error) for error in response.json()["errors"]):
        return None
    return positive_data_acceptance(ctx, response, case)


def _is_beyond_schema(error: dict[str, Any]) -> bool:
    # No schema says what stands in the lines of a body that is none of JSON.
    return error["field"].startswith("line ") or any(part in error["message"] for part in BEYOND_SCHEMA)
