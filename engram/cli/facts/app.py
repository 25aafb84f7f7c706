"""``engram facts``: its commands."""

from __future__ import annotations

from collections.abc import Callable

import typer

from engram.cli.entities.chain import path
from engram.cli.entities.computing import compute
from engram.cli.entities.occurring import related_entities
from engram.cli.entities.walking import traverse
from engram.cli.facts.changing import append_fact, delete_fact, restore_fact, undo_fact
from engram.cli.facts.finding import list_facts, recall_graph, show_fact
from engram.cli.facts.importing import import_facts
from engram.cli.facts.merging import list_merges, merge_names, undo_merge
from engram.cli.facts.ontology import ontology
from engram.cli.facts.triples import expire_by_adapter, list_triples

app = typer.Typer(help="Facts: subject, predicate, object, and answers by chains of them.", no_args_is_help=True)

_COMMANDS: dict[str, Callable[..., None]] = {
    "append": append_fact,
    "import": import_facts,
    "list": list_facts,
    "show": show_fact,
    "delete": delete_fact,
    "undo": undo_fact,
    "restore": restore_fact,
    "recall": recall_graph,
    "merge": merge_names,
    "merges": list_merges,
    "unmerge": undo_merge,
    "traverse": traverse,
    "path": path,
    "related": related_entities,
    "triples": list_triples,
    "compute": compute,
    "expire": expire_by_adapter,
    "ontology": ontology,
}
for name, command in _COMMANDS.items():
    app.command(name)(command)
