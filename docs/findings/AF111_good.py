from agentflow import define_workflow, field, node, route


@node(requires=["urgent"], routes=[route.to("answer", field("urgent") == True), route.to("wait")])
async def triage(state):
    return None


@node(provides=["reply"], routes=[route.deliver("reply")])
async def answer(state):
    return {"reply": "on it"}


@node(
    starts_round=True,
    provides=["calm"],
    routes=[route.to("answer", field("calm") == True), route.to("wait")],
)
async def wait(state):
    return {"calm": True}


workflow = define_workflow("desk", nodes=[triage, answer, wait], inputs=["urgent"], max_rounds=9)
