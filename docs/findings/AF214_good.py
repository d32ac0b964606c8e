from typing import Annotated, TypedDict

from agentflow import append, define_workflow, node, parallel, route, subflow


class Step(TypedDict):
    log: Annotated[list[str], append]


@node(requires=["log"], provides=["log"], routes=[route.deliver("log")])
async def work(state):
    return {"log": ["done"]}


step = define_workflow("step", nodes=[work], state=Step)


class State(TypedDict):
    log: Annotated[list[str], append]


one = subflow("one", step, inputs={"log": "log"}, outputs={"log": "log"})
fan = parallel("fan", {"left": one, "right": one}, routes=[route.deliver("log")])
both = define_workflow("both", nodes=[fan], state=State, inputs=["log"])
