from typing import NotRequired, TypedDict

from agentflow import define_workflow, node, parallel, route, subflow


class Search(TypedDict):
    query: str
    pages: NotRequired[list[str]]


@node(requires=["query"], provides=["pages"], routes=[route.deliver("pages")])
async def look(state):
    return {"pages": [f"a page about {state['query']}"]}


search = define_workflow("search", nodes=[look], state=Search)


class State(TypedDict):
    query: str
    pages: NotRequired[list[str]]


one = subflow("one", search, inputs={"query": "query"}, outputs={"pages": "pages"})
fan = parallel("fan", {"web": one, "library": one}, routes=[route.deliver("pages")])
both = define_workflow("both", nodes=[fan], state=State)
