"""What is told of a middleware: that it took what passed its boundary, and what it gave or raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agentflow.run.effects import emit

if TYPE_CHECKING:
    from agentflow.agents.middleware import Boundary, Middleware
    from agentflow.run.context import NodeContext

__all__ = ["spanned"]


@contextmanager
def spanned(
    ctx: NodeContext, at: int, middleware: Middleware, boundary: Boundary, before: Any
) -> Iterator[Callable[[Any], None]]:
    """Tell of a middleware that is at work in the block, once that it begins and once that it ends.

    What cuts it short, such as a cancel, is told of the visit.

    Args:
        ctx: The visit.
        at: Its place in the list, from 0.
        middleware: The middleware.
        boundary: Where it stands.
        before: What it takes.

    Yields:
        Takes what it gives.
    """
    told = {"middleware": middleware.name, "boundary": boundary, "place": at + 1}
    given: list[Any] = []
    emit(ctx, "middleware.started", data=told)
    try:
        yield given.append
    except Exception as error:
        failure = {"error": type(error).__name__, "message": str(error)}
        emit(ctx, "middleware.failed", data=told | failure)
        raise
    after = given[0] if given else None
    emit(ctx, "middleware.completed", data=told, content={"before": before, "after": after})
