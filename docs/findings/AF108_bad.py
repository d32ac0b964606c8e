from agentflow import define_workflow, field, node, route


@node(
    provides=["draft", "good"],
    starts_round=True,
    routes=[route.deliver("draft", field("good") == True), route.to("improve")],
)
async def improve(state):
    draft = state.get("draft", "") + "!"
    return {"draft": draft, "good": len(draft) >= 3}


@node(requires=["draft"], routes=[route.deliver("draft")])
async def give_up(state):
    return None


workflow = define_workflow("improve", nodes=[improve, give_up], max_rounds=5, on_limit="giveup")
