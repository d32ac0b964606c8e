from agentflow import define_workflow, field, never_after, node, route


@node(starts_round=True, provides=["draft"], routes=[route.to("publish")])
async def edit(state):
    return {"draft": state.get("draft", "") + "text "}


@node(
    requires=["draft"],
    provides=["read_by"],
    routes=[route.deliver("read_by", field("read_by") > 9), route.to("edit")],
)
async def publish(state):
    return {"read_by": 10}


workflow = define_workflow(
    "essay",
    nodes=[edit, publish],
    max_rounds=3,
    policies=[never_after("publish", "edit")],
)
