"""``engram eval --compare``: two saved runs."""

from __future__ import annotations

from pathlib import Path

from engram.cli.errors import CommandError
from engram.cli.evaluation.tables import show_comparisons
from engram.cli.output import answers, write_json
from engram.evaluation.comparison import compare
from engram.evaluation.problems import EvaluationError
from engram.evaluation.saving import read_run


def compare_runs(before: Path, after: Path, *, as_json: bool) -> None:
    """Show how the second run differs from the first. Raises CommandError where they cannot be compared."""
    try:
        comparisons = compare(read_run(before), read_run(after))
    except EvaluationError as error:
        raise CommandError(str(error)) from error
    if as_json:
        write_json([one.model_dump(mode="json") for one in comparisons])
    else:
        show_comparisons(answers(), comparisons)
