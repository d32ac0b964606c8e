from agentflow import define_workflow, field, node, route


@node(
    requires=["grade"],
    routes=[
        route.to("praise", when=field("grade") > 4),
        route.to("praise", when=field("grade") > 4),
        route.deliver("grade"),
    ],
)
async def judge(state):
    return {}


@node(requires=["grade"], routes=[route.deliver("grade")])
async def praise(state):
    return {}


workflow = define_workflow("marks", nodes=[judge, praise], inputs=["grade"])
