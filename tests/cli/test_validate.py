from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.flows import BROKEN, SOUND, one_node
from tests.cli.shell import Project

Snapshot = Callable[[str, str], None]

WARNED = """
from agentflow import define_workflow, node, route

@node(requires=["question"], provides=["answer", "unused"], routes=[route.deliver("answer")])
async def work(state):
    return {"answer": 1, "unused": 2}

workflow = define_workflow("warned", nodes=[work], inputs=["question"])
"""


def test_a_sound_workflow_is_told_to_be_one(project: Project, snapshot: Snapshot) -> None:
    project.write("flow.py", SOUND)
    ended = project.agentflow("validate", "flow.py")
    assert ended.code == 0
    snapshot("validate-sound.txt", ended.out)


@pytest.mark.rule("R229")
def test_every_mistake_is_shown_with_its_line_and_its_remedy(
    project: Project, snapshot: Snapshot
) -> None:
    project.write("flow.py", BROKEN)
    ended = project.agentflow("validate", "flow.py")
    assert ended.code == 1
    snapshot("validate-broken.txt", ended.out)


def test_a_specification_is_shown_with_the_line_that_the_pointer_leads_to(
    project: Project, snapshot: Snapshot
) -> None:
    project.write("flow.py", SOUND)
    project.write(
        "flow.yaml",
        """
        id: service-status
        inputs: [question]
        nodes:
          - id: look_up
            run: flow:look_up
            provides: [status]
            routes:
              - to: reply
                when: {field: status, op: ==, value: online}
              - deliver: status
        """,
    )
    ended = project.agentflow("validate", "flow.yaml", "--select", "AF106")
    assert ended.code == 1
    snapshot("validate-yaml.txt", ended.out)


def test_several_targets_are_checked_together(project: Project) -> None:
    project.write("good.py", SOUND)
    project.write("bad.py", BROKEN)
    ended = project.agentflow("validate", "good.py", "bad.py")
    assert ended.code == 1
    assert "2 workflows checked: 4 errors" in ended.out


def test_a_workflow_that_two_modules_have_is_reported_once(project: Project) -> None:
    project.write("first.py", WARNED)
    project.write("second.py", "from first import workflow\n")
    ended = project.agentflow("validate", ".", "second.py", "first:workflow")
    assert "1 workflow checked" in ended.out
    assert ended.out.count("AF210") == 1


def test_a_refused_workflow_that_two_modules_import_is_reported_once(project: Project) -> None:
    project.write("first.py", BROKEN)
    project.write("second.py", "from first import workflow\n")
    ended = project.agentflow("validate", ".")
    assert ended.code == 1
    assert "1 workflow checked: 4 errors" in ended.out


def test_warnings_count_only_when_they_are_to(project: Project) -> None:
    project.write("flow.py", WARNED)
    assert project.agentflow("validate", "flow.py").code == 0
    strict = project.agentflow("validate", "flow.py", "--strict")
    assert strict.code == 1
    assert "warning[AF210]" in strict.out


def test_codes_are_selected_and_ignored_by_how_they_begin(project: Project) -> None:
    project.write("flow.py", BROKEN)

    def codes(*options: str) -> set[str]:
        ended = project.agentflow("validate", "flow.py", "--format", "json", *options)
        reports = json.loads(ended.out)["reports"]
        return {finding["code"] for report in reports for finding in report["findings"]}

    assert codes() == {"AF106", "AF115", "AF118", "AF120"}
    assert codes("--select", "AF10") == {"AF106"}
    assert codes("--select", "AF106,AF118", "--select", "AF12") == {"AF106", "AF118", "AF120"}
    assert codes("--ignore", "AF11") == {"AF106", "AF120"}
    assert codes("--select", "AF1", "--ignore", "AF12,AF106") == {"AF115", "AF118"}


def test_ignored_errors_do_not_fail_the_check(project: Project) -> None:
    project.write("flow.py", BROKEN)
    assert project.agentflow("validate", "flow.py", "--ignore", "AF1").code == 0


def test_errors_that_are_not_shown_are_counted(project: Project) -> None:
    project.write("flow.py", BROKEN)
    selected = project.agentflow("validate", "flow.py", "--select", "AF605")
    assert selected.out == "1 workflow checked: no findings, 4 errors of other codes not shown\n"
    ignored = project.agentflow("validate", "flow.py", "--ignore", "AF106")
    assert ignored.out.endswith("1 workflow checked: 3 errors, 1 error of other codes not shown\n")


