"""What others demand of workflows besides their authors: policy files, budgets, and the worst case that is proved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentflow.cli.watch import _folder
from agentflow.run.schemas import SCHEMAS
from tests.cli.durable_flows import REFUND
from tests.cli.flows import BROKEN, SOUND
from tests.cli.shell import Ended, Project

Snapshot = Callable[[str, str], None]

FLOW = REFUND.replace('provides=["large", "log"]', 'provides=["large"]').replace(
    ', "log": ["triaged"]', ""
)
FLOW = FLOW.replace('provides=["receipt", "log"]', 'provides=["receipt"]').replace(
    ', "log": ["paid"]', ""
)


@pytest.fixture
def refund(project: Project) -> Project:
    """A project with a refund flow that has no findings of its own."""
    project.write("refund.py", FLOW)
    assert project.agentflow("validate", "refund.py", "--strict").code == 0
    return project


def judged(project: Project, policies: str, *options: str, name: str = "policies.yaml") -> Ended:
    """What is said of the refund flow by a policy file."""
    project.write(name, policies)
    return project.agentflow("validate", "refund.py", "--policy", name, *options)


def codes(ended: Ended) -> list[str]:
    """The codes of a JSON document, in order."""
    reports = json.loads(ended.out)["reports"]
    return [finding["code"] for report in reports for finding in report["findings"]]


def test_a_policy_of_a_file_is_proved_and_its_violation_shown_where_it_stands(
    refund: Project, snapshot: Snapshot
) -> None:
    ended = judged(
        refund,
        """
        policies:
          - must_pass: {node: triage, before: pay}
          - workflow: refund
            must_pass: {node: decide, before: pay}
        """,
    )
    assert ended.code == 1
    snapshot("validate-policy.txt", ended.out)


def test_every_kind_of_policy_may_stand_in_a_file_of_json_too(refund: Project) -> None:
    policies = {
        "$schema": "policy.schema.json",
        "policies": [
            {"must_pass": {"node": "triage", "before": "pay"}},
            {"never_after": {"node": "pay", "later": "triage"}},
            {"at_most": {"node": "pay", "count": 1}},
            {"only_if": {"node": "decide", "when": {"field": "large", "op": "==", "value": True}}},
            {"ends_within": {"rounds": 1}},
        ],
    }
    Draft202012Validator(SCHEMAS["policy"]()).validate(policies)
    held = judged(refund, json.dumps(policies), "--strict", name="policies.json")
    assert (held.code, held.out) == (0, "1 workflow checked: no findings\n")
    broken = {
        "policies": [
            {"must_pass": {"node": "decide", "before": "pay"}},
            {"never_after": {"node": "triage", "later": "pay"}},
            {"at_most": {"node": "pay", "count": 0}},
            {"only_if": {"node": "pay", "when": {"field": "large", "op": "==", "value": True}}},
        ]
    }
    ended = judged(refund, json.dumps(broken), "--format", "json", name="policies.json")
    assert (ended.code, codes(ended)) == (1, ["AF501", "AF502", "AF503", "AF504"])
    assert "'pay' is visited 1 time\"" in ended.out


def test_a_policy_is_judged_for_the_workflows_that_its_pattern_names(refund: Project) -> None:
    refund.write("status.py", SOUND)
    refund.write(
        "policies.yaml",
        """
        policies:
          - workflow: "service-*"
            at_most: {node: reply, count: 0}
          - workflow: "*"
            ends_within: {rounds: 1}
        """,
    )
    ended = refund.agentflow(
        "validate", "refund.py", "status.py", "--policy", "policies.yaml", "--format", "json"
    )
    reports = {report["workflow"]: report for report in json.loads(ended.out)["reports"]}
    assert ended.code == 1
    assert reports["refund"]["ok"]
    (finding,) = reports["service-status"]["findings"]
    assert finding["code"] == "AF503"
    assert finding["place"] == {
        "file": "policies.yaml",
        "line": None,
        "pointer": "/policies/0",
    }
    assert finding["details"][0] == "workflow 'service-status' (status.py:28)"


def test_without_a_pattern_a_policy_is_about_the_workflows_that_have_what_it_guards(
    refund: Project,
) -> None:
    refund.write("status.py", SOUND)
    refund.write("policies.yaml", "policies: [{must_pass: {node: nobody, before: pay}}]")
    ended = refund.agentflow(
        "validate", "refund.py", "status.py", "--policy", "policies.yaml", "--format", "json"
    )
    reports = {report["workflow"]: report for report in json.loads(ended.out)["reports"]}
    assert [finding["code"] for finding in reports["refund"]["findings"]] == ["AF506"]
    assert reports["service-status"]["ok"]


@pytest.mark.parametrize(
    "policy",
    [
        "{at_most: {node: send_mail, count: 1}}",
        "{never_after: {node: send_mail, later: pay}}",
        "{workflow: 'invoice*', ends_within: {rounds: 9}}",
    ],
)
def test_a_policy_that_is_about_no_workflow_is_told_and_counts_when_it_is_to(
    refund: Project, policy: str
) -> None:
    ended = judged(refund, f"policies: [{policy}]", "--format", "json")
    assert (ended.code, codes(ended)) == (0, ["AF508"])
    assert judged(refund, f"policies: [{policy}]", "--strict").code == 1


def test_an_author_cannot_waive_a_policy_of_others(project: Project) -> None:
    waived = FLOW.replace('"refund", nodes', '"refund", waive={"AF501": "it is fine"}, nodes')
    project.write("refund.py", waived)
    ended = judged(project, "policies: [{must_pass: {node: decide, before: pay}}]")
    assert ended.code == 1
    assert "error[AF501]" in ended.out


def test_a_node_inside_of_a_sub_workflow_is_guarded_too(project: Project) -> None:
    project.write(
        "refund.py",
        FLOW
        + """
