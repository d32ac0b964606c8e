"""Files of authors whose workflows wait, fail, and are stopped."""

from __future__ import annotations

REFUND = """
from typing import Annotated, Literal, NotRequired, TypedDict

from agentflow import Retry, append, ask, define_workflow, field, node, route


class State(TypedDict):
    amount: float
    large: NotRequired[bool]
    decision: NotRequired[Literal["approve", "reject"]]
    receipt: NotRequired[str]
    log: NotRequired[Annotated[list[str], append]]


@node(requires=["amount"], provides=["large", "log"],
      routes=[route.to("decide", field("large") == True), route.to("pay")])
async def triage(state):
    return {"large": state["amount"] > 100, "log": ["triaged"]}


decide = ask(
    "decide", requires=["amount"], answer="decision", schema=Literal["approve", "reject"],
    prompt=lambda state: {"question": "pay it?", "amount": state["amount"]},
    routes=[route.to_if_equal("pay", "decision", "approve"), route.to("refuse")],
)


@node(requires=["amount"], provides=["receipt", "log"], retry=Retry(2),
      routes=[route.deliver("receipt")])
async def pay(state, ctx):
    number = await ctx.once("transfer", lambda: f"t-{state['amount']:g}")
    if ctx.attempt == 1:
        raise ConnectionError("the bank is busy")
    return {"receipt": number, "log": ["paid"]}


@node(provides=["receipt"], routes=[route.deliver("receipt")])
async def refuse(state):
    return {"receipt": "none"}


workflow = define_workflow(
    "refund", nodes=[triage, decide, pay, refuse], state=State, inputs=["amount"], result=str
)
"""
"""Amounts above 100 are decided by a person; the first try to pay always fails."""

TWO_STEPS = """
import asyncio
import pathlib
import sys

from agentflow import define_workflow, node, route


async def reached(name):
    sys.stderr.write(f"reached {name}\\n")
    sys.stderr.flush()
    while not pathlib.Path(f"open-{name}").exists():
        await asyncio.sleep(0.01)


@node(provides=["first"], routes=[route.to("second_step")])
async def first_step(state):
    await reached("first")
    return {"first": 1}


@node(requires=["first"], provides=["sum"], routes=[route.deliver("sum")])
async def second_step(state):
    await reached("second")
    return {"sum": state["first"] + 1}


workflow = define_workflow("two-steps", nodes=[first_step, second_step])
"""
"""Each of its two nodes waits until a file `open-first`, or `open-second`, is there."""


def asking(*nodes: str, imports: str = "") -> str:
    """A workflow whose nodes ask one after the other; each is the rest of an `ask(…)`, such as `answer="a", schema=bool`."""
    made = "\n".join(
        f'n{at} = ask("n{at}", {options}, routes=[route.to("n{at + 1}")])'
        for at, options in enumerate(nodes)
    )
    names = ", ".join(f"n{at}" for at in range(len(nodes)))
    return f"""
{imports}
from agentflow import ask, define_workflow, node, route

{made}

@node(routes=[route.finish(dict)])
async def n{len(nodes)}(state):
    return None

workflow = define_workflow("asking", nodes=[{names}, n{len(nodes)}])
"""
