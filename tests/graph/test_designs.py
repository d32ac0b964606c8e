"""Well-known agent designs: sound ones pass without a single warning, and one slip in each is found."""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from agentflow import Node, Report, Workflow, field, route
from agentflow.graph.kinds import MapEach
from agentflow.graph.workflow import assemble

DESIGNS = pathlib.Path(__file__).parents[2] / "examples" / "designs"
NAMES = sorted(path.stem for path in DESIGNS.glob("*.py"))


def design(name: str) -> Any:
    return importlib.import_module(f"examples.designs.{name}")


def with_slip(
    workflow: Workflow[Any], slip: Callable[[dict[str, Node]], Mapping[str, Any] | None]
) -> Report:
    """The report of the same workflow after somebody edited its nodes, or an option of its definition."""
    nodes = {node.id: node for node in workflow.nodes}
    options = {
        name: getattr(workflow, name)
        for name in (
            *("state", "inputs", "optional_inputs", "entry", "result", "max_rounds"),
            *("on_error", "on_limit", "policies"),
        )
    }
    options |= slip(nodes) or {}
    return assemble(workflow.id, nodes.values(), place=None, **options).report


def edit(nodes: dict[str, Node], id: str, **changes: Any) -> None:
    nodes[id] = replace(nodes[id], **changes)


def react_forgets_to_open_the_trace(nodes: dict[str, Node]) -> Mapping[str, Any]:
    del nodes["begin"]
    return {"entry": "reason"}


def plan_and_execute_never_stops_replanning(nodes: dict[str, Node]) -> None:
    edit(nodes, "execute", routes=(route.to("make_plan"),))


def reflection_loops_without_a_boundary(nodes: dict[str, Node]) -> None:
    edit(nodes, "write", starts_round=False)


def corrective_rag_misspells_a_grade(nodes: dict[str, Node]) -> None:
    first, _, last = nodes["judge"].routes
    edit(nodes, "judge", routes=(first, route.to_if_equal("rewrite", "grade", "unsre"), last))


def supervisor_hands_out_what_no_worker_takes(nodes: dict[str, Node]) -> None:
    kind = nodes["hand_out"].kind
    assert isinstance(kind, MapEach)
    edit(nodes, "hand_out", kind=replace(kind, branch=replace(kind.branch, item="job")))


def approved_refund_pays_when_approval_fails(nodes: dict[str, Node]) -> None:
    edit(nodes, "approve", on_error="pay")


def approved_refund_turns_the_limit_around(nodes: dict[str, Node]) -> None:
    first, _, last = nodes["look_up"].routes
    edit(nodes, "look_up", routes=(first, route.to("approve", field("amount") < 100), last))


def map_reduce_gathers_texts_into_one(nodes: dict[str, Node]) -> None:
    kind = nodes["summarise"].kind
    assert isinstance(kind, MapEach)
    edit(
        nodes,
        "summarise",
        provides=("digest",),
        kind=replace(kind, branch=replace(kind.branch, outputs={"digest": "$result"})),
    )


def evaluator_leaves_a_gap_between_scores(nodes: dict[str, Node]) -> None:
    low, _ = nodes["evaluate"].routes
    edit(nodes, "evaluate", routes=(low, route.deliver("proposal", when=field("score") > 3)))


SLIPS: list[tuple[str, Callable[[dict[str, Node]], Mapping[str, Any] | None], str]] = [
    ("react", react_forgets_to_open_the_trace, "AF201"),
    ("plan_and_execute", plan_and_execute_never_stops_replanning, "AF112"),
    ("reflection", reflection_loops_without_a_boundary, "AF113"),
    ("corrective_rag", corrective_rag_misspells_a_grade, "AF301"),
    ("supervisor", supervisor_hands_out_what_no_worker_takes, "AF122"),
    ("approved_refund", approved_refund_pays_when_approval_fails, "AF504"),
    ("approved_refund", approved_refund_turns_the_limit_around, "AF504"),
    ("map_reduce", map_reduce_gathers_texts_into_one, "AF605"),
    ("evaluator_optimiser", evaluator_leaves_a_gap_between_scores, "AF302"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_design_passes_without_a_single_finding(name: str) -> None:
    assert design(name).workflow.report.as_text() == ""


@pytest.mark.parametrize("name", NAMES)
async def test_a_design_runs_to_its_end(name: str) -> None:
    module = design(name)
    result = await module.workflow.run(module.INPUT)
    assert isinstance(result, str)
    assert result


@pytest.mark.parametrize("name", NAMES)
def test_a_design_knows_how_far_it_can_go(name: str) -> None:
    bounds = design(name).workflow.bounds()
    assert bounds.exact
    assert bounds.visits.bounded
    assert bounds.model_calls.value == 0


@pytest.mark.parametrize(
    ("name", "slip", "code"), SLIPS, ids=lambda value: getattr(value, "__name__", value)
)
def test_one_slip_is_found(
    name: str, slip: Callable[[dict[str, Node]], Mapping[str, Any] | None], code: str
) -> None:
    report = with_slip(design(name).workflow, slip)
    assert code in {finding.code for finding in report.findings}


def test_every_design_has_a_slip() -> None:
    assert {name for name, _, _ in SLIPS} == set(NAMES)
