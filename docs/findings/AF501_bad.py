from agentflow import define_workflow, field, must_pass, node, route


@node(
    requires=["amount"],
    routes=[route.to("pay", field("amount") <= 100), route.to("approve")],
)
async def check(state):
    return None


@node(
    provides=["approved"],
    routes=[route.to("pay", field("approved") == True), route.to("refuse")],
)
async def approve(state):
    return {"approved": True}


@node(provides=["text"], routes=[route.deliver("text")])
async def pay(state):
    return {"text": f"Paid {state['amount']}."}


@node(provides=["text"], routes=[route.deliver("text")])
async def refuse(state):
    return {"text": "Refused."}


workflow = define_workflow(
    "refund",
    nodes=[check, approve, pay, refuse],
    inputs=["amount"],
    policies=[must_pass("approve", before="pay")],
)
