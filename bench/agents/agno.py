"""Agno: an `Agent` on a model of our own, without telemetry."""

# mypy: disable-error-code="import-not-found, no-any-return, misc"
# The types of a peer are not ours to check: it lives in an environment of its own.

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bench.agents.worker import INSTRUCTIONS, adding, wanted

if TYPE_CHECKING:
    from bench.peer import Hold, Program

TITLE = "agno"
DISTRIBUTION = "agno"
IMPORT = "from agno.agent import Agent"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}


def agent(steps: int, hold: Hold | None = None) -> Program:
    from agno.agent import Agent
    from agno.models.base import Model
    from agno.models.response import ModelResponse

    class Scripted(Model):
        async def ainvoke(self, messages: Any, *args: Any, **options: Any) -> Any:
            said = str(messages[-1].content)
            number = wanted(said, steps)
            if number is None:
                return ModelResponse(role="assistant", content=said)
            function = {"name": "add", "arguments": json.dumps({"number": number})}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            return ModelResponse(role="assistant", tool_calls=[call])

        def invoke(self, *args: Any, **options: Any) -> Any:
            raise NotImplementedError

        def invoke_stream(self, *args: Any, **options: Any) -> Any:
            raise NotImplementedError

        def ainvoke_stream(self, *args: Any, **options: Any) -> Any:
            raise NotImplementedError

        def _parse_provider_response(self, response: Any, **options: Any) -> Any:
            return response

        def _parse_provider_response_delta(self, response: Any) -> Any:
            return response

    made = Agent(
        name="adder",
        model=Scripted(id="scripted"),
        instructions=INSTRUCTIONS,
        tools=[adding(hold)],
        telemetry=False,
    )

    async def ask(x: int) -> int:
        return int((await made.arun(str(x))).content)

    return ask
