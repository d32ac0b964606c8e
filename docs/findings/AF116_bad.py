from agentflow import define_workflow, node, route


async def is_known(state):
    return state["name"] in {"Ada", "Grace"}


@node(requires=["name"], routes=[route.to("greet", is_known), route.to("introduce")])
async def meet(state):
    return None


@node(requires=["name"], provides=["text"], routes=[route.deliver("text")])
async def greet(state):
    return {"text": f"Welcome back, {state['name']}."}


@node(provides=["text"], routes=[route.deliver("text")])
async def introduce(state):
    return {"text": "How do you do?"}


workflow = define_workflow("door", nodes=[meet, greet, introduce], inputs=["name"])
