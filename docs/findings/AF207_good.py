from typing import TypedDict

from agentflow import define_workflow, field, node, route


class State(TypedDict):
    amount: float | None
    verdict: str


@node(
    requires=["amount"],
    routes=[
        route.to("ask", field("amount").is_none()),
        route.to("approve", field("amount") <= 100),
        route.to("ask"),
    ],
)
async def triage(state):
    return None


@node(provides=["verdict"], routes=[route.deliver("verdict")])
async def approve(state):
    return {"verdict": "approved"}


@node(provides=["verdict"], routes=[route.deliver("verdict")])
async def ask(state):
    return {"verdict": "a person has to look at it"}


workflow = define_workflow("expenses", nodes=[triage, approve, ask], state=State, inputs=["amount"])
