"""The multi-turn scenarios of the Berkeley Function-Calling Leaderboard, and the suite's own judgement of what came of them.

Patil et al., "The Berkeley Function Calling Leaderboard", ICML 2025; the package is `bfcl-eval`. Its classes keep state: a file
system, tickets, a car, trades, travel, messages. The package is installed without its dependencies, of which only the classes
that no scenario of these needs are in want.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agentflow import Tool, tool
from agentflow.mock import MockReply, call

__all__ = ["BFCL", "SCENARIOS", "Scenario", "scenario"]

BFCL = Path(sys.prefix, "bfcl")
"""Where `make bfcl` installs the suite."""

SCENARIOS = tuple(f"multi_turn_base_{number}" for number in range(200))


@dataclass(frozen=True, slots=True)
class Scenario:
    """One conversation of the suite: what the user says in each turn, and the calls that are right.

    Args:
        id: The suite's own.
        asked: What the user says, a text for each turn.
        right: The calls of each turn, as the suite writes them down: Python expressions.
        given: The state that each class begins with.
        classes: The classes of which the methods are on offer.
    """

    id: str
    asked: tuple[str, ...]
    right: tuple[tuple[str, ...], ...]
    given: Mapping[str, Any]
    classes: tuple[str, ...]

    def instances(self) -> dict[str, Any]:
        """The suite's objects, in the state that the scenario begins with."""
        found = _part("constants.executable_backend_config")
        made = {}
        for name in self.classes:
            made[name] = getattr(
                importlib.import_module(found.CLASS_FILE_PATH_MAPPING[name]), name
            )()
            if name not in found.STATELESS_CLASSES:
                made[name]._load_scenario(deepcopy(self.given.get(name, {})), long_context=False)
        return made

    def calls(self, turn: int, tools: Iterable[Tool]) -> list[MockReply]:
        """The right calls of a turn, as a model proposes them: by name, with every argument named."""
        by_name = {one.id: one for one in tools}
        return [_proposed(written, by_name) for written in self.right[turn]]

    def executed(self, turn: int, *, by: str) -> tuple[list[str], dict[str, Any]]:
        """What the suite itself makes of the right calls of a turn: their answers, and its objects.

        Its objects are kept in its own module under the name `by`, an identifier, so turns are asked for in their order, each once.
        """
        answers, instances = _part(
            "eval_checker.multi_turn_eval.multi_turn_utils"
        ).execute_multi_turn_func_call(
            func_call_list=list(self.right[turn]),
            initial_config=dict(self.given),
            involved_classes=list(self.classes),
            model_name=by,
            test_entry_id=self.id,
        )
        return answers, instances


def scenario(id: str) -> Scenario:
    """One of `SCENARIOS`."""
    asked = _records("BFCL_v4_multi_turn_base.json")[id]
    right = _records("possible_answer/BFCL_v4_multi_turn_base.json")[id]
    return Scenario(
        id=id,
        asked=tuple(
            "\n".join(message["content"] for message in turn) for turn in asked["question"]
        ),
        right=tuple(tuple(turn) for turn in right["ground_truth"]),
        given=asked["initial_config"],
        classes=tuple(asked["involved_classes"]),
    )


def tools_of(instances: Mapping[str, Any]) -> list[Tool]:
    """The public methods of the suite's objects as tools; one waits for the other, because they share a state.

    What some of them say that they return they do not return, so their values are not checked.
    """
    return [
        tool(_declared(method), parallel=False, output=Any)
        for instance in instances.values()
        for name, method in inspect.getmembers(instance, inspect.ismethod)
        if not name.startswith("_")
    ]


def _declared(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with the types that its scenarios use."""
    if method.__name__ != "close_ticket":
        return method

    # The suite says `int`, and closes a ticket whose id is a text: scenario 173. We would refuse that call.
    def close_ticket(ticket_id: int | str) -> Any:
        return method(ticket_id)

    close_ticket.__doc__ = method.__doc__
    return close_ticket


def verdict(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The suite's own comparison of two sets of its objects: `valid`, and what differs."""
    checker = _part("eval_checker.multi_turn_eval.multi_turn_checker")
    found: Mapping[str, Any] = checker.state_checker(dict(ours), dict(theirs))
    return found


def _proposed(written: str, tools: Mapping[str, Tool]) -> MockReply:
    expression = ast.parse(written, mode="eval").body
    assert isinstance(expression, ast.Call)
    assert isinstance(expression.func, ast.Name)
    name = expression.func.id
    bound = inspect.signature(tools[name].handler).bind(
        *map(ast.literal_eval, expression.args),
        **{str(said.arg): ast.literal_eval(said.value) for said in expression.keywords},
    )
    return call(name, **bound.arguments)


@cache
def _records(file: str) -> dict[str, Any]:
    text = (BFCL / "bfcl_eval" / "data" / file).read_text(encoding="utf-8")
    return {record["id"]: record for record in map(json.loads, text.splitlines())}


def _part(name: str) -> Any:
    """A module of the suite, found in its own folder."""
    if str(BFCL) not in sys.path:
        sys.path.append(str(BFCL))
    return importlib.import_module(f"bfcl_eval.{name}")
