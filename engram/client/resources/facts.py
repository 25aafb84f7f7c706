"""Facts, and what is computed from numbers."""

from engram.client._agent import scoped
from engram.client._methods import Resource, acall, call
from engram.client.resources._numbers import compute


class Facts(Resource):
    compute = call(compute)


class AsyncFacts(Resource):
    compute = acall(compute)


class AgentFacts(Resource):
    compute = call(scoped(compute))


class AsyncAgentFacts(Resource):
    compute = acall(scoped(compute))
