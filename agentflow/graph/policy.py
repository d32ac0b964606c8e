"""Policies: what must hold on every path of a workflow, proved before it runs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from agentflow.graph.condition import Condition
from agentflow.graph.excerpt import excerpt
from agentflow.graph.place import Place, calling_place

__all__ = [
    "Policy",
    "PolicyKind",
    "at_most",
    "ends_within",
    "must_pass",
    "never_after",
    "only_if",
]

PolicyKind = Literal["must_pass", "never_after", "at_most", "only_if", "ends_within"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One demand on every path; make it with the functions of this module.

    Nodes are named by id, wherever they stand, inside sub-workflows too; or by a path such as `refund/pay`, which is the node
    `pay` of the sub-workflow in the node `refund`.

    Args:
        kind: What is demanded.
        node: The node that the demand is about.
        other: The second node, of `must_pass` and `never_after`.
        count: The largest number of visits, of `at_most`.
        condition: What must hold on arrival, of `only_if`.
        rounds: The largest number of rounds, of `ends_within`.
    """

    kind: PolicyKind
    node: str = ""
    other: str = ""
    count: int = 0
    condition: Condition | None = None
    rounds: int = 0
    place: Place | None = dataclasses.field(default=None, compare=False)

    def __str__(self) -> str:
        match self.kind:
            case "must_pass":
                return f"must_pass({excerpt(self.node)}, before={excerpt(self.other)})"
            case "never_after":
                return f"never_after({excerpt(self.node)}, {excerpt(self.other)})"
            case "at_most":
                return f"at_most({excerpt(self.node)}, {excerpt(self.count)})"
            case "only_if":
                condition = self.condition
                told = str(condition) if isinstance(condition, Condition) else excerpt(condition)
                return f"only_if({excerpt(self.node)}, {told})"
            case "ends_within":
                return f"ends_within(rounds={excerpt(self.rounds)})"


def must_pass(node: str, *, before: str) -> Policy:
    """No path visits `before` without having visited `node`."""
    return Policy(kind="must_pass", node=node, other=before, place=calling_place())


def never_after(node: str, later: str) -> Policy:
    """Once `node` was visited, no path visits `later`."""
    return Policy(kind="never_after", node=node, other=later, place=calling_place())


def at_most(node: str, count: int) -> Policy:
    """No path visits `node` more than `count` times."""
    return Policy(kind="at_most", node=node, count=count, place=calling_place())


def only_if(node: str, condition: Condition) -> Policy:
    """Whenever `node` is visited, `condition` (as data) holds on arrival."""
    return Policy(kind="only_if", node=node, condition=condition, place=calling_place())


def ends_within(*, rounds: int) -> Policy:
    """No run takes more than `rounds` rounds."""
    return Policy(kind="ends_within", rounds=rounds, place=calling_place())
