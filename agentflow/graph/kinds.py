"""Node kinds that hold workflows: declared here, performed in `agentflow.run.compose`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.graph.excerpt import excerpt
from agentflow.graph.node import Node, make_node
from agentflow.graph.place import calling_place
from agentflow.graph.slips import Slips

if TYPE_CHECKING:
    from agentflow.graph.workflow import Workflow

__all__ = ["RESULT", "Kind", "Subflow", "subflow"]

RESULT = "$result"
"""In the outputs of a sub-workflow: the value it delivered."""


@dataclass(frozen=True, slots=True)
class Subflow:
    """A node that runs a workflow on a state of its own.

    Args:
        workflow: The workflow.
        inputs: Field of the sub-workflow = field of the surrounding state.
        outputs: Field of the surrounding state = field of the sub-workflow's end state, or `"$result"`.
    """

    workflow: Workflow[Any]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


Kind = Subflow


def subflow(
    id: str,
    workflow: Workflow[Any],
    *,
    inputs: Mapping[str, str] | None = None,
    outputs: Mapping[str, str] | None = None,
    **options: Any,
) -> Node:
    """A node that runs `workflow` on a state of its own and takes over what it delivers.

    The sub-workflow shares the run's ledger, context and deps; its signal is derived from the run's, and it counts its
    own rounds. A visit is one run of it, with an id below that of the run.

    Args:
        id: The node's id.
        workflow: The workflow to run.
        inputs: Its input fields, each with the surrounding field that the value is taken from. A source that does not
            exist is left out, so that an optional input stays optional.
        outputs: The surrounding fields to set, each with the field of the sub-workflow's end state that the value is
            taken from, or `"$result"` for what it delivered. A source that does not exist is a contract error.
        options: `routes`, `requires`, `retry` and whatever else `node` takes, but no function. What `inputs` and `outputs`
            need is added to `requires` and `provides` by itself.
    """
    slips = Slips()
    taken = slips.pairs("inputs", inputs)
    given = slips.pairs("outputs", outputs)
    needed = (
        tuple(source for target, source in taken.items() if target not in workflow.optional_inputs)
        if _is_workflow(workflow, slips)
        else tuple(taken.values())
    )
    made = make_node(None, id=id, place=calling_place(), **options)
    return dataclasses.replace(
        made,
        description=made.description or str(getattr(workflow, "description", "")),
        requires=tuple(dict.fromkeys((*needed, *made.requires))),
        provides=tuple(dict.fromkeys((*given, *made.provides))),
        kind=Subflow(workflow, taken, given),
        slips=(*made.slips, *slips.found),
    )


def _is_workflow(workflow: object, slips: Slips) -> bool:
    from agentflow.graph.workflow import Workflow

    if isinstance(workflow, Workflow):
        return True
    slips.note(f"workflow={excerpt(workflow)} is no workflow; make it with define_workflow")
    return False
