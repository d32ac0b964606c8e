"""Mutants: whatever piece of a check is broken, some specimen shows it; so the tests do see what they look at."""

from __future__ import annotations

import pytest

from agentflow.graph import checks
from agentflow.graph.checks import bounds, demanded, waivers
from tests.proofs import branch_mutants, branch_specimens
from tests.proofs.agreement import expected, found_in, is_proved
from tests.proofs.counting import Counting
from tests.proofs.explorer import Explorer
from tests.proofs.mutants import MUTANTS, Mutant
from tests.proofs.mutation import broken
from tests.proofs.specimens import SPECIMENS, Specimen

EVERY_MUTANT = (*MUTANTS, *branch_mutants.MUTANTS)
EVERY_SPECIMEN = SPECIMENS | branch_specimens.SPECIMENS
BEYOND_THE_LISTS = {bounds.budget, waivers.unused}
"""Checks that look at more than a workflow, and are asked by name."""


def _is_judged_right(specimen: Specimen) -> bool:
    workflow = specimen.build()
    report = workflow.report
    proved = is_proved(report)
    if specimen.budget is not None:
        report = demanded(workflow, budget=specimen.budget)
    if tuple(finding.code for finding in report.findings) != specimen.codes:
        return False
    if not proved:
        return True
    worst = Counting(workflow).worst()
    said, visits = workflow.bounds(), workflow.bounds().node_visits
    return (
        found_in(workflow.report) == expected(workflow, Explorer(workflow))
        and said.visits.value == worst["visits"]
        and said.model_calls.value == worst.get("model_calls", 0)
        and all(count == worst.get(f"visits of {id}", 0) for id, count in visits.items())
    )


@pytest.mark.parametrize("name", EVERY_SPECIMEN)
def test_a_specimen_is_judged_as_a_person_says(name: str) -> None:
    assert _is_judged_right(EVERY_SPECIMEN[name])


@pytest.mark.parametrize(
    ("mutant", "name"),
    [
        pytest.param(each, name, id=f"{each.sentence}: {name}")
        for each in EVERY_MUTANT
        for name in each.shown_by
    ],
)
def test_a_broken_check_is_noticed(mutant: Mutant, name: str) -> None:
    specimen = EVERY_SPECIMEN[name]
    with broken(mutant.place, mutant.old, mutant.new):
        assert not _is_judged_right(specimen), f"nobody notices that {mutant.sentence}"


def test_every_check_has_a_mutant() -> None:
    listed = {*checks.CHECKS, *checks.CLAIMS, *checks.PROOFS, *BEYOND_THE_LISTS}
    names = {f"{one.__module__.rpartition('.')[2]}.{one.__name__}" for one in listed}
    assert names <= {mutant.check for mutant in EVERY_MUTANT}
