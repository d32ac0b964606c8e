from agentflow import define_workflow, node, route, subflow


@node(requires=["city"], provides=["sky"], routes=[route.deliver("sky")])
async def look(state):
    return {"sky": f"clear over {state['city']}"}


weather = define_workflow("weather", nodes=[look], inputs=["city"])

trip = define_workflow(
    "trip",
    nodes=[
        subflow(
            "weather",
            weather,
            inputs={"town": "destination"},
            outputs={"advice": "$result"},
            routes=[route.deliver("advice")],
        )
    ],
    inputs=["destination"],
)
