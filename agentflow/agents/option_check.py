"""What an agent may be told, looked at before anything is made of it: an option of the wrong kind must not fail later, elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from agentflow.agents.prompts import Prompts
from agentflow.tools.repeats import RepeatLimit

__all__ = ["check_options"]


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


_KINDS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    "instructions": (
        lambda value: isinstance(value, str) or callable(value),
        "a text, or a function",
    ),
    "retriever": (callable, "a function of the query and an InstructionContext"),
    "prompts": (lambda value: isinstance(value, Prompts), "Prompts({'name': 'text'})"),
    "headers": (lambda value: isinstance(value, Mapping), "a mapping"),
    "models": (lambda value: isinstance(value, Mapping), "a mapping of models by name"),
    "parameters": (lambda value: isinstance(value, Mapping), "a mapping"),
    "context": (lambda value: isinstance(value, Mapping), "a mapping"),
    "tools": (_is_list, "a list of tools and toolkits"),
    "middlewares": (_is_list, "a list of middlewares"),
    "guardrails": (_is_list, "a list of guardrails"),
    "observers": (_is_list, "a list of observers"),
    "sub_agents": (_is_list, "a list of agents"),
    "prepare_step": (callable, "a function of a StepContext"),
    "permission": (callable, "a function of the call"),
    "authorize": (callable, "a function (tool, input, ctx)"),
    "repeat_limit": (lambda value: isinstance(value, RepeatLimit), "a RepeatLimit"),
    "tool_choice": (lambda value: isinstance(value, str), "'required', or the id of a tool"),
    "max_output_tokens": (lambda value: _is_whole(value, 1), "a whole number of at least 1"),
    "max_middleware_retries": (lambda value: _is_whole(value, 0), "a whole number of at least 0"),
    "max_delegations": (lambda value: _is_whole(value, 0), "a whole number of at least 0"),
}


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse an option of an agent, or of one of its calls, that is of the wrong kind.

    Raises:
        TypeError: One is; says which, and what to give.
    """
    for name, value in options.items():
        if value is None or name not in _KINDS:
            continue
        is_right, wanted = _KINDS[name]
        if not is_right(value):
            raise TypeError(f"{name}={value!r}: give {wanted}")
