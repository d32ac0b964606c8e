from agentflow import define_workflow, field, node, route


async def is_known(name):
    return name in {"Ada", "Grace"}


@node(
    requires=["name"],
    provides=["known"],
    routes=[route.to("greet", field("known") == True), route.to("introduce")],
)
async def meet(state):
    return {"known": await is_known(state["name"])}


@node(requires=["name"], provides=["text"], routes=[route.deliver("text")])
async def greet(state):
    return {"text": f"Welcome back, {state['name']}."}


@node(provides=["text"], routes=[route.deliver("text")])
async def introduce(state):
    return {"text": "How do you do?"}


workflow = define_workflow("door", nodes=[meet, greet, introduce], inputs=["name"])
