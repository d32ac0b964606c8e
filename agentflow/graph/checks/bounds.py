"""Bounds: `max_rounds` and budgets against what the graph needs and what it can use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from agentflow.graph.findings import Finding
from agentflow.graph.proof.explore import Walk
from agentflow.graph.proof.longest import fewest_visits
from agentflow.graph.proof.story import details, nodes_on

if TYPE_CHECKING:
    from agentflow.graph.limits import Budget
    from agentflow.graph.workflow import Workflow

_PLENTY: Final = 1_000_000
"""A number of rounds that suffices for every way to an end, if there is one."""
_WARNED = ("condition", "unproved")
"""What may go wrong without ending a run in any case."""


def useless_rounds(workflow: Workflow[Any], _walk: Walk) -> Iterator[Finding]:
    """`max_rounds` is stated only where a run can come to more than one round."""
    stated = workflow.max_rounds
    looping = workflow.shape.looping
    boundary = any(node.starts_round and node.id in looping for node in workflow.nodes)
    if stated is not None and stated > 1 and not boundary:
        yield Finding(
            code="AF401",
            message=f"max_rounds={stated}, but no run of {workflow.id!r} can come to a second round",
            hint="take max_rounds out, or mark where a round begins with starts_round=True",
            workflow=workflow.id,
            place=workflow.place,
        )


def enough_rounds(workflow: Workflow[Any], walk: Walk) -> Iterator[Finding]:
    """Some end can be reached within `max_rounds`."""
    if walk.ends or any(lack.kind not in _WARNED for lack, _ in walk.lacks):
        return
    longer = Walk(workflow, rounds=_PLENTY)
    if longer.ends:
        _, place = min(longer.ends, key=lambda end: end[1][1])
        stated = 1 if workflow.max_rounds is None else workflow.max_rounds
        yield Finding(
            code="AF402",
            message=f"no run of {workflow.id!r} can end within max_rounds={stated}; the shortest takes {place[1]}",
            hint=f"raise max_rounds to {place[1]} at least",
            workflow=workflow.id,
            place=workflow.place,
            path=nodes_on(longer, place),
            details=details(longer, place),
        )


def budget(workflow: Workflow[Any], given: Budget) -> Iterator[Finding]:
    """A budget lets some run come to an end, and tells if it is below the worst case."""
    walk = Walk(workflow)
    bounds = workflow.bounds()
    if not walk.ends:
        return
    needed = {
        "rounds": min(round for _, (_, round) in walk.ends),
        # Where paths are too many to be told apart, one may be told with fewer rounds than it takes.
        "visits": fewest_visits(walk) or min(len(walk.path(place)) for _, place in walk.ends),
    }
    for name, limit in given.limits().items():
        least = needed.get(name, 0)
        if name == "rounds" and workflow.on_limit is not None and 1 <= limit < least:
            # A run that is out of rounds sooner enters on_limit sooner, and may end there.
            least = 0 if Walk(workflow, rounds=limit).ends else least
        if limit < least:
            yield _about(
                workflow,
                "AF403",
                f"with {name}={limit:.15g} no run of {workflow.id!r} can end: the shortest needs {least}",
                f"raise {name} to {least} at least",
            )
            continue
        worst = (
            getattr(bounds, name, None)
            if name in ("rounds", "visits", "model_calls", "tool_calls")
            else None
        )
        if worst is not None and (worst.value is None or limit < worst.value):
            yield _about(
                workflow,
                "AF404",
                f"{name}={limit:.15g} is below the worst case of {workflow.id!r}: {worst}",
                "a run that needs more will end with BudgetExceeded; that may be what you want",
            )


def _about(workflow: Workflow[Any], code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code, message=message, hint=hint, workflow=workflow.id, place=workflow.place
    )


PROOFS = (useless_rounds, enough_rounds)
