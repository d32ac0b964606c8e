from agentflow import define_workflow, node, route


@node(requires=["question"], provides=["notes"], routes=[route.to("write")])
async def read(state):
    return {"notes": f"about {state['question']}"}


@node(requires=["notes"], provides=["answer"], routes=[route.deliver("answer")])
async def write(state):
    return {"answer": state["notes"].capitalize()}


workflow = define_workflow("faq", nodes=[read, write], inputs=["question"])
