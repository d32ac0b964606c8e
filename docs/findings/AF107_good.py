from agentflow import define_workflow, node, route


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state):
    return {"answer": f"You asked: {state['question']}"}


@node(provides=["answer"], routes=[route.deliver("answer")])
async def apologise(state, ctx):
    return {"answer": f"Sorry: {ctx.failure.message}"}


workflow = define_workflow(
    "faq", nodes=[reply, apologise], inputs=["question"], on_error="apologise"
)
