from agentflow import define_workflow, node, route


def is_long(state):
    return len(state["draft"]) > 100


@node(
    requires=["topic"],
    provides=["draft"],
    routes=[route.to("shorten", is_long, reads=["draft"]), route.deliver("draft")],
)
async def write(state):
    return {"draft": f"All about {state['topic']}. " * 9}


@node(requires=["draft"], provides=["draft"], routes=[route.deliver("draft")])
async def shorten(state):
    return {"draft": state["draft"][:100]}


workflow = define_workflow("essay", nodes=[write, shorten], inputs=["topic"])
