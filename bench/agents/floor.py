"""The floor: a loop that asks the model, calls the function and appends both to a list. It checks nothing and has no limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bench.agents.worker import INSTRUCTIONS, adding, wanted

if TYPE_CHECKING:
    from bench.peer import Hold, Program

TITLE = "a loop"
DISTRIBUTION = None
IMPORT = "import json"
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}

Messages = list[dict[str, Any]]


def agent(steps: int, hold: Hold | None = None) -> Program:
    tools: dict[str, Any] = {"add": adding(hold)}

    async def model(messages: Messages) -> dict[str, Any]:
        said = messages[-1]["content"]
        number = wanted(said, steps)
        if number is None:
            return {"role": "assistant", "content": said}
        call = {"id": "c", "name": "add", "arguments": json.dumps({"number": number})}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    async def ask(x: int) -> int:
        messages: Messages = [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": str(x)},
        ]
        while True:
            answer = await model(messages)
            messages.append(answer)
            if "tool_calls" not in answer:
                return int(answer["content"])
            for call in answer["tool_calls"]:
                value = await tools[call["name"]](**json.loads(call["arguments"]))
                messages.append({"role": "tool", "id": call["id"], "content": json.dumps(value)})

    return ask
