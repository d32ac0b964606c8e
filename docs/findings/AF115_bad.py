from agentflow import define_workflow, field, node, route


@node(
    requires=["amount"],
    routes=[
        route.to("ask"),
        route.to("approve", field("amount") <= 100),
    ],
)
async def triage(state):
    return None


@node(provides=["verdict"], routes=[route.deliver("verdict")])
async def approve(state):
    return {"verdict": "approved"}


@node(provides=["verdict"], routes=[route.deliver("verdict")])
async def ask(state):
    return {"verdict": "a person has to look at it"}


workflow = define_workflow("expenses", nodes=[triage, approve, ask], inputs=["amount"])
