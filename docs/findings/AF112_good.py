from agentflow import define_workflow, field, node, route


@node(starts_round=True, provides=["draft"], routes=[route.to("review")])
async def write(state):
    return {"draft": state.get("draft", "") + "text "}


@node(
    requires=["draft"],
    provides=["good"],
    routes=[route.deliver("draft", field("good") == True), route.to("write")],
)
async def review(state):
    return {"good": len(state["draft"]) > 9}


workflow = define_workflow("essay", nodes=[write, review], max_rounds=3)
