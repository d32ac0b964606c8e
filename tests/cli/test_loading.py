"""What a TARGET may be, and how each of the ways in which it can be wrong is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentflow.graph.findings import Finding
from agentflow.graph.place import Place
from tests.cli.flows import BROKEN, SOUND
from tests.cli.shell import Project


def validated(project: Project, *arguments: str) -> tuple[int, int, list[Finding]]:
    """Exit code, number of workflows and findings of `agentflow validate`; a traceback is no answer."""
    ended = project.agentflow("validate", "--format", "json", *arguments)
    assert "Traceback" not in ended.out + ended.err
    document = json.loads(ended.out)
    findings = []
    for report in document["reports"]:
        for data in report["findings"]:
            data.pop("severity")
            place = data.pop("place")
            findings.append(
                Finding(
                    place=None if place is None else Place(**place),
                    path=tuple(data.pop("path")),
                    details=tuple(data.pop("details")),
                    **data,
                )
            )
    return ended.code, document["workflows"], findings


def refused(project: Project, *arguments: str) -> Finding:
    """The only finding of a target that cannot be read."""
    code, workflows, (finding,) = validated(project, *arguments)
    assert (code, workflows) == (2, 0)
    return finding


@pytest.mark.parametrize(
    "target",
    ["flow.py", "flow.py:workflow", "flow:workflow", "flow", ".", "flow.py:made", "flow.py:engine",
     "flow.py:bound", "flow.py:Holder.inner", "flow.py:partial"],
)  # fmt: skip
def test_every_form_of_a_target_leads_to_the_workflow(project: Project, target: str) -> None:
    project.write(
        "flow.py",
        "import functools\nfrom agentflow import Engine\n"
        + SOUND
        + """
engine = Engine(workflow)

def made():
    return workflow

def bound():
    return Engine(workflow)

class Holder:
    inner = workflow

