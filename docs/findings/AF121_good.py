from typing import Literal

from agentflow import define_workflow, node, route


@node(provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": "yes"}


workflow = define_workflow("faq", nodes=[reply], result=Literal["yes", "no"])
