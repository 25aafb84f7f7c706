"""``engram recall``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from engram.cli.explained import LEGEND
from engram.cli.hits import hits_table
from engram.cli.options import (
    DEFAULT_AGENT,
    AgentOption,
    JsonOption,
    MetadataOption,
    SessionOption,
    TagsOption,
    UrlOption,
    UserOption,
    read_metadata,
)
from engram.cli.output import answers, write_json
from engram.cli.paths import strangers
from engram.cli.remote import agent_id, connected, texts_of
from engram.cli.text import counted, one_line
from engram.graph.schemas import RelationType
from engram.recall.schemas import RecallRequest, RecallResponse, SearchMode

_DEFAULTS = {name: field.default for name, field in RecallRequest.model_fields.items()}


def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or any text.")],
    agent: AgentOption = DEFAULT_AGENT,
    top_k: Annotated[int, typer.Option("--top-k", "-k", min=1, max=200, help="At most so many.")] = _DEFAULTS["top_k"],
    graph_weight: Annotated[
        float, typer.Option("--graph-weight", "-g", min=0, max=1, help="0 ranks by vector alone, 1 by the graph alone.")
    ] = _DEFAULTS["graph_weight"],
    max_hops: Annotated[int, typer.Option("--max-hops", min=0, max=5, help="How far to walk.")] = _DEFAULTS["max_hops"],
    hop_penalty: Annotated[
        float | None,
        typer.Option("--hop-penalty", min=0, max=1, help="What each hop costs; below 1. Unset: as configured."),
    ] = None,
    lexical: Annotated[
        bool, typer.Option("--lexical/--no-lexical", help="Whether words that query and memory share count.")
    ] = _DEFAULTS["lexical"],
    relation: Annotated[
        list[RelationType] | None,
        typer.Option("--relation", "-r", help="Walk only edges of this type; may be repeated."),
    ] = None,
    mode: Annotated[
        SearchMode, typer.Option("--mode", help="graph: only at entities of the question, and one hop around.")
    ] = SearchMode.hybrid,
    entity: Annotated[
        list[str] | None,
        typer.Option("--entity", "-e", metavar="NAME", help="What names this entity comes up; may be repeated."),
    ] = None,
    user: UserOption = None,
    session: SessionOption = None,
    tag: TagsOption = None,
    metadata: MetadataOption = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="Only memories that began then or later.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DATE", help="Only those that began before.")] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="DATE", help="Only what held at this moment.")] = None,
    min_score: Annotated[
        float, typer.Option("--min-score", min=0, max=1, help="Only hits of at least this score.")
    ] = _DEFAULTS["min_score"],
    diversity: Annotated[
        float, typer.Option("--diversity", min=0, max=1, help="Above 0, hits much like one already shown give way.")
    ] = _DEFAULTS["diversity"],
    explain: Annotated[bool, typer.Option("--explain", "-x", help="Say how each score came about.")] = False,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Recall what is near a question, and what is connected to that. Changes nothing."""
    filters = read_metadata(metadata)
    with connected(url) as client:
        response = client.memories.recall(
            agent_id(client, agent),
            query,
            top_k=top_k,
            graph_weight=graph_weight,
            max_hops=max_hops,
            hop_penalty=hop_penalty,
            lexical=lexical,
            relation_types=relation or None,
            search_mode=mode,
            entity_filter=entity or None,
            user_id=user,
            session_id=session,
            tags=tag or None,
            metadata=filters,
            valid_from=since,
            valid_until=until,
            as_of=as_of,
            min_score=min_score,
            diversity=diversity,
            explain=explain,
        )
        texts = {hit.id: hit.content for hit in response.results}
        if not as_json:
            texts |= texts_of(client, strangers(response.results))
    if as_json:
        write_json(response)
    else:
        _show(response, texts, graph_weight)


def _show(response: RecallResponse, texts: dict[str, str], graph_weight: float) -> None:
    console = answers()
    console.print(Text(one_line(response.query), "bold"))
    if not response.results:
        console.print("Nothing was found.", style="dim")
        return
    console.print(hits_table(response.results, texts, graph_weight=graph_weight))
    cut = "; a cap cut the walk or the answer short" if response.truncated else ""
    if response.results[0].explain is not None:
        console.print(Text(LEGEND, "dim"))
    console.print(Text(f"{counted(len(response), 'memory', 'memories')} in {response.took_ms:.1f} ms{cut}", "dim"))
