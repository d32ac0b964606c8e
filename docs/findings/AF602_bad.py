from typing import NotRequired, TypedDict

from agentflow import define_workflow, node, route


class State(TypedDict):
    question: str
    answer: NotRequired[str | None]


@node(requires=["question"], provides=["answer"], routes=[route.to("reply")])
async def look_up(state):
    known = {"hours": "We are open from nine to five."}
    return {"answer": known.get(state["question"])}


@node(routes=[route.deliver("answer")])
async def reply(state):
    return None


workflow = define_workflow("desk", nodes=[look_up, reply], state=State, result=str)
