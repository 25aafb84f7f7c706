"""Numbers that memories declare of entities."""

from engram.client._arguments import AnyId, When, given
from engram.client._request import Operation, Request
from engram.facts.quantities.schemas import Computed, QuantityOp


def compute(
    agent_id: AnyId,
    entity: str,
    attribute: str,
    op: QuantityOp | str | None = None,
    *,
    valid_from: When | None = None,
    valid_until: When | None = None,
    as_of: When | None = None,
    unit: str | None = None,
) -> Operation[Computed]:
    """Compute a number from all that memories declare of an attribute of an entity. Of a name that nothing has the
    answer is empty, and its ``found`` false. Raises UnprocessableEntityError where units are nothing to each other.

    Args:
        agent_id: Whose memories.
        entity: What it is a number of, in any spelling.
        attribute: What of it.
        op: ``latest`` (the default), ``sum``, ``min``, ``max``, ``avg`` or ``count``.
        valid_from: Only what was so at this moment or later.
        valid_until: Only what was so before this moment.
        as_of: From memories that held at this moment; default: from those that hold now.
        unit: Of the answer, such as ``km/h``; default: that of the latest number.
    """
    params = given(
        agent_id=agent_id,
        entity=entity,
        attribute=attribute,
        op=op,
        valid_from=valid_from,
        valid_until=valid_until,
        as_of=as_of,
        unit=unit,
    )
    return Request("GET", "/v1/facts/compute", Computed, params=params)
