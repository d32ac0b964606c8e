"""Bounds: the worst case of every count is what the longest of all paths comes to."""

from __future__ import annotations

import functools

import pytest
from hypothesis import given

from agentflow.graph.proof import longest
from agentflow.graph.proof.explore import Walk
from tests.proofs.agreement import is_proved
from tests.proofs.counting import Counting
from tests.proofs.graphs import Drawn, many, workflows

pytestmark = pytest.mark.proof


@many(150)
@given(workflows(demanding=True))
def test_worst_cases_are_those_of_the_longest_path(drawn: Drawn) -> None:
    _compare(drawn)


@many(40)
@given(workflows(most=4, rounds=(30, 12, 9, 31)))
def test_worst_cases_of_many_rounds_are_those_of_the_longest_path(drawn: Drawn) -> None:
    _compare(drawn)


@many(60)
@given(workflows(demanding=True))
def test_worst_cases_of_merged_paths_are_never_too_small(drawn: Drawn) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longest, "Walk", functools.partial(Walk, cap=1))
        _compare(drawn)


def _compare(drawn: Drawn) -> None:
    workflow = drawn.workflow
    if not is_proved(workflow.report):
        return
    bounds, worst = longest.bounds(workflow), Counting(workflow).worst()
    said = {
        "rounds": bounds.rounds.value,
        "visits": bounds.visits.value,
        "model_calls": bounds.model_calls.value,
        "tool_calls": bounds.tool_calls.value,
        **{f"visits of {id}": count for id, count in bounds.node_visits.items()},
    }
    true = {name: worst.get(name, 0) for name in said}
    if bounds.exact:
        assert said == true
    assert all((said[name] or 0) >= true[name] for name in said)
