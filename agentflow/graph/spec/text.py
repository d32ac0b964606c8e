"""Texts: JSON and YAML as plain data.

YAML is read by the core schema of YAML 1.2, which knows what JSON knows: `on`, `yes` and dates are text. A key that is there
twice is refused in both, because one of the two would be dropped without a word.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from agentflow.errors import SpecError

__all__ = ["PARSERS", "Flawed", "kind_of"]

_MERGE = "tag:yaml.org,2002:merge"


class Flawed(dict[Any, Any]):
    """An object whose keys are not what JSON data has; `flaw` tells why, `line` where if that is known."""

    flaw = ""
    line: int | None = None


def _json(text: str, file: str) -> Any:
    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise SpecError(
            f"the file is no JSON: {error.msg} in column {error.colno}",
            file=file,
            line=error.lineno,
        ) from error
    except ValueError as error:
        raise SpecError(f"the file is no JSON: {error}", file=file) from error


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    names = [name for name, _ in pairs]
    flawed = Flawed(made)
    flawed.flaw = _twice(next(name for name in names if names.count(name) > 1))
    return flawed


def _twice(name: str) -> str:
    return f"the key {name!r} is there twice"


def _yaml(text: str, file: str) -> Any:
    import yaml

    try:
        return yaml.load(text, Loader=_yaml_loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        said = " ".join(filter(None, (error.context, error.problem)))
        raise SpecError(
            f"the file is no YAML of JSON data: {said}", file=file, line=line
        ) from error
    except yaml.YAMLError as error:
        said = str(error).partition("\n")[0]
        raise SpecError(f"the file is no YAML: {said}", file=file) from error


@functools.cache
def _yaml_loader() -> Any:
    """A safe loader that makes the types of JSON and nothing else, and knows `<<`."""
    import yaml

    # Started empty: YAML 1.1 takes more for numbers and dates than authors mean, and knows types that JSON does not have.
    fresh: dict[str, Any] = {"yaml_implicit_resolvers": {}, "yaml_constructors": {}}
    loader: Any = type("Loader", (yaml.SafeLoader,), fresh)
    for name, (pattern, firsts, convert) in _SCALARS.items():
        tag = f"tag:yaml.org,2002:{name}"
        loader.add_implicit_resolver(tag, re.compile(f"({pattern})\\Z"), firsts)
        loader.add_constructor(tag, functools.partial(_scalar, convert))
    loader.add_implicit_resolver(_MERGE, re.compile(r"<<\Z"), ["<"])
    loader.add_constructor("tag:yaml.org,2002:str", functools.partial(_scalar, str))
    loader.add_constructor("tag:yaml.org,2002:seq", yaml.SafeLoader.construct_yaml_seq)
    loader.add_constructor("tag:yaml.org,2002:map", _mapping)
    loader.add_constructor(None, yaml.SafeLoader.construct_undefined)
    return loader


def _mapping(loader: Any, node: Any) -> Iterator[Any]:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        raise yaml.constructor.ConstructorError(None, None, "it is no mapping", node.start_mark)
    made: dict[Any, Any] = {}
    names: set[str] = set()
    for key, _ in node.value:
        if key.tag == _MERGE:
            continue
        name = loader.construct_object(key, deep=True)
        if isinstance(name, str) and name not in names:
            names.add(name)
            continue
        made = Flawed()
        made.line = key.start_mark.line + 1
        made.flaw = (
            _twice(name)
            if isinstance(name, str)
            else f"the key {name!r} is {kind_of(name)}: put it in quotes"
        )
        node.value = []
        break
    # Given away before it is filled, so that an alias may lead back to it.
    yield made
    loader.flatten_mapping(node)
    made.update(loader.construct_pairs(node))


def _bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is no boolean")
    return text.lower() == "true"


_SCALARS: Mapping[str, tuple[str, list[str], Callable[[str], Any]]] = {
    "null": ("~|null|Null|NULL|", [*"~nN", ""], lambda _: None),
    "bool": ("true|True|TRUE|false|False|FALSE", [*"tTfF"], _bool),
    "int": ("[-+]?[0-9]+", [*"-+0123456789"], int),
    "float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", [*"-+.0123456789"], float),
}
"""The scalars that need no quotes: a pattern, the letters they may start with, and what they become."""


def _scalar(convert: Any, loader: Any, node: Any) -> Any:
    import yaml

    text = loader.construct_scalar(node)
    try:
        return convert(text)
    except ValueError as error:
        raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from error


PARSERS: Mapping[str, Callable[[str, str], Any]] = {".json": _json, ".yaml": _yaml, ".yml": _yaml}
"""What reads the text of a file, by the suffix of the file's name."""


def kind_of(value: Any) -> str:
    """What a value is, in words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
    return f"a {type(value).__name__}"
