"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from engram.graph.schemas import RelationType

DEFAULT_AGENT = "default"

AgentOption = Annotated[str, typer.Option("--agent", "-a", metavar="NAME", help="The agent, by name or id.")]
UrlOption = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="Where the server is; default: ENGRAM_BASE_URL, or http://127.0.0.1:8080.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]
DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Where the embedded database lives; default: ENGRAM_DATA_DIR, or the platform's user data folder.",
        show_default=False,
    ),
]
UserOption = Annotated[str | None, typer.Option("--user", metavar="ID", help="The user.")]
SessionOption = Annotated[str | None, typer.Option("--session", metavar="ID", help="The session.")]
TagsOption = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; may be repeated.")]
MetadataOption = Annotated[
    list[str] | None,
    typer.Option("--metadata", "-m", metavar="K=V|JSON", help="A field as text, or a JSON object; may be repeated."),
]

RelationOption = Annotated[
    list[RelationType] | None, typer.Option("--relation", "-r", help="Only edges of this type; may be repeated.")
]
MinWeightOption = Annotated[
    float, typer.Option("--min-weight", min=0, max=1, help="Only edges of at least this weight.")
]
AsOfOption = Annotated[
    str | None, typer.Option("--as-of", metavar="DATE", help="Only what held at this moment.", show_default=False)
]
KnownAtOption = Annotated[
    str | None, typer.Option("--known-at", metavar="DATE", help="As it was known at this moment.", show_default=False)
]


def read_metadata(values: list[str] | None) -> dict[str, Any] | None:
    """Metadata from ``key=text`` and JSON objects, the later ones over the earlier. Raises a usage error."""
    if not values:
        return None
    metadata: dict[str, Any] = {}
    for value in values:
        if value.lstrip().startswith("{"):
            metadata |= _object(value)
            continue
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"{value!r} is neither key=value nor a JSON object", param_hint="--metadata")
        metadata[key.strip()] = text
    return metadata


def _object(text: str) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(text)
    except RecursionError:
        raise typer.BadParameter("is nested too deeply", param_hint="--metadata") from None
    except ValueError as error:
        raise typer.BadParameter(f"is not valid JSON: {error}", param_hint="--metadata") from None
    return value
