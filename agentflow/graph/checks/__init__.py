"""The checks: one file a family, each a list of small functions from a workflow to findings.

A check never raises and never decides for another: it gets a workflow as declared, however broken, and yields what it sees.
A proof looks at all paths; proofs are made only when the checks have found no error, since a broken graph has no paths to speak of.
To add one, see `docs/recipes/add-a-check.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from agentflow.graph.checks import (
    bounds,
    callables,
    dataflow,
    declaration,
    exhaustive,
    fields,
    policies as policies_family,
    rounds,
    structure,
)
from agentflow.graph.codes import CODES
from agentflow.graph.excerpt import excerpt
from agentflow.graph.findings import Finding, Report, Waiver, in_order
from agentflow.graph.limits import Budget
from agentflow.graph.policy import Policy
from agentflow.graph.proof.explore import Walk
from agentflow.graph.slips import Slips
from agentflow.graph.workflow import Workflow

__all__ = ["Check", "Proof", "check", "demanded"]

Check = Callable[[Workflow[Any]], Iterable[Finding]]
"""Looks at a workflow as it was declared, however broken."""

Proof = Callable[[Workflow[Any], Walk], Iterable[Finding]]
"""Looks at all paths of a workflow whose declaration and structure are sound."""

CHECKS: tuple[Check, ...] = (
    *declaration.CHECKS,
    *callables.CHECKS,
    *fields.CHECKS,
    *structure.CHECKS,
    *rounds.CHECKS,
)
PROOFS: tuple[Proof, ...] = (
    *dataflow.PROOFS,
    *exhaustive.PROOFS,
    *bounds.PROOFS,
    *policies_family.PROOFS,
)


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
    return Report(workflow.id, in_order(findings), tuple(waivers))


def demanded(
    workflow: Workflow[Any],
    *,
    budget: Budget | None = None,
    policies: Iterable[Policy] = (),
    report: Report | None = None,
) -> Report:
    """The report of a workflow, and what is to be said of demands from outside of its definition.

    Args:
        workflow: The workflow; demands are judged only if its own report has no errors.
        budget: A budget that its runs will be given.
        policies: Policies of others, besides its own.
        report: The report to add to, where there is more to say than the workflow's own does.
    """
    if report is None:
        report = workflow.report
    if not report.ok:
        return report
    slips = Slips()
    found = slips.items("policies", policies, Policy, made="make it with must_pass(…) or its kin")
    findings = [_of_demand("AF507", workflow, slip) for slip in slips.found]
    findings += policies_family.judged(workflow, found)
    given: object = budget
    if isinstance(given, Budget):
        findings += bounds.budget(workflow, given)
    elif given is not None:
        findings.append(_of_demand("AF118", workflow, f"budget={excerpt(given)} is no Budget"))
    return replace(report, findings=in_order((*report.findings, *findings)))


def _of_demand(code: str, workflow: Workflow[Any], message: str) -> Finding:
    return Finding(code=code, message=message, workflow=workflow.id, place=workflow.place)


def _all(workflow: Workflow[Any]) -> Iterator[Finding]:
    sound = True
    for one in CHECKS:
        for finding in one(workflow):
            sound = sound and finding.severity != "error"
            yield finding
    if sound:
        walk = Walk(workflow)
        for proof in PROOFS:
            yield from proof(workflow, walk)


def _waived(workflow: Workflow[Any], finding: Finding) -> str | None:
    if not CODES[finding.code].waivable:
        return None
    node = workflow.shape.nodes.get(finding.node) if finding.node else None
    for waive in (node.waive if node else {}, workflow.waive):
        if finding.code in waive:
            return waive[finding.code]
    return None
