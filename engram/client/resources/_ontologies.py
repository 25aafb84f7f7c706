"""What agents prefer of entities and relations."""

from collections.abc import Mapping, Sequence

from engram.client._arguments import AnyId, given, to_path
from engram.client._request import Operation, Request
from engram.facts.ontology.schemas import Ontology, OntologyRegistered

_PATH = "/v1/agents/{agent_id}/ontology"


def get_ontology(agent_id: AnyId) -> Operation[Ontology]:
    """Which kinds of entities and which relations an agent prefers. Raises NotFoundError."""
    return Request("GET", to_path(_PATH, agent_id=agent_id), Ontology)


def register_ontology(
    agent_id: AnyId,
    *,
    entity_types: Sequence[str] | None = None,
    verbs: Mapping[str, str] | None = None,
    attributes: Mapping[str, str] | None = None,
) -> Operation[OntologyRegistered]:
    """Prefer these names, in place of all before. Nothing is refused for being outside. Needs an admin's key.

    Relations that get another cardinality are settled anew; ``changed`` says how many facts end otherwise.

    Args:
        agent_id: The agent.
        entity_types: Kinds of entities, for whoever extracts them.
        verbs: Relations, each with ``one`` or ``many``: how many values a subject has at a time.
        attributes: The same for what a subject has.
    """
    body = given(entity_types=entity_types, verbs=verbs, attributes=attributes)
    return Request("PUT", to_path(_PATH, agent_id=agent_id), OntologyRegistered, body=body)
