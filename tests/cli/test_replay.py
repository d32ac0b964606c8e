"""Exported runs as a regression suite: written by one command, replayed by another, with an exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agentflow.run.export import exported_run_schema, imported
from tests.cli.shell import Project

FLOW = """
from agentflow import define_workflow, node, route


@node(requires=["n"], provides=["m"], routes=[route.to("add")])
async def double(state, ctx):
    return {"m": await ctx.once("double", lambda: state["n"] * 2)}


@node(requires=["m"], provides=["k"], routes=[route.deliver("k")])
async def add(state):
    return {"k": state["m"] + 1}


flow = define_workflow("flow", nodes=[double, add], inputs=["n"])
"""


@pytest.fixture
def flow(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a run `r-1` in its store, and exported to `runs/r-1.json`."""
    monkeypatch.setenv("AGENTFLOW_STORE", "sqlite:///runs.db")
    project.write("flow.py", FLOW)
    assert project.agentflow("run", "flow.py", "-i", '{"n": 3}', "--run-id", "r-1", "-q").code == 0
    (project.folder / "runs").mkdir()
    assert project.agentflow("export", "r-1", "-o", "runs/r-1.json").code == 0
    return project


def document(project: Project) -> Any:
    return json.loads((project.folder / "runs" / "r-1.json").read_text("utf-8"))


def change(project: Project) -> None:
    project.write("flow.py", FLOW.replace("+ 1", "+ 2"))


def test_an_exported_run_satisfies_its_schema_and_comes_back_whole(flow: Project) -> None:
    found = document(flow)
    jsonschema.validate(found, exported_run_schema())
    info, entries = imported(found)
    assert (info.run_id, info.status, info.last) == ("r-1", "completed", len(entries))
    assert [entry.kind for entry in entries] == ["started", "effect", "visit", "visit", "ended"]


def test_export_writes_to_stdout_where_no_file_is_named(flow: Project) -> None:
    assert json.loads(flow.agentflow("export", "r-1").out) == document(flow)


def test_the_same_code_replays_alike_from_the_store_from_a_file_and_from_a_folder(
    flow: Project,
) -> None:
    for source in ("r-1", "runs/r-1.json", "runs"):
        ended = flow.agentflow("replay", source, "flow.py")
        assert (ended.code, ended.err) == (0, "")
        assert ended.out == "same    r-1  2 visits\n1 run replayed, 0 different\n"


def test_a_difference_is_told_with_its_place_and_fails_the_command(flow: Project) -> None:
    change(flow)
    ended = flow.agentflow("replay", "runs", "flow.py")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "differs r-1  after 2 visits",
        "    at /add#1: the field 'k'",
        "    expected 7",
        "    got      8",
        "1 run replayed, 1 different",
    ]


def test_differences_are_there_as_json(flow: Project) -> None:
    change(flow)
    ended = flow.agentflow("replay", "r-1", "runs", "flow.py", "--json")
    found = json.loads(ended.out)
    assert ended.code == 1
    assert [run["same"] for run in found["runs"]] == [False, False]
    assert found["runs"][0]["difference"] == {
        "frame": "",
        "node_id": "add",
        "visit": 1,
        "what": "the field 'k'",
        "expected": "7",
        "got": "8",
    }


def test_from_a_node_on_the_run_goes_live_and_the_recorded_one_is_left_alone(
    flow: Project,
) -> None:
    change(flow)
    before = document(flow)
    ended = flow.agentflow("replay", "r-1", "flow.py", "--from", "add")
    assert (ended.code, ended.out) == (0, "8\n")
    assert json.loads(flow.agentflow("export", "r-1").out) == before
    assert len(json.loads(flow.agentflow("runs", "--json").out)["runs"]) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("replay", "r-2", "flow.py"), "the store has no run 'r-2'; did you mean 'r-1'?"),
        (("replay", "gone.json", "flow.py"), "gone.json cannot be read: No such file"),
        (("replay", "bad.json", "flow.py"), "bad.json: it is no exported run: "),
        (("replay", "text.json", "flow.py"), "text.json is no JSON"),
        (("replay", "newer.json", "flow.py"), "exported by a newer version, in form 9"),
        (("replay", "torn.json", "flow.py"), "record 5 stands where 4 should be"),
        (("replay", "empty", "flow.py"), "empty holds no exported run"),
        (("replay", "r-1", "other.py"), "is one of workflow 'flow', but other.py holds 'other'"),
        (("replay", "flow.py"), "name a run or a file, then the TARGET"),
        (("replay", "r-1", "flow.py", "--from", "ad"), "it visited 'double', 'add'"),
        (("replay", "runs", "r-1", "flow.py", "--from", "add"), "one run goes live at a time"),
        (("export", "r-2"), "the store has no run 'r-2'"),
        (("export", "r-1", "-o", "no/where.json"), "no/where.json cannot be written"),
    ],
)
def test_what_cannot_be_read_is_said_and_ends_with_2(
    flow: Project, words: tuple[str, ...], said: str
) -> None:
    torn = document(flow)
    del torn["records"][3]
    flow.write("bad.json", '{"version": 1}')
    flow.write("text.json", "text")
    flow.write("newer.json", '{"version": 9}')
    flow.write("torn.json", json.dumps(torn))
    flow.write("other.py", FLOW.replace('"flow"', '"other"'))
    (Path(flow.folder) / "empty").mkdir()
    ended = flow.agentflow(*words)
    assert ended.code == 2
    assert said in " ".join(ended.err.split())
