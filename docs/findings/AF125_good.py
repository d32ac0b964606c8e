from pydantic import BaseModel

from agentflow import define_workflow, node, route


class State(BaseModel):
    low: int
    high: int
    width: int = 0


@node(requires=["low", "high"], provides=["width"], routes=[route.deliver("width")])
async def measure(state):
    if state.low > state.high:
        raise ValueError("low is above high")
    return {"width": state.high - state.low}


workflow = define_workflow("measure", nodes=[measure], state=State)
