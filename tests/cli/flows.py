"""Files of authors: sound ones, and ones with mistakes."""

from __future__ import annotations

SOUND = """
from typing import NotRequired, TypedDict

from agentflow import define_workflow, node, route


class State(TypedDict):
    question: str
    status: NotRequired[str]
    answer: NotRequired[str]


@node(requires=["question"], provides=["status"],
      routes=[route.to_if_equal("reply", "status", "online"), route.to("apologise")])
async def look_up(state):
    return {"status": "online" if state["question"] == "is it up?" else "offline"}


@node(requires=["status"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": f"it is {state['status']}"}


@node(requires=["status"], provides=["answer"], routes=[route.deliver("answer")])
async def apologise(state):
    return {"answer": f"sorry, it is {state['status']}"}


workflow = define_workflow(
    "service-status", nodes=[look_up, reply, apologise], state=State, inputs=["question"], result=str
)
"""

BROKEN = (
    SOUND.replace('"reply", "status"', '"repl", "status"')
    .replace(
        'provides=["answer"], routes=[route.deliver("answer")])\nasync def apologise',
        'provides=["anwser"],\n    routes=[route.deliver("answer"), route.to("reply")],\n)\nasync def apologise',
    )
    .replace("result=str", "result=str, max_rounds=0")
)
"""Four mistakes: a target, a field, a route that is never tried, a limit."""


def one_node(body: str, *, head: str = "", options: str = "", plain: bool = False) -> str:
    """A workflow of the one node `work`, whose function has `body`; it delivers `x`."""
    return f"""
{head}
from agentflow import Engine, define_workflow, node, route

@node(provides=["x"], routes=[route.deliver("x")]{options})
{"" if plain else "async "}def work(state, ctx):
    {body}

workflow = define_workflow("one", nodes=[work])
"""
