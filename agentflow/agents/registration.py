"""Registered middleware: it stands around calls from outside of their agents, for as long as a block lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from agentflow.agents.middleware import Middleware, as_middlewares, handled
from agentflow.graph.argument import or_none, with_methods

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.agents.options import Profile

__all__ = ["registered", "with_registered"]


@dataclass(slots=True, eq=False)
class _Registration:
    middlewares: tuple[Middleware, ...]
    agent: Agent | None
    is_open: bool = True


_registrations: ContextVar[tuple[_Registration, ...]] = ContextVar(
    "agentflow_middlewares", default=()
)


@contextmanager
def registered(*middlewares: Any, agent: Agent | None = None) -> Iterator[None]:
    """Have middleware stand around the calls that begin in the block, before the agents' own.

    When the block ends, it is asked no more, also by a call that has begun in it and goes on. Two tasks do not see what the
    other has registered.

    Args:
        middlewares: What an agent takes as `middlewares`.
        agent: The agent whose calls are meant; what it hands to others is not. Default: every call, and every sub-agent.

    Raises:
        TypeError: One of them is no middleware, or `agent` is no agent.
    """
    or_none(with_methods("an agent", "as_tool")).check("agent", agent, of="registered")
    made = _Registration((), agent)
    made.middlewares = tuple(_while_open(made, one) for one in as_middlewares(middlewares))
    token = _registrations.set((*_registrations.get(), made))
    try:
        yield
    finally:
        made.is_open = False
        _registrations.reset(token)


def with_registered(profile: Profile, agent: Agent) -> Profile:
    """A profile with what is registered for its agent: the same one, if nothing is."""
    found = [
        middleware
        for one in _registrations.get()
        if one.is_open and one.agent in (None, agent)
        for middleware in one.middlewares
    ]
    return replace(profile, middlewares=(*found, *profile.middlewares)) if found else profile


def _silent(_: Any) -> None:
    """A step is prepared with nothing."""


def _unchanged(value: Any) -> Any:
    return value


async def _proceeding(value: Any) -> Any:
    return await value.proceed()


async def _sending(value: Any) -> Any:
    return await value.send()


_NOTHING_DONE: Final[dict[str, Any]] = {
    "input": _unchanged,
    "turn": _proceeding,
    "step": _silent,
    "request": _sending,
    "commit": _unchanged,
    "chunk": _unchanged,
    "output": _unchanged,
}
"""What goes on where somebody stands who does nothing."""


def _while_open(registration: _Registration, middleware: Middleware) -> Middleware:
    """The middleware, doing nothing once its registration has ended."""

    def held(handler: Any, nothing: Any) -> Any:
        async def handle(value: Any, context: Any) -> Any:
            if registration.is_open:
                return await handled(handler, value, context)
            # Not awaited by itself: some of these are async.
            return await handled(lambda given, _: nothing(given), value, context)

        return handle

    there = {name: getattr(middleware, name) for name in _NOTHING_DONE}
    return replace(
        middleware,
        **{n: held(h, _NOTHING_DONE[n]) for n, h in there.items() if h is not None},
    )
