"""Spending as calls do it, without a call."""

from __future__ import annotations

from agentflow import NodeContext
from agentflow.run.effects import Performance


def spend(ctx: NodeContext, limit: str, amount: float = 1) -> None:
    """Take an amount before it is used."""
    performance = _call(ctx)
    try:
        performance.spend(limit, amount)
    finally:
        performance.lose()


def note(ctx: NodeContext, limit: str, amount: float) -> None:
    """Count an amount that is known only after it was used."""
    performance = _call(ctx)
    try:
        performance.note(limit, amount)
    finally:
        performance.lose()


def _call(ctx: NodeContext) -> Performance:
    return Performance(ctx, "call", ctx.effect_key("a call"), None)
