"""Private fields in a shell: given beside the input, never stored, and given again when a run goes on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.processes import on_terminal
from tests.cli.shell import Project

SECRET = "s3cr3t"
ORDER = """
from typing import Annotated, NotRequired, TypedDict

from agentflow import ask, define_workflow, node, private, route


class State(TypedDict):
    order: str
    token: Annotated[str, private]
    agreed: NotRequired[bool]
    paid: NotRequired[int]


@node(requires=["order", "token", "agreed"], provides=["paid"], routes=[route.deliver("paid")])
async def pay(state):
    return {"paid": len(state["token"])}


workflow = define_workflow(
    "order",
    nodes=[ask("agree", prompt="pay?", answer="agreed", schema=bool, routes=[route.to("pay")]), pay],
    state=State,
    waive={"AF208": "whoever resumes gives it again"},
)
"""
RUN = ("run", "order.py", "--run-id", "r", "-q")
RESUME = ("resume", "r", "yes", "order.py", "-q")


@pytest.fixture
def stored(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("AGENTFLOW_STORE", "sqlite:///runs.db")
    project.write("order.py", ORDER)
    return project


@pytest.mark.parametrize(
    "given",
    [
        ("--input", json.dumps({"order": "17", "token": SECRET})),
        ("--input", '{"order": "17"}', "--private", json.dumps({"token": SECRET})),
        ("--input", '{"order": "17"}', "--private", "@secret.json"),
        ("--input", '{"order": "17"}', "--private", "-"),
    ],
    ids=["in the input", "apart", "in a file", "on stdin"],
)
def test_a_private_field_is_given_and_given_again(stored: Project, given: tuple[str, ...]) -> None:
    text = json.dumps({"token": SECRET})
    stored.write("secret.json", text)
    assert stored.agentflow(*RUN, *given, stdin=text).code == 3
    shown = stored.agentflow("show", "r", "order.py", "--json").out
    assert "17" in shown
    assert SECRET not in shown
    ended = stored.agentflow(*RESUME, "--private", '{"token": "12345"}')
    assert (ended.code, ended.out) == (0, "5\n")
    for path in Path().glob("runs.db*"):
        assert SECRET.encode() not in path.read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_a_run_that_is_answered_on_the_terminal_keeps_it(stored: Project) -> None:
    given = json.dumps({"order": "17", "token": SECRET})
    command = ("run", "order.py", "--store", "sqlite:///runs.db", "--input", given)
    code, shown = on_terminal(stored, *command, replies=[("> ", "yes\n")])
    assert code == 0
    assert shown.rstrip().endswith("6")


def test_without_it_the_run_stops_and_says_what_to_type(stored: Project) -> None:
    stored.agentflow(*RUN, "--input", json.dumps({"order": "17", "token": SECRET}))
    ended = stored.agentflow(*RESUME)
    assert ended.code == 1
    assert "error: node 'pay' of run r needs the private field 'token'" in ended.err
    assert "go on with it: agentflow resume r --private JSON order.py" in ended.err
    again = stored.agentflow("resume", "r", "--private", '{"token": "12345"}', "order.py", "-q")
    assert (again.code, again.out) == (0, "5\n")
    # A run that is asked for by its id may bring it along as well.
    told = stored.agentflow(*RUN, "--private", '{"token": "1"}')
    assert (told.code, told.out) == (0, "5\n")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('{"order": "x"}', "workflow 'order' has no private field 'order'; there are: 'token'"),
        ('{"token": 5}', "private field 'token' of workflow 'order': string_type"),
        ("{", "the text is no JSON"),
    ],
)
def test_what_is_no_private_field_is_bad_usage(stored: Project, given: str, told: str) -> None:
    begin = (*RUN, "--input", '{"order": "17"}')
    stored.agentflow(*begin, "--private", '{"token": "x"}')
    for command in (begin, RESUME):
        ended = stored.agentflow(*command, "--private", given)
        assert ended.code == 2
        assert "--private" in ended.err
        assert told in " ".join(ended.err.replace("│", " ").split())
