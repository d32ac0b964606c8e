from agentflow import define_workflow, field, node, route


@node(
    starts_round=True,
    provides=["draft"],
    routes=[route.deliver("draft", field("review").exists()), route.to("comment")],
)
async def write(state):
    return {"draft": state.get("draft", "") + state.get("review", "text")}


@node(requires=["draft"], provides=["review"], routes=[route.to("write")])
async def comment(state):
    return {"review": ", and more of it" if len(state["draft"]) < 9 else ""}


workflow = define_workflow("essay", nodes=[write, comment], inputs=[], max_rounds=1)
