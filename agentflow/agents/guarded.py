"""The workflow around the loop of an agent that has middleware, guardrails or memory: each stands at a node that everybody can see.

::

    receive (starts a round) -> work (the loop, alone or beside guardrails) -> review -> receive again, or the result

With memory, `recall` stands before `work`, and `remember` before the result. Round n is attempt n. Every attempt begins with the original input and a new loop, so nothing of an attempt that was given up is
left, but for what was spent.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import BeforeValidator

from agentflow.agents.beside import BESIDE, passing
from agentflow.agents.loop_result import LoopResult
from agentflow.agents.loop_state import as_list
from agentflow.agents.memory.owner import Owner
from agentflow.agents.memory.remembering import Remembering
from agentflow.agents.pending_turn import surrounded
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
    """The state around the loop: the input, what became of it for this attempt, and what the loop has come to.

    With memory, `owner` is whose, `told` what is remembered and then what is asked, and `reviewed` the result before it is kept.
    """

    messages: Annotated[list[Message], BeforeValidator(as_list)]
    owner: NotRequired[Owner]
    attempt: NotRequired[int]
    received: NotRequired[Literal["asked", "again"]]
    asked: NotRequired[list[Message]]
    told: NotRequired[list[Message]]
    feedback: NotRequired[str | None]
    passed: NotRequired[bool]
    worked: NotRequired[LoopResult]
    reviewed: NotRequired[LoopResult]
    result: NotRequired[LoopResult]


def guarded(
    loop: Workflow[LoopResult],
    setup: LoopSetup,
    *,
    retries: int,
    beside: bool,
    remembers: bool = False,
    turns: bool = False,
) -> Workflow[LoopResult]:
    """The workflow around a loop.

    Args:
        loop: The loop.
        setup: The setup that it was made for.
        retries: How many further attempts middleware may ask for.
        beside: Whether some guardrails judge the input while the loop is at work.
        remembers: Whether there is a memory.
        turns: Whether middleware stands around the loop.
    """
    receiving = Receiving(setup, retries)
    told = "told" if remembers else "asked"
    kept = "reviewed" if remembers else "result"
    work = _beside(loop, setup, told) if beside else _alone(loop, told)
    if turns:
        work = surrounded(work, setup, told=told, model_calls=loop.bounds().model_calls.value)
    nodes = [
        _received(receiving, retries, "recall" if remembers else "work"),
        work,
        _reviewed(Reviewing(setup, kept), retries, ["passed"] if beside else [], kept),
    ]
    if remembers:
        remembering = Remembering(setup)
        nodes += [_recalling(remembering), _keeping(remembering)]
    return define_workflow(
        loop.id,
        nodes=nodes,
        state=GuardedState,
        inputs=["messages"],
        optional_inputs=["owner"] if remembers else [],
        entry="receive",
        max_rounds=1 + retries,
        result=LoopResult,
        description="Let an agent work between those who rewrite and judge what passes.",
    )


def _received(receiving: Receiving, retries: int, next: str) -> Node:
    routes = [route.to(next)]
    if retries:
        routes = [route.to(next, when=field("received") == "asked"), route.to("receive")]
    return node(
        receiving.receive,
        requires=["messages"],
        provides=["attempt", "asked", "feedback", *(["received"] if retries else [])],
        starts_round=True,
        uses=Uses(),
        routes=routes,
    )


def _recalling(remembering: Remembering) -> Node:
    return node(
        remembering.recall,
        requires=["asked"],
        provides=["owner", "told"],
        uses=Uses(),
        routes=[route.to("work")],
    )


def _keeping(remembering: Remembering) -> Node:
    return node(
        remembering.remember,
        requires=["owner", "reviewed"],
        provides=["result"],
        uses=Uses(),
        routes=[route.deliver("result")],
    )


def _alone(loop: Workflow[LoopResult], told: str) -> Node:
    return subflow(
        "work",
        loop,
        inputs=_worked_on(told),
        outputs={"worked": "$result"},
        requires=[told, "feedback"],
        provides=["worked"],
        routes=[route.to("review")],
        description="Let the loop work.",
    )


def _worked_on(told: str) -> dict[str, str]:
    return {"messages": told, "feedback": "feedback"}


def _beside(loop: Workflow[LoopResult], setup: LoopSetup, told: str) -> Node:
    branches: dict[str, Any] = {
        "loop": subflow("loop", loop, inputs=_worked_on(told), outputs={"worked": "$result"}),
        BESIDE: subflow(
            BESIDE,
            passing(loop.id, setup),
            # What is remembered was judged when it was new.
            inputs={"messages": "asked"},
            outputs={"passed": "$result"},
        ),
    }
    return parallel(
        "work",
        branches=branches,
        requires=list(dict.fromkeys(["asked", told, "feedback"])),
        provides=["worked", "passed"],
        routes=[route.to("review")],
        description="Let the loop work while guardrails judge the input.",
    )


def _reviewed(reviewing: Reviewing, retries: int, passed: list[str], kept: str) -> Node:
    if kept == "reviewed":
        ends = route.to("remember", when=field(kept).exists() if retries else None)
    else:
        ends = route.deliver_if_ready(kept) if retries else route.deliver(kept)
    return node(
        reviewing.review,
        requires=["worked", "attempt", "feedback", *passed],
        provides=[] if retries else [kept],
        may_provide=[kept, "feedback"] if retries else [],
        uses=Uses(),
        routes=[ends, route.to("receive")] if retries else [ends],
    )
