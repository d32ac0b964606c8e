from agentflow import define_workflow, node, route


@node(
    requires=["question"],
    provides=["answer", "notes"],
    routes=[route.deliver("answer")],
    waive={"AF210": ""},
)
async def reply(state):
    return {"answer": "Yes.", "notes": f"was asked: {state['question']}"}


workflow = define_workflow("desk", nodes=[reply], inputs=["question"])
