"""From a TARGET to what it leads to."""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from agentflow.cli.diagnosis import diagnosis
from agentflow.cli.folder import files_below
from agentflow.cli.found import Found, problem
from agentflow.cli.importing import ImportFailed, Imports
from agentflow.cli.spec_file import is_spec, spec_found
from agentflow.cli.target import FileTarget, FolderTarget, ModuleTarget, SpecTarget, Target
from agentflow.graph.node import Node
from agentflow.graph.place import Place
from agentflow.graph.workflow import Workflow
from agentflow.run.engine import Engine

__all__ = ["load"]


def load(target: Target, imports: Imports) -> tuple[Found, ...]:
    """Everything that a target leads to, at least one thing; never raises for what it finds there."""
    match target:
        case ModuleTarget(text, name, attribute):
            return _module(text, lambda: imports.module(name), attribute, imports)
        case FileTarget(text, path, attribute):
            return _file(text, path, attribute, imports)
        case SpecTarget(text, path):
            return (spec_found(text, path, imports) if path.is_file() else _no_file(text, path),)
        case FolderTarget(text, path):
            found = [thing for file in files_below(path) for thing in _below(file, imports)]
            nothing = problem(
                text, "AF007", f"there is no workflow below {text!r}", "check the path"
            )
            return tuple(found) or (nothing,)


def _file(text: str, path: Path, attribute: str | None, imports: Imports) -> tuple[Found, ...]:
    if not path.is_file():
        return (_no_file(text, path),)
    if path.suffix != ".py":
        hint = "a TARGET is module:attribute, file.py, file.py:attribute, a JSON or YAML file, or a folder"
        message = f"{str(path)!r} is no file that can hold a workflow"
        return (problem(text, "AF006", message, hint),)
    return _module(text, lambda: imports.file(path), attribute, imports)


def _module(
    text: str, load_module: Callable[[], ModuleType], attribute: str | None, imports: Imports
) -> tuple[Found, ...]:
    if imports.forbidden:
        message = f"{text!r} says what it defines only when it is imported"
        return (problem(text, "AF008", message, "leave --no-import out, or check a specification"),)
    try:
        module = load_module()
        if attribute is not None:
            return (_attribute(text, module, attribute, imports),)
    except ImportFailed as failed:
        return (diagnosis(text, failed),)
    hint = "name the attribute that holds it, or a function that makes it, as in file.py:attribute"
    message = f"{text!r} has no workflow at its top level"
    nothing = problem(text, "AF007", message, hint, _place(module))
    return tuple(_workflows(text, module)) or (nothing,)


def _workflows(text: str, module: ModuleType) -> Iterator[Found]:
    for name, value in list(vars(module).items()):
        if isinstance(value, Workflow | Engine):
            yield Found.of(f"{text}:{name}", value)


def _below(path: Path, imports: Imports) -> tuple[Found, ...]:
    """What one file of a folder holds; a file without workflows is none of our business."""
    text = str(path)
    if path.suffix != ".py":
        return (spec_found(text, path, imports),) if is_spec(path) else ()
    if imports.forbidden:
        return ()
    try:
        return tuple(_workflows(text, imports.file(path)))
    except ImportFailed as failed:
        return (diagnosis(text, failed),)


def _attribute(text: str, module: ModuleType, attribute: str, imports: Imports) -> Found:
    place = _place(module)
    try:
        value = functools.reduce(getattr, attribute.split("."), module)
    except AttributeError:
        message = f"module {module.__name__!r} has no attribute {attribute!r}"
        return problem(text, "AF001", message, _nearest_attribute(module, attribute), place)
    if isinstance(value, Workflow | Engine):
        return Found.of(text, value)
    refusal = _refusal(attribute, value)
    if refusal is not None:
        return problem(text, "AF006", *refusal, place)
    made: object = imports.call(attribute, value)  # type: ignore[arg-type]
    if isinstance(made, Workflow | Engine):
        return Found.of(text, made)
    message = f"function {attribute!r} returned {_kind(made)}"
    return problem(text, "AF006", message, "return a workflow or an engine", place)


def _refusal(attribute: str, value: object) -> tuple[str, str] | None:
    """Why a value is no workflow and no function that can make one, and what to do."""
    if isinstance(value, Node):
        hint = "a node is a part of a workflow: name what define_workflow returned"
        return f"{attribute!r} is a node", hint
    if not isinstance(value, functools.partial) and not inspect.isroutine(value):
        hint = "name what define_workflow returned, an Engine, or a function that makes one of them"
        # Whoever has made an agent has loaded them; nobody else has to.
        agents = sys.modules.get("agentflow.agents.agent")
        if agents is not None and isinstance(value, agents.Agent):
            hint = f"name the engine of the agent: {attribute}.engine"
        return f"{attribute!r} is {_kind(value)}", hint
    if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
        return f"function {attribute!r} is asynchronous", "make it a plain function"
    try:
        inspect.signature(value).bind()
    except (TypeError, ValueError):
        hint = "a function that makes a workflow is called without arguments"
        return f"function {attribute!r} needs arguments", hint
    return None


def _nearest_attribute(module: ModuleType, attribute: str) -> str:
    names = [name for name in vars(module) if not name.startswith("_")]
    close = difflib.get_close_matches(attribute, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    there = ", ".join(found.name.rpartition(":")[2] for found in _workflows("", module))
    return f"it has the workflows {there}" if there else "it has no workflow at its top level"


def _no_file(text: str, path: Path) -> Found:
    folder = path.parent
    names = sorted(file.name for file in folder.iterdir()) if folder.is_dir() else []
    close = difflib.get_close_matches(path.name, names, n=1)
    hint = "paths start from the working folder"
    if close:
        hint = f"did you mean {str(folder / close[0])!r}?"
    return problem(text, "AF001", f"there is no file {str(path)!r}", hint)


def _place(module: ModuleType) -> Place | None:
    file = getattr(module, "__file__", None)
    return Place(file) if isinstance(file, str) else None


def _kind(value: object) -> str:
    return "None" if value is None else f"of the type {type(value).__name__}"