from agentflow import subflow

whole = define_workflow("whole", nodes=[
    subflow("refund", workflow, inputs={"amount": "amount"}, outputs={"receipt": "$result"},
            routes=[route.deliver("receipt")])], inputs=["amount"])
""",
    )
    policies = "policies: [{workflow: whole, must_pass: {node: refund/decide, before: refund/pay}}]"
    ended = judged(project, policies)
    assert ended.code == 1
    assert "path: refund -> refund/triage -> refund/pay" in ended.out


@pytest.mark.parametrize(
    ("text", "pointer", "said"),
    [
        ("policies: [{must_pas: {node: a}}]", "/policies/0/must_pas", "did you mean 'must_pass'?"),
        (
            "policies: [{must_pass: a}]",
            "/policies/0/must_pass",
            """write "must_pass": {"node": …, "before": …}""",
        ),
        ("policies: [{ends_within: 3}]", "/policies/0/ends_within", '{"rounds": …}'),
        ("policies: [{at_most: {node: a}}]", "/policies/0/at_most", "'count' is missing"),
        ("policies: [{at_most: {node: a, count: x}}]", "/policies/0/at_most/count", "'x' is not a"),
        ("policies: [{workflow: 3, ends_within: {rounds: 1}}]", "/policies/0/workflow", "in quotes"),
        ("policies: [{workflow: x}]", "/policies/0", "exactly one of 'must_pass'"),
        (
            "policies: [{ends_within: {rounds: 1}, at_most: {node: a, count: 1}}]",
            "/policies/0",
            "both 'at_most' and 'ends_within' are there",
        ),
        ("polices: []", "/", "'policies' is missing"),
        (
            "policies: [{only_if: {node: a, when: {field: x, op: '=<', value: 1}}}]",
            "/policies/0/only_if/when/op",
            "did you mean",
        ),
        (
            "policies: [{only_if: {node: a, when: {field: x, op: ==, value: {$member: 'refund:No.X'}}}}]",
            "/policies/0/only_if/when/value/$member",
            "'No'",
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_a_policy_file_is_told_by_its_pointer(
    refund: Project, text: str, pointer: str, said: str
) -> None:
    ended = judged(refund, text)
    assert ended.code == 2
    assert f"(at {pointer})" in ended.out
    assert said in ended.out
    assert "error[AF009]" in ended.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "- at_most: {node: a, count: 1}\n",
            "holds a list, not an object with the list 'policies'",
        ),
        ("policies: [", "the file is no YAML of JSON data"),
        ("", "the file holds nothing"),
    ],
)
def test_a_file_that_is_no_policy_file_is_told(refund: Project, text: str, said: str) -> None:
    ended = judged(refund, text, "--ignore", "AF")
    assert ended.code == 2
    assert said in ended.out


def test_a_policy_file_that_is_not_there_is_told_in_every_format(refund: Project) -> None:
    for format in ("text", "json", "sarif", "github"):
        ended = refund.agentflow(
            "validate", "refund.py", "--policy", "nowhere.yaml", "--format", format
        )
        assert ended.code == 2
        assert "AF009" in ended.out
        assert "No such file or directory" in ended.out


def test_policies_of_several_files_all_count(refund: Project) -> None:
    refund.write("one.yaml", "policies: [{must_pass: {node: decide, before: pay}}]")
    refund.write("two.yaml", "policies: [{at_most: {node: pay, count: 0}}]")
    ended = refund.agentflow(
        "validate", "refund.py", "--policy", "one.yaml", "--policy", "two.yaml", "--format", "json"
    )
    assert codes(ended) == ["AF501", "AF503"]


ENUM = """
import enum
from typing import NotRequired, TypedDict

