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
    city: NotRequired[str]
    advice: NotRequired[str]


@node(requires=["destination"], provides=["city"], routes=[route.to("weather")])
async def name(state):
    return {"city": state["destination"]["city"]}


trip = define_workflow(
    "trip",
    nodes=[
        name,
        subflow(
            "weather",
            weather,
            inputs={"city": "city"},
            outputs={"advice": "$result"},
            routes=[route.deliver("advice")],
        ),
    ],
    state=Trip,
)
