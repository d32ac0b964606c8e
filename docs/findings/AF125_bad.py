from pydantic import BaseModel, model_validator

from agentflow import define_workflow, node, route


class State(BaseModel):
    low: int
    high: int
    width: int = 0

    @model_validator(mode="after")
    def ordered(self):
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


@node(requires=["low", "high"], provides=["width"], routes=[route.deliver("width")])
async def measure(state):
    return {"width": state.high - state.low}


workflow = define_workflow("measure", nodes=[measure], state=State)
