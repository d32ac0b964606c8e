from agentflow import define_workflow, field, node, route, subflow


@node(
    requires=["city"],
    provides=["sky"],
    routes=[route.deliver("sky", field("sky") == "clear"), route.to("warn")],
)
async def look(state):
    return {"sky": "clear"}


@node(requires=["sky"], provides=["warning"], routes=[route.deliver("warning")])
async def warn(state):
    return {"warning": f"Take care: {state['sky']}"}


weather = define_workflow("weather", nodes=[look, warn], inputs=["city"])

trip = define_workflow(
    "trip",
    nodes=[
        subflow(
            "weather",
            weather,
            inputs={"city": "destination"},
            outputs={"advice": "$result"},
            routes=[route.deliver("advice")],
        )
    ],
    inputs=["destination"],
)
