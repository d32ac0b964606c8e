from typing import NotRequired, TypedDict

from agentflow import define_workflow, map_each, node, route


class Weather(TypedDict):
    city: str
    sky: NotRequired[str]


@node(requires=["city"], provides=["sky"], routes=[route.deliver("sky")])
async def look(state):
    return {"sky": f"clear over {state['city']}"}


weather = define_workflow("weather", nodes=[look], state=Weather, result=str)


class Trip(TypedDict):
    stops: set[str]
    skies: NotRequired[list[str]]


trip = define_workflow(
    "trip",
    nodes=[
        map_each(
            "look_up",
            weather,
            over="stops",
            item="city",
            into="skies",
            max_items=20,
            routes=[route.deliver("skies")],
        )
    ],
    state=Trip,
)
