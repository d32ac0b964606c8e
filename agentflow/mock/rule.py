"""Rules: when a mock model answers what. The first one that matches is used."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agentflow.errors import AgentflowError
from agentflow.mock.reply import MockReply, reply_of
from agentflow.mock.request import MockRequest

__all__ = ["NoRuleMatches", "Rule", "ScriptExhausted"]

When = str | re.Pattern[str] | Callable[[MockRequest], bool] | None


class NoRuleMatches(AgentflowError):
    """No rule of a mock model matches the request; the message lists them."""

    code = "no_rule_matches"


class ScriptExhausted(AgentflowError):
    """A rule with a list of replies was used more often than the list is long."""

    code = "script_exhausted"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a mock model.

    Args:
        reply: The answer: a text, tool calls (made with `call` and `calls`), an object that is said as JSON, an error to
            raise, a `MockReply`, a function of the request that gives one of these, or a list of them, one for each use.
        when: When it matches: a text that is contained in what was said since the last answer, a compiled regular
            expression that is found there, a function of the request; `None` for always.
        name: What errors call it.
    """

    reply: Any
    when: When = None
    name: str = ""

    def __post_init__(self) -> None:
        when = self.when
        if not (when is None or isinstance(when, str | re.Pattern) or callable(when)):
            raise TypeError(
                f"Rule(when={when!r}): it is a text, a compiled regular expression, a function of the request, or None"
            )
        if isinstance(self.reply, list) and not self.reply:
            raise ValueError("Rule(reply=[]): a list of replies holds at least one")

    def matches(self, request: MockRequest) -> bool:
        """Whether the rule answers this request."""
        match self.when:
            case None:
                return True
            case str():
                return self.when in request.text
            case re.Pattern():
                return self.when.search(request.text) is not None
            case _:
                return bool(self.when(request))

    def answer(self, request: MockRequest, use: int) -> MockReply:
        """The reply for the use number `use` of the rule, from 0.

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
        return reply_of(reply)

    def __str__(self) -> str:
        match self.when:
            case None:
                condition = "always"
            case str():
                condition = f"text contains {self.when!r}"
            case re.Pattern():
                condition = f"text matches /{self.when.pattern}/"
            case _:
                condition = f"{getattr(self.when, '__name__', 'a function')}(request)"
        return f"{self.name} ({condition})" if self.name else condition


def no_match(rules: tuple[Rule, ...], request: MockRequest) -> NoRuleMatches:
    """The error for a request that no rule answers."""
    listed = "".join(f"\n  {number}. {rule}" for number, rule in enumerate(rules, 1)) or " none"
    return NoRuleMatches(
        f"no rule of the mock model matches turn {request.turn}, where the news is: {_shown(request.text)}\n"
        f"rules, in order:{listed}"
    )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 300 else f"{text[:297]}...")
