"""The checks: one file a family, each a list of small functions from a workflow to findings.

A check never raises and never decides for another: it gets a workflow as declared, however broken, and yields what it sees.
To add one, see `docs/recipes/add-a-check.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agentflow.graph.checks import callables, declaration, fields, rounds, structure
from agentflow.graph.findings import Finding, Report, Severity, Waiver
from agentflow.graph.workflow import Workflow

__all__ = ["Check", "check"]

Check = Callable[[Workflow[Any]], Iterable[Finding]]

CHECKS: tuple[Check, ...] = (
    *declaration.CHECKS,
    *callables.CHECKS,
    *fields.CHECKS,
    *structure.CHECKS,
    *rounds.CHECKS,
)
_RANK: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}


def check(workflow: Workflow[Any]) -> Report:
    """Everything there is to say of a workflow, errors first, in declared order within a severity."""
    findings: list[Finding] = []
    waivers: list[Waiver] = []
    for finding in _all(workflow):
        reason = _waived(workflow, finding)
        if reason is None:
            findings.append(finding)
        else:
            waivers.append(Waiver(finding, reason))
    findings.sort(key=lambda finding: _RANK[finding.severity])
    return Report(workflow.id, tuple(findings), tuple(waivers))


def _all(workflow: Workflow[Any]) -> Iterator[Finding]:
    for one in CHECKS:
        yield from one(workflow)


def _waived(workflow: Workflow[Any], finding: Finding) -> str | None:
    node = workflow.shape.nodes.get(finding.node) if finding.node else None
    for waive in (node.waive if node else {}, workflow.waive):
        if finding.code in waive:
            return waive[finding.code]
    return None
