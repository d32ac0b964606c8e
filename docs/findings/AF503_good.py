from agentflow import at_most, define_workflow, field, node, route


@node(provides=["sent"], routes=[route.to("wait")])
async def send_mail(state):
    return {"sent": "now"}


@node(
    starts_round=True,
    requires=["sent"],
    provides=["answer"],
    routes=[route.deliver("answer", field("answer") == "yes"), route.to("wait")],
)
async def wait(state):
    return {"answer": "yes"}


workflow = define_workflow(
    "ask",
    nodes=[send_mail, wait],
    max_rounds=2,
    policies=[at_most("send_mail", 1)],
)
