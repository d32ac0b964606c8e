from agentflow import define_workflow, node, route


@node(provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": "42"}


workflow = define_workflow("faq", nodes=[reply], result=["yes", "no"])
