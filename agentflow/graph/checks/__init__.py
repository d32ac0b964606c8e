"""The checks: one file a family, each a list of small functions from a workflow to findings.

A check never raises and never decides for another: it gets a workflow as declared, however broken, and yields what it sees.
A proof looks at all paths; proofs are made only when the checks have found no error that stands, since a broken graph has no paths
to speak of.
To add one, see `CONTRIBUTING.md`.
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
    items,
    joins,
    paths,
    policies as policies_family,
    private,
    rounds,
    signatures,
    structure,
    types,
    waivers,
)
from agentflow.graph.excerpt import excerpt
from agentflow.graph.findings import Finding, Report, in_order
from agentflow.graph.limits import Budget
from agentflow.graph.policy import Policy
from agentflow.graph.proof.explore import Walk
from agentflow.graph.slips import Slips
from agentflow.graph.workflow import Workflow

__all__ = ["Check", "Proof", "check", "demanded", "read_outside"]

Check = Callable[[Workflow[Any]], Iterable[Finding]]
"""Looks at a workflow as it was declared, however broken."""

Proof = Callable[[Workflow[Any], Walk], Iterable[Finding]]
"""Looks at all paths of a workflow whose declaration and structure are sound."""

CHECKS: tuple[Check, ...] = (
    *declaration.CHECKS,
    *callables.CHECKS,
    *fields.CHECKS,
    *private.CHECKS,
    *paths.CHECKS,
    *joins.CHECKS,
    *items.CHECKS,
    *structure.CHECKS,
    *rounds.CHECKS,
)
CLAIMS: tuple[Check, ...] = (
    *signatures.CHECKS,
    *types.CHECKS,
    *joins.CLAIMS,
    *items.CLAIMS,
    *private.CLAIMS,
    *waivers.CHECKS,
)
"""Look at what is claimed in signatures, contracts, marks and waivers; whatever is wrong with it, there are paths all the same."""

PROOFS: tuple[Proof, ...] = (
    *dataflow.PROOFS,
    *private.PROOFS,
    *exhaustive.PROOFS,
    *types.PROOFS,
    *items.PROOFS,
    *bounds.PROOFS,
    *policies_family.PROOFS,
)


_PROOFS_BEGIN = "AF2"
"""The codes before are those of declarations and structure, without which there is nothing to prove."""


def check(workflow: Workflow[Any]) -> Report:
    """Everything there is to say of a workflow, errors first, in declared order within a severity."""
    found = list(_found(CHECKS, workflow))
    sound = not any(
        finding.severity == "error" and waivers.waived(workflow, finding) is None
        for finding in found
    )
    found += _found(CLAIMS, workflow)
    if sound:
        walk = Walk(workflow)
        for proof in PROOFS:
            found += proof(workflow, walk)
    standing, accepted = waivers.settled(workflow, found)
    if sound:
        # Only now is everything known that could have been meant.
        more, doubted = waivers.settled(workflow, waivers.unused(workflow, accepted))
        standing, accepted = standing + more, accepted + doubted
    return Report(workflow.id, in_order(standing), tuple(accepted))


def _found(checks: Iterable[Check], workflow: Workflow[Any]) -> Iterator[Finding]:
    for one in checks:
        yield from one(workflow)


def read_outside(workflow: Workflow[Any], report: Report, names: frozenset[str]) -> Report:
    """A report without what it says of values in vain that surrounding workflows do read.

    Args:
        workflow: The workflow.
        report: What is said of it by itself.
        names: The fields that workflows which hold it take from its ends.
    """
    said = [finding for finding in report.findings if finding.code in dataflow.IN_VAIN]
    if not said or not names:
        return report
    walk = Walk(workflow, kept=names)
    true = [each for each in dataflow.unread(workflow, walk) if each.code in dataflow.IN_VAIN]
    standing, _ = waivers.settled(workflow, true)
    others = (each for each in report.findings if each not in said)
    return replace(report, findings=in_order((*others, *standing)))


def demanded(
    workflow: Workflow[Any],
    *,
    budget: Budget | None = None,
    policies: Iterable[Policy] = (),
    report: Report | None = None,
) -> Report:
    """The report of a workflow, and what is to be said of demands from outside of its definition.

    Args:
        workflow: The workflow; demands are judged if its declaration and structure are sound, as all proofs.
        budget: A budget that its runs will be given.
        policies: Policies of others, besides its own.
        report: The report to add to, where there is more to say than the workflow's own does.
    """
    if report is None:
        report = workflow.report
    if any(finding.code < _PROOFS_BEGIN for finding in report.errors):
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
