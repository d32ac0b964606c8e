"""Durable runs from a shell: started, listed, shown, answered, cancelled, deleted, each by a command of its own."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from agentflow.cli.store import public_url
from agentflow.stores.sqlite import SqliteStore
from tests.cli.durable_flows import REFUND, asking
from tests.cli.flows import SOUND, one_node
from tests.cli.shell import Ended, Project

Snapshot = Callable[[str, str], None]
STORE = "sqlite:///runs.db"
LARGE = '{"amount": 120}'


def steady(text: str) -> str:
    """Times are never twice the same."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "0000-00-00 00:00:00", text)


def said(ended: Ended) -> str:
    """What it wrote on stderr, on one line."""
    return " ".join(ended.err.split())


@pytest.fixture
def stored(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a refund flow whose store is named by the environment."""
    monkeypatch.setenv("AGENTFLOW_STORE", STORE)
    project.write("refund.py", REFUND)
    return project


@pytest.fixture
def waiting(stored: Project) -> str:
    """The id of the request that run r-1 waits for."""
    ended = stored.agentflow("run", "refund.py", "-i", LARGE, "--run-id", "r-1", "--json", "-q")
    assert ended.code == 3
    request: str = json.loads(ended.out)["requests"][0]["id"]
    return request


def test_a_run_that_waits_ends_its_command_and_says_what_to_type(
    project: Project, snapshot: Snapshot
) -> None:
    project.write("refund.py", REFUND)
    ended = project.agentflow(
        "run", "refund.py", "--store", STORE, "--run-id", "r-1", "--input", LARGE
    )
    assert (ended.code, ended.out) == (3, "")
    snapshot("durable-suspended.txt", ended.err)


def test_the_json_document_of_a_run_that_waits_has_its_requests(stored: Project) -> None:
    ended = stored.agentflow("run", "refund.py", "-i", LARGE, "--run-id", "r-1", "--json", "-q")
    document = json.loads(ended.out)
    (request,) = document["requests"]
    assert (document["status"], document["error"], document["due"]) == ("suspended", None, None)
    assert request["payload"] == {"question": "pay it?", "amount": 120.0}
    assert request["schema"]["enum"] == ["approve", "reject"]


def test_a_stored_run_that_completes_prints_its_result_and_tells_it_again(stored: Project) -> None:
    options = ("run", "refund.py", "--run-id", "r-1", "-q")
    first = stored.agentflow(*options, "-i", '{"amount": 20}')
    again = stored.agentflow(*options)
    assert (first.code, first.out) == (again.code, again.out) == (0, "t-20\n")
    (run,) = json.loads(stored.agentflow("runs", "--json").out)["runs"]
    assert (run["run_id"], run["status"]) == ("r-1", "completed")


def test_the_same_run_id_with_another_input_is_bad_input(stored: Project) -> None:
    options = ("run", "refund.py", "--run-id", "r-1", "-q", "-i")
    stored.agentflow(*options, '{"amount": 20}')
    ended = stored.agentflow(*options, '{"amount": 21}')
    assert (ended.code, ended.out) == (2, "")
    assert "run 'r-1' was started with another input" in ended.err


def test_input_is_asked_for_unless_the_run_has_it(stored: Project) -> None:
    ended = stored.agentflow("run", "refund.py", "--run-id", "r-1")
    assert ended.code == 2
    assert "lacks the field 'amount'" in said(ended)
    assert json.loads(stored.agentflow("runs", "--json").out)["runs"] == []


def test_an_option_names_the_store_rather_than_the_environment(stored: Project) -> None:
    stored.agentflow("run", "refund.py", "-i", LARGE, "-q", "--store", "sqlite:///other.db")
    assert not (stored.folder / "runs.db").exists()
    ended = stored.agentflow("runs", "--store", "sqlite:///other.db")
    assert "suspended" in ended.out


def test_an_engine_keeps_its_own_store_unless_an_option_names_another(stored: Project) -> None:
    engine = "\nfrom agentflow import Engine\nengine = Engine(workflow, store='sqlite:///own.db')\n"
    stored.write("refund.py", REFUND + engine)
    stored.agentflow("run", "refund.py:engine", "-i", LARGE, "--run-id", "r-1")
    assert [path.name for path in stored.folder.glob("*.db")] == ["own.db"]
    assert stored.agentflow("resume", "r-1", "approve", "refund.py:engine", "-q").out == "t-120\n"


def test_a_store_in_memory_lasts_as_long_as_the_command_and_says_so(project: Project) -> None:
    project.write("refund.py", REFUND)
    ended = project.agentflow("run", "refund.py", "-i", LARGE, "--store", "memory:", "-q")
    assert ended.code == 3
    assert "give it a store that stays" in ended.err


# resume


def test_an_answer_lets_the_run_go_on(stored: Project, waiting: str, snapshot: Snapshot) -> None:
    ended = stored.agentflow("resume", "r-1", f"{waiting}=approve", "refund.py")
    assert (ended.code, ended.out) == (0, "t-120\n")
    snapshot("durable-resumed.txt", ended.err)


def test_where_one_request_waits_a_bare_value_answers_it(stored: Project, waiting: str) -> None:
    ended = stored.agentflow("resume", "r-1", "reject", "refund.py", "-q")
    assert (ended.code, ended.out, ended.err) == (0, "none\n", "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["maybe"], "the answer to 'ask' (ID) is invalid: 'maybe' is not one of"),
        (["3"], "3 is not one of ['approve', 'reject']"),
        (["ID=maybe"], "'maybe' is not one of"),
        (["0123456789abcdef=approve"], "no request 0123456789abcdef waits; there is ID"),
        (["ID=approve", "ID=reject"], "request ID is answered twice"),
        (["approve", "reject"], "'approve' does not say which request it answers; write ID=VALUE"),
    ],
)
def test_an_invalid_answer_changes_nothing_and_the_run_goes_on_waiting(
    stored: Project, waiting: str, words: list[str], told: str
) -> None:
    before = stored.agentflow("show", "r-1").out
    given = [word.replace("ID", waiting) for word in words]
    ended = stored.agentflow("resume", "r-1", *given, "refund.py")
    assert (ended.code, ended.out) == (2, "")
    assert told.replace("ID", waiting) in said(ended)
    assert "goes on waiting" in ended.err
    assert stored.agentflow("show", "r-1").out == before


def test_without_an_answer_the_requests_are_told_again(stored: Project, waiting: str) -> None:
    ended = stored.agentflow("resume", "r-1", "refund.py", "-q")
    assert (ended.code, ended.out) == (3, "")
    assert f"agentflow resume r-1 {waiting}=VALUE refund.py" in ended.err


def test_a_run_that_has_ended_waits_for_no_answer(stored: Project, waiting: str) -> None:
    stored.agentflow("resume", "r-1", "approve", "refund.py")
    ended = stored.agentflow("resume", "r-1", "reject", "refund.py")
    assert (ended.code, ended.out) == (1, "")
    assert "run 'r-1' does not wait for an answer: it is completed" in ended.err


def test_a_run_that_has_ended_is_told_again_by_resume(stored: Project, waiting: str) -> None:
    stored.agentflow("resume", "r-1", "approve", "refund.py")
    ended = stored.agentflow("resume", "r-1", "refund.py", "-q")
    assert (ended.code, ended.out) == (0, "t-120\n")


def test_an_answer_that_came_too_late_is_told_so(stored: Project) -> None:
    nodes = ['prompt="one?", answer="a"', 'prompt="two?", answer="b"']
    stored.write("flow.py", asking(*nodes))
    first = stored.agentflow("run", "flow.py", "--run-id", "r-2", "--json", "-q")
    request = json.loads(first.out)["requests"][0]["id"]
    assert stored.agentflow("resume", "r-2", "1", "flow.py", "-q").code == 3
    ended = stored.agentflow("resume", "r-2", f"{request}=1", "flow.py", "-q")
    assert (ended.code, ended.out) == (1, "")
    assert f"waits no more for the answer to {request}" in said(ended)


def test_an_answer_in_the_place_of_the_target_is_noticed(stored: Project, waiting: str) -> None:
    ended = stored.agentflow("resume", "r-1", "refund.py", f"{waiting}=approve")
    assert ended.code == 2
    assert "the last word is the TARGET that holds the workflow" in said(ended)


def test_a_target_that_is_another_workflow_is_refused(stored: Project, waiting: str) -> None:
    stored.write("status.py", SOUND)
    for command in (["resume", "r-1", "approve", "status.py"], ["show", "r-1", "status.py"]):
        ended = stored.agentflow(*command)
        assert (ended.code, ended.out) == (2, "")
        told = "run 'r-1' is one of workflow 'refund', but status.py holds 'service-status'"
        assert told in said(ended)


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ("bool", "yes", True),
        ("bool", "N", False),
        ("bool", "true", True),
        ("str", "yes", "yes"),
        ("str", "3", "3"),
        ("int", "3", 3),
        ("None", "3", 3),
        ("None", "yes", "yes"),
        ("None", '{"a": [1]}', {"a": [1]}),
        ("None", "{a", "{a"),
        ("None", "a=b", "a=b"),
        ("None", "", ""),
        ("dict[str, int]", '{"a": 1}', {"a": 1}),
        ("bool | str", "no", "no"),
        ("Colour", "red", "red"),
    ],
)
def test_a_value_is_read_as_the_request_wants_it(
    stored: Project, schema: str, text: str, value: Any
) -> None:
    stored.write(
        "flow.py",
        asking(
            f'prompt="?", answer="a", schema={schema}',
            imports='import enum\nColour = enum.Enum("Colour", {"RED": "red", "BLUE": "blue"})',
        ),
    )
    assert stored.agentflow("run", "flow.py", "--run-id", "r-2", "-q").code == 3
    ended = stored.agentflow("resume", "r-2", text, "flow.py", "-q")
    assert (ended.code, json.loads(ended.out)) == (0, {"a": value})


# runs, show


def test_runs_are_listed_oldest_first(stored: Project, waiting: str, snapshot: Snapshot) -> None:
    stored.agentflow("run", "refund.py", "-i", '{"amount": 20}', "--run-id", "r-2", "-q")
    ended = stored.agentflow("runs")
    assert ended.code == 0
    snapshot("durable-runs.txt", steady(ended.out))
    assert "r-1" not in stored.agentflow("runs", "--status", "completed").out
    assert "r-2" not in stored.agentflow("runs", "--status", "suspended").out


def test_the_json_list_tells_of_every_run_and_whether_there_are_more(
    stored: Project, waiting: str
) -> None:
    stored.agentflow("run", "refund.py", "-i", '{"amount": 20}', "--run-id", "r-2", "-q")
    document = json.loads(stored.agentflow("runs", "--json", "--limit", "1").out)
    (run,) = document["runs"]
    assert (document["version"], document["more"], run["run_id"]) == (1, True, "r-1")
    assert {run["workflow"]["id"], run["status"], run["records"]} == {"refund", "suspended", 3}
    assert not json.loads(stored.agentflow("runs", "--json").out)["more"]


def test_a_list_without_runs_says_so(stored: Project, waiting: str) -> None:
    assert stored.agentflow("runs", "--status", "failed").out == "no runs\n"


def test_a_run_is_shown_without_its_code(stored: Project, waiting: str, snapshot: Snapshot) -> None:
    (stored.folder / "refund.py").unlink()
    ended = stored.agentflow("show", "r-1", "--store", STORE)
    assert ended.code == 0
    snapshot("durable-show.txt", steady(ended.out))


def test_with_the_code_the_state_is_exact(
    stored: Project, waiting: str, snapshot: Snapshot
) -> None:
    stored.agentflow("resume", "r-1", "approve", "refund.py", "-q")
    ended = stored.agentflow("show", "r-1", "refund.py")
    assert ended.code == 0
    snapshot("durable-show-completed.txt", steady(ended.out))
    without = stored.agentflow("show", "r-1").out
    assert "log       ['triaged', 'paid']" in ended.out
    assert "log       ['paid']   (2 times)" in without


def test_the_json_document_of_a_run_has_its_records_and_what_they_wrote(
    stored: Project, waiting: str
) -> None:
    stored.agentflow("resume", "r-1", "approve", "refund.py", "-q")
    document = json.loads(stored.agentflow("show", "r-1", "--json").out)
    assert [record["number"] for record in document["history"]] == list(range(1, 11))
    assert [record["kind"] for record in document["history"]] == [
        *("started", "visit", "suspended", "resumed", "answered"),
        *("visit", "effect", "attempt", "visit", "ended"),
    ]
    assert document["written"]["log"] == {"value": ["paid"], "record": 9, "times": 2}
    assert document["used"]["visits"] == 3
    exact = json.loads(stored.agentflow("show", "r-1", "refund.py", "--json").out)
    assert exact["state"]["log"] == ["triaged", "paid"]
    assert "written" not in exact


def test_a_run_that_failed_in_a_sub_workflow_is_shown_to_its_end(
    stored: Project, snapshot: Snapshot
) -> None:
    stored.write(
        "flow.py",
        """
        import dataclasses, datetime, decimal, enum
        from agentflow import Retry, define_workflow, node, route, subflow

        class Colour(enum.Enum):
            RED = "red"

        @dataclasses.dataclass
        class Point:
            x: int
            y: decimal.Decimal

        @node(provides=["p"], routes=[route.to("last")])
        async def first(state):
            return {"p": Point(1, decimal.Decimal("2.50"))}

        @node(requires=["p"], provides=["c"], routes=[route.deliver("c")])
        async def last(state):
            return {"c": (Colour.RED, {"a", "b"} - {"b"}, datetime.date(2026, 11, 30), b"x")}

        inner = define_workflow("inner", nodes=[first, last])

        @node(requires=["c"], routes=[route.deliver("c")], on_error="mend")
        async def work(state):
            raise ValueError("no such thing\\nreally")

        @node(routes=[route.deliver("c")])
        async def mend(state):
            raise RuntimeError("worse")

        workflow = define_workflow("outer", nodes=[
            subflow("make", inner, outputs={"c": "$result"}, routes=[route.to("work")]), work, mend,
        ])
        """,
    )
    assert stored.agentflow("run", "flow.py:workflow", "--run-id", "r-2", "-q").code == 1
    snapshot("durable-show-failed.txt", steady(stored.agentflow("show", "r-2").out))


def test_long_values_are_cut_unless_they_are_wanted(stored: Project) -> None:
    stored.write("flow.py", one_node("return {'x': 'y' * 500}"))
    stored.agentflow("run", "flow.py", "--run-id", "r-2", "-q")
    assert max(map(len, stored.agentflow("show", "r-2").out.splitlines())) < 220
    assert "y" * 500 in stored.agentflow("show", "r-2", "-v").out


def test_code_that_cannot_read_the_run_any_more_is_told(stored: Project, waiting: str) -> None:
    stored.write("refund.py", REFUND.replace("triage", "sort_out"))
    ended = stored.agentflow("show", "r-1", "refund.py")
    assert (ended.code, ended.out) == (2, "")
    assert "leave TARGET out to see what is stored" in ended.err


def test_a_run_that_waits_for_a_time_says_till_when(stored: Project) -> None:
    stored.write(
        "flow.py",
        """
        from agentflow import define_workflow, node, route, wait

        @node(routes=[route.finish(dict)])
        async def done(state):
            return None

        workflow = define_workflow("later", nodes=[wait("nap", seconds=3600, routes=[route.to("done")]), done])
        """,
    )
    ended = stored.agentflow("run", "flow.py", "--run-id", "r-2", "-q")
    assert ended.code == 3
    assert "run r-2 is suspended and waits until 0000-00-00 00:00:00 UTC" in steady(ended.err)
    assert "agentflow resume r-2 flow.py" in ended.err
    assert "due (UTC)" in stored.agentflow("runs").out


# cancel, prune


def test_a_run_that_waits_is_cancelled_without_its_code(stored: Project, waiting: str) -> None:
    (stored.folder / "refund.py").unlink()
    ended = stored.agentflow("cancel", "r-1", "--reason", "nobody wants it")
    assert (ended.code, ended.out) == (0, "run r-1 is cancelled\n")
    shown = stored.agentflow("show", "r-1").out
    assert "cancelled: nobody wants it" in shown
    assert "spent    1 round, 2 visits" in shown


def test_a_run_that_has_ended_cannot_be_cancelled(stored: Project, waiting: str) -> None:
    assert stored.agentflow("cancel", "r-1").code == 0
    ended = stored.agentflow("cancel", "r-1")
    assert (ended.code, ended.out) == (1, "")
    assert "run 'r-1' has ended: it is cancelled" in ended.err


def test_pruning_deletes_old_runs_that_have_ended(stored: Project, waiting: str) -> None:
    stored.agentflow("run", "refund.py", "-i", '{"amount": 20}', "--run-id", "r-2", "-q")
    assert stored.agentflow("prune", "--older-than", "30d").out == "0 runs deleted\n"
    assert stored.agentflow("prune", "--older-than", "0s").out == "1 run deleted\n"
    assert "r-1" in stored.agentflow("runs").out
    ended = stored.agentflow("prune", "--older-than", "0s", "--status", "suspended")
    assert ended.out == "1 run deleted\n"
    assert stored.agentflow("runs").out == "no runs\n"


@pytest.mark.parametrize("duration", ["30", "d", "-1d", "1y", "", "1e3d", "9" * 30 + "w"])
def test_a_duration_that_is_none_is_refused(stored: Project, waiting: str, duration: str) -> None:
    ended = stored.agentflow("prune", f"--older-than={duration}")
    assert ended.code == 2
    assert "is no duration: write a number and s, m, h, d or w, such as 30d" in said(ended)


def test_running_runs_are_not_deleted(stored: Project, waiting: str) -> None:
    ended = stored.agentflow("prune", "--older-than", "0s", "--status", "running")
    assert ended.code == 2
    assert "cancel them first" in said(ended)


# What is amiss.


@pytest.mark.parametrize("command", ["show", "cancel"])
def test_a_run_that_does_not_exist_has_neighbours(
    stored: Project, waiting: str, command: str
) -> None:
    ended = stored.agentflow(command, "r-11")
    assert (ended.code, ended.out) == (2, "")
    assert "the store has no run 'r-11'; did you mean 'r-1'?" in said(ended)
    assert "`agentflow runs` lists them" in said(stored.agentflow(command, "zzz"))
    resumed = stored.agentflow("resume", "r-11", "approve", "refund.py")
    assert (resumed.code, "did you mean 'r-1'?" in said(resumed)) == (2, True)


COMMANDS = [
    ["runs"],
    ["show", "r-1"],
    ["resume", "r-1", "approve", "refund.py"],
    ["cancel", "r-1"],
    ["prune", "--older-than", "0s"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_looking_into_a_store_that_is_not_there_does_not_make_it(
    project: Project, command: list[str]
) -> None:
    project.write("refund.py", REFUND)
    ended = project.agentflow(*command, "--store", "sqlite:///nowhere.db")
    assert (ended.code, ended.out) == (2, "")
    assert "there is no store 'nowhere.db'" in said(ended)
    assert not (project.folder / "nowhere.db").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("", "name a store, such as sqlite:///runs.db, here or in $AGENTFLOW_STORE"),
        ("redis://x", "there is no store 'redis'; there are memory:, sqlite:, postgresql:"),
        ("sqlite:runs.db", "names no file"),
        ("sqlite:///x.db?mode=fast", "there is no option 'mode'"),
        ("memory:", "a memory store goes with its process"),
    ],
)
def test_a_store_that_is_none_is_bad_usage(
    project: Project, command: list[str], url: str, told: str
) -> None:
    project.write("refund.py", REFUND)
    ended = project.agentflow(*command, *(["--store", url] if url else []))
    assert (ended.code, ended.out) == (2, "")
    assert told in said(ended)


@pytest.mark.parametrize(
    "command", [["run", "refund.py", "-i", LARGE], *COMMANDS], ids=lambda command: command[0]
)
def test_a_store_of_a_newer_version_is_told_without_a_traceback(
    stored: Project, waiting: str, command: list[str]
) -> None:
    with sqlite3.connect("runs.db") as database:
        (table,) = database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%schema%'"
        ).fetchone()
        database.execute(f"INSERT INTO {table} (version) VALUES (99)")
    database.close()
    ended = stored.agentflow(*command)
    assert (ended.code, ended.out) == (2, "")
    assert "was written by a newer agentflow" in ended.err


def test_a_file_that_is_no_store_is_told_without_a_traceback(project: Project) -> None:
    project.write("runs.db", "this is no database\n" * 100)
    ended = project.agentflow("runs", "--store", STORE)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: SQLite store runs.db cannot be ")


def test_code_that_cannot_go_on_with_a_run_is_told_without_a_traceback(
    stored: Project, waiting: str
) -> None:
    stored.write("refund.py", REFUND.replace("triage", "sort_out"))
    ended = stored.agentflow("resume", "r-1", "approve", "refund.py", "-q")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ")
    assert "'triage'" in ended.err
    assert "Traceback" not in ended.err
    assert "go on with it" not in ended.err


def test_a_store_that_fails_in_the_middle_of_a_run_leaves_it_to_go_on(project: Project) -> None:
    project.write("flow.py", SOUND)
    project.write(
        "failing.py",
        """
        from agentflow import Engine, StoreError
        from agentflow.stores.sqlite import SqliteStore
        from flow import workflow

        class Failing(SqliteStore):
            written = 0

            async def append(self, claim, entries, **options):
                self.written += len(entries)
                if self.written == 2:
                    raise StoreError("the disk is full")
                await super().append(claim, entries, **options)

        engine = Engine(workflow, store=Failing("runs.db"))
        """,
    )
    given = ["--input", '{"question": "is it up?"}', "--run-id", "r-1", "-q"]
    ended = project.agentflow("run", "failing.py:engine", *given)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: the disk is full\n")
    assert "agentflow resume r-1 failing.py:engine" in ended.err
    again = project.agentflow("resume", "r-1", "flow.py", "--store", STORE, "-q")
    assert (again.code, again.out) == (0, "it is online\n")


def test_what_others_wrote_cannot_do_anything_to_a_terminal(stored: Project) -> None:
    trick = "pay 5\\x1b[2K\\x9b1A\\u202e\\r\\x07 pay\\u00a0500"
    stored.write("flow.py", asking(f'prompt="{trick}", answer="a"', f'prompt={{"x": "{trick}"}}, answer="b"'))  # fmt: skip
    ended = stored.agentflow("run", "flow.py", "--run-id", "r-2", "-q")
    assert "    pay 5\\x1b[2K\\x9b1A\\u202e" in ended.err
    assert stored.agentflow("resume", "r-2", trick, "flow.py", "-q").code == 3
    shown = stored.agentflow("show", "r-2").out
    assert "\\u202e" in shown
    for text in (ended.err, shown):
        assert all(letter.isprintable() for letter in text.replace("\n", ""))


def test_a_password_is_not_printed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "postgresql://me:s3cret@localhost/runs"
    assert public_url(secret) == "postgresql://me:***@localhost/runs"
    monkeypatch.setattr(
        "agentflow.run.registry.load_store", lambda _url: SqliteStore(project.folder / "runs.db")
    )
    project.write("refund.py", REFUND)
    ended = project.agentflow("run", "refund.py", "-i", LARGE, "--store", secret)
    assert "--store 'postgresql://me:***@localhost/runs'" in ended.err
    assert "s3cret" not in ended.err
