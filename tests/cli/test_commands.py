"""The small commands, and what is true of all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import jsonschema
import pytest

from agentflow import __version__
from agentflow.cli.reference import entry, page
from agentflow.graph.codes import CODES
from tests.cli.flows import BROKEN, SOUND, one_node
from tests.cli.shell import Project

Snapshot = Callable[[str, str], None]


def test_help_lists_the_commands(project: Project, snapshot: Snapshot) -> None:
    ended = project.agentflow("--help")
    assert ended.code == 0
    snapshot("help.txt", ended.out)


@pytest.mark.parametrize("command", ["validate", "explain", "graph", "run", "schema"])
def test_every_command_has_help(project: Project, command: str) -> None:
    ended = project.agentflow(command, "--help")
    assert ended.code == 0
    assert f"Usage: agentflow {command}" in ended.out


def test_help_loads_neither_the_engine_nor_what_draws_on_terminals(project: Project) -> None:
    code = (
        "import sys\nfrom agentflow.cli.main import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "typer" in loaded
    assert not loaded & {
        "rich",
        "pydantic",
        "anyio",
        "yaml",
        "networkx",
        "agentflow.graph.workflow",
    }


def test_validating_without_a_terminal_does_not_load_rich(project: Project) -> None:
    project.write("flow.py", SOUND + "\nimport sys\nassert 'rich' not in sys.modules\n")
    code = (
        "import sys\nfrom agentflow.cli.main import app\n"
        "app(['validate', 'flow.py'], standalone_mode=False)\n"
        "assert 'rich' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=project.folder, capture_output=True
    )


def test_the_version_is_told(project: Project) -> None:
    assert project.agentflow("--version").out == f"agentflow {__version__}\n"


def test_no_command_shows_the_help_and_is_bad_usage(project: Project) -> None:
    assert project.agentflow().code == 2


def test_python_m_agentflow_is_agentflow(project: Project) -> None:
    ended = project.process("--version")
    assert (ended.code, ended.out) == (0, f"agentflow {__version__}\n")


def test_a_code_is_explained_with_an_example_and_how_it_is_mended(project: Project) -> None:
    ended = project.agentflow("explain", "AF106")
    assert ended.code == 0
    assert ended.out.startswith(
        "error[AF106]: unknown route target\n\n"
        "A run that takes the route would have nowhere to go.\n\n    "
    )
    shown, mended = ended.out.split("\nMended:\n")
    assert "    error[AF106]: node" in shown
    assert "define_workflow" in mended
    assert "```" not in ended.out
    assert project.agentflow("explain", "af106").out == ended.out


def test_without_the_reference_a_code_is_explained_by_the_table(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentflow.cli.reference.page", lambda: None)
    assert project.agentflow("explain", "AF106").out == (
        "error[AF106]: unknown route target\n\n"
        "A run that takes the route would have nowhere to go.\n"
    )


def test_every_code_has_its_entry_in_the_reference() -> None:
    text = page()
    assert text is not None
    assert [code for code in CODES if entry(text, code) is None] == []


def test_an_entry_ends_at_the_next_heading_and_not_at_a_comment() -> None:
    text = "### AF001\n\none\n\n```python\n# no heading\n```\n\n## Other\n\n### AF002\ntwo\n"
    assert entry(text, "AF001") == "one\n\n```python\n# no heading\n```"
    assert entry(text, "AF002") == "two"
    assert entry(text, "AF003") is None


def test_all_codes_are_listed(project: Project) -> None:
    lines = project.agentflow("explain").out.splitlines()
    assert [line.split()[:2] for line in lines] == [
        [code, entry.severity] for code, entry in CODES.items()
    ]


def test_a_code_that_does_not_exist_has_neighbours(project: Project) -> None:
    ended = project.agentflow("explain", "AF1066")
    assert ended.code == 2
    assert "did you mean AF106" in ended.err


@pytest.mark.parametrize(("format", "first"), [("mermaid", "flowchart"), ("dot", "digraph")])
def test_a_workflow_is_drawn(project: Project, format: str, first: str) -> None:
    project.write("flow.py", "print('noise')\n" + SOUND)
    ended = project.agentflow("graph", "flow.py", "--format", format)
    assert ended.code == 0
    assert first in ended.out.splitlines()[0] + ended.out
    assert "look_up" in ended.out
    assert "noise" not in ended.out


@pytest.mark.parametrize("target", ["flow.py", "flow.json"])
def test_a_refused_workflow_is_drawn_with_its_findings_marked(
    project: Project, target: str
) -> None:
    project.write("flow.py", BROKEN)
    project.write(
        "flow.json",
        json.dumps(
            {
                "id": "one",
                "nodes": [
                    {
                        "id": "look_up",
                        "run": "os:getcwd",
                        "provides": ["x"],
                        "routes": [{"to": "repl"}],
                    }
                ],
            }
        ),
    )
    ended = project.agentflow("graph", target)
    assert ended.code == 0
    assert "AF106" in ended.out
    assert f"agentflow validate {target}" in ended.err


def test_there_has_to_be_one_workflow_to_draw(project: Project) -> None:
    project.write("flow.py", SOUND)
    project.write("other.py", SOUND)
    several = project.agentflow("graph", ".")
    assert several.code == 2
    assert "flow.py:workflow, other.py:workflow" in several.err
    none = project.agentflow("graph", "nowhere.py")
    assert (none.code, none.out) == (2, "")
    assert "error[AF001]" in none.err


def test_a_schema_is_printed(project: Project) -> None:
    names = project.agentflow("schema").out.split()
    assert {"workflow", "finding", "fact"} <= set(names)
    for name in names:
        ended = project.agentflow("schema", name)
        jsonschema.Draft202012Validator.check_schema(json.loads(ended.out))
        assert project.agentflow("schema", f"{name}.schema.json").out == ended.out


def test_a_schema_that_does_not_exist_has_neighbours(project: Project) -> None:
    ended = project.agentflow("schema", "workflo")
    assert ended.code == 2
    assert "did you mean 'workflow'?" in ended.err


def test_reports_of_the_json_format_have_the_shape_of_the_schema(project: Project) -> None:
    project.write("flow.py", BROKEN)
    shape = json.loads(project.agentflow("schema", "finding").out)
    ended = project.agentflow("validate", "flow.py", "nowhere.py", "--format", "json")
    reports = json.loads(ended.out)["reports"]
    assert len(reports) == 2
    for report in reports:
        jsonschema.validate(report, shape)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_process_without_some_of_its_streams_does_its_work(project: Project, closed: str) -> None:
    project.write("flow.py", one_node("print('noise'); return {'x': 'done'}"))
    command = " ".join(project.command("run", "flow.py"))
    done = subprocess.run(
        f"{command} {closed}",
        shell=True,
        cwd=project.folder,
        env=project.variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert done.stdout == ("" if ">&-" in closed.replace("2>&-", "") else "done\n")
