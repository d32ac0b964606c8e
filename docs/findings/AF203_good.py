from agentflow import define_workflow, field, node, route


@node(
    requires=["question"],
    provides=["topic"],
    routes=[route.to("look_up", field("topic") == "billing"), route.to("apologise")],
)
async def classify(state):
    return {"topic": "billing" if "invoice" in state["question"] else "other"}


@node(provides=["answer"], routes=[route.deliver("answer")])
async def look_up(state):
    return {"answer": "Your invoices are under Account, Billing."}


@node(provides=["answer"], routes=[route.deliver("answer")])
async def apologise(state):
    return {"answer": "I do not know."}


workflow = define_workflow("desk", nodes=[classify, look_up, apologise], inputs=["question"])
