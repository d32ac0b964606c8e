"""agentflow: an agent with its defaults: a proved cap, budgets, validated arguments and results, a fact for each effect."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bench.agents.worker import INSTRUCTIONS, adding, wanted

if TYPE_CHECKING:
    from agentflow import Message, ModelContext
    from agentflow.messages import Chunk
    from bench.peer import Hold, Program

TITLE = "agentflow"
DISTRIBUTION = "agentflow"
IMPORT = "from agentflow import Agent, tool"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}


class Scripted:
    """The model."""

    name = "scripted"

    def __init__(self, steps: int) -> None:
        self.steps = steps

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        from agentflow.messages import FinishChunk, TextChunk, ToolCallChunk

        last = messages[-1]
        said = last.tool_results[0].content if last.role == "tool" else last.text
        number = wanted(said, self.steps)
        if number is None:
            yield TextChunk(said)
            yield FinishChunk("stop")
        else:
            arguments = f'{{"number": {number}}}'
            yield ToolCallChunk(0, id=f"call_{number}", name="add", arguments=arguments)
            yield FinishChunk("tool_calls")


def agent(steps: int, hold: Hold | None = None) -> Program:
    from agentflow import Agent, tool

    made = Agent(
        "adder", INSTRUCTIONS, Scripted(steps), [tool(adding(hold))], max_steps=max(steps, 10)
    )

    async def ask(x: int) -> int:
        return int((await made.generate_text(str(x))).text)

    return ask
