"""``engram facts traverse``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text
from rich.tree import Tree

from engram.cli.entities.options import EntityArgument, LabeledOption, MinCoOccurOption, RelationsOption, unknown
from engram.cli.options import DEFAULT_AGENT, AgentOption, AsOfOption, JsonOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted, excerpt, one_line
from engram.entities.graph.schemas import RankBy, Traversal, TraverseNode


def traverse(
    entity: EntityArgument,
    agent: AgentOption = DEFAULT_AGENT,
    max_hops: Annotated[int, typer.Option("--max-hops", min=1, max=4, help="How far to go.")] = 2,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, max=100, help="Of each node so many are kept.")] = 20,
    min_co_occur: MinCoOccurOption = 1,
    max_nodes: Annotated[int, typer.Option("--max-nodes", "-n", min=1, max=5000, help="At most so many.")] = 400,
    hub_degree: Annotated[
        int | None, typer.Option("--hub-degree", min=0, help="Do not go on from what has at least this degree.")
    ] = None,
    hub_share: Annotated[
        float | None,
        typer.Option("--hub-share", min=0, max=1, help="Nor from what was reached by at most this share of it."),
    ] = None,
    rank_by: Annotated[RankBy | None, typer.Option("--rank-by", help="By what the best are kept.")] = None,
    labeled: LabeledOption = False,
    relation: RelationsOption = None,
    as_of: AsOfOption = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what occurs with an entity, and what with that: a tree, with how many memories name each and its parent."""
    with connected(url) as client:
        walk = client.facts.traverse(
            agent_id(client, agent),
            entity,
            max_hops=max_hops,
            top_k_per_hop=top_k,
            min_co_occur=min_co_occur,
            max_nodes=max_nodes,
            hub_degree=hub_degree,
            hub_share=hub_share,
            rank_by=rank_by,
            labeled=labeled or None,
            relations=relation or None,
            as_of=as_of,
        )
    if as_json:
        write_json(walk)
        return
    console = answers()
    if not walk.found:
        console.print(Text(unknown(one_line(entity)), "dim"))
        return
    console.print(_tree(walk))
    cut = "; there are more" if walk.truncated else ""
    hubs = f", {counted(len(walk.hubs), 'hub')}" if walk.hubs else ""
    console.print(Text(f"{counted(len(walk.nodes), 'entity', 'entities')}{hubs}{cut}", "dim"))


def _tree(walk: Traversal) -> Tree:
    root = Tree(Text(excerpt(walk.seed, 80), "bold"), guide_style="dim")
    branches: dict[tuple[str, ...], Tree] = {(walk.seed,): root}
    # A parent comes before its children: nodes are in the order of their hops.
    for node in walk.nodes:
        branches[tuple(node.path)] = branches[tuple(node.path[:-1])].add(_told(node))
    return root


def _told(node: TraverseNode) -> Text:
    told = Text(excerpt(node.name, 80))
    told.append(f"  {node.via_co_occur} together, degree {node.degree}", "dim")
    if node.hub:
        told.append("  hub", "yellow")
    return told
