"""The one workflow or engine that a command is about."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import typer

from agentflow.cli.found import Found
from agentflow.graph.findings import Report
from agentflow.graph.workflow import Workflow
from agentflow.run.engine import Engine

__all__ = ["engines_of", "single_engine", "single_workflow"]


def single_workflow(found: tuple[Found, ...], target: str) -> tuple[Workflow[Any], Report]:
    """The one workflow that a target leads to, also one that was refused, and what there is to say of it.

    Raises:
        Exit: There is none, and why is told on stderr; the code is 2.
        BadParameter: There are several.
    """
    workflows = {id(one.workflow): one for one in found if one.workflow is not None}
    if not workflows:
        _refuse(found)
    if len(workflows) > 1:
        raise _several(target, workflows.values())
    only = next(iter(workflows.values()))
    assert only.workflow is not None
    return only.workflow, only.report


def engines_of(found: tuple[Found, ...]) -> list[Engine[Any]]:
    """An engine for each workflow that a target leads to: the one that is there, or a new one.

    Raises:
        Exit: Something could not be loaded, or was refused, and why is told on stderr; the code is 2.
    """
    if not all(one.value is not None and one.report.ok for one in found):
        _refuse(found)
    engines: dict[int, Engine[Any]] = {}
    # Engines first: a module holds the workflow of its engine too.
    for one in sorted(found, key=lambda one: isinstance(one.value, Workflow)):
        if isinstance(one.value, Engine):
            engines.setdefault(id(one.value.workflow), one.value)
        elif one.value is not None:
            engines.setdefault(id(one.value), Engine(one.value))
    return list(engines.values())


def single_engine(found: tuple[Found, ...], target: str) -> Engine[Any]:
    """An engine for what a target leads to: the one that it names, or a new one for its only workflow.

    Raises:
        Exit: Something could not be loaded, or was refused, and why is told on stderr; the code is 2.
        BadParameter: There are several workflows, or several engines.
    """
    if not all(one.value is not None and one.report.ok for one in found):
        _refuse(found)
    workflows = {id(one.workflow): one for one in found}
    engines = {id(one.value): one for one in found if isinstance(one.value, Engine)}
    if len(workflows) > 1 or len(engines) > 1:
        raise _several(target, found)
    value = next(iter((engines or workflows).values())).value
    assert value is not None
    return value if isinstance(value, Engine) else Engine(value)


def _refuse(found: tuple[Found, ...]) -> NoReturn:
    from agentflow.cli.examination import examined
    from agentflow.cli.excerpt import Sources
    from agentflow.cli.formats.text import text_lines
    from agentflow.cli.output import columns_of
    from agentflow.cli.styled import write_lines

    here = Path.cwd()
    seen, columns = examined(found).seen_from(here), columns_of(sys.stderr)
    write_lines(text_lines(seen, Sources(here), columns=columns), sys.stderr)
    raise typer.Exit(2)


def _several(target: str, found: Iterable[Found]) -> typer.BadParameter:
    names = ", ".join(one.name for one in found)
    return typer.BadParameter(f"{target!r} holds several; name one of {names}", param_hint="TARGET")
