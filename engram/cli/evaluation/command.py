"""``engram eval``."""

from __future__ import annotations

import importlib
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import platformdirs
import typer

from engram.cli.errors import CommandError
from engram.cli.logs import quiet_logs
from engram.cli.options import JsonOption

_LIBRARIES = ("ir_measures", "scipy", "matplotlib")


class Titles(StrEnum):
    """As the evaluation has them, which is not imported before it is needed."""

    meta = "meta"
    first_line = "first-line"
    none = "none"


def evaluate(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH...", help="Folders, each with a set.", show_default=False)
    ] = None,
    variants: Annotated[
        str,
        typer.Option(
            "--variants", metavar="NAMES", help="What is compared: default, ablation, all, full, anchors=40, ..."
        ),
    ] = "default",
    ks: Annotated[
        str, typer.Option("--k", metavar="NUMBERS", help="Where recall, hit and all are cut off.")
    ] = "1,5,10",
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder", metavar="PROVIDER", help="Default: EMBEDDING_PROVIDER, or static.", show_default=False
        ),
    ] = None,
    embedding_model: Annotated[
        str | None,
        typer.Option(
            "--embedding-model",
            metavar="NAME",
            help="The model, or its folder; default: EMBEDDING_MODEL.",
            show_default=False,
        ),
    ] = None,
    titles: Annotated[
        Titles, typer.Option("--titles", help="Declare as a memory's subject: its meta.title, its first line, nothing.")
    ] = Titles.meta,
    language: Annotated[
        str, typer.Option("--language", metavar="NAME", help="Language whose words are stemmed; none: nothing is.")
    ] = "english",
    limit: Annotated[
        int | None,
        typer.Option("--questions", metavar="N", min=1, help="Ask at most so many of a set, evenly spread over it."),
    ] = None,
    at_once: Annotated[
        int, typer.Option("--at-once", "-j", metavar="N", min=1, max=16, help="Questions under way together.")
    ] = 1,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write the run, with all that was found, as JSON.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.png", help="Draw recall@5 by set and variant.")
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--compare", metavar="BEFORE AFTER", help="Compare two saved runs instead of making one."),
    ] = None,
    cache_dir: Annotated[
        Path | None,
        typer.Option(
            "--cache-dir",
            metavar="DIR",
            help="Where results are kept; default: the platform's cache folder.",
            show_default=False,
        ),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither use nor keep results.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure what recall finds on sets of questions whose answers are known.

    A set is a folder with memories.jsonl and queries.jsonl, gzipped or not. It is loaded into a database of its own
    through the public API, and each variant is asked all questions. Nothing is left behind but what the cache keeps.
    """
    quiet_logs()
    if bool(paths) == (compare is not None):
        raise typer.BadParameter("name the sets to measure, or two runs with --compare", param_hint="PATH")
    cutoffs = _cutoffs(ks)
    _require_libraries()
    # All that a server needs is loaded here, which no other command should wait for.
    from engram.cli.evaluation.comparing import compare_runs  # noqa: PLC0415
    from engram.cli.evaluation.measuring import Wishes, measure_sets  # noqa: PLC0415

    if compare is not None:
        compare_runs(*compare, as_json=as_json)
        return
    folder = cache_dir or Path(platformdirs.user_cache_dir("engram", appauthor=False)) / "evaluation"
    measure_sets(
        paths or [],
        Wishes(
            variants=variants,
            ks=cutoffs,
            embedder=embedder,
            embedding_model=embedding_model,
            titles=titles.value,
            language=language,
            limit=limit,
            at_once=at_once,
            cache=None if no_cache else folder,
            save=save,
            plot=plot,
        ),
        as_json=as_json,
    )


def _cutoffs(text: str) -> list[int]:
    try:
        ks = sorted({int(part) for part in text.split(",")})
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a list of numbers, such as 1,5,10", param_hint="--k") from None
    if ks[0] < 1 or ks[-1] > 200:
        raise typer.BadParameter(f"{text!r}: each must be from 1 to 200", param_hint="--k")
    return ks


def _require_libraries() -> None:
    for name in _LIBRARIES:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise CommandError(
                f"engram eval needs {error.name}, which is not installed: pip install 'engram[eval]'"
            ) from None
