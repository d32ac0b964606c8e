"""Mutation: one piece of the package is broken on purpose, wherever it is used, for as long as a test looks."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

from agentflow.graph import checks

__all__ = ["broken"]

_LISTS = ("CHECKS", "CLAIMS", "PROOFS")


@contextlib.contextmanager
def broken(place: str, old: str, new: str) -> Iterator[None]:
    """A function or method of the package with `new` where its source says `old`, which it must say once.

    Args:
        place: `module:name` or `module:Class.name`, the module below `agentflow.graph`.
        old: What the source says.
        new: What it says instead.
    """
    module_name, _, path = place.partition(":")
    module = importlib.import_module(f"agentflow.graph.{module_name}")
    *owners, name = path.split(".")
    owner: Any = getattr(module, owners[0]) if owners else module
    original = vars(owner)[name]
    made = _rewritten(original, old, new, vars(module))
    with pytest.MonkeyPatch.context() as patch:
        if owners:
            if hasattr(made, "__set_name__"):
                made.__set_name__(owner, name)
            patch.setattr(owner, name, made)
        else:
            _replace_everywhere(patch, original, made)
        yield


def _rewritten(original: Any, old: str, new: str, names: dict[str, Any]) -> Any:
    function = getattr(original, "fget", getattr(original, "func", original))
    function = getattr(function, "__func__", function)
    source = inspect.getsource(function)
    assert source.count(old) == 1, f"{function.__qualname__} says {source.count(old)} times: {old}"
    changed = textwrap.dedent(source.replace(old, new))
    found: dict[str, Any] = {}
    # As in the module itself, annotations are not looked at.
    exec(f"from __future__ import annotations\n{changed}", names, found)
    return found[function.__name__]


def _replace_everywhere(patch: pytest.MonkeyPatch, original: Any, made: Any) -> None:
    """Every name in the package that means a function, and the lists of checks, mean another."""
    for module in [each for name, each in sys.modules.items() if name.startswith("agentflow.")]:
        for name, value in list(vars(module).items()):
            if value is original:
                patch.setattr(module, name, made)
    for name in _LISTS:
        listed = getattr(checks, name)
        patch.setattr(checks, name, tuple(made if one is original else one for one in listed))
