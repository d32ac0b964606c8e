from typing import Annotated, NotRequired, TypedDict

from agentflow import define_workflow, node, private, route, tool_node


class Visit(TypedDict):
    user: str
    token: NotRequired[Annotated[str, private]]
    page: NotRequired[str]


@node(requires=["token"], provides=["page"], routes=[route.deliver("page")])
async def fetch(state):
    return {"page": "<html></html>"}


workflow = define_workflow(
    "visit",
    nodes=[
        tool_node(
            "log_in",
            tool="log_in",
            inputs={"user": "user"},
            output="token",
            routes=[route.to("fetch")],
        ),
        fetch,
    ],
    state=Visit,
    inputs=["user"],
)
