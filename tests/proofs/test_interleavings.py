"""Interleavings: what is proved of nodes that hold workflows is what some order of their visits comes to, and no more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from agentflow import Policy, Workflow, at_most
from agentflow.graph.checks.policies import judged
from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.monitors import PolicyMonitor
from tests.proofs.agreement import is_proved
from tests.proofs.counting import worst_of
from tests.proofs.graphs import many
from tests.proofs.holders import Holding, holders
from tests.proofs.judging import Judge
from tests.proofs.test_bounds import compare

pytestmark = pytest.mark.proof

VIOLATIONS = {"AF501", "AF502", "AF503", "AF504"}


@many(60)
@given(holders())
def test_a_policy_holds_inside_just_where_it_holds_in_every_order(drawn: Holding) -> None:
    workflow = drawn.workflow
    (policy,) = workflow.policies
    assert is_proved(workflow.report)
    said = bool({finding.code for finding in workflow.report.findings} & VIOLATIONS)
    assert not Walk(workflow, monitor=PolicyMonitor(policy)).merged
    assert said == Judge(workflow, policy).broken


@many(60)
@given(holders())
def test_a_node_inside_is_visited_at_most_as_often_as_in_the_worst_order(drawn: Holding) -> None:
    workflow = drawn.workflow
    for name, count in worst_of(workflow).items():
        node = name.removeprefix("visits of ")
        if node == name:
            continue
        if count is None:
            assert _is_broken(workflow, at_most(node, 50)), node
            continue
        assert not _is_broken(workflow, at_most(node, count)), node
        assert count == 0 or _is_broken(workflow, at_most(node, count - 1)), node


def _is_broken(workflow: Workflow[Any], policy: Policy) -> bool:
    return any(finding.code == "AF503" for finding in judged(workflow, [policy]))


@many(60)
@given(holders())
def test_the_worst_case_inside_is_that_of_the_longest_order(drawn: Holding) -> None:
    assert drawn.workflow.bounds().exact
    compare(drawn.workflow)
