"""Policies: a policy is said to hold just where every path keeps it, inside of sub-workflows too."""

from __future__ import annotations

import pytest
from hypothesis import given

from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.monitors import PolicyMonitor
from tests.proofs.agreement import is_proved
from tests.proofs.counting import Counting
from tests.proofs.explorer import Explorer
from tests.proofs.graphs import Drawn, many, workflows
from tests.proofs.judging import Judge

pytestmark = pytest.mark.proof

VIOLATIONS = {"AF501", "AF502", "AF503", "AF504", "AF505"}
UNKNOWN = "AF506"


@many(250)
@given(workflows(demanding=True))
def test_policies_are_judged_as_by_walking_every_path(drawn: Drawn) -> None:
    workflow = drawn.workflow
    (policy,) = workflow.policies
    codes = {finding.code for finding in workflow.report.findings}
    if not is_proved(workflow.report) or UNKNOWN in codes:
        return
    said = bool(codes & VIOLATIONS)
    if policy.kind == "ends_within":
        true = Counting(workflow).own_rounds() > policy.rounds
        exact = workflow.bounds().exact
    else:
        true = Judge(workflow, policy).broken
        exact = not Walk(workflow, monitor=PolicyMonitor(policy)).merged
    assert said == true if exact else said >= true


@many(100)
@given(workflows(demanding=True))
def test_paths_that_are_merged_hide_no_violation(drawn: Drawn) -> None:
    workflow = drawn.workflow
    (policy,) = workflow.policies
    if is_proved(workflow.report) and policy.kind != "ends_within":
        walk = Walk(workflow, monitor=PolicyMonitor(policy), cap=1)
        said = any(lack.kind == "violation" for lack, _ in walk.lacks)
        assert said >= Judge(workflow, policy).broken


@many(150)
@given(workflows(demanding=True))
def test_every_printed_counter_example_can_be_run_and_none_is_shorter(drawn: Drawn) -> None:
    workflow = drawn.workflow
    found = [each for each in workflow.report.findings if each.code in VIOLATIONS]
    if not found or Walk(workflow).merged:
        return
    (finding,), (policy,) = found, workflow.policies
    inner = [id for id in finding.path if "/" in id]
    outer = finding.path[: -len(inner)] if inner else finding.path
    # A path to `on_limit` may be told with fewer rounds than there are, and a node that is tried again stands twice.
    if any("rounds are out" in line for line in finding.details) or outer[-2:-1] == outer[-1:]:
        return
    if policy.kind == "ends_within":
        late = [round for _, round in Explorer(workflow).along(outer) if round > policy.rounds]
        assert late, finding.as_text()
        assert Explorer(workflow).nearest(lambda place: place[1] > policy.rounds) == len(outer)
        return
    judge = Judge(workflow, policy)
    assert any(judge.passage(stand).broken for stand in judge.along(outer)), finding.as_text()
    assert judge.nearest() == len(outer), finding.as_text()
