"""`agentflow compat`: what a new definition does to stored runs, before it is deployed, with an exit code."""

from __future__ import annotations

import json

import pytest

from tests.cli.shell import Project

FLOW = """
from typing import NotRequired, TypedDict

from agentflow import define_workflow, node, route


class State(TypedDict):
    n: int
    m: NotRequired[int]
    ok: NotRequired[bool]


@node(provides=["m"], routes=[route.to("ask")])
async def double(state):
    return {"m": state["n"] * 2}


@node(id="ask", provides=["ok"], routes=[route.deliver("m")])
async def asking(state, ctx):
    return {"ok": await ctx.suspend("ok?", state["n"])}


flow = define_workflow("flow", nodes=[double, asking], state=State, inputs=["n"])
"""

RENAMED = FLOW.replace('"ask"', '"approve"')
MIGRATED = RENAMED.replace(
    'inputs=["n"])',
    """inputs=["n"], version="2", migrations={"1": Migration(dict, {"ask": "approve"})})""",
).replace("import define_workflow", "import Migration, define_workflow")


@pytest.fixture
def flow(project: Project) -> Project:
    """A project with the old definition in `old/`, and a run of it that waits."""
    for folder in ("old", "new"):
        project.write(f"{folder}/flow.py", FLOW)
    ran = project.agentflow(
        *("run", "old/flow.py", "-i", '{"n": 3}', "--run-id", "r-1", "-q"),
        *("--store", "sqlite:///runs.db"),
    )
    assert ran.code == 3, ran.err
    return project


STORE = ("--store", "sqlite:///runs.db")


def test_two_loads_of_the_same_definition_are_safe(flow: Project) -> None:
    ended = flow.agentflow("compat", "old/flow.py", "new/flow.py", *STORE)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "safe  flow 1 -> 1",
        "0 runs concerned: 0 safe, 0 migratable, 0 breaking",
    ]


def test_a_breaking_change_is_told_with_its_place_and_what_to_do(flow: Project) -> None:
    flow.write("new/flow.py", RENAMED)
    ended = flow.agentflow("compat", "old/flow.py", "new/flow.py")
    assert ended.code == 1
    assert ended.out.splitlines()[:5] == [
        "breaking  flow 1 -> 1",
        "    node double: route 1 led to ask, and leads to approve",
        "        keep the routes in their order, and put new ones behind them",
        "    node ask: the node is gone",
        "        keep it until no run rests there or has passed it, or declare a migration",
    ]


def test_the_runs_of_a_store_are_judged_one_by_one_and_decide(flow: Project) -> None:
    # The change is breaking for some run, and not for this one, which has passed it.
    flow.write("new/flow.py", FLOW.replace("m: NotRequired[int]", "m: NotRequired[int | None]"))
    wider = flow.agentflow("compat", "old/flow.py", "new/flow.py", *STORE)
    assert (wider.code, wider.out.splitlines()[-1]) == (
        0,
        "1 run concerned: 1 safe, 0 migratable, 0 breaking",
    )
    flow.write("new/flow.py", RENAMED)
    before = flow.agentflow("show", "r-1", *STORE).out
    ended = flow.agentflow("compat", "old/flow.py", "new/flow.py", *STORE, "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["verdict"]) == (1, "breaking")
    (run,) = found["runs"]
    assert (run["run_id"], run["version"], run["verdict"]) == ("r-1", "1", "breaking")
    assert "led to node 'ask'; today it leads to node 'approve'" in run["reason"]
    assert flow.agentflow("show", "r-1", *STORE).out == before


def test_a_declared_migration_has_an_exit_code_of_its_own(flow: Project) -> None:
    flow.write("new/flow.py", MIGRATED)
    for words in ((), STORE):
        ended = flow.agentflow("compat", "old/flow.py", "new/flow.py", *words)
        assert ended.code == 3, ended.err
        assert ended.out.startswith("migratable  flow 1 -> 2\n")
    assert "migratable  r-1  1" in ended.out
    resumed = flow.agentflow("resume", "r-1", "true", "new/flow.py", "-q", *STORE)
    assert (resumed.code, resumed.out) == (0, "6\n"), resumed.err
    shown = flow.agentflow("show", "r-1", *STORE).out
    assert "from version 1 to 2: n=3, m=6 -> approve" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("old/flow.py", "gone.py"), "there is no file 'gone.py'"),
        (("old/flow.py", "new/flow.py", "--store", "sqlite:///gone.db"), "there is no store"),
    ],
)
def test_what_cannot_be_read_is_told(flow: Project, words: tuple[str, ...], said: str) -> None:
    ended = flow.agentflow("compat", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
