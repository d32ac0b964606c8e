from agentflow import define_workflow, node, route


@node(requires=["question"], provides=["answer"], routes=[route.to("polish")])
async def draft(state):
    return {"answer": f"about {state['question']}"}


@node(requires=["answer"], provides=["answer"], routes=[route.deliver("answer")])
async def polish(state):
    return {"answer": state["answer"].capitalize()}


workflow = define_workflow("faq", nodes=[draft, polish], inputs=["question"])
