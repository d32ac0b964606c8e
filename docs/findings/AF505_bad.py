from agentflow import define_workflow, ends_within, field, node, route


@node(provides=["sent"], starts_round=True, routes=[route.to("wait")])
async def send_mail(state):
    return {"sent": "now"}


@node(
    requires=["sent"],
    provides=["answer"],
    routes=[route.deliver("answer", field("answer") == "yes"), route.to("send_mail")],
)
async def wait(state):
    return {"answer": "yes"}


workflow = define_workflow(
    "ask",
    nodes=[send_mail, wait],
    max_rounds=5,
    policies=[ends_within(rounds=3)],
)
