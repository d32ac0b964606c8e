from typing import NotRequired, TypedDict

from agentflow import define_workflow, node, route, subflow


class Weather(TypedDict):
    city: str
    sky: NotRequired[str]


@node(requires=["city"], provides=["sky"], routes=[route.deliver("sky")])
async def look(state):
    return {"sky": f"clear over {state['city']}"}


weather = define_workflow("weather", nodes=[look], state=Weather)


class Trip(TypedDict):
    destination: dict[str, str]
    advice: NotRequired[str]


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
    state=Trip,
)
