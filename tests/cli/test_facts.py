"""``engram facts``."""

from __future__ import annotations

import json
from pathlib import Path

from engram import Engram

from .conftest import Outcome, Run

QUESTION = "where does alice's employer operate?"
NOWHERE = "01890a5d-ac96-774b-bcce-b302099a8057"


def facts(client: Engram, **asked: str) -> list[tuple[str, str, str]]:
    """All facts of the agent ``default``, the first first."""
    agent = client.agents.list(name="default").data[0].id
    found = [(fact.subject, fact.predicate, fact.object) for fact in client.facts.query(agent, **asked)]
    return found[::-1]


def complaint(outcome: Outcome) -> str:
    assert (outcome.status, outcome.stdout) == (1, "")
    (line,) = outcome.stderr.splitlines()
    return line


def test_facts_are_appended_and_answer_together(client_run: Run) -> None:
    acme = client_run("facts", "append", "Alice", "worksAt", "Acme", "--valid-from", "2024-01-01", "--json").json
    assert (acme["predicate"], acme["closed"]) == ("works_at", [])
    shown = client_run("facts", "append", "Alice", "works at", "Initech", "--valid-from", "2024-02-01").stdout
    first, *rest = shown.splitlines()
    assert first == "Alice —works_at→ Initech"
    assert [line.split(": ")[0] for line in rest] == ["Appended", "Ended by it"]
    assert acme["id"] in rest[1]
    for employer, city in (("Acme", "Tokyo"), ("Initech", "Austin")):
        client_run("facts", "append", employer, "operates_in", city, "--valid-from", "2020-01-01")
    assert client_run("facts", "recall", QUESTION).stdout.splitlines() == [
        "alice —works_at→ initech",
        "alice —works_at→ initech —operates_in→ austin",
    ]
    then = client_run("facts", "recall", QUESTION, "--valid-at", "2024-01-05", "--limit", "1").stdout
    assert then.splitlines() == ["alice —works_at→ acme", "There are, or may be, more paths."]
    answer = client_run("facts", "recall", QUESTION, "--json", "--known-at", acme["recorded_at"]).json
    assert [path["rendered"] for path in answer["paths"]] == ["alice —works_at→ acme"]
    assert client_run("facts", "recall", QUESTION, "--user", "u1").stdout == "Nothing was found.\n"


def test_a_path_is_one_line_however_long_and_steers_no_terminal(client_run: Run, client: Engram) -> None:
    name = "Acme\u202e " + "and Sons " * 30
    client.agent("default").facts.append("Alice", "works_at", name.strip())
    (line,) = client_run("facts", "recall", "alice").stdout.splitlines()
    assert line.endswith("and sons")
    assert "\u202e" not in line + client_run("facts", "list").stdout


def test_facts_are_listed_and_chosen(client_run: Run) -> None:
    for city, user in (("Oslo", ()), ("Rome", ("--user", "u1")), ("Kyiv", ())):
        client_run("facts", "append", "Alice", "lives_in", city, "--no-supersede", *user)

    def objects(*options: str) -> list[str]:
        return [fact["object"] for fact in client_run("facts", "list", "--json", *options).json["data"]]

    assert objects() == ["Kyiv", "Oslo"]
    assert objects("--user", "u1") == ["Rome"]
    assert objects("--object", "Oslo", "--subject", "Alice", "--predicate", "livesIn") == ["Oslo"]
    assert objects("--valid-at", "2000-01-01") == []
    shown = client_run("facts", "list", "--limit", "1").stdout
    assert "Alice —lives_in→ Kyiv" in shown
    assert "1 fact, and perhaps more" in shown
    assert client_run("facts", "list", "--user", "u2").stdout == "There are no such facts.\n"


def test_a_fact_is_deleted_taken_back_and_restored(client_run: Run, client: Engram) -> None:
    scope = client.agent("default")
    scope.facts.append("Alice", "works_at", "Acme", valid_from="2024-01-01")
    id = scope.facts.append("Alice", "works_at", "Initech", valid_from="2024-02-01").id
    assert client_run("facts", "delete", id).stdout == "Deleted: Alice —works_at→ Initech\n"
    assert NOWHERE not in complaint(client_run("facts", "delete", id))
    told = client_run("facts", "undo", id).stdout.splitlines()
    assert told == ["Taken back: Alice —works_at→ Initech", "1 other fact ends at another time because of that."]
    shown = client_run("facts", "show", id).stdout
    assert [status for status in ("standing", "deleted", "undone") if status in shown] == [
        *("standing", "deleted", "undone")
    ]
    assert client_run("facts", "restore", id, "--json").json["status"] == "standing"
    assert "there is nothing to restore" in complaint(client_run("facts", "restore", id))
    assert f"no fact {NOWHERE}" in complaint(client_run("facts", "show", NOWHERE))


def test_names_are_merged_and_parted(client_run: Run, client: Engram) -> None:
    client.agent("default").facts.append("Robert", "works_at", "Acme")
    client.agent("default").facts.append("Bob", "likes", "tea")
    merge = client_run("facts", "merge", "Bob", "Robert", "--json").json
    assert client_run("facts", "recall", "bob").stdout.splitlines()[-1] == "robert —works_at→ acme"
    assert "Bob = Robert" in client_run("facts", "merges").stdout
    assert "one node already" in complaint(client_run("facts", "merge", "robert", "BOB"))
    assert client_run("facts", "unmerge", merge["id"]).stdout == "Taken back: Bob = Robert\n"
    assert client_run("facts", "merges").stdout == "There are no merges.\n"
    assert client_run("facts", "merges", "--undone", "--json").json["data"][0]["id"] == merge["id"]
    again = client_run("facts", "merge", "Bob", "Robert").stdout
    assert again.startswith("Bob = Robert: one node now, which goes by bob.\nMerged: ")


