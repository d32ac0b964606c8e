from typing import Literal, NotRequired, TypedDict

from agentflow import define_workflow, field, node, route


class State(TypedDict):
    service: str
    status: NotRequired[Literal["online", "offline"]]
    text: NotRequired[str]


@node(
    requires=["service"],
    provides=["status"],
    routes=[
        route.to("celebrate", field("status") == "online"),
        route.to("apologise", field("status") == "offline"),
    ],
)
async def look_up(state):
    return {"status": "online"}


@node(provides=["text"], routes=[route.deliver("text")])
async def celebrate(state):
    return {"text": "All is well."}


@node(provides=["text"], routes=[route.deliver("text")])
async def apologise(state):
    return {"text": "Sorry, it is down."}


workflow = define_workflow("status", nodes=[look_up, celebrate, apologise], state=State)
