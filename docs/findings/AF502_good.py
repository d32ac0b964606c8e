from agentflow import define_workflow, field, never_after, node, route


@node(
    starts_round=True,
    provides=["draft", "good"],
    routes=[route.to("publish", field("good") == True), route.to("edit")],
)
async def edit(state):
    draft = state.get("draft", "") + "text "
    return {"draft": draft, "good": len(draft) > 9}


@node(requires=["draft"], provides=["read_by"], routes=[route.deliver("read_by")])
async def publish(state):
    return {"read_by": 10}


workflow = define_workflow(
    "essay",
    nodes=[edit, publish],
    max_rounds=3,
    policies=[never_after("publish", "edit")],
)
