"""What is written and never read: told just where no way of the graph leads from the writer to a reader."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from agentflow import Route, Workflow
from agentflow.graph.condition import Condition
from agentflow.graph.proof.explore import Walk
from tests.proofs.agreement import is_proved
from tests.proofs.explorer import Explorer
from tests.proofs.graphs import Drawn, many, workflows

pytestmark = pytest.mark.proof


@many(150)
@given(workflows(telling=True))
def test_what_is_written_in_vain_is_told_and_nothing_else(drawn: Drawn) -> None:
    workflow = drawn.workflow
    if not is_proved(workflow.report) or Walk(workflow).merged:
        return
    said = {
        (finding.code, finding.node, finding.message.split("'")[3])
        for finding in workflow.report.findings
        if finding.code in ("AF210", "AF211", "AF212")
    }
    assert said == _in_vain(workflow)


def _in_vain(workflow: Workflow[Any]) -> set[tuple[str, str | None, str]]:
    reached = Explorer(workflow).reached
    nodes = {node.id: node for node in workflow.nodes}
    ever = {name for id in reached for name in nodes[id].requires}
    ever |= {name for id in reached for route in nodes[id].routes for name in _reads(route)}
    found: set[tuple[str, str | None, str]] = set()
    for id in reached:
        for name in nodes[id].provides:
            if name not in ever:
                found.add(("AF210", id, name))
            elif not _is_read_after(workflow, id, name):
                found.add(("AF211", id, name))
    return found | {("AF212", None, name) for name in workflow.inputs if name not in ever}


def _reads(route: Route) -> set[str]:
    asked = route.when.reads() if isinstance(route.when, Condition) else frozenset[str]()
    return {*asked, *(route.reads or ()), *([route.field] if route.field else [])}


def _is_read_after(workflow: Workflow[Any], id: str, name: str) -> bool:
    """Whether some way leads from the update of a node to whoever reads the field, before it is written again."""
    nodes = {node.id: node for node in workflow.nodes}
    updated, entered = {id}, set[str]()
    waiting = [(id, True)]
    while waiting:
        here, after_update = waiting.pop()
        node = nodes[here]
        if after_update:
            if any(name in _reads(route) for route in node.routes):
                return True
            further = {route.target for route in node.routes if route.target is not None}
        else:
            if name in node.requires:
                return True
            handler = node.on_error or workflow.on_error
            further = {handler} if handler is not None and handler != here else set()
            if node.starts_round and workflow.on_limit is not None:
                further.add(workflow.on_limit)
            if name not in node.provides and here not in updated:
                updated.add(here)
                waiting.append((here, True))
        waiting += [(target, False) for target in further - entered]
        entered |= further
    return False
