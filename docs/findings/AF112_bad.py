from agentflow import define_workflow, node, route


@node(starts_round=True, provides=["draft"], routes=[route.to("review")])
async def write(state):
    return {"draft": state.get("draft", "") + "text "}


@node(requires=["draft"], routes=[route.to("write")])
async def review(state):
    return None


workflow = define_workflow("essay", nodes=[write, review], max_rounds=3)
