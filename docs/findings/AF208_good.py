from typing import Annotated, NotRequired, TypedDict

from agentflow import ask, define_workflow, node, private, route


class Order(TypedDict):
    user: str
    token: NotRequired[Annotated[str, private]]
    agreed: NotRequired[bool]
    paid: NotRequired[str]


@node(requires=["user"], provides=["token"], routes=[route.to("pay")])
async def log_in(state):
    return {"token": f"a token for {state['user']}"}


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
            routes=[route.to("log_in")],
        ),
        log_in,
        pay,
    ],
    state=Order,
    inputs=["user"],
)
