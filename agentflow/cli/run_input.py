"""The input of a run from a shell: JSON as an argument, in a file, or on stdin."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import typer

from agentflow.errors import ContractError
from agentflow.graph.workflow import Workflow
from agentflow.run.first_state import first_state, supplied

__all__ = ["check_input", "check_private", "input_of", "private_of"]


def input_of(option: str | None) -> dict[str, Any] | None:
    """The fields that `--input` gives: `-` reads stdin, `@file` a file, anything else is the JSON itself.

    Raises:
        BadParameter: There is no such file, or it holds no JSON object; a mistake in the JSON is told by line and column.
    """
    return None if option is None else _fields(option)


def private_of(option: str | None) -> dict[str, Any]:
    """The fields that `--private` gives, in the same ways; raises as `input_of`."""
    try:
        return {} if option is None else _fields(option)
    except typer.BadParameter as error:
        error.param_hint = "--private"
        raise


def check_private(workflow: Workflow[Any], given: dict[str, Any]) -> None:
    """See to it that these are private fields of `workflow`.

    Raises:
        BadParameter: They are not, and why.
    """
    try:
        supplied(workflow.plan, given)
    except ContractError as error:
        raise typer.BadParameter(str(error), param_hint="--private") from None


def _fields(option: str) -> dict[str, Any]:
    text, source = _text(option)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise _bad(_mistake(error, source)) from None
    except RecursionError:
        raise _bad(f"{source} nests too deeply") from None
    if not isinstance(value, dict):
        kind = {list: "a list", str: "text", type(None): "null", bool: "a truth value"}
        told = kind.get(type(value), "a number")
        raise _bad(
            f'{source} is {told}; the input is an object of fields, such as {{"question": "…"}}'
        )
    return value


def check_input(workflow: Workflow[Any], given: dict[str, Any] | None) -> None:
    """See to it that a run of `workflow` can begin with these fields.

    Raises:
        BadParameter: It cannot, and why.
    """
    try:
        first_state(workflow.plan, given)
    except ContractError as error:
        raise _bad(str(error)) from None


def _text(option: str) -> tuple[str, str]:
    if option == "-":
        return _decoded(sys.stdin.buffer.read(), "stdin"), "stdin"
    if not option.startswith("@"):
        return option, "the text"
    path = Path(option[1:])
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _bad(f"{str(path)!r} cannot be read: {error.strerror or error}") from None
    return _decoded(data, str(path)), str(path)


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _bad(f"{source} is no text in UTF-8 (byte {error.start + 1})") from None


def _mistake(error: json.JSONDecodeError, source: str) -> str:
    """What is wrong and where, with the line itself."""
    told = f"{source} is no JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    lines = error.doc.split("\n")
    line = lines[error.lineno - 1] if error.doc.strip() else ""
    if not line.strip():
        return told
    # Of a long line the part around the mistake.
    start = max(0, error.colno - 40)
    return f"{told}\n\n  {line[start : start + 72]}\n  {' ' * (error.colno - 1 - start)}^"


def _bad(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="--input")
