"""The limits of a model call: what is checked before it is made, and what is counted while and after."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from agentflow.errors import BudgetExceeded, ContractError, ModelError
from agentflow.models.request import ModelRequest
from agentflow.run.effects import check

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.effects import Performance

__all__ = ["admit", "admit_fallback", "input_tokens", "needs", "settle"]

_NOTED: Final = ("input_tokens", "output_tokens", "total_tokens", "cost")
"""Limits that are counted after the call, from what the provider reports."""


async def input_tokens(request: ModelRequest) -> int | None:
    """The input tokens of a request by the model's counter; `None` without one."""
    if request.model.counter is None:
        return None
    counted = request.model.counter(request.messages, request.tools)
    return await counted if inspect.isawaitable(counted) else counted


def needs(request: ModelRequest, tokens: int | None) -> list[tuple[str, float]]:
    """What a request must have left of each limit before it is sent."""
    found: list[tuple[str, float]] = [("input_chars", request.chars)]
    reserve = (request.draft.max_output_tokens or 0) if request.draft.reserve else 0
    if tokens is not None:
        found += [("input_tokens", tokens), ("total_tokens", tokens + reserve)]
    if reserve:
        found.append(("output_tokens", reserve))
    return found


def admit(
    ctx: NodeContext, request: ModelRequest, tokens: int | None, performance: Performance
) -> None:
    """Let a call through, and take its quota. A call that is refused is not counted.

    Raises:
        BudgetExceeded: The input, or one call more, is too much.
        ContractError: A limit is set that nothing could keep, because nobody counts what it limits.
    """
    if not ctx.ledger.unlimited:
        _countable(ctx, request, tokens)
        for limit, amount in needs(request, tokens):
            check(ctx, limit, amount)
    performance.spend("model_calls")
    performance.spend("input_chars", request.chars)


def admit_fallback(
    ctx: NodeContext,
    request: ModelRequest,
    tokens: int | None,
    performance: Performance,
    *,
    chars: int,
) -> None:
    """Let the same call through to another model, which is told more perhaps; `chars` were counted before.

    Raises:
        BudgetExceeded: The input is too much.
        ContractError: A limit is set that nothing could keep at this model.
    """
    if not ctx.ledger.unlimited:
        _countable(ctx, request, tokens)
    more = max(0, request.chars - chars)
    for limit, amount in needs(request, tokens):
        check(ctx, limit, more if limit == "input_chars" else amount)
    if more:
        performance.spend("input_chars", more)


def _countable(ctx: NodeContext, request: ModelRequest, tokens: int | None) -> None:
    limited = [limit for limit in _NOTED if ctx.ledger.limits(limit)]
    reported = {*request.model.reports, *(() if tokens is None else ("input_tokens",))}
    if {"input_tokens", "output_tokens"} <= reported:
        reported.add("total_tokens")
    for limit in limited:
        if limit not in reported:
            remedy = "give Model(…, price=…)" if limit == "cost" else "give Model(…, counter=…)"
            raise ContractError(
                f"node {ctx.node_id!r}: the budget limits {limit}, but nothing tells how many the model "
                f"{request.model.name!r} uses, and nothing is guessed; {remedy}, or use a provider that reports {limit}"
            )


def settle(
    ctx: NodeContext,
    request: ModelRequest,
    usage: Mapping[str, float],
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
    for limit in () if partial or ctx.ledger.unlimited else _NOTED:
        if limit not in usage and ctx.ledger.limits(limit):
            raise ModelError(
                f"model {request.model.name!r} did not report its {limit}, so the budget of {limit} cannot be kept"
            )
