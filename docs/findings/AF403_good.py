# $ python AF403_good.py
from agentflow import Budget, define_workflow, node, route, validate


@node(requires=["question"], provides=["notes"], routes=[route.to("write")])
async def read(state):
    return {"notes": f"about {state['question']}"}


@node(requires=["notes"], provides=["answer"], routes=[route.deliver("answer")])
async def write(state):
    return {"answer": state["notes"].capitalize()}


workflow = define_workflow("faq", nodes=[read, write], inputs=["question"])
report = validate(workflow, budget=Budget(visits=2))
print(report.as_text() or "no findings")