partial = functools.partial(lambda workflow: workflow, workflow)
""",
    )
    assert validated(project, target) == (0, 1, [])


def test_a_file_in_a_package_is_imported_as_part_of_it(project: Project) -> None:
    project.write("flows/__init__.py", "")
    project.write("flows/parts/__init__.py", "")
    project.write("flows/names.py", "ID = 'named'\n")
    project.write(
        "flows/parts/status.py",
        "from ..names import ID\n" + SOUND.replace('"service-status"', "ID"),
    )
    assert validated(project, "flows/parts/status.py") == (0, 1, [])
    assert validated(project, "flows.parts.status:workflow") == (0, 1, [])
    assert validated(project, "flows") == (0, 1, [])


def test_files_of_one_name_in_two_folders_do_not_get_in_each_others_way(project: Project) -> None:
    for name in ("first", "second"):
        project.write(f"{name}/tools.py", f"ID = {name!r}\n")
        project.write(
            f"{name}/main.py",
            "from tools import ID\n" + SOUND.replace('"service-status"', "ID"),
        )
    assert validated(project, ".")[:2] == (0, 2)


def test_a_folder_does_not_see_the_modules_of_another(project: Project) -> None:
    project.write("first/tools.py", SOUND)
    project.write("second/main.py", "import tools\n")
    code, workflows, (finding,) = validated(project, ".")
    assert (code, workflows, finding.code) == (2, 1, "AF004")


def test_a_file_named_like_a_module_of_python_leaves_that_alone(project: Project) -> None:
    project.write("typing.py", SOUND)
    assert validated(project, "typing.py") == (0, 1, [])


def test_a_script_that_runs_only_as_a_program_is_imported_quietly(project: Project) -> None:
    project.write("flow.py", SOUND + "\nif __name__ == '__main__':\n    raise SystemExit(3)\n")
    assert validated(project, "flow.py") == (0, 1, [])


def test_a_module_sees_its_own_path_as_the_only_argument(project: Project) -> None:
    path = project.write("flow.py", "import sys\nassert sys.argv == [__file__], sys.argv\n" + SOUND)
    assert validated(project, "flow.py") == (0, 1, [])
    assert validated(project, str(path)) == (0, 1, [])


def test_a_module_that_reads_stdin_gets_nothing_of_it(project: Project) -> None:
    project.write("flow.py", "secret = input()\n")
    ended = project.process("validate", "flow.py", stdin="secret\n")
    assert ended.code == 2
    assert "reads from stdin" in ended.out


def test_a_folder_is_searched_deeply_and_its_other_files_are_left_alone(project: Project) -> None:
    project.write("a/b/flow.py", SOUND)
    project.write("a/nothing.py", "x = 1\n")
    project.write("a/__main__.py", "raise SystemExit(3)\n")
    project.write("a/setup.py", "raise SystemExit(3)\n")
    project.write("a/.hidden/flow.py", BROKEN)
    project.write("a/env/pyvenv.cfg", "")
    project.write("a/env/flow.py", BROKEN)
    project.write("a/package.json", '{"name": "other", "nodes": []}')
    project.write("a/broken.json", '{"nodes": ')
    project.write("a/list.yaml", "- nodes\n")
    assert validated(project, "a") == (0, 1, [])


def test_a_broken_file_that_means_to_be_a_workflow_is_not_passed_over(project: Project) -> None:
    project.write("flow.json", '{"$schema": "workflow.schema.json", "id": "x", "nodes": [}')
    assert refused(project, ".").code == "AF003"


def test_the_functions_of_a_specification_are_found_beside_it(project: Project) -> None:
    project.write("flows/parts.py", SOUND)
    project.write(
        "flows/flow.json",
        json.dumps(
            {
                "id": "one",
                "inputs": ["question"],
                "nodes": [
                    {
                        "id": "look_up",
                        "run": "parts:look_up",
                        "requires": ["question"],
                        "provides": ["status"],
                        "routes": [{"deliver": "status"}],
                    }
                ],
            }
        ),
    )
    assert validated(project, "flows/flow.json") == (0, 1, [])
    assert validated(project, "flows") == (0, 2, [])


def test_without_imports_a_specification_is_checked_as_far_as_it_tells(project: Project) -> None:
    project.write("parts.py", "raise RuntimeError('imported')\n")
    node = '{"id": "a", "run": "parts:a", "provides": ["x"], "routes": [{"deliver": "x"}]}'
    project.write("flow.json", f'{{"id": "one", "nodes": [{node}]}}')
    assert validated(project, "flow.json", "--no-import") == (0, 1, [])
    assert validated(project, ".", "--no-import") == (0, 1, [])
    code, _, findings = validated(project, "flow.json")
    assert code == 1
    assert findings[0].code == "AF131"
    assert refused(project, "parts.py", "--no-import").code == "AF008"


@pytest.mark.parametrize(
    ("name", "text", "code", "said", "line"),
    [
        ("syntax.py", "x = (\n", "AF003", "syntax.py is no valid Python: '(' was never closed", 1),
        ("indent.py", "if 1:\nx = 1\n", "AF003", "expected an indented block", 2),
        ("exit.py", "import sys\nsys.exit('bye')\n", "AF002", "sys.exit('bye')", 2),
        ("asks.py", "input()\n", "AF002", "reads from stdin", 1),
        ("raises.py", "x = 1\n{}['k']\n", "AF002", "KeyError: 'k'", 2),
        ("base.py", "class B(BaseException): ...\nraise B('odd')\n", "AF002", "B: odd", 2),
        ("missing.py", "import nothing_like_it\n", "AF004", "'nothing_like_it'", 1),
        ("inner.py", "from os import nothing\n", "AF002", "cannot import name 'nothing'", 1),
        ("empty.py", "x = 1\n", "AF007", "no workflow at its top level", None),
        ("broken.json", '{\n"id" 1}', "AF003", "no JSON: Expecting ':' delimiter", 2),
        ("broken.yaml", "a: [1\nb: 2\n", "AF003", "no YAML", 2),
        ("list.json", "[]", "AF003", "holds a list", None),
        ("notes.txt", "hello", "AF006", "no file that can hold a workflow", None),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_a_finding_at_its_line(
    project: Project, name: str, text: str, code: str, said: str, line: int | None
) -> None:
    project.write(name, text)
    finding = refused(project, name)
    assert finding.code == code
    assert said in finding.message
    if line is not None:
        assert finding.place is not None
        assert (finding.place.file, finding.place.line) == (name, line)


def test_of_an_agent_the_engine_is_named(project: Project) -> None:
    project.write(
        "helper.py", 'from agentflow import Agent\nagent = Agent("a", None, "mock:echo")\n'
    )
    assert refused(project, "helper.py:agent").hint == "name the engine of the agent: agent.engine"
    assert validated(project, "helper.py:agent.engine") == (0, 1, [])


@pytest.mark.parametrize(
    ("target", "code", "said", "hint"),
    [
        ("nowhere.py", "AF001", "there is no file 'nowhere.py'", "paths start"),
        ("flo.py", "AF001", "there is no file 'flo.py'", "did you mean 'flow.py'?"),
        ("nowhere.json", "AF001", "there is no file", ""),
        ("sub/nowhere.py:x", "AF001", "there is no file", ""),
        ("no.such.module:x", "AF001", "there is no module 'no'", ""),
        ("no_such_module", "AF001", "there is no module 'no_such_module'", "working folder"),
        ("flow.py:workflo", "AF001", "has no attribute 'workflo'", "did you mean 'workflow'?"),
        ("flow.py:zzz", "AF001", "has no attribute 'zzz'", "it has the workflows workflow"),
        ("flow.py:workflow.zzz", "AF001", "has no attribute", ""),
        ("flow.py:look_up", "AF006", "'look_up' is a node", "define_workflow"),
        ("flow.py:State", "AF006", "'State' is of the type", ""),
        ("flow.py:number", "AF006", "'number' is of the type int", ""),
        ("flow.py:needs", "AF006", "function 'needs' needs arguments", ""),
        ("flow.py:later", "AF006", "function 'later' is asynchronous", ""),
        ("flow.py:gives", "AF006", "function 'gives' returned None", ""),
        ("flow.py:raises", "AF002", "function 'raises' raised ValueError: no", ""),
        ("empty", "AF007", "there is no workflow below 'empty'", ""),
    ],
)
def test_a_target_that_leads_to_no_workflow_says_what_it_leads_to(
    project: Project, target: str, code: str, said: str, hint: str
) -> None:
    project.write(
        "flow.py",
        SOUND
        + """
