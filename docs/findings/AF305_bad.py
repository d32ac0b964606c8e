from typing import TypedDict

from agentflow import define_workflow, field, node, route


class State(TypedDict):
    urgent: bool
    text: str


@node(routes=[route.to("page", field("urgent") == True), route.to("queue")])
async def triage(state):
    return None


@node(provides=["text"], routes=[route.deliver("text")])
async def page(state):
    return {"text": "Somebody is on it."}


@node(routes=[route.to("remind", field("urgent") == True), route.to("file")])
async def queue(state):
    return None


@node(provides=["text"], routes=[route.deliver("text")])
async def remind(state):
    return {"text": "You are next."}


@node(provides=["text"], routes=[route.deliver("text")])
async def file(state):
    return {"text": "You will hear from us."}


workflow = define_workflow(
    "desk", nodes=[triage, page, queue, remind, file], state=State, inputs=["urgent"]
)
