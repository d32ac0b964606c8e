"""A refund that a person has to approve above a limit: no path comes to `pay` without it, and none pays twice."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from agentflow import at_most, define_workflow, field, must_pass, node, only_if, route


class State(TypedDict):
    order: str
    amount: NotRequired[int]
    verdict: NotRequired[Literal["granted", "refused"]]
    approved: NotRequired[Literal["yes", "no"]]
    letter: NotRequired[str]


@node(
    requires=["order"],
    provides=["amount", "verdict"],
    routes=[
        route.to_if_equal("refuse", "verdict", "refused"),
        route.to("approve", when=field("amount") > 100),
        route.to("check_small"),
    ],
)
async def look_up(state: State) -> dict[str, object]:
    """Find the order and judge the claim."""
    return {"amount": 250, "verdict": "granted"}


@node(
    requires=["order", "amount"],
    provides=["approved"],
    routes=[route.to_if_equal("pay", "approved", "yes"), route.to("refuse")],
    on_error="refuse",
)
async def approve(state: State) -> dict[str, str]:
    """A person decides."""
    return {"approved": "yes"}


@node(requires=["amount"], routes=[route.to("pay")])
async def check_small(state: State) -> None:
    """Small amounts are checked by rule."""


@node(requires=["order", "amount"], provides=["letter"], routes=[route.deliver("letter")])
async def pay(state: State) -> dict[str, str]:
    """Pay the money back."""
    return {"letter": f"Order {state['order']}: {state['amount']} are on their way."}


@node(requires=["order"], provides=["letter"], routes=[route.deliver("letter")])
async def refuse(state: State) -> dict[str, str]:
    """Say no, kindly."""
    return {"letter": f"Order {state['order']}: we are sorry."}


workflow = define_workflow(
    "approved-refund",
    nodes=[look_up, approve, check_small, pay, refuse],
    state=State,
    inputs=["order"],
    result=str,
    policies=[
        only_if("check_small", field("amount") <= 100),
        only_if("pay", (field("amount") <= 100) | (field("approved") == "yes")),
        at_most("pay", 1),
        must_pass("look_up", before="pay"),
    ],
)
INPUT = {"order": "A-17"}
