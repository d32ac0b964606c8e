"""Corrections: an answer that is not valid goes back to the model with what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentflow.errors import OutputInvalid
from agentflow.models.call import ModelCall
from agentflow.models.request import ModelRequest
from agentflow.run.effects import left

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["correction_of"]


def correction_of(
    ctx: NodeContext, call: ModelCall, error: OutputInvalid, *, made: int
) -> ModelRequest | None:
    """What to ask after an answer that broke the contract; `None` where nothing more is to be asked.

    Args:
        ctx: The visit.
        call: The call that was answered.
        error: What is wrong with the answer.
        made: How many corrections were made before.
    """
    allowed = getattr(call.request.draft.transport, "corrections", 0)
    answer = call.answer.message
    # A proposal of tool calls must be followed by their results, and there are none.
    if made >= allowed or answer.tool_calls:
        return None
    request = call.request.corrected(answer, str(error))
    room = left(ctx, "model_calls") >= 1 and left(ctx, "input_chars") >= request.chars
    return request if room else None
