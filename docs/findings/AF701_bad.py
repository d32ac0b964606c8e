from agentflow import define_workflow, node, route


@node(
    requires=["question"],
    provides=["answer"],
    routes=[route.deliver("answer")],
    waive={"AF210": "the notes are for people who read the log"},
)
async def reply(state):
    return {"answer": f"You asked: {state['question']}"}


workflow = define_workflow("desk", nodes=[reply], inputs=["question"])
