"""A progress bar on stderr, where a person may be looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from engram.cli.output import messages


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], object]]:
    """A bar that is told how far the work is, and is gone when it is done. Silent where stderr is no terminal."""
    console = messages()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)
