from agentflow import define_workflow, field, node, route


@node(starts_round=True, provides=["draft"], routes=[route.to("review")])
async def write(state):
    return {"draft": state.get("draft", "") + "text "}


@node(
    requires=["draft"],
    provides=["verdict"],
    routes=[route.deliver("draft", field("verdict") == "good"), route.to("write")],
)
async def review(state):
    return {"verdict": "good" if len(state["draft"]) > 9 else "short"}


workflow = define_workflow("essay", nodes=[write, review], max_rounds=3)
