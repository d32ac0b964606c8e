"""LangChain: `create_agent`, a graph of langgraph, on a chat model of our own."""

# mypy: disable-error-code="import-not-found, no-any-return, misc"
# The types of a peer are not ours to check: it lives in an environment of its own.

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bench.agents.worker import INSTRUCTIONS, adding, wanted

if TYPE_CHECKING:
    from bench.peer import Hold, Program

TITLE = "langchain"
DISTRIBUTION = "langchain"
IMPORT = "from langchain.agents import create_agent"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}


def agent(steps: int, hold: Hold | None = None) -> Program:
    from langchain.agents import create_agent
    from langchain.tools import tool
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

        def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
            said = str(messages[-1].content)
            number = wanted(said, steps)
            if number is None:
                made = AIMessage(said)
            else:
                call = {"name": "add", "args": {"number": number}, "id": f"call_{number}"}
                made = AIMessage("", tool_calls=[call])
            return ChatResult(generations=[ChatGeneration(message=made)])

        async def _agenerate(self, messages: Any, *args: Any, **options: Any) -> Any:
            return self._generate(messages)

    made = create_agent(Scripted(), [tool(adding(hold))], system_prompt=INSTRUCTIONS)
    config = {"recursion_limit": max(2 * steps + 5, 25)}

    async def ask(x: int) -> int:
        given = {"messages": [{"role": "user", "content": str(x)}]}
        result = await made.ainvoke(given, config)
        return int(result["messages"][-1].content)

    return ask
