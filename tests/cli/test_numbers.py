"""Numbers on the command line."""

from __future__ import annotations

from engram import Engram

from .conftest import Run


def test_a_number_is_shown_with_what_it_was_computed_from(client_run: Run, client: Engram) -> None:
    scope = client.agent("default")
    for day, (value, unit) in enumerate([(2.0, "GB"), (500.0, "MB")], start=1):
        scope.memories.create(
            f"It took {value:g} {unit}.",
            quantities=[{"entity": "Backup", "attribute": "size", "value": value, "unit": unit}],
            valid_from=f"2026-01-0{day}",
        )
    shown = client_run("facts", "compute", "the backups", "size", "--op", "sum").stdout.splitlines()
    assert shown[0] == "2500 MB"
    assert [" ".join(line.split()[:-1]) for line in shown if line.strip().startswith("2026")] == [
        "2026-01-02 00:00 500 MB",
        "2026-01-01 00:00 2 GB = 2000 MB",
    ]
    assert shown[-1] == "2 numbers"
    asked = ("facts", "compute", "backup", "size", "--unit", "GB", "--from", "2026-01-01", "--until", "2026-01-02")
    assert client_run(*asked, "--as-of", "2026-01-03", "--json").json["value"] == 2
    assert client_run("facts", "compute", "nobody", "size").stdout == "No memory gives nobody a number of size.\n"
    assert "does not convert to s" in client_run("facts", "compute", "backup", "size", "--unit", "s").stderr
