from agentflow import define_workflow, field, node, route


@node(
    requires=["question"],
    provides=["topic"],
    routes=[route.to("look_up", field("topic") == "billing"), route.to("apologise")],
)
async def classify(state):
    return {"topic": "billing" if "invoice" in state["question"] else "other"}


@node(provides=["answer"], routes=[route.to("send")])
async def look_up(state):
    return {"answer": "Your invoices are under Account, Billing."}


@node(provides=["answer"], routes=[route.to("send")])
async def apologise(state):
    return {"answer": "I do not know."}


@node(requires=["answer"], routes=[route.deliver("answer")])
async def send(state):
    return None


workflow = define_workflow("desk", nodes=[classify, look_up, apologise, send], inputs=["question"])
