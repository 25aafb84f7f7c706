"""Options that say which memories are meant, of commands that show or delete several."""

from __future__ import annotations

from typing import Annotated

import typer

KeyOption = Annotated[str | None, typer.Option("--key", metavar="KEY", help="Only what this key names.")]
KeyPrefixOption = Annotated[
    str | None, typer.Option("--key-prefix", metavar="TEXT", help="Only what has a key that begins so.")
]
SourceOption = Annotated[str | None, typer.Option("--source", metavar="TEXT", help="Only from this source.")]
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="DATE", help="Only memories that began then or later.")
]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="DATE", help="Only those that began before.")]
AsOfOption = Annotated[str | None, typer.Option("--as-of", metavar="DATE", help="Only what held at this moment.")]
UpdatedSinceOption = Annotated[
    str | None, typer.Option("--updated-since", metavar="DATE", help="Only what was written or changed then or later.")
]
