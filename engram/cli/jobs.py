"""``engram jobs`` and ``engram rebuild-links``."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from engram.cli.options import JsonOption, UrlOption
from engram.cli.output import answers, write_json
from engram.cli.remote import agent_id, connected
from engram.cli.text import counted, one_line
from engram.jobs.schemas import Job, JobKind, JobStatus

app = typer.Typer(help="Jobs: what the server does beside requests.", no_args_is_help=True)

AgentFilter = Annotated[str | None, typer.Option("--agent", "-a", metavar="NAME", help="Only of this agent.")]
KindFilter = Annotated[JobKind | None, typer.Option("--kind", help="Only of this kind.")]


@app.command("list")
def list_jobs(
    status: Annotated[JobStatus | None, typer.Option("--status", help="Only those: dead ones were given up.")] = None,
    kind: KindFilter = None,
    agent: AgentFilter = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show jobs, the latest first."""
    with connected(url) as client:
        listing = client.jobs.list(
            status=status,
            kind=kind,
            agent_id=agent_id(client, agent) if agent is not None else None,
            limit=min(limit, 200),
        )
        found = list(islice(listing, limit))
    if as_json:
        write_json({"data": [job.model_dump(mode="json") for job in found]})
        return
    console = answers()
    if not found:
        console.print("There are no such jobs.", style="dim")
        return
    console.print(_table(found))
    console.print(Text(f"{counted(len(found), 'job')}{', and perhaps more' if len(found) == limit else ''}", "dim"))


@app.command("show")
def show_job(
    job_id: Annotated[str, typer.Argument(metavar="JOB_ID", help="As list shows it.")],
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a job, and how far it is."""
    with connected(url) as client:
        job = client.jobs.get(job_id)
    _show(job, as_json=as_json)


@app.command("retry")
def retry_jobs(
    job_id: Annotated[str | None, typer.Argument(metavar="[JOB_ID]", help="A dead job.", show_default=False)] = None,
    dead: Annotated[bool, typer.Option("--dead", help="All dead jobs instead of one.")] = False,
    kind: KindFilter = None,
    agent: AgentFilter = None,
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a dead job, or all of them, wait for a worker again."""
    if (job_id is None) != dead:
        raise typer.BadParameter("give the id of one job, or --dead for all dead ones", param_hint="JOB_ID")
    if job_id is not None and (kind is not None or agent is not None):
        raise typer.BadParameter("--kind and --agent go with --dead", param_hint="JOB_ID")
    with connected(url) as client:
        if job_id is not None:
            _show(client.jobs.retry(job_id), as_json=as_json)
            return
        retried = client.jobs.retry_dead(kind=kind, agent_id=agent_id(client, agent) if agent is not None else None)
    if as_json:
        write_json(retried)
        return
    more = ", and there are more: run it again" if retried.more else ""
    answers().print(f"{counted(retried.retried, 'job')} will be tried again{more}.", markup=False)


def rebuild_links(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="The agent, by name or id.")],
    url: UrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make the thematic links and recognised mentions of an agent anew, in a job."""
    with connected(url) as client:
        job = client.agents.rebuild_links(agent_id(client, agent))
    _show(job, as_json=as_json)


def _show(job: Job, *, as_json: bool) -> None:
    if as_json:
        write_json(job)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in job.model_dump(mode="json").items():
        if value is not None:
            table.add_row(name.replace("_", " "), one_line(str(value)))
    answers().print(table)


def _table(jobs: Iterable[Job]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Made (UTC), job", no_wrap=True)
    table.add_column("Kind, status", no_wrap=True)
    table.add_column("What", ratio=1, overflow="fold")
    for job in jobs:
        told = [f"{job.done:,} of {job.total:,} memories"] if job.total is not None else []
        told += [counted(job.attempts, "attempt")] * (job.attempts > 0)
        told += [one_line(part) for part in (job.projection, job.error) if part]
        made = Text(f"{job.created_at:%Y-%m-%d %H:%M:%S}\n")
        made.append(job.id, "dim")
        kind = Text(f"{job.kind.value}\n")
        kind.append(job.status.value, _STYLES[job.status])
        table.add_row(made, kind, Text("\n".join(told)))
    return table


_STYLES = {JobStatus.waiting: "yellow", JobStatus.running: "cyan", JobStatus.done: "green", JobStatus.dead: "red"}
