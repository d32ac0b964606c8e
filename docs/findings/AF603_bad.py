from typing import NotRequired, TypedDict

from agentflow import define_workflow, node, route


class State(TypedDict):
    question: str
    answer: NotRequired[str | list[str]]


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def look_up(state):
    found = [word for word in ("billing", "hours") if word in state["question"]]
    return {"answer": found if len(found) > 1 else "nothing"}


workflow = define_workflow("desk", nodes=[look_up], state=State, result=str)
