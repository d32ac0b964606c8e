"""A node whose update has a type that names a field it does not declare."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from agentflow import define_workflow, node, route


class State(TypedDict):
    question: str
    answer: NotRequired[str]


class Update(TypedDict):
    answer: str
    mood: str


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def reply(state: Any) -> Update:
    return {"answer": "yes", "mood": "good"}


workflow = define_workflow("typed", nodes=[reply], state=State, inputs=["question"])
