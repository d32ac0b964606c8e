"""ReAct: reason, act on a tool, observe, and again, until there is an answer.

After Yao et al., "ReAct: Synergizing Reasoning and Acting in Language Models" (2022).
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

from agentflow import append, define_workflow, node, route


class State(TypedDict):
    question: str
    trace: NotRequired[Annotated[list[str], append]]
    next_step: NotRequired[Literal["act", "answer"]]
    answer: NotRequired[str]


@node(
    requires=["question", "trace"],
    provides=["next_step"],
    may_provide=["answer"],
    starts_round=True,
    routes=[
        route.deliver_if_ready("answer"),
        route.to_if_equal("act", "next_step", "act"),
        route.to("answer"),
    ],
)
async def reason(state: State) -> dict[str, str]:
    """Decide on the next step from everything seen so far."""
    return {"next_step": "act" if len(state["trace"]) < 3 else "answer"}


@node(requires=["trace"], provides=["trace"], routes=[route.to("reason")])
async def act(state: State) -> dict[str, list[str]]:
    """Do one thing and observe what comes of it."""
    return {"trace": [f"observation {len(state['trace'])}"]}


@node(requires=["question", "trace"], provides=["answer"], routes=[route.deliver("answer")])
async def answer(state: State) -> dict[str, str]:
    """Answer from what was observed; also when rounds are out."""
    return {"answer": f"{state['question']} After {len(state['trace'])} observations: yes."}


@node(requires=["question"], provides=["trace"], routes=[route.to("reason")])
async def begin(state: State) -> dict[str, list[str]]:
    """Open the trace with the question."""
    return {"trace": [state["question"]]}


workflow = define_workflow(
    "react",
    nodes=[begin, reason, act, answer],
    state=State,
    inputs=["question"],
    result=str,
    max_rounds=8,
    on_limit="answer",
)
INPUT = {"question": "Is the service up?"}
