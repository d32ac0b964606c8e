from typing import NotRequired, TypedDict

from pydantic import BaseModel

from agentflow import define_workflow, field, node, route


class Review(BaseModel):
    score: int
    remarks: str = ""


class State(TypedDict):
    draft: str
    review: NotRequired[Review]


@node(
    requires=["draft"],
    provides=["review"],
    routes=[route.to("publish", field("review.score") >= 8), route.to("drop")],
)
async def judge(state):
    return {"review": Review(score=min(10, len(state["draft"])))}


@node(requires=["draft"], routes=[route.deliver("draft")])
async def publish(state):
    return None


@node(requires=["review"], routes=[route.deliver("review")])
async def drop(state):
    return None


workflow = define_workflow("review", nodes=[judge, publish, drop], state=State, inputs=["draft"])