class TestImporting:
    def test_rows_by_tabs(self, client_run: Run, client: Engram) -> None:
        rows = (
            "Subject\tPredicate\tObject\tvalid_from\n"
            "Alice\tworksAt\tAcme\t2024-01-01\r\n"
            "\n"
            "Alice\tworks at\tInitech\t2024-02-01\t\n"
            "Bob\tworks_at\tAcme\t\t2999-01-01\n"
        )
        outcome = client_run("facts", "import", "-", stdin=rows.encode())
        assert (outcome.stdout, outcome.stderr) == ("Appended 3 facts.\n", "")
        every = [("Alice", "works_at", "Acme"), ("Alice", "works_at", "Initech"), ("Bob", "works_at", "Acme")]
        assert facts(client) == every
        assert facts(client, valid_at="2024-01-15") == every[:1]

    def test_objects_of_json(self, client_run: Run, client: Engram, tmp_path: Path) -> None:
        file = tmp_path / "facts.ndjson"
        triple = {"subject": "Alice", "predicate": "knows"}
        lines = [{**triple, "object": "Bob"}, {**triple, "object": "Carol", "user_id": "u1", "confidence": 0.5}]
        file.write_text("\n".join(map(json.dumps, lines)))
        assert (
            client_run("facts", "import", str(file), "--dry-run").stdout == "2 facts could be appended; nothing was.\n"
        )
        assert client.agents.list(name="default").data == []
        counts = client_run("facts", "import", str(file), "--user", "u2", "--no-supersede", "--json").json
        assert counts == {"facts": 2, "appended": 2, "ended": 0}
        assert facts(client, user_id="u1") == [("Alice", "knows", "Carol")]
        assert facts(client, user_id="u2") == [("Alice", "knows", "Bob")]
        client_run("facts", "append", "Alice", "knows", "Dan", "--user", "u2", "--valid-from", "2000-01-01")
        ended = client_run("facts", "import", "-", "--user", "u2", stdin=b"Alice\tknows\tErin\n").stdout
        assert ended == "Appended 1 fact; 2 facts from before ended.\n"

    def test_a_line_that_is_wrong_is_named_and_nothing_is_written(self, client_run: Run, client: Engram) -> None:
        for lines, told in (
            (b"a\tb\n", "line 1: 2 columns, of 3 to 5"),
            (b"a\tb\tc\na\tb\t \n", "line 2: object: must not be blank"),
            (b"\na\tb\tc\tsoon\n", "line 2: valid_from: must be ISO 8601"),
            (b'{"subject": "a", "predicate": "b", "object": "c", "why": 1}', "line 1: why: is not known here"),
            (b'{"subject": "a", "predicate": "b"}\n', "line 1: object: is required"),
            (b'{"subject": "a"\n', "line 1: not valid JSON"),
            (b"a\tb\t\xff\n", "line 1: not UTF-8"),
            (b"a\tb\tc\t2024-02-01\t2024-01-01\n", "line 1: valid_until must be later than valid_from"),
        ):
            outcome = client_run("facts", "import", "-", stdin=lines)
            assert (outcome.status, outcome.stdout) == (1, "")
            flaw, end = outcome.stderr.splitlines()
            assert flaw.startswith(f"engram: {told}")
            assert end == "engram: nothing was written: 1 line malformed"
        assert client.agents.list().data == []

    def test_one_that_breaks_off_says_where_to_go_on(self, client_run: Run, client: Engram, tmp_path: Path) -> None:
        file = tmp_path / "facts.tsv"
        rows = [f"node {number}\tleads_to\tnode {number + 1}" for number in range(1100)]
        # What only the server can know: that it is over.
        file.write_text("\n".join([*rows, "a\tb\tc\t\t2001-01-01"]))
        outcome = client_run("facts", "import", str(file))
        assert (outcome.status, outcome.stdout) == (1, "")
        assert outcome.stderr.splitlines() == [
            "engram: 1,000 of 1,101 facts were appended before this failed; for the rest, import the file again with"
            " --from-line 1001",
            "engram: line 1101: valid_until: must be later than valid_from, which is now where none is given",
        ]
        file.write_text("\n".join(rows))
        assert client_run("facts", "import", str(file), "--from-line", "1001").stdout == "Appended 100 facts.\n"
        assert len(facts(client)) == 1100


def test_wrong_use_is_told(client_run: Run) -> None:
    assert "no agent 'nobody'" in complaint(client_run("facts", "list", "--agent", "nobody"))
    assert "fact_id: must be a UUID" in complaint(client_run("facts", "show", "alice"))
    assert "must contain more than" in complaint(client_run("facts", "append", "a", " - ", "b"))
    assert "No such file" in complaint(client_run("facts", "import", "/nowhere/facts.tsv"))
    assert client_run("facts", "recall", "x", "--hops", "5").status == 2
    assert client_run("facts", "append", "a", "b").status == 2
    no_server = complaint(client_run("facts", "recall", "x", "--url", "http://127.0.0.1:1"))
    assert "no Engram server answers" in no_server