number = 3
def needs(x): ...
async def later(): ...
def gives(): ...
def raises():
    raise ValueError("no")
""",
    )
    project.write("empty/notes.txt", "")
    finding = refused(project, target)
    assert finding.code == code
    assert said in finding.message
    assert hint in finding.hint


def test_modules_that_wait_for_each_other_are_told_with_the_way_round(project: Project) -> None:
    project.write("first.py", "import second\nx = 1\n")
    project.write("second.py", "from first import x\n")
    finding = refused(project, "first.py")
    assert finding.code == "AF005"
    assert finding.details == ("first.py:1: import second", "second.py:1: from first import x")


def test_an_import_that_fails_deep_down_shows_the_way_there(project: Project) -> None:
    project.write("flow.py", "import middle\n")
    project.write("middle.py", "import json\nimport deep\n")
    project.write("deep.py", "def f():\n    return {}['k']\n\nf()\n")
    finding = refused(project, "flow.py")
    assert finding.place == Place("deep.py", 2)
    assert finding.details == (
        "flow.py:1: import middle",
        "middle.py:2: import deep",
        "deep.py:4: f()",
        "deep.py:2: return {}['k']",
    )


def test_a_refused_definition_behind_an_import_is_told_by_its_own_findings(
    project: Project,
) -> None:
    project.write("bad.py", BROKEN)
    project.write("flow.py", "from bad import workflow\n")
    code, workflows, findings = validated(project, "flow.py")
    assert (code, workflows) == (1, 1)
    assert {finding.code for finding in findings} == {"AF106", "AF115", "AF118", "AF120"}
    assert {finding.place.file for finding in findings if finding.place} == {"bad.py"}


def test_imports_leave_nothing_behind_in_the_interpreter(project: Project) -> None:
    import sys

    project.write("flow.py", "import beside\n" + SOUND)
    project.write("beside.py", "import sys\nsys.path.append('nowhere')\n")
    path, modules, arguments = list(sys.path), set(sys.modules), list(sys.argv)
    assert validated(project, "flow.py")[0] == 0
    assert (sys.path, sys.argv) == (path, arguments)
    ours = {name for name in set(sys.modules) - modules if not name.startswith("agentflow.")}
    assert not ours & {"flow", "beside"}


def test_a_path_outside_of_the_working_folder_is_shown_whole(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other: Path = tmp_path_factory.mktemp("other") / "flow.py"
    other.write_text("import nothing_like_it\n", encoding="utf-8")
    finding = refused(project, str(other))
    assert finding.place == Place(str(other), 1)
