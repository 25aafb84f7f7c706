"""Facts, and the entity graph."""

from engram.client._agent import scoped
from engram.client._methods import Resource, acall, apages, call, pages
from engram.client.resources._connections import entity_path, related_entities, traverse


class Facts(Resource):
    traverse = call(traverse)
    path = call(entity_path)
    related = pages(related_entities)


class AsyncFacts(Resource):
    traverse = acall(traverse)
    path = acall(entity_path)
    related = apages(related_entities)


class AgentFacts(Resource):
    traverse = call(scoped(traverse))
    path = call(scoped(entity_path))
    related = pages(scoped(related_entities))


class AsyncAgentFacts(Resource):
    traverse = acall(scoped(traverse))
    path = acall(scoped(entity_path))
    related = apages(scoped(related_entities))
