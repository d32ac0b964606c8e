from typing import Annotated, NotRequired, TypedDict

from agentflow import define_workflow, node, private, route, subflow


class Call(TypedDict):
    key: Annotated[str, private]
    reply: NotRequired[str]


@node(requires=["key"], provides=["reply"], routes=[route.deliver("reply")])
async def call(state):
    return {"reply": "Good morning."}


service = define_workflow("service", nodes=[call], state=Call)


class Order(TypedDict):
    token: Annotated[str, private]
    greeting: NotRequired[str]


workflow = define_workflow(
    "order",
    nodes=[
        subflow(
            "greet",
            service,
            inputs={"key": "token"},
            outputs={"greeting": "$result"},
            routes=[route.deliver("greeting")],
        )
    ],
    state=Order,
)
