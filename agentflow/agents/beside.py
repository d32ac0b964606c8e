"""Guardrails that judge the input while the loop is at work: a branch of its own, which stops the other when it blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

from agentflow.agents.call_view import CallView
from agentflow.agents.guardrails import judge
from agentflow.agents.setup import LoopSetup, setup_in_force
from agentflow.graph.limits import Uses
from agentflow.graph.node import node
from agentflow.graph.route import route
from agentflow.graph.workflow import Workflow, define_workflow
from agentflow.messages.message import Message

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["BESIDE", "judging_id", "passing"]

BESIDE: Final = "guardrails"
"""The name of the branch."""


def judging_id(workflow_id: str) -> str:
    """The id of the run of the branch, inside of that of the agent's workflow. There is one: what it has let pass is handed out."""
    return f"{workflow_id}/work#1[{BESIDE}]"


class BesideState(TypedDict):
    """The state of the branch: what is judged, and that it passed."""

    messages: list[Message]
    passed: NotRequired[bool]


def passing(id: str, setup: LoopSetup) -> Workflow[bool]:
    """The workflow of the branch.

    Args:
        id: The id of the agent's loop.
        setup: The setup of the agent.
    """

    async def verdict(state: BesideState, ctx: NodeContext) -> dict[str, Any]:
        """Judge the input; what was made meanwhile is handed out when it has passed."""
        found = setup_in_force(setup, ctx)
        beside = tuple(one for one in found.guardrails if one.when == "beside")
        await judge(beside, "input", tuple(state["messages"]), CallView.of(ctx), ctx=ctx)
        release = getattr(ctx.run.sink, "release", None)
        if release is not None:
            release()
        return {"passed": True}

    return define_workflow(
        f"{id}-{BESIDE}",
        nodes=[
            node(
                verdict,
                requires=["messages"],
                provides=["passed"],
                uses=Uses(),
                routes=[route.deliver("passed")],
            )
        ],
        state=BesideState,
        inputs=["messages"],
        result=bool,
    )
