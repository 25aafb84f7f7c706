"""GraphML, as networkx, Gephi and yEd read it. Pure.

Texts are only ever contents of elements. What XML 1.0 cannot hold at all, as most control characters, becomes U+FFFD.
Edges have a direction, because facts do and readers take one kind only; of pairs it says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from engram.entities.exporting.records import GraphFact, GraphHead, GraphNode, GraphPair, moment

MEDIA_TYPE = "application/graphml+xml"

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})

# The names that Gephi knows: label, weight.
_KEYS = (
    *(("graph", name, "string") for name in ("agent_id", "agent", "exported_at", "includes_invalidated")),
    *(("node", name, "string") for name in ("label", "name", "display_name", "aliases")),
    ("node", "degree", "long"),
    ("node", "community", "string"),
    *(("edge", name, "string") for name in ("kind", "label")),
    ("edge", "weight", "double"),
    ("edge", "co_occur", "long"),
    *(("edge", name, "string") for name in ("predicate", "valid_from", "valid_until", "status", "user_id")),
    ("edge", "confidence", "double"),
)


class GraphML:
    media_type = MEDIA_TYPE
    suffix = "graphml"

    def begin(self, head: GraphHead) -> str:
        keys = "".join(
            f'<key id="{_key(of, name)}" for="{of}" attr.name="{name}" attr.type="{kind}"/>\n'
            for of, name, kind in _KEYS
        )
        about = _data(
            "graph",
            agent_id=str(head.agent_id),
            agent=head.agent,
            exported_at=moment(head.exported_at),
            includes_invalidated=str(head.whole).lower(),
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
            f'{keys}<graph id="entities" edgedefault="directed">{about}\n'
        )

    def nodes(self, nodes: Iterable[GraphNode]) -> str:
        return "".join(f'<node id="{node.id}">{_of_node(node)}</node>\n' for node in nodes)

    def pairs(self, pairs: Iterable[GraphPair]) -> str:
        return "".join(
            f'<edge id="{pair.first}.{pair.second}" source="{pair.first}" target="{pair.second}">'
            + _data("edge", kind="co_occurrence", label=None, weight=float(pair.co_occur), co_occur=pair.co_occur)
            + "</edge>\n"
            for pair in pairs
        )

    def facts(self, facts: Iterable[GraphFact]) -> str:
        return "".join(
            f'<edge id="{fact.id}" source="{fact.source}" target="{fact.target}">{_of_fact(fact)}</edge>\n'
            for fact in facts
        )

    def end(self) -> str:
        return "</graph>\n</graphml>\n"


def _of_node(node: GraphNode) -> str:
    return _data(
        "node",
        label=node.display_name,
        name=node.name,
        display_name=node.display_name,
        # GraphML has no lists.
        aliases=json.dumps(node.aliases, ensure_ascii=False),
        degree=node.degree,
        community=node.community,
    )


def _of_fact(fact: GraphFact) -> str:
    return _data(
        "edge",
        kind="fact",
        label=fact.predicate,
        predicate=fact.predicate,
        valid_from=moment(fact.valid_from),
        valid_until=moment(fact.valid_until) if fact.valid_until is not None else None,
        status=fact.status,
        user_id=fact.user_id,
        confidence=fact.confidence,
    )


def _data(of: str, **values: str | float | None) -> str:
    return "".join(
        f'<data key="{_key(of, name)}">{_text(value) if isinstance(value, str) else value}</data>'
        for name, value in values.items()
        if value is not None
    )


def _key(of: str, name: str) -> str:
    return f"{of}_{name}"


def _text(value: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", value).translate(_ESCAPES)
