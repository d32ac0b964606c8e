"""Tasks: an agent's workflow as a node of its name, for what it does below the run of another."""

from __future__ import annotations

import re
from typing import Annotated, NotRequired, TypedDict

from pydantic import BeforeValidator

from agentflow.agents.loop_result import LoopResult
from agentflow.agents.loop_state import as_list
from agentflow.graph.branching import subflow
from agentflow.graph.route import route
from agentflow.graph.workflow import Workflow, define_workflow
from agentflow.messages.message import Message

__all__ = ["identifier", "task_of"]


class TaskState(TypedDict):
    """What is asked, and what came of it."""

    messages: Annotated[list[Message], BeforeValidator(as_list)]
    result: NotRequired[LoopResult]


def task_of(id: str, workflow: Workflow[LoopResult]) -> Workflow[LoopResult]:
    """A workflow of one node, which is an agent.

    Args:
        id: The id of the node.
        workflow: The agent's workflow.
    """
    return define_workflow(
        f"{id}-task",
        nodes=[
            subflow(
                id,
                workflow,
                inputs={"messages": "messages"},
                outputs={"result": "$result"},
                routes=[route.deliver("result")],
                description="Let an agent work on a task.",
            )
        ],
        state=TaskState,
        inputs=["messages"],
        result=LoopResult,
    )


def identifier(name: str) -> str:
    """A name as the id of a workflow."""
    made = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-")
    return made if re.match(r"[A-Za-z_]", made) else f"agent-{made}".rstrip("-")
