"""The workflow around the loop of an agent that has middleware or guardrails: each stands at a node that everybody can see.

::

    receive (starts a round) -> work (the loop, alone or beside guardrails) -> review -> receive again, or the result

Round n is attempt n. Every attempt begins with the original input and a new loop, so nothing of an attempt that was given up is
left, but for what was spent.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import BeforeValidator

from agentflow.agents.beside import BESIDE, passing
from agentflow.agents.loop_result import LoopResult
from agentflow.agents.loop_state import as_list
from agentflow.agents.receiving import Receiving
from agentflow.agents.reviewing import Reviewing
from agentflow.agents.setup import LoopSetup
from agentflow.graph.branching import parallel, subflow
from agentflow.graph.condition import field
from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, node
from agentflow.graph.route import route
from agentflow.graph.workflow import Workflow, define_workflow
from agentflow.messages.message import Message

__all__ = ["GuardedState", "guarded"]


class GuardedState(TypedDict):
    """The state around the loop: the input, what became of it for this attempt, and what the loop has come to."""

    messages: Annotated[list[Message], BeforeValidator(as_list)]
    attempt: NotRequired[int]
    received: NotRequired[Literal["asked", "again"]]
    asked: NotRequired[list[Message]]
    feedback: NotRequired[str | None]
    passed: NotRequired[bool]
    worked: NotRequired[LoopResult]
    result: NotRequired[LoopResult]


def guarded(
    loop: Workflow[LoopResult], setup: LoopSetup, *, retries: int, beside: bool
) -> Workflow[LoopResult]:
    """The workflow around a loop.

    Args:
        loop: The loop.
        setup: The setup that it was made for.
        retries: How many further attempts middleware may ask for.
        beside: Whether some guardrails judge the input while the loop is at work.
    """
    receiving, reviewing = Receiving(setup, retries), Reviewing(setup)
    return define_workflow(
        loop.id,
        nodes=[
            _received(receiving, retries),
            _beside(loop, setup) if beside else _alone(loop),
            _reviewed(reviewing, retries, ["passed"] if beside else []),
        ],
        state=GuardedState,
        inputs=["messages"],
        optional_inputs=[],
        entry="receive",
        max_rounds=1 + retries,
        result=LoopResult,
        description="Let an agent work between those who rewrite and judge what passes.",
    )


def _received(receiving: Receiving, retries: int) -> Node:
    routes = [route.to("work")]
    if retries:
        routes = [route.to("work", when=field("received") == "asked"), route.to("receive")]
    return node(
        receiving.receive,
        requires=["messages"],
        provides=["attempt", "asked", "feedback", *(["received"] if retries else [])],
        starts_round=True,
        uses=Uses(),
        routes=routes,
    )


_ASKED = {"messages": "asked", "feedback": "feedback"}


def _alone(loop: Workflow[LoopResult]) -> Node:
    return subflow(
        "work",
        loop,
        inputs=_ASKED,
        outputs={"worked": "$result"},
        requires=["asked", "feedback"],
        provides=["worked"],
        routes=[route.to("review")],
        description="Let the loop work.",
    )


def _beside(loop: Workflow[LoopResult], setup: LoopSetup) -> Node:
    branches: dict[str, Any] = {
        "loop": subflow("loop", loop, inputs=_ASKED, outputs={"worked": "$result"}),
        BESIDE: subflow(
            BESIDE,
            passing(loop.id, setup),
            inputs={"messages": "asked"},
            outputs={"passed": "$result"},
        ),
    }
    return parallel(
        "work",
        branches=branches,
        requires=["asked", "feedback"],
        provides=["worked", "passed"],
        routes=[route.to("review")],
        description="Let the loop work while guardrails judge the input.",
    )


def _reviewed(reviewing: Reviewing, retries: int, passed: list[str]) -> Node:
    ends = route.deliver_if_ready("result") if retries else route.deliver("result")
    return node(
        reviewing.review,
        requires=["worked", "attempt", "feedback", *passed],
        provides=[] if retries else ["result"],
        may_provide=["result", "feedback"] if retries else [],
        uses=Uses(),
        routes=[ends, route.to("receive")] if retries else [ends],
    )
