"""Node kinds that hold workflows: made in `agentflow.graph.branching`, performed in `agentflow.run.compose`.

Whatever the kind, what it holds are branches: workflows that run on states of their own, with a mapping of what goes in and
another of what comes out. So whoever looks through a node looks at its branches, and need not know the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from agentflow.graph.node import Node
    from agentflow.graph.schema import Schema
    from agentflow.graph.workflow import Workflow

__all__ = [
    "RESULT",
    "Branch",
    "Kind",
    "MapEach",
    "OnBranchError",
    "Parallel",
    "Race",
    "Subflow",
    "kind_name",
    "place_of",
    "step_of",
]

RESULT = "$result"
"""In the outputs of a branch: the value that its workflow delivered."""

OnBranchError = Literal["cancel", "collect"]
"""What a failing branch does: it stops its siblings and fails the node, or it is noted and the others go on."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A workflow inside a node.

    Args:
        name: Its name among its siblings; empty where a node holds one workflow.
        workflow: The workflow.
        inputs: Field of the workflow = field of the surrounding state.
        outputs: Field of the surrounding state = field of the workflow's end state, or `"$result"`.
        item: The field of the workflow that takes one item of a `map_each`.
    """

    name: str
    workflow: Workflow[Any]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    item: str | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """The fields of the workflow that are mapped."""
        return tuple(self.inputs) if self.item is None else (self.item, *self.inputs)

    def continues(self, target: str, surrounding: Schema) -> bool:
        """Whether an output goes on from the surrounding field that it was given, with the same reducer.

        Then what the branch adds to it is taken: the rest is there already.

        Args:
            target: The surrounding field.
            surrounding: Its schema.
        """
        source = self.outputs[target]
        if source == RESULT or self.inputs.get(source) != target:
            return False
        inner, outer = self.workflow.schema.fields.get(source), surrounding.fields.get(target)
        if inner is None or outer is None or inner.reducer is None:
            return False
        return inner.reducer == outer.reducer


@dataclass(frozen=True, slots=True)
class Subflow:
    """A node that runs one workflow.

    Args:
        branch: The workflow with its mappings.
    """

    branch: Branch

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The one workflow."""
        return (self.branch,)


@dataclass(frozen=True, slots=True)
class Parallel:
    """A node that runs several workflows at the same time, and goes on when all have ended.

    Args:
        branches: The workflows, in the order in which what they give is merged.
        on_branch_error: What a failing one does.
        errors: The field that gets the failures that were collected.
    """

    branches: tuple[Branch, ...]
    on_branch_error: OnBranchError = "cancel"
    errors: str | None = None


@dataclass(frozen=True, slots=True)
class MapEach:
    """A node that runs one workflow for each of several items, some at a time.

    Args:
        branch: The workflow with its mappings.
        over: The field that holds the items, or a function of the state that gives them.
        concurrency: How many run at the same time.
        max_items: How many items there may be.
        on_branch_error: What a failing one does.
        errors: The field that gets the failures that were collected.
    """

    branch: Branch
    over: str | Callable[[Any], Any]
    concurrency: int = 10
    max_items: int | None = None
    on_branch_error: OnBranchError = "cancel"
    errors: str | None = None

    @property
    def branches(self) -> tuple[Branch, ...]:
        """The one workflow, which runs once for each item."""
        return (self.branch,)


@dataclass(frozen=True, slots=True)
class Race:
    """A node that runs several workflows at the same time, and goes on with the first that ends well.

    Args:
        branches: The workflows.
        winner: The field that gets the name of the first.
        on_branch_error: What a failing one does.
        errors: The field that gets the failures that were collected.
    """

    branches: tuple[Branch, ...]
    winner: str | None = None
    on_branch_error: OnBranchError = "cancel"
    errors: str | None = None


Kind = Subflow | Parallel | MapEach | Race


def kind_name(kind: Kind) -> Literal["subflow", "parallel", "map_each", "race"]:
    """What a kind is called in manifests, specs and drawings: the function that makes it."""
    match kind:
        case Subflow():
            return "subflow"
        case Parallel():
            return "parallel"
        case MapEach():
            return "map_each"
        case Race():
            return "race"


def place_of(node: Node, branch: Branch) -> str:
    """Where a branch stands, in words."""
    return f"node {node.id!r}, branch {branch.name!r}" if branch.name else f"node {node.id!r}"


def step_of(node: Node, branch: Branch) -> str:
    """The step of a path that leads into a branch."""
    return f"{node.id}[{branch.name}]" if branch.name else node.id
