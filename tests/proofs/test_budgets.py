"""Rounds and budgets that are too small for any end: told just where no run can come to one."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from agentflow import Budget
from agentflow.graph.checks import bounds
from agentflow.graph.proof.explore import Walk
from tests.proofs.agreement import is_proved
from tests.proofs.counting import Counting
from tests.proofs.explorer import Explorer, Place
from tests.proofs.graphs import Drawn, many, workflows

pytestmark = pytest.mark.proof

PLENTY = 200


@many(150)
@given(workflows())
def test_rounds_that_suffice_for_no_end_are_told_with_the_number_that_does(drawn: Drawn) -> None:
    workflow = drawn.workflow
    if not is_proved(workflow.report) or Walk(workflow).merged:
        return
    other = {"AF201", "AF202", "AF203", "AF204", "AF207", "AF302"}
    if any(finding.code in other for finding in workflow.report.errors):
        return
    said = [finding for finding in workflow.report.findings if finding.code == "AF402"]
    explorer = Explorer(workflow)
    if _ends(explorer):
        assert not said
    elif _ends(replace(explorer, rounds=PLENTY)):
        ((least,),) = (re.findall(r"the shortest takes (\d+)", each.message) for each in said)
        assert _ends(replace(explorer, rounds=int(least)))
        assert not _ends(replace(explorer, rounds=int(least) - 1))
    else:
        assert not said


@many(150)
@given(workflows(), st.integers(1, 6))
def test_a_budget_is_too_small_for_any_end_where_no_run_keeps_it(drawn: Drawn, limit: int) -> None:
    workflow = drawn.workflow
    if not is_proved(workflow.report) or Walk(workflow).merged:
        return
    explorer = Explorer(workflow)
    if not _ends(explorer):
        return
    worst, exact = Counting(workflow).worst(), workflow.bounds().exact
    for name, fits in (
        ("rounds", _ends(replace(explorer, rounds=min(limit, explorer.rounds)))),
        ("visits", 0 < explorer.nearest(lambda place: _is_end(explorer, place)) <= limit),
    ):
        codes = {finding.code for finding in bounds.budget(workflow, Budget(**{name: limit}))}
        assert ("AF403" in codes) == (not fits), name
        if fits:
            below = limit < worst[name]
            assert ("AF404" in codes) == below if exact else ("AF404" in codes) >= below, name


def _ends(explorer: Explorer) -> bool:
    return any(_is_end(explorer, (here, 1)) for here in explorer.situations)


def _is_end(explorer: Explorer, place: Place) -> bool:
    return any(way.kind == "end" for way in explorer.visit(place[0]).ways)
