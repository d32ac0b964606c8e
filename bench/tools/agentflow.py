"""agentflow: tools of an engine, called by a node with a budget, a permit and a record for each call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bench.tools.function import look_up
from bench.tools.smith import ARGUMENTS

TITLE = "agentflow"
DISTRIBUTION = "agentflow"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}
EXTRAS = {
    "openai": "import agentflow.providers.openai_chat, openai",
    "anthropic": "import agentflow.providers.anthropic_messages, anthropic",
    "pydantic-ai": "import agentflow.providers.pydantic_ai_bridge, pydantic_ai.models",
    "mcp": "import agentflow.mcp, mcp",
    "mock": "import agentflow.mock.server.app, starlette.applications, uvicorn",
}


def calling(calls: int) -> Callable[[], Awaitable[str]]:
    from agentflow import Engine, NodeContext, define_workflow, node, route, tool

    @node(provides=["said"], routes=[route.deliver("said")])
    async def look(state: Mapping[str, Any], ctx: NodeContext) -> dict[str, Any]:
        said = ""
        for _ in range(calls):
            said = (await ctx.tools.invoke("look_up", ARGUMENTS)).value
        return {"said": said}

    workflow = define_workflow("look", nodes=[look], inputs=[], result=str)
    engine = Engine(workflow, tools=[tool(look_up)])
    return lambda: engine.run({})


def validating() -> Callable[[], object]:
    from agentflow import tool

    made = tool(look_up)
    return lambda: made.input.accept(ARGUMENTS)


def making() -> Callable[[], Mapping[str, object]]:
    from agentflow import tool

    return lambda: tool(look_up).parameters
