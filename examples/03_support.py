"""A support desk: an agent looks into a complaint, and what it may come to is proved of the graph around it.

The agent's two tools only look; money goes out at one node. No path comes there without a claim that was granted, none above
100 without a person's word, and none twice. That holds for whatever the model says, and is proved before it is asked anything.
The model is a mock here, so that this runs offline; the engine keeps the runs, so the person may take a week.

    python examples/03_support.py
    agentflow validate examples/03_support.py:desk --bounds
    agentflow graph examples/03_support.py:desk
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

import anyio
from pydantic import BaseModel, Field

from agentflow import (
    Agent,
    Engine,
    RunSuspended,
    ask,
    at_most,
    define_workflow,
    field,
    must_pass,
    node,
    only_if,
    route,
    tool,
)
from agentflow.mock import MockModel, MockRequest, Rule, call, calls

ORDERS = {
    "A-17": {"item": "a lamp", "price": 45, "status": "arrived broken"},
    "B-04": {"item": "a desk", "price": 250, "status": "never arrived"},
    "C-23": {"item": "a chair", "price": 80, "status": "delivered in March, in order"},
}


# The agent: it looks things up, and ends with a claim that has a form.


class Claim(BaseModel):
    order: str
    amount: int = Field(ge=0, description="What the customer paid.")
    verdict: Literal["granted", "refused"]
    reason: str


@tool
async def look_up(order: str) -> dict[str, Any]:
    """Look up an order."""
    return ORDERS[order]


@tool
async def terms(topic: Literal["refunds", "delivery"]) -> str:
    """Read our terms."""
    return {
        "refunds": "What is broken or lost is paid back. What is in order is not, after 30 days.",
        "delivery": "Within a week.",
    }[topic]


def judged(request: MockRequest) -> Claim:
    """What a good clerk would say after looking; the mock says it by rule."""
    told = request.tool_results[0].content
    order = next(id for id, known in ORDERS.items() if str(known["item"]) in told)
    lost = "broken" in told or "never" in told
    return Claim(
        order=order,
        amount=int(str(ORDERS[order]["price"])),
        verdict="granted" if lost else "refused",
        reason=f"{ORDERS[order]['item']}: {ORDERS[order]['status']}",
    )


def looked(request: MockRequest) -> Any:
    order = next(id for id in ORDERS if id in request.text)
    return calls(call("look_up", order=order), call("terms", topic="refunds"))


clerk = Agent(
    "clerk",
    "Look up the order and our terms, then judge the claim.",
    MockModel([Rule(turn=1, reply=looked), Rule(reply=judged)]),
    [look_up, terms],
    output=Claim,
    max_steps=4,
    description="Look into a complaint.",
)


# The desk: what may come of a claim.


class Desk(TypedDict):
    complaint: str
    claim: NotRequired[Claim]
    word: NotRequired[Literal["yes", "no"]]
    letter: NotRequired[str]


def question(state: Any) -> dict[str, Any]:
    claim = state["claim"]
    return {"question": f"Pay {claim.amount} back?", "order": claim.order, "why": claim.reason}


look_into = clerk.as_node(
    "look_into",
    input="complaint",
    output="claim",
    routes=[
        route.to_if_equal("refuse", "claim.verdict", "refused"),
        route.to("approve", when=field("claim.amount") > 100),
        route.to("pay"),
    ],
)
approve = ask(
    "approve",
    requires=["claim"],
    prompt=question,
    answer="word",
    schema=Literal["yes", "no"],
    routes=[route.to_if_equal("pay", "word", "yes"), route.to("refuse")],
)


@node(requires=["claim"], provides=["letter"], routes=[route.deliver("letter")])
async def pay(state: Desk) -> dict[str, str]:
    """Pay the money back."""
    return {"letter": f"{state['claim'].amount} for {state['claim'].order} are on their way."}


@node(requires=["claim"], provides=["letter"], routes=[route.deliver("letter")])
async def refuse(state: Desk) -> dict[str, str]:
    """Say no, and why."""
    return {"letter": f"We cannot pay {state['claim'].order} back ({state['claim'].reason})."}


small_or_approved = (field("claim.amount") <= 100) | (field("word") == "yes")
desk = define_workflow(
    "support-desk",
    nodes=[look_into, approve, pay, refuse],
    state=Desk,
    inputs=["complaint"],
    result=str,
    policies=[
        must_pass("look_into", before="pay"),
        only_if("pay", field("claim.verdict") == "granted"),
        only_if("pay", small_or_approved),
        at_most("pay", 1),
    ],
    description="Answer a complaint, and pay what is owed.",
)


async def main() -> None:
    print("Proved, whatever the model says:")
    for policy in desk.policies:
        print(f"  {policy}")
    print("\nThe worst case:")
    for line in desk.bounds().as_text().splitlines():
        print(f"  {line}")
    print("\nThe runs:")
    async with Engine(desk, store="memory:") as engine:
        for order in ORDERS:
            complaint = f"I want my money back for {order}."
            print(f"  > {complaint}")
            try:
                letter = await engine.run({"complaint": complaint}, run_id=order)
            except RunSuspended as waits:
                (request,) = waits.requests
                print(f"    asked: {request.payload['question']} ({request.payload['why']}): yes")
                letter = await engine.resume(order, "yes")
            print(f"    {letter}")
    print(f"\nThe picture, as Mermaid:\n{desk.to_mermaid()}", end="")


if __name__ == "__main__":
    anyio.run(main)