@pytest.mark.parametrize("selected", ["AF5", "AF2", "AF306", "AF602", "AF7"])
@pytest.mark.parametrize("format", ["text", "json", "sarif", "github"])
def test_what_kept_the_selected_codes_from_being_proved_fails_the_check_and_is_shown(
    project: Project, selected: str, format: str
) -> None:
    project.write("flow.py", BROKEN)
    ended = project.agentflow("validate", "flow.py", "--select", selected, "--format", format)
    assert ended.code == 1
    assert "routes to 'repl', which is no node" in ended.out


def test_where_paths_were_walked_other_errors_do_not_fail_the_check(project: Project) -> None:
    project.write("flow.py", SOUND.replace('requires=["question"], ', 'requires=["answer"], '))
    assert project.agentflow("validate", "flow.py").code == 1
    for selected in ("AF1", "AF5", "AF4"):
        ended = project.agentflow("validate", "flow.py", "--select", selected)
        assert (ended.code, "not shown" in ended.out) == (0, True)


def test_a_waived_error_keeps_nothing_from_being_proved(project: Project) -> None:
    text = SOUND.replace(
        'route.to("apologise")]',
        'route.to("apologise"), route.to("reply")], waive={"AF115": "later"}',
    )
    project.write("flow.py", text)
    assert project.agentflow("validate", "flow.py", "--select", "AF5").code == 0
    project.write("flow.py", text.replace(', waive={"AF115": "later"}', ""))
    assert project.agentflow("validate", "flow.py", "--select", "AF5").code == 1


def test_what_could_not_be_read_cannot_be_ignored(project: Project) -> None:
    ended = project.agentflow("validate", "nowhere.py", "--ignore", "AF", "--select", "AF106")
    assert ended.code == 2
    assert "AF001" in ended.out


def test_a_code_that_does_not_exist_is_refused(project: Project) -> None:
    project.write("flow.py", SOUND)
    ended = project.agentflow("validate", "flow.py", "--select", "AF9x")
    assert ended.code == 2
    assert "no code begins with 'AF9x'" in ended.err


def test_the_json_document_has_everything_and_nothing_else_on_stdout(project: Project) -> None:
    project.write("flow.py", "print('noise')\n" + BROKEN)
    ended = project.agentflow("validate", "flow.py", "--format", "json")
    document = json.loads(ended.out)
    assert ended.err == "noise\n"
    assert (document["version"], document["exit_code"], document["workflows"]) == (1, 1, 1)
    assert document["counts"] == {"error": 4, "warning": 0, "info": 0}
    (report,) = document["reports"]
    target = next(finding for finding in report["findings"] if finding["code"] == "AF106")
    assert target == {
        "code": "AF106",
        "severity": "error",
        "message": "node 'look_up' routes to 'repl', which is no node",
        "hint": "did you mean 'reply'?",
        "workflow": "service-status",
        "node": "look_up",
        "place": {"file": "flow.py", "line": 15, "pointer": None},
        "path": [],
        "details": [],
    }


def test_below_python_too_nothing_gets_between_the_lines_of_the_document(project: Project) -> None:
    project.write(
        "flow.py",
        """
        import atexit, os, subprocess, sys
        os.write(1, b"raw\\n")
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        sys.__stdout__.write("kept\\n")
        atexit.register(print, "farewell")
        """
        + SOUND.replace("\n", "\n        "),
    )
    ended = project.process("validate", "flow.py", "--format", "json")
    assert ended.code == 0
    assert json.loads(ended.out)["workflows"] == 1
    for noise in ("raw", "child", "kept", "farewell"):
        assert noise in ended.err


def test_waived_findings_are_listed_with_their_reasons(
    project: Project, snapshot: Snapshot
) -> None:
    waived = WARNED.replace("inputs=", 'waive={"AF210": "kept for the audit"}, inputs=')
    project.write("flow.py", waived.replace('requires=["question"], ', ""))
    ended = project.agentflow("validate", "flow.py")
    assert ended.code == 0
    snapshot("validate-waived.txt", ended.out)


def test_a_long_declaration_is_shown_by_its_head_and_the_line_in_question(
    project: Project, snapshot: Snapshot
) -> None:
    routes = "".join(f'\n    "field_{number}",' for number in range(12))
    text = one_node('return {"x": 1}', options=f", requires=[{routes}\n]")
    project.write(
        "flow.py",
        text.replace('define_workflow("one"', 'define_workflow("one", inputs=["field_9"]'),
    )
    ended = project.agentflow("validate", "flow.py", "--select", "AF201")
    assert ended.code == 1
    snapshot("validate-long.txt", ended.out)


def test_no_target_at_all_is_bad_usage(project: Project) -> None:
    ended = project.agentflow("validate")
    assert ended.code == 2
    assert "Missing argument 'TARGET'" in ended.err
