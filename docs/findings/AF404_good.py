# $ python AF404_good.py
from agentflow import Budget, define_workflow, field, node, route, validate


@node(
    starts_round=True,
    provides=["draft", "good"],
    routes=[route.deliver("draft", field("good") == True), route.to("improve")],
)
async def improve(state):
    draft = state.get("draft", "") + "!"
    return {"draft": draft, "good": len(draft) >= 3}


workflow = define_workflow("improve", nodes=[improve], max_rounds=5)
report = validate(workflow, budget=Budget(visits=5))
print(report.as_text() or "no findings")
