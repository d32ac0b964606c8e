from agentflow import define_workflow, node, route


@node(
    requires=["text"],
    routes=[
        route.to("short", lambda state: len(state["text"]) < 100, reads=["text"]),
        route.to("long"),
    ],
)
async def measure(state):
    return None


@node(provides=["size"], routes=[route.deliver("size")])
async def short(state):
    return {"size": "short"}


@node(provides=["size"], routes=[route.deliver("size")])
async def long(state):
    return {"size": "long"}


workflow = define_workflow("measure", nodes=[measure, short, long], inputs=["text"])
