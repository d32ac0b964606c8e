"""What drawn workflows call, and who answers their questions: a model, tools, and a person who always says the same to the same."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from agentflow import tool
from agentflow.mock import MockCall, MockModel, MockReply, Rule
from agentflow.mock.request import MockRequest
from agentflow.run.suspension import Request
from agentflow.tools.context import ToolContext
from tests.crash.world import World

__all__ = ["TOOLS", "answers_to", "model"]


@tool
async def fetch(number: int, ctx: ToolContext) -> str:
    """Fetch something."""
    return f"{number}: {ctx.deps.do(ctx.effect_id)}"


@tool(retries=1)
def falter(number: int, ctx: ToolContext) -> str:
    """Fail at the first try."""
    ctx.deps.do(f"{ctx.effect_id}/try {ctx.attempt}")
    if ctx.attempt == 1:
        raise OSError("try again")
    return f"{number}: {ctx.deps.do(ctx.effect_id)}"


@tool(needs_approval=True)
async def pay(number: int, ctx: ToolContext) -> str:
    """Pay, if somebody agrees."""
    return f"{number}: {ctx.deps.do(ctx.effect_id)}"


@tool(needs_approval=lambda given: given["number"] % 2 == 0, approval_timeout=3600)
async def pay_soon(number: int, ctx: ToolContext) -> str:
    """Pay, if it is an odd sum, or if somebody agrees in time, which nobody does."""
    return f"{number}: {ctx.deps.do(ctx.effect_id)}"


TOOLS: Final = (fetch, falter, pay, pay_soon)


def model(world: World) -> MockModel:
    """A model that acts on the world each time it is asked."""

    def replies(request: MockRequest) -> MockReply:
        """What a script says for this turn: `fetch 1, pay 2 | fetch 3` is two turns with calls, and a last one without."""
        done = world.do(request.context.call_id)
        steps = request.messages[-1].text.split(" | ") if request.turn == 1 else _script(request)
        if not request.tools or request.turn > len(steps):
            return MockReply(text=done)
        words = [step.split() for step in steps[request.turn - 1].split(", ")]
        return MockReply(
            text=done, calls=tuple(MockCall(name, {"number": int(n)}) for name, n in words)
        )

    return MockModel([Rule(reply=replies)])


def _script(request: MockRequest) -> list[str]:
    (first,) = [message.text for message in request.messages if message.role == "user"]
    return first.split(" | ")


def answers_to(seed: int, requests: tuple[Request, ...]) -> dict[str, Any]:
    """The answers to some of the requests, by id; none for those that wait until nobody may answer any more."""
    answers = {
        request.id: _answer(_lot(seed, request.run_id, request.node_id, request.key), request)
        for request in requests
        if not _expires(request)
    }
    if seed % 2 and len(answers) > 1:
        # One by one.
        first = min(answers)
        return {first: answers[first]}
    return answers


def _expires(request: Request) -> bool:
    shown = request.payload
    return shown in ("until when?", "why?") or (
        isinstance(shown, dict) and shown["tool"] == "pay_soon"
    )


def _answer(lot: int, request: Request) -> Any:
    if isinstance(request.payload, dict):
        number = request.payload["arguments"]["number"]
        return [
            True,
            {"approved": True, "arguments": {"number": number + 1000}},
            {"approved": False, "reason": "too much"},
            False,
        ][lot % 4]
    return lot % 100 if request.schema else [None, {"some": ["words", lot % 7]}, ""][lot % 3]


def _lot(*words: object) -> int:
    text = "\n".join(map(str, words))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])
