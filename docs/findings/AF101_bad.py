from agentflow import define_workflow, node, route


@node(id="look up", requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def look_up(state):
    return {"answer": f"You asked: {state['question']}"}


workflow = define_workflow("faq", nodes=[look_up], inputs=["question"])
