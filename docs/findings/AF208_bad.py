from typing import Annotated, NotRequired, TypedDict

from agentflow import ask, define_workflow, node, private, route


class Order(TypedDict):
    token: Annotated[str, private]
    agreed: NotRequired[bool]
    paid: NotRequired[str]


@node(requires=["token", "agreed"], provides=["paid"], routes=[route.deliver("paid")])
async def pay(state):
    return {"paid": "yes" if state["agreed"] else "no"}


workflow = define_workflow(
    "order",
    nodes=[
        ask(
            "confirm",
            prompt="Shall we pay?",
            answer="agreed",
            schema=bool,
            routes=[route.to("pay")],
        ),
        pay,
    ],
    state=Order,
)
