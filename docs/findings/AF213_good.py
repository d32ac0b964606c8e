from typing import Annotated, NotRequired, TypedDict

from agentflow import define_workflow, node, private, route


class Visit(TypedDict):
    user: str
    token: NotRequired[Annotated[str, private]]
    page: NotRequired[str]


@node(requires=["user"], provides=["token"], routes=[route.to("fetch")])
async def log_in(state):
    # A call of its own, past ctx.tools: nothing of it is recorded, and a crash makes it again.
    return {"token": f"a token for {state['user']}"}


@node(requires=["token"], provides=["page"], routes=[route.deliver("page")])
async def fetch(state):
    return {"page": "<html></html>"}


workflow = define_workflow("visit", nodes=[log_in, fetch], state=Visit, inputs=["user"])
