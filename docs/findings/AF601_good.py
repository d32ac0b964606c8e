from typing import NotRequired, TypedDict

from agentflow import define_workflow, node, route


class State(TypedDict):
    question: str
    age: int
    answer: NotRequired[str]


class Customer(TypedDict):
    age: int


@node(requires=["question", "age"], provides=["answer"], routes=[route.deliver("answer")])
async def advise(state: Customer):
    return {"answer": f"You are {state['age']} years old."}


workflow = define_workflow("desk", nodes=[advise], state=State)
