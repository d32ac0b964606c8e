from agentflow import define_workflow, node, route


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": f"You asked: {state['question']}"}


workflow = define_workflow("desk", nodes=[reply], inputs=["question"])
