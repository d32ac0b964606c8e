"""What can be told of a function without calling it: whether it is async, and which arguments it takes."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from agentflow.graph.excerpt import excerpt

__all__ = [
    "body_problem",
    "function_name",
    "is_async",
    "names_in",
    "routine_of",
    "takes",
    "takes_context",
]


def function_name(function: object) -> str:
    """What messages call a function: its own name, or an excerpt of what has none."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else excerpt(function)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether what `function` gives must be awaited or iterated; sees through partials and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return True
    if inspect.isroutine(function):
        return False
    method = getattr(type(function), "__call__", None)  # noqa: B004 - the method is wanted, not the answer
    return inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether `function` can be called with `count` positional arguments; true where a builtin does not tell."""
    signature = _signature(function)
    if signature is None:
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def takes_context(function: Callable[..., Any]) -> bool:
    """Whether a node's function wants `(state, ctx)`, and not `(state)` with a default bound to its second argument."""
    signature = _signature(function)
    if signature is None:
        return False
    positional = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(positional) < 2:
        return any(
            parameter.kind is parameter.VAR_POSITIONAL
            for parameter in signature.parameters.values()
        )
    second = positional[1]
    return second.default is second.empty or second.name == "ctx"


def body_problem(function: object) -> str | None:
    """Why `function` cannot be a node's body, or `None`."""
    if function is None:
        return "it has no function"
    if not callable(function):
        return f"{excerpt(function)} cannot be called"
    if isinstance(function, type):
        return f"{function.__name__} is a class, not a function"
    inner: Any = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    name = function_name(inner)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        return f"{name} is a generator; a node returns its update once"
    if not takes(function, 2 if takes_context(function) else 1):
        return f"{name}{_signature(function)} cannot be called with (state) or (state, ctx)"
    return None


def routine_of(function: object) -> Any:
    """The function that does the work: behind partials, and the method of an object that can be called."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function):
        return function
    return getattr(type(function), "__call__", None)  # noqa: B004 - the method is wanted, not the answer


def names_in(function: object) -> frozenset[str]:
    """The names that the code of a function looks up, in functions inside of it too; none where there is no code to see."""
    inner = routine_of(function)
    code = getattr(inspect.unwrap(inner), "__code__", None) if callable(inner) else None
    return _names_of(code) if isinstance(code, types.CodeType) else frozenset()


def _names_of(code: types.CodeType) -> frozenset[str]:
    inner = (_names_of(each) for each in code.co_consts if isinstance(each, types.CodeType))
    return frozenset(code.co_names).union(*inner)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None
