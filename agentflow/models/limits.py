"""The limits of a model call: what is checked before it is made, and what is counted while and after."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Final

from agentflow.errors import BudgetExceeded, ContractError, ModelError
from agentflow.models.request import ModelRequest
from agentflow.run.effects import check

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.effects import Performance

__all__ = ["admit", "input_tokens", "settle"]

_NOTED: Final = ("input_tokens", "output_tokens", "total_tokens", "cost")
"""Limits that are counted after the call, from what the provider reports."""


async def input_tokens(request: ModelRequest) -> int | None:
    """The input tokens of a request by the model's counter; `None` without one."""
    if request.model.counter is None:
        return None
    counted = request.model.counter(request.messages, request.tools)
    return await counted if inspect.isawaitable(counted) else counted


def admit(
    ctx: NodeContext, request: ModelRequest, tokens: int | None, performance: Performance
) -> None:
    """Let a call through, and take its quota. A call that is refused is not counted.

    Raises:
        BudgetExceeded: The input, or one call more, is too much.
        ContractError: A limit is set that nothing could keep, because nobody counts what it limits.
    """
    _countable(ctx, request, tokens)
    chars = request.chars
    check(ctx, "input_chars", chars)
    if tokens is not None:
        check(ctx, "input_tokens", tokens)
        check(ctx, "total_tokens", tokens)
    performance.spend("model_calls")
    performance.spend("input_chars", chars)


def _countable(ctx: NodeContext, request: ModelRequest, tokens: int | None) -> None:
    reported = set(request.model.reports)
    if {"input_tokens", "output_tokens"} <= reported:
        reported.add("total_tokens")
    for limit in _NOTED:
        known = limit in reported or (limit == "input_tokens" and tokens is not None)
        if not known and math.isfinite(ctx.ledger.left(limit)):
            remedy = "" if limit == "cost" else "give Model(…, counter=…), or "
            raise ContractError(
                f"node {ctx.node_id!r}: the budget limits {limit}, but nothing tells how many the model "
                f"{request.model.name!r} uses, and nothing is guessed; {remedy}use a provider that reports {limit}"
            )


def settle(
    ctx: NodeContext,
    request: ModelRequest,
    usage: dict[str, float],
    performance: Performance,
    *,
    partial: bool,
) -> None:
    """Count what a call has used, as far as it is known; of several limits that are passed the first is raised.

    Raises:
        BudgetExceeded: A limit is passed.
        ModelError: A limited figure never came, although the provider promised it.
    """
    passed: BudgetExceeded | None = None
    for limit in _NOTED:
        if limit in usage:
            try:
                performance.note(limit, usage[limit])
            except BudgetExceeded as error:
                passed = passed or error
    if passed is not None:
        raise passed
    for limit in () if partial else _NOTED:
        if limit not in usage and math.isfinite(ctx.ledger.left(limit)):
            raise ModelError(
                f"model {request.model.name!r} did not report its {limit}, so the budget of {limit} cannot be kept"
            )
