from agentflow import define_workflow, node, route


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state, ctx, tone):
    return {"answer": f"{tone} You asked: {state['question']}"}


workflow = define_workflow("faq", nodes=[reply], inputs=["question"])
