"""Agreement: over random graphs the report is what brute force finds, no less, and below the cap no more."""

from __future__ import annotations

import pytest
from hypothesis import given

from agentflow import Finding, field
from agentflow.graph.checks import dataflow, exhaustive
from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.traps import Traps
from tests.proofs.agreement import (
    Saying,
    expected,
    found_in,
    is_exact,
    is_proved,
    saying_of,
    sayings,
)
from tests.proofs.explorer import Explorer, Place
from tests.proofs.graphs import Drawn, many, workflows

pytestmark = pytest.mark.proof

ERRORS = {"AF201", "AF202", "AF203", "AF204", "AF205", "AF207", "AF302", "AF304"}
"""What a run can come to, in contrast to what no run ever comes to."""


@many(300)
@given(workflows())
def test_a_report_says_all_that_brute_force_finds_and_below_the_cap_nothing_else(
    drawn: Drawn,
) -> None:
    workflow = drawn.workflow
    if not is_proved(workflow.report):
        return
    said, true = found_in(workflow.report), expected(workflow, Explorer(workflow))
    if is_exact(workflow):
        assert said == true
    else:
        assert _problems(true) <= _problems(said)


@many(150)
@given(workflows(demanding=True))
def test_data_flow_goes_on_from_what_branches_give(drawn: Drawn) -> None:
    workflow = drawn.workflow
    if is_proved(workflow.report) and is_exact(workflow):
        assert found_in(workflow.report) == expected(workflow, Explorer(workflow))


@many(60)
@given(workflows(most=4, rounds=(1000, 50, 7, 1001)))
def test_a_thousand_rounds_are_proved_like_a_few(drawn: Drawn) -> None:
    workflow = drawn.workflow
    if is_proved(workflow.report) and is_exact(workflow):
        assert found_in(workflow.report) == expected(workflow, Explorer(workflow))


@many(150)
@given(workflows())
def test_paths_that_are_merged_only_make_a_report_stricter(drawn: Drawn) -> None:
    workflow = drawn.workflow
    if not is_proved(workflow.report):
        return
    explorer, walk = Explorer(workflow), Walk(workflow, cap=1)
    proofs = (dataflow.assigned, dataflow.comparable, exhaustive.covered)
    said = sayings(finding for proof in proofs for finding in proof(workflow, walk))
    assert _problems(expected(workflow, explorer)) <= _problems(said)
    assert explorer.reached <= walk.reached
    assert explorer.taken <= walk.taken
    assert Traps(walk).endless <= explorer.endless | (walk.reached - explorer.reached)


def _problems(said: set[Saying]) -> set[Saying]:
    """What can go wrong; of merged paths it is not known which of them enter a node for an error."""
    plain = {one._replace(code="AF201") if one.code == "AF202" else one for one in said}
    return {one for one in plain if one.code in ERRORS}


@many(100)
@given(workflows())
def test_fields_that_may_be_missing_at_an_end_are_those_of_some_run(drawn: Drawn) -> None:
    workflow = drawn.workflow
    if not is_proved(workflow.report):
        return
    # Asked for, so that it also follows the fields that nothing names.
    asked = tuple(field(name).exists() for name in drawn.fields)
    explorer, names = Explorer(workflow, asked), frozenset(drawn.fields)
    ends = [
        explorer.values(way.state)
        for here in explorer.situations
        for way in explorer.visit(here).ways
        if way.kind == "end"
    ]
    true = {name for name in names if any(name not in state for state in ends)}
    missing = dataflow.missing_at_ends(workflow, names)
    if Walk(workflow, kept=names).merged:
        assert true <= missing.keys()
        return
    assert true == missing.keys()
    for name, path in missing.items():
        places = explorer.along(path) if workflow.on_limit is None else ()
        assert not places or any(
            way.kind == "end" and name not in explorer.values(way.state)
            for here, _ in places
            for way in explorer.visit(here).ways
        )


@many(150)
@given(workflows())
def test_every_printed_path_can_be_run_and_none_is_shorter(drawn: Drawn) -> None:
    workflow = drawn.workflow
    if not is_proved(workflow.report) or Walk(workflow).merged:
        return
    explorer = Explorer(workflow)
    for finding in workflow.report.findings:
        if finding.code in ERRORS:
            _replay(explorer, finding)


def _replay(explorer: Explorer, finding: Finding) -> None:
    said = sayings([finding])

    def fails_so(place: Place) -> bool:
        visit = explorer.visit(place[0])
        return place[0].node == finding.node and any(
            said == {saying_of(explorer, place[0].node, problem)}
            for problem in visit.failing | visit.warned
        )

    if any("rounds are out" in line for line in finding.details):
        # Of many rounds a path to `on_limit` tells only as many as it takes to see why.
        openings = sum("begins" in line for line in finding.details)
        assert openings < explorer.rounds
        explorer = Explorer(explorer.workflow, rounds=openings + 1)
        assert any(map(fails_so, explorer.along(finding.path))), finding.as_text()
        return
    assert any(map(fails_so, explorer.along(finding.path))), finding.as_text()
    assert explorer.nearest(fails_so) == len(finding.path), finding.as_text()
