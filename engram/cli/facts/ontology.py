"""``engram facts ontology``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.text import Text

from engram.cli.options import DEFAULT_AGENT, AgentOption, JsonOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted, excerpt
from engram.facts.ontology.schemas import Cardinality, Ontology, OntologyRegistered

_CHARS = 120


def ontology(
    agent: AgentOption = DEFAULT_AGENT,
    verbs: Annotated[
        list[str] | None,
        typer.Option("--verb", metavar="NAME=one|many", help="A relation, and how many values it has. Repeatable."),
    ] = None,
    attributes: Annotated[
        list[str] | None,
        typer.Option("--attribute", metavar="NAME=one|many", help="The same for what a subject has. Repeatable."),
    ] = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", metavar="NAME", help="A kind of entity. Repeatable.")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Prefer nothing any more.")] = False,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what an agent prefers, or say it: what is given takes the place of all that was. Saying it needs an admin's
    key."""
    wanted = {"verbs": _named(verbs, "--verb"), "attributes": _named(attributes, "--attribute")}
    given = bool(verbs or attributes or types)
    if given and none:
        raise typer.BadParameter("prefers nothing: no names go with it", param_hint="--none")
    with connected(url) as client:
        id = agent_id(client, agent)
        found: Ontology
        if given or none:
            found = client.agents.register_ontology(id, entity_types=types or [], **wanted)
        else:
            found = client.agents.ontology(id)
    if as_json:
        write_json(found)
        return
    console = answers()
    for line in _lines(found) or ["It prefers nothing."]:
        console.print(Text(line))
    if isinstance(found, OntologyRegistered):
        console.print(Text(f"{counted(found.changed, 'fact')} changed.", "dim"))


def _named(values: Sequence[str] | None, option: str) -> dict[str, str]:
    found = {}
    for value in values or ():
        name, _, cardinality = value.rpartition("=")
        if not name or cardinality not in set(Cardinality):
            raise typer.BadParameter(f"{value!r} is no NAME=one and no NAME=many", param_hint=option)
        found[name] = cardinality
    return found


def _lines(found: Ontology) -> list[str]:
    def named(kind: str, names: Mapping[str, Cardinality]) -> list[str]:
        return [f"{kind} {excerpt(name, _CHARS)}: {cardinality.value}" for name, cardinality in sorted(names.items())]

    types = [f"type {excerpt(name, _CHARS)}" for name in found.entity_types]
    return [*named("verb", found.verbs), *named("attribute", found.attributes), *types]
