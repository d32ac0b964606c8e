"""openai-agents: an `Agent` that `Runner` runs on a model of our own, without tracing."""

# mypy: disable-error-code="import-not-found, no-any-return, misc"
# The types of a peer are not ours to check: it lives in an environment of its own.

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bench.agents.worker import INSTRUCTIONS, adding, wanted

if TYPE_CHECKING:
    from bench.peer import Hold, Program

TITLE = "openai-agents"
DISTRIBUTION = "openai-agents"
IMPORT = "from agents import Agent, Runner"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}


def agent(steps: int, hold: Hold | None = None) -> Program:
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool
    from agents.run import RunConfig
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
    )

    class Scripted(Model):
        async def get_response(
            self, system_instructions: Any, input: Any, *args: Any, **options: Any
        ) -> Any:
            last = input[-1] if isinstance(input, list) else {"content": input}
            said = str(last["output"] if "output" in last else last["content"])
            number = wanted(said, steps)
            if number is None:
                part = ResponseOutputText(type="output_text", text=said, annotations=[])
                made: Any = ResponseOutputMessage(
                    id="m", type="message", role="assistant", status="completed", content=[part]
                )
            else:
                made = ResponseFunctionToolCall(
                    type="function_call",
                    call_id=f"call_{number}",
                    name="add",
                    arguments=json.dumps({"number": number}),
                )
            return ModelResponse(output=[made], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **options: Any) -> Any:
            raise NotImplementedError

    made = Agent(
        name="adder",
        instructions=INSTRUCTIONS,
        model=Scripted(),
        tools=[function_tool(adding(hold))],
    )
    config = RunConfig(tracing_disabled=True)

    async def ask(x: int) -> int:
        result = await Runner.run(made, str(x), max_turns=max(steps, 10), run_config=config)
        return int(result.final_output)

    return ask
