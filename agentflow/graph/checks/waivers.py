"""Waivers: what an author accepts can be accepted, is accepted for a reason, and is there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from agentflow.graph.codes import CODES
from agentflow.graph.findings import Finding, Waiver
from agentflow.graph.node import Node
from agentflow.graph.workflow import Workflow

__all__ = ["CHECKS", "settled", "unused", "waived"]


class _Holder(NamedTuple):
    """Where waivers are declared: at a node, or at the workflow."""

    waive: Mapping[str, str]
    node: Node | None


def meaningless(workflow: Workflow[Any]) -> Iterator[Finding]:
    """Every waiver names a code that can be waived, and a reason."""
    for holder in _holders(workflow):
        for code, reason in holder.waive.items():
            problem = _problem(code, reason)
            if problem:
                message, hint = problem
                yield _at(workflow, holder, "AF702", message, hint)


def unused(workflow: Workflow[Any], waivers: Iterable[Waiver]) -> Iterator[Finding]:
    """Every waiver accepts something; only to be asked when all findings are known.

    Args:
        workflow: The workflow.
        waivers: The findings that were accepted.
    """
    used = {
        (holder.node and holder.node.id, waiver.finding.code)
        for waiver in waivers
        if (holder := _holder_of(workflow, waiver.finding)) is not None
    }
    for holder in _holders(workflow):
        for code, reason in holder.waive.items():
            where = holder.node and holder.node.id
            if (where, code) not in used and _problem(code, reason) is None:
                yield _at(
                    workflow,
                    holder,
                    "AF701",
                    f"waives {code} ({CODES[code].title}), which is not found there",
                    f"take {code} out of waive=",
                )


def settled(
    workflow: Workflow[Any], findings: Iterable[Finding]
) -> tuple[list[Finding], list[Waiver]]:
    """The findings that stand, and those that the author has accepted."""
    standing: list[Finding] = []
    accepted: list[Waiver] = []
    for finding in findings:
        reason = waived(workflow, finding)
        if reason is None:
            standing.append(finding)
        else:
            accepted.append(Waiver(finding, reason))
    return standing, accepted


def waived(workflow: Workflow[Any], finding: Finding) -> str | None:
    """Why a finding is accepted, `None` if it is not."""
    holder = _holder_of(workflow, finding)
    return workflow.doubts.get(finding.code) if holder is None else holder.waive[finding.code]


def _holder_of(workflow: Workflow[Any], finding: Finding) -> _Holder | None:
    """Where a finding is waived: its node comes before the workflow."""
    node = workflow.shape.nodes.get(finding.node) if finding.node else None
    holders = [_Holder(node.waive, node)] if node else []
    for holder in (*holders, _Holder(workflow.waive, None)):
        code = finding.code
        if code in holder.waive and _problem(code, holder.waive[code]) is None:
            return holder
    return None


def _holders(workflow: Workflow[Any]) -> Iterator[_Holder]:
    yield _Holder(workflow.waive, None)
    for node in workflow.nodes:
        yield _Holder(node.waive, node)


def _problem(code: str, reason: object) -> tuple[str, str] | None:
    """Why a waiver means nothing, and what to do about it."""
    entry = CODES.get(code)
    if entry is None:
        close = difflib.get_close_matches(code, CODES, n=1)
        hint = f"did you mean {close[0]!r}?" if close else "take it out of waive="
        return f"waives {code!r}, which is no code of a finding", hint
    if not entry.waivable:
        return f"waives {code} ({entry.title}), which cannot be waived", "mend what it says"
    if not isinstance(reason, str) or not reason.strip():
        return f"waives {code} without a reason", f"say why: waive={{{code!r}: '…'}}"
    return None


def _at(workflow: Workflow[Any], holder: _Holder, code: str, message: str, hint: str) -> Finding:
    node = holder.node
    what = f"node {node.id!r}" if node else f"workflow {workflow.id!r}"
    return Finding(
        code=code,
        message=f"{what} {message}",
        hint=hint,
        workflow=workflow.id,
        node=node.id if node else None,
        place=node.place if node else workflow.place,
    )


CHECKS = (meaningless,)
