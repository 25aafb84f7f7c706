"""``engram eval PATH...``: from folders to figures."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engram import __version__
from engram.cli.errors import CommandError, faults
from engram.cli.evaluation.tables import show_run
from engram.cli.output import answers, write_json
from engram.cli.progress import progress_bar
from engram.cli.scratch import scratch_folder
from engram.evaluation.evaluate import Evaluation, Options
from engram.evaluation.fingerprints import source_fingerprint
from engram.evaluation.loading import Titles
from engram.evaluation.metrics import DEPTH
from engram.evaluation.plot import plot
from engram.evaluation.problems import EvaluationError
from engram.evaluation.questions import QuestionSet, spread
from engram.evaluation.reading import read_set
from engram.evaluation.reporting import set_run
from engram.evaluation.runs import Environment, Run, SetRun
from engram.evaluation.saving import save_run
from engram.evaluation.variants import Variant, check_extractions, parse_variants
from engram.settings import Settings
from engram.text.terms import LANGUAGES

_RECORDED = ("thematic_threshold", "entity_recognition", "embedding_query_prefix", "embedding_passage_prefix")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line asked for."""

    variants: str
    ks: list[int]
    embedder: str | None
    embedding_model: str | None
    titles: str
    language: str
    limit: int | None
    at_once: int
    cache: Path | None
    save: Path | None
    plot: Path | None


def measure_sets(paths: Sequence[Path], wishes: Wishes, *, as_json: bool) -> None:
    """Measure, show, and write what is to be written. Raises CommandError for what is wrong with sets or variants."""
    if wishes.language not in LANGUAGES:
        raise CommandError(f"--language {wishes.language}: known are {', '.join(LANGUAGES)}")
    for path in (wishes.save, wishes.plot):
        # Not after an hour of measuring.
        if path is not None and not path.absolute().parent.is_dir():
            raise CommandError(f"{path}: there is no such folder to write into")
    try:
        variants = parse_variants(wishes.variants)
        with _reading(len(paths)) as progress:
            sets = [_read(path, done, progress) for done, path in enumerate(paths, start=1)]
        for one in sets:
            check_extractions(variants, one.name, given=bool(one.extractions))
    except EvaluationError as error:
        raise CommandError(str(error)) from error
    names = [one.name for one in sets]
    if len(set(names)) < len(names):
        raise CommandError(f"two sets have the same name: {', '.join(sorted(names))}")
    settings = _settings(wishes)
    run = Run(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        environment=_environment(settings, wishes),
        ks=wishes.ks,
        sets=asyncio.run(_measured(sets, variants, settings, wishes)),
    )
    if wishes.save is not None:
        save_run(run, wishes.save)
    if wishes.plot is not None:
        plot(run, wishes.plot)
    if as_json:
        write_json(run.summary())
    else:
        show_run(answers(), run)


async def _measured(
    sets: Sequence[QuestionSet], variants: Sequence[Variant], settings: Settings, wishes: Wishes
) -> list[SetRun]:
    options = Options(
        settings=settings,
        titles=Titles(wishes.titles),
        language=wishes.language,
        top_k=max(DEPTH, *wishes.ks),
        at_once=wishes.at_once,
        cache=wishes.cache,
    )
    runs = []
    async with Evaluation(options, partial(scratch_folder, "engram-eval-"), progress_bar) as evaluation:
        for questions in sets:
            asked = spread(questions.questions, wishes.limit)
            outcomes = await evaluation.measure(questions, asked, variants)
            runs.append(set_run(questions, asked, outcomes, wishes.ks))
    return runs


def _settings(wishes: Wishes) -> Settings:
    """The environment's, with what was asked for, and the scratch database instead of any other."""
    given = {"embedding_provider": wishes.embedder, "embedding_model": wishes.embedding_model}
    asked: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings(**asked).model_copy(update={"database_url": None, "allowed_hosts": None})
    except ValidationError as error:
        first = faults(error)[0]
        raise CommandError(f"{first.field}: {first.message}") from error


def _environment(settings: Settings, wishes: Wishes) -> Environment:
    recorded: dict[str, Any] = {name: getattr(settings, name) for name in _RECORDED}
    return Environment(
        engram=__version__,
        source=source_fingerprint(),
        embedding_provider=settings.embedding_provider,
        embedding_model=settings.embedding_model,
        settings=recorded,
        titles=wishes.titles,
        language=wishes.language,
        at_once=wishes.at_once,
    )


@contextmanager
def _reading(sets: int) -> Iterator[Any]:
    with progress_bar("Reading", sets) as progress:
        yield progress


def _read(path: Path, done: int, progress: Any) -> QuestionSet:
    questions = read_set(path)
    progress(done)
    return questions
