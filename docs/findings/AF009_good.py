# $ agentflow validate --policy AF009_good_policies.yaml AF009_good.py
from agentflow import define_workflow, node, route


@node(provides=["approved"], routes=[route.to("pay")])
async def approve(state):
    return {"approved": True}


@node(requires=["approved"], provides=["text"], routes=[route.deliver("text")])
async def pay(state):
    return {"text": "Paid."}


workflow = define_workflow("refund", nodes=[approve, pay])
