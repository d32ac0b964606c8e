from typing import TypedDict

from agentflow import define_workflow, field, node, route


class State(TypedDict):
    urgent: bool
    text: str


@node(routes=[route.to("page", field("urgent") == True), route.to("wait")])
async def triage(state):
    return None


@node(provides=["text"], routes=[route.deliver("text")])
async def page(state):
    return {"text": "Somebody is on it."}


@node(
    starts_round=True,
    provides=["urgent"],
    routes=[route.to("page", field("urgent") == True), route.to("wait")],
)
async def wait(state):
    return {"urgent": True}


workflow = define_workflow(
    "desk", nodes=[triage, page, wait], state=State, inputs=["urgent"], max_rounds=9
)
