"""agentflow: a run with one node that makes one call, limits and records on, through the provider on the same SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from agentflow import Engine, NodeContext, define_workflow, node, route

if TYPE_CHECKING:
    from bench.calls.caller import Ask

TITLE = "agentflow"
DISTRIBUTION = "agentflow"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}


@node(requires=["question"], provides=["answer"], routes=[route.deliver("answer")])
async def answer(state: Mapping[str, Any], ctx: NodeContext) -> dict[str, Any]:
    reply = await ctx.model.invoke(state["question"])
    return {"answer": reply.value}


workflow = define_workflow("call", nodes=[answer], inputs=["question"], result=str)


@asynccontextmanager
async def openai(url: str) -> AsyncIterator[Ask]:
    from agentflow.providers.openai_chat import OpenAIChat

    provider = OpenAIChat("any", base_url=url, api_key="any")
    yield asking(provider)
    await provider.aclose()


@asynccontextmanager
async def anthropic(url: str) -> AsyncIterator[Ask]:
    from agentflow.providers.anthropic_messages import AnthropicMessages

    provider = AnthropicMessages("any", base_url=url, api_key="any")
    yield asking(provider)
    await provider.aclose()


def asking(provider: Any) -> Ask:
    engine = Engine(workflow, model=provider)

    async def ask(question: str) -> str:
        found: str = await engine.run({"question": question})
        return found

    return ask
