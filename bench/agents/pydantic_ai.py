"""pydantic-ai: an `Agent` on a `FunctionModel`, its own model for such a purpose."""

# mypy: disable-error-code="import-not-found, no-any-return, arg-type, unused-ignore"
# The types of a peer are not ours to check: it lives in an environment of its own.

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bench.agents.worker import INSTRUCTIONS, adding, wanted

if TYPE_CHECKING:
    from bench.peer import Hold, Program

TITLE = "pydantic-ai"
DISTRIBUTION = "pydantic-ai-slim"
IMPORT = "from pydantic_ai import Agent"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}


def agent(steps: int, hold: Hold | None = None) -> Program:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    async def model(messages: list[Any], info: Any) -> Any:
        said = str(messages[-1].parts[-1].content)
        number = wanted(said, steps)
        if number is None:
            return ModelResponse(parts=[TextPart(said)])
        return ModelResponse(parts=[ToolCallPart("add", {"number": number})])

    made = Agent(FunctionModel(model), instructions=INSTRUCTIONS, tools=[adding(hold)])

    async def ask(x: int) -> int:
        return int((await made.run(str(x))).output)

    return ask