from agentflow import define_workflow, field, node, route


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


class State(TypedDict):
    level: Level
    x: NotRequired[int]


@node(routes=[route.to("pay", field("level") == Level.LOW), route.to("stop")])
async def sort(state):
    return None


@node(provides=["x"], routes=[route.deliver("x")])
async def pay(state):
    return {"x": 1}


@node(provides=["x"], routes=[route.deliver("x")])
async def stop(state):
    return {"x": 0}


workflow = define_workflow("levels", nodes=[sort, pay, stop], state=State, inputs=["level"])
"""


@pytest.mark.parametrize(("member", "code"), [("LOW", 0), ("HIGH", 1)])
def test_a_condition_of_a_file_may_name_a_member_of_an_enum(
    project: Project, member: str, code: int
) -> None:
    project.write("refund.py", ENUM)
    value = f"{{$member: 'refund:Level.{member}'}}"
    condition = f"{{field: level, op: ==, value: {value}}}"
    ended = judged(project, f"policies: [{{only_if: {{node: pay, when: {condition}}}}}]")
    assert ended.code == code


def test_a_specification_is_judged_without_importing_anything(project: Project) -> None:
    project.write(
        "flow.yaml",
        """
        id: refund
        nodes:
          - {id: triage, run: nowhere:triage, routes: [{to: pay}]}
          - {id: pay, run: nowhere:pay, provides: [x], routes: [{deliver: x}]}
        """,
    )
    condition = "{field: x, op: ==, value: {$member: 'nowhere:Level.LOW'}}"
    project.write(
        "policies.yaml",
        f"policies: [{{at_most: {{node: pay, count: 0}}}}, {{only_if: {{node: pay, when: {condition}}}}}]",
    )
    ended = project.agentflow(
        *("validate", "flow.yaml", "--no-import", "--policy", "policies.yaml", "--format", "json")
    )
    assert (ended.code, codes(ended)) == (1, ["AF503", "AF504"])


def test_a_policy_file_is_watched_with_the_targets() -> None:
    assert _folder("rules/policies.yaml") == Path("rules")


# Budgets and bounds.


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        ("visits=1", ["AF403"]),
        ("visits=2", ["AF404"]),
        ("visits=3", []),
        ("model_calls=3,visits=3", ["AF404"]),
    ],
)
def test_a_budget_is_held_against_what_runs_need(
    refund: Project, budget: str, expected: list[str]
) -> None:
    ended = refund.agentflow("validate", "refund.py", "--budget", budget, "--format", "json")
    assert codes(ended) == expected
    assert ended.code == (1 if "AF403" in expected else 0)


def test_a_budget_that_is_none_is_bad_usage(refund: Project) -> None:
    ended = refund.agentflow("validate", "refund.py", "--budget", "visit=1")
    assert (ended.code, ended.out) == (2, "")
    assert "Did you mean 'visits'?" in ended.err


def test_the_worst_case_of_each_workflow_is_told(refund: Project, snapshot: Snapshot) -> None:
    refund.write("status.py", SOUND)
    refund.write("broken.py", BROKEN.replace("service-status", "broken"))
    ended = refund.agentflow("validate", "refund.py", "status.py", "broken.py", "--bounds")
    told = ended.out[ended.out.index("worst case") :]
    snapshot("validate-bounds.txt", told.rpartition("\n\n")[0] + "\n")


def test_the_worst_case_is_in_the_json_document_when_it_is_asked_for(refund: Project) -> None:
    refund.write("broken.py", BROKEN)
    command = ["validate", "refund.py", "broken.py", "--format", "json"]
    assert "bounds" not in json.loads(refund.agentflow(*command).out)
    first, second = json.loads(refund.agentflow(*command, "--bounds").out)["bounds"]
    bounds: dict[str, Any] = first["bounds"]
    assert first["workflow"] == "refund"
    assert (bounds["visits"], bounds["rounds"], bounds["model_calls"]) == (3, 1, None)
    assert "node 'pay' is given ctx" in bounds["unbounded"]["model_calls"]
    assert second == {"workflow": "service-status", "bounds": None}


@pytest.mark.parametrize("format", ["sarif", "github"])
def test_formats_without_a_place_for_the_worst_case_refuse_it(refund: Project, format: str) -> None:
    ended = refund.agentflow("validate", "refund.py", "--bounds", "--format", format)
    assert ended.code == 2
    assert "take text or json" in " ".join(ended.err.split())


def test_policies_are_judged_although_a_field_may_be_missing(project: Project) -> None:
    project.write("refund.py", FLOW.replace('inputs=["amount"]', 'optional_inputs=["amount"]'))
    ended = judged(project, "policies:\n  - at_most: {node: pay, count: 0}", "--format", "json")
    assert {"AF201", "AF503"} <= set(codes(ended))
