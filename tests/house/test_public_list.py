"""The public list: what people may rely on changes only on purpose.

After a deliberate change run ``pytest tests/house/test_public_list.py --accept`` and read the diff.
"""

from __future__ import annotations

import inspect
from importlib import metadata
from pathlib import Path

import agentflow

NAMES = Path(__file__).with_name("public_names.txt")


def public_names() -> list[str]:
    return list(getattr(agentflow, "__all__", ()))


def recorded_names() -> list[str]:
    return NAMES.read_text(encoding="utf-8").split() if NAMES.exists() else []


def test_the_public_list_changes_only_on_purpose(accept: bool) -> None:
    names = sorted(public_names())
    if accept:
        NAMES.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    assert names == recorded_names(), "agentflow.__all__ has changed; see this file's docstring"


def test_the_public_list_is_sorted_and_names_nothing_twice() -> None:
    names = public_names()
    assert names == sorted(set(names))


def test_every_public_name_resolves_and_is_offered_by_dir() -> None:
    offered = dir(agentflow)
    for name in public_names():
        assert getattr(agentflow, name) is not None
        assert name in offered


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    assert not hasattr(agentflow, "no_such_name")


def test_every_public_name_and_method_is_documented() -> None:
    missing = [
        where
        for name in public_names()
        for where, documented in _documentation(name, getattr(agentflow, name))
        if not documented
    ]
    assert not missing, f"without a docstring: {', '.join(missing)}"


def _documentation(name: str, value: object) -> list[tuple[str, bool]]:
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return []
    found = [(name, _is_written(name, value.__doc__))]
    if inspect.isclass(value):
        found += [
            (f"{name}.{member}", bool(inspect.getdoc(getattr(value, member))))
            for member, kind in vars(value).items()
            if not member.startswith("_") and _is_method(kind)
        ]
    return found


def _is_written(name: str, text: str | None) -> bool:
    # A dataclass without a docstring is given its own signature as one.
    return bool(text) and not str(text).startswith(f"{name}(")


def _is_method(kind: object) -> bool:
    return inspect.isroutine(kind) or isinstance(kind, property | classmethod | staticmethod)


def test_the_version_is_that_of_the_distribution() -> None:
    assert agentflow.__version__ == metadata.version("agentflow")
