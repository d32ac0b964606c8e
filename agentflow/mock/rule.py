"""Rules: when a mock model answers what. The first one that matches is used."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from agentflow.errors import AgentflowError
from agentflow.mock.reply import MockReply, reply_of
from agentflow.mock.request import MockRequest

__all__ = ["NoRuleMatches", "Pending", "Rule", "ScriptExhausted"]

When = str | re.Pattern[str] | Callable[[MockRequest], bool] | None


class NoRuleMatches(AgentflowError):
    """No rule of a mock model matches the request; the message lists them."""

    code = "no_rule_matches"


class ScriptExhausted(AgentflowError):
    """A rule with a list of replies was used more often than the list is long."""

    code = "script_exhausted"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a mock model. It matches when all that it asks for is so.

    Args:
        reply: The answer: a text, tool calls (made with `call` and `calls`), an object that is said as JSON, an error to
            raise, a `MockReply`, a function of the request that gives one of these, plain or async, or a list of them, one
            for each use.
        when: When it matches: a text that is contained in what was said since the last answer, a compiled regular
            expression that is found there, a function of the request; `None` for always.
        turn: Which answer of the conversation it gives, from 1; default: any.
        tools: Names of tools that must all be on offer.
        name: What errors call it.

    Raises:
        TypeError: A condition is of the wrong kind.
        ValueError: The list of replies is empty, or the turn is less than 1.
    """

    reply: Any
    when: When = None
    turn: int | None = None
    tools: Collection[str] = ()
    name: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.tools, str):
            raise TypeError(f"Rule(tools={self.tools!r}): it is a list of names")
        object.__setattr__(self, "tools", tuple(self.tools))
        if self.turn is not None and self.turn < 1:
            raise ValueError(f"Rule(turn={self.turn!r}): turns are counted from 1")
        when = self.when
        if not (when is None or isinstance(when, str | re.Pattern) or callable(when)):
            raise TypeError(
                f"Rule(when={when!r}): it is a text, a compiled regular expression, a function of the request, or None"
            )
        if isinstance(self.reply, list) and not self.reply:
            raise ValueError("Rule(reply=[]): a list of replies holds at least one")

    def matches(self, request: MockRequest) -> bool:
        """Whether the rule answers this request."""
        if self.turn is not None and self.turn != request.turn:
            return False
        return set(self.tools) <= set(request.tools) and self._is_said(request)

    def _is_said(self, request: MockRequest) -> bool:
        match self.when:
            case None:
                return True
            case str():
                return self.when in request.text
            case re.Pattern():
                return self.when.search(request.text) is not None
            case _:
                return bool(self.when(request))

    def answer(self, request: MockRequest, use: int) -> MockReply | Pending:
        """The reply for the use number `use` of the rule, from 0; one to wait for when a function of it is async.

        Raises:
            ScriptExhausted: There are not so many replies.
        """
        reply = self.reply
        if isinstance(reply, list):
            if use >= len(reply):
                raise ScriptExhausted(
                    f"the mock rule {self} holds {len(reply)} replies and was used once more, for: {_shown(request.text)}"
                )
            reply = reply[use]
        if callable(reply) and not isinstance(reply, type):
            reply = reply(request)
        if inspect.isawaitable(reply):
            return Pending(reply, request.forced_tool)
        return reply_of(reply, forced=request.forced_tool)

    def __str__(self) -> str:
        said = " and ".join(self._conditions()) or "always"
        return f"{self.name} ({said})" if self.name else said

    def _conditions(self) -> Iterator[str]:
        match self.when:
            case None:
                pass
            case str():
                yield f"text contains {self.when!r}"
            case re.Pattern():
                yield f"text matches /{self.when.pattern}/"
            case _:
                yield f"{getattr(self.when, '__name__', 'a function')}(request)"
        if self.turn is not None:
            yield f"turn is {self.turn}"
        if self.tools:
            yield f"tools offer {', '.join(map(repr, self.tools))}"


class Pending:
    """A reply that an async function is still to give: awaited, or closed by who cannot wait."""

    __slots__ = ("_forced", "_reply")

    def __init__(self, reply: Awaitable[Any], forced: str | None) -> None:
        self._reply = reply
        self._forced = forced

    def __await__(self) -> Generator[Any, Any, MockReply]:
        given = yield from self._reply.__await__()
        return reply_of(given, forced=self._forced)

    def close(self) -> None:
        """Let it be."""
        if inspect.iscoroutine(self._reply):
            self._reply.close()


def no_match(rules: tuple[Rule, ...], request: MockRequest) -> NoRuleMatches:
    """The error for a request that no rule answers."""
    listed = "".join(f"\n  {number}. {rule}" for number, rule in enumerate(rules, 1)) or " none"
    return NoRuleMatches(
        f"no rule of the mock model matches turn {request.turn}, where the news is: {_shown(request.text)}\n"
        f"rules, in order:{listed}"
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 300 else f"{text[:297]}...")
