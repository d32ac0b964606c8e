"""What an agent may be told, looked at before anything is made of it: an option of the wrong kind must not fail later, elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from agentflow.agents.prompts import Prompts
from agentflow.graph.argument import (
    FLAG,
    FUNCTION,
    LIST,
    MAPPING,
    NAME,
    TEXT,
    Wanted,
    instance,
    one_of,
    whole,
)
from agentflow.graph.contract import Contract
from agentflow.tools.repeats import RepeatLimit

__all__ = ["check_options", "check_own"]


def _is_type(value: object) -> bool:
    try:
        Contract(value)
    except Exception:
        # pydantic raises many kinds for what it cannot turn into a validator.
        return False
    return True


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_INSTRUCTIONS: Final = Wanted(
    lambda value: isinstance(value, str) or callable(value), "a text, or a function"
)

_WANTED: Final[Mapping[str, Wanted]] = {
    "instructions": _INSTRUCTIONS,
    "markdown": FLAG,
    "retriever": replace(FUNCTION, told="a function of the query and an InstructionContext"),
    "prompts": instance(Prompts, "Prompts({'name': 'text'})"),
    "headers": MAPPING,
    "models": replace(MAPPING, told="a mapping of models by name"),
    "parameters": MAPPING,
    "context": MAPPING,
    "context_type": Wanted(_is_type, "a TypedDict, a pydantic model, or another type"),
    "tools": replace(LIST, told="a list of tools and toolkits"),
    "middlewares": replace(LIST, told="a list of middlewares"),
    "guardrails": replace(LIST, told="a list of guardrails"),
    "observers": replace(LIST, told="a list of observers"),
    "sub_agents": replace(LIST, told="a list of agents"),
    "handoffs": replace(LIST, told="a list of agents"),
    "prepare_step": replace(FUNCTION, told="a function of a StepContext"),
    "permission": replace(FUNCTION, told="a function of the call"),
    "authorize": replace(FUNCTION, told="a function (tool, input, ctx)"),
    "require_authorization": FLAG,
    "compressor": replace(
        FUNCTION, told="Summarise(…), Trim(…), or an async function (messages, ctx)"
    ),
    "compress_above_chars": replace(whole(0), error=TypeError),
    "repeat_limit": instance(RepeatLimit, "a RepeatLimit"),
    "tool_choice": replace(TEXT, told="'required', or the id of a tool"),
    # Of a number that is too small, the validator tells.
    "max_steps": Wanted(_is_int, "a whole number of at least 1"),
    "on_max_steps": one_of("stop", "answer", "raise"),
    "max_output_tokens": replace(whole(1), error=TypeError),
    "max_middleware_retries": replace(whole(0), error=TypeError),
    "max_delegations": replace(whole(0), error=TypeError),
}


_OWN: Final[Mapping[str, Wanted]] = {
    "name": NAME,
    "description": TEXT,
    "tools": _WANTED["tools"],
    "observers": _WANTED["observers"],
}


def check_own(**options: Any) -> None:
    """Refuse what an agent itself is told if it is of the wrong kind; here nothing may be `None`.

    Raises:
        TypeError: One is; says which, and what to give.
    """
    for name, value in options.items():
        _OWN[name].check(name, value)


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse an option of an agent, or of one of its calls, that is of the wrong kind.

    Raises:
        TypeError: One is; says which, and what to give.
        ValueError: There is no such `on_max_steps`.
    """
    for name, value in options.items():
        if value is not None and name in _WANTED:
            _WANTED[name].check(name, value)
