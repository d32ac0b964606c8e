from typing import NotRequired, TypedDict

from agentflow import define_workflow, node, route


class State(TypedDict):
    question: str
    answer: NotRequired[str]


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def look_up(state):
    found = [word for word in ("billing", "hours") if word in state["question"]]
    return {"answer": ", ".join(found) or "nothing"}


workflow = define_workflow("desk", nodes=[look_up], state=State, result=str)
