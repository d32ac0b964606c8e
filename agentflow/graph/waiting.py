"""Nodes that wait: for a person's answer, or for a time. Ordinary nodes, whose functions say what they wait for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentflow.graph.limits import Uses
from agentflow.graph.node import Node, make_node
from agentflow.graph.place import calling_place

__all__ = ["Ask", "Wait", "ask", "wait"]


@dataclass(frozen=True, slots=True)
class Ask:
    """The function of a node that asks a person: it suspends the run until the answer is there.

    Args:
        prompt: What the person is shown, or a function of the state that makes it.
        answer: The field that the answer is put into.
        schema: What the answer must be: a type, or a JSON Schema.
        timeout: Seconds after which the run goes on without an answer.
        default: The answer then.
    """

    prompt: Any
    answer: str
    schema: Any = None
    timeout: float | None = None
    default: Any = None

    async def __call__(self, state: Any, ctx: Any) -> dict[str, Any]:
        prompt = self.prompt(state) if callable(self.prompt) else self.prompt
        answer = await ctx.suspend(
            "ask", prompt, schema=self.schema, timeout=self.timeout, default=self.default
        )
        return {self.answer: answer}


@dataclass(frozen=True, slots=True)
class Wait:
    """The function of a node that waits.

    Args:
        seconds: For how long, or a function of the state that says so.
        until: Till when, instead; a time with a zone, or a function of the state.
    """

    seconds: float | Callable[[Any], float] | None = None
    until: datetime | Callable[[Any], datetime] | None = None

    async def __call__(self, state: Any, ctx: Any) -> None:
        if self.until is not None:
            await ctx.wait_until(self.until(state) if callable(self.until) else self.until)
        else:
            seconds = self.seconds(state) if callable(self.seconds) else self.seconds
            await ctx.wait(seconds)


def ask(
    id: str,
    *,
    prompt: Any,
    answer: str,
    schema: Any = None,
    timeout: float | None = None,
    default: Any = None,
    **options: Any,
) -> Node:
    """A node that asks a person and puts the answer into a field; the run is suspended meanwhile, and needs a store.

    Args:
        id: The node's id.
        prompt: What the person is shown, as data, or a function of the state that makes it (then name what it reads in
            `requires`).
        answer: The field of the answer; it is put to `provides` by itself.
        schema: What the answer must be: a type, or a JSON Schema. Checked before the run goes on.
        timeout: Seconds after which the run goes on without an answer; default: never.
        default: The answer then.
        options: `routes`, `requires`, `on_error` and whatever else `node` takes.
    """
    asking = Ask(prompt, answer, schema, timeout, default)
    made = _made(asking, id, options, "Ask a person, and wait for the answer.")
    return dataclasses.replace(made, provides=tuple(dict.fromkeys((answer, *made.provides))))


def wait(
    id: str,
    *,
    seconds: float | Callable[[Any], float] | None = None,
    until: datetime | Callable[[Any], datetime] | None = None,
    **options: Any,
) -> Node:
    """A node that waits; in a durable run a restart neither begins the wait anew nor skips it.

    Args:
        id: The node's id.
        seconds: For how long, or a function of the state that says so.
        until: Till when, instead; a time with a zone, or a function of the state.
        options: `routes`, `requires` and whatever else `node` takes.
    """
    made = _made(Wait(seconds, until), id, options, "Wait.")
    if (seconds is None) == (until is None):
        slip = "a wait takes either seconds or until"
        made = dataclasses.replace(made, slips=(*made.slips, slip))
    return made


def _made(function: Any, id: str, options: dict[str, Any], description: str) -> Node:
    options = {"uses": Uses(), "description": description, **options}
    return make_node(function, id=id, place=calling_place(), **options)
