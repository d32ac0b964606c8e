"""What an import costs and where it may reach: lazy at the top, closed at the bottom."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache

import pytest

from tests.house.repository import PACKAGE, ROOT, modules

KERNEL = ["errors.py", "graph", "run"]
FOUNDATIONS = {
    "annotated_types",
    "anyio",
    "jsonschema",
    "networkx",
    "pydantic",
    "pydantic_core",
    "structlog",
    "typing_extensions",
}
# YAML is a spelling of the declarative form; it is read when a YAML spec is.
EXCEPTIONS = {("agentflow/graph/spec/text.py", "yaml")}


def modules_after(statements: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after ``statements``."""
    code = f"{statements}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "heavy", ["jsonschema", "networkx", "rich", "structlog", "trio", "typer", "yaml"]
)
def test_importing_agentflow_loads_nothing_heavy(heavy: str) -> None:
    assert heavy not in _after_agentflow()


@cache
def _after_agentflow() -> set[str]:
    return modules_after("import agentflow")


SMALL = """
from typing import TypedDict
from agentflow import define_workflow, field, node, route

State = TypedDict("State", {"x": int, "text": str})

async def look(state):
    return {"x": 1}

ways = [route.deliver("x", when=field("x") > 1), route.to("look")]
small = define_workflow("small", nodes=[node(look, requires=["text"], provides=["x"], starts_round=True, routes=ways)],
    state=State, inputs=["text"], result=int, max_rounds=3)
"""


@pytest.mark.parametrize("heavy", ["anyio", "asyncio", "pydantic", "pydantic_core"])
def test_a_first_small_definition_loads_nothing_that_only_a_run_needs(heavy: str) -> None:
    assert heavy not in _after_a_definition()


def test_an_engine_has_loaded_what_its_runs_need() -> None:
    assert "pydantic" in modules_after(f"{SMALL}\nfrom agentflow import Engine\nEngine(small)")


@cache
def _after_a_definition() -> set[str]:
    return modules_after(SMALL)


def test_the_definition_knows_nothing_of_the_run() -> None:
    every_room = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in modules(PACKAGE / "graph")
    ]
    loaded = modules_after("".join(f"import {room}\n" for room in every_room))
    assert "agentflow.graph" in loaded
    assert not {name for name in loaded if name.startswith("agentflow.run")}


def test_the_kernel_stands_on_its_foundations_only() -> None:
    strangers = {
        (str(path.relative_to(ROOT)), package)
        for room in KERNEL
        for path in ([PACKAGE / room] if room.endswith(".py") else modules(PACKAGE / room))
        if path.exists()
        for package in _packages_imported_by(path.read_text(encoding="utf-8"))
        if package not in FOUNDATIONS | sys.stdlib_module_names | {"agentflow"}
    }
    assert strangers <= EXCEPTIONS


def _packages_imported_by(source: str) -> set[str]:
    found: set[str] = set()
    for step in ast.walk(ast.parse(source)):
        match step:
            case ast.Import(names=names):
                found.update(alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                found.add(module.partition(".")[0])
            case _:
                pass
    return found
