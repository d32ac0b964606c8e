from typing import NotRequired, TypedDict

from agentflow import define_workflow, node, route


class State(TypedDict):
    question: str
    answer: NotRequired[str | None]


@node(requires=["question"], provides=["answer"], routes=[route.to("reply")])
async def look_up(state):
    known = {"hours": "We are open from nine to five."}
    return {"answer": known.get(state["question"])}


@node(routes=[route.deliver_if_ready("answer"), route.to("apologise")])
async def reply(state):
    return None


@node(provides=["answer"], routes=[route.finish(lambda state: "I do not know.")])
async def apologise(state):
    return {"answer": None}


workflow = define_workflow("desk", nodes=[look_up, reply, apologise], state=State, result=str)
