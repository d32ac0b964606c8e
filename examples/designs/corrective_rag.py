"""Corrective RAG: grade what was retrieved; rewrite the query or search the web when it is not good enough.

After Yan et al., "Corrective Retrieval Augmented Generation" (2024).
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from agentflow import define_workflow, field, must_pass, node, route


class State(TypedDict):
    question: str
    query: NotRequired[str]
    documents: NotRequired[list[str]]
    grade: NotRequired[Literal["good", "unsure", "bad"]]
    answer: NotRequired[str]


@node(requires=["question"], provides=["query"], routes=[route.to("retrieve")])
async def ask(state: State) -> dict[str, str]:
    """Turn the question into a query."""
    return {"query": state["question"]}


@node(requires=["query"], provides=["documents"], starts_round=True, routes=[route.to("judge")])
async def retrieve(state: State) -> dict[str, list[str]]:
    """Look the query up."""
    return {"documents": [f"page about {state['query']}"]}


@node(
    requires=["question", "documents"],
    provides=["grade"],
    routes=[
        route.to_if_equal("generate", "grade", "good"),
        route.to_if_equal("rewrite", "grade", "unsure"),
        route.to("search_web", when=field("grade") == "bad"),
    ],
)
async def judge(state: State) -> dict[str, str]:
    """Judge whether the documents answer the question. Every grade has a route, so none is left over."""
    return {"grade": "good" if "rewritten" in state["documents"][0] else "unsure"}


@node(requires=["query"], provides=["query"], routes=[route.to("retrieve")])
async def rewrite(state: State) -> dict[str, str]:
    """Ask in better words."""
    return {"query": f"rewritten {state['query']}"}


@node(requires=["query"], provides=["documents"], routes=[route.to("generate")])
async def search_web(state: State) -> dict[str, list[str]]:
    """Search elsewhere."""
    return {"documents": [f"web page about {state['query']}"]}


@node(requires=["question", "documents"], provides=["answer"], routes=[route.deliver("answer")])
async def generate(state: State) -> dict[str, str]:
    """Answer from the documents."""
    return {"answer": f"{state['question']} See {state['documents'][0]}."}


workflow = define_workflow(
    "corrective-rag",
    nodes=[ask, retrieve, judge, rewrite, search_web, generate],
    state=State,
    inputs=["question"],
    result=str,
    max_rounds=3,
    on_limit="search_web",
    policies=[must_pass("retrieve", before="generate")],
)
INPUT = {"question": "How tall is it?"}
