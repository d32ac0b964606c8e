"""Bounds: the worst case of every count is what the longest of all paths comes to."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from hypothesis import given

from agentflow import Workflow
from agentflow.graph.bounds import COUNTS
from agentflow.graph.proof import longest
from agentflow.graph.proof.explore import Walk
from tests.proofs.agreement import is_proved
from tests.proofs.children import CHILDREN, NESTED, SMALL
from tests.proofs.counting import worst_of
from tests.proofs.graphs import Drawn, many, workflows

pytestmark = pytest.mark.proof


@many(150)
@given(workflows(demanding=True))
def test_worst_cases_are_those_of_the_longest_path(drawn: Drawn) -> None:
    compare(drawn.workflow)


@many(40)
@given(workflows(most=4, rounds=(30, 12, 9, 31)))
def test_worst_cases_of_many_rounds_are_those_of_the_longest_path(drawn: Drawn) -> None:
    compare(drawn.workflow)


@many(60)
@given(workflows(demanding=True))
def test_worst_cases_of_merged_paths_are_never_too_small(drawn: Drawn) -> None:
    for child in (*CHILDREN, *SMALL, *NESTED):
        # They keep their bounds, and others rely on these.
        child.bounds()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longest, "Walk", functools.partial(Walk, cap=1))
        compare(drawn.workflow)


def compare(workflow: Workflow[Any]) -> None:
    """Compare what is said of a workflow with the longest of its paths.

    Args:
        workflow: The workflow; nothing is compared if it is not sound.
    """
    if not is_proved(workflow.report):
        return
    bounds, true = longest.extent(workflow).bounds, worst_of(workflow)
    said = {
        **{name: getattr(bounds, name).value for name in COUNTS},
        **{f"visits of {id}": count for id, count in bounds.node_visits.items()},
    }
    if bounds.exact:
        assert said == {name: true.get(name, 0) for name in said}
    for name, most in said.items():
        assert most is None or most >= _number(true.get(name, 0))
    for name in COUNTS:
        bound = getattr(bounds, name)
        assert bound.bounded == (not bound.reason)


def _number(count: int | None) -> float:
    return float("inf") if count is None else count
