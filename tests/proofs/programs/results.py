"""A finish function that gives what the result contract never accepts."""

from __future__ import annotations

from typing import Any

from agentflow import define_workflow, node, route


def letters(state: Any) -> list[int]:
    return [len(state["question"])]


@node(requires=["question"], routes=[route.finish(letters, reads=["question"])])
async def count(state: Any) -> None: ...


workflow = define_workflow("counting", nodes=[count], inputs=["question"], result=str)
