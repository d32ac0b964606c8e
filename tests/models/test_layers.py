"""What the model layer stands on: no HTTP, no vendor, and nothing of it is loaded before it is used."""

from __future__ import annotations

import pytest

from tests.house.repository import PACKAGE, ROOT, modules
from tests.house.test_imports import modules_after

ROOMS = ("messages", "models", "tools", "agents", "mock", "testing")
DOORS = ("agentflow.tools.web.fetch", "agentflow.mock.server.")
"""What fetches pages for rules that ask for them, and what serves; loaded by whoever opens them, not with the mock."""
HTTP = {
    "aiohttp",
    "anthropic",
    "http.client",
    "httpx",
    "openai",
    "requests",
    "urllib.request",
    "urllib3",
}


@pytest.mark.rule("R289")
def test_models_tools_and_agents_import_no_http_client_and_no_vendor() -> None:
    every_module = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for room in ROOMS
        for path in modules(PACKAGE / room)
    ]
    inside = [module for module in every_module if not module.startswith(DOORS)]
    loaded = modules_after("".join(f"import {module}\n" for module in inside))
    assert "agentflow.models.call" in loaded
    assert not loaded & HTTP


def test_importing_agentflow_loads_none_of_them() -> None:
    loaded = modules_after("import agentflow")
    assert not {name for name in loaded if name.startswith(tuple(f"agentflow.{r}" for r in ROOMS))}
    assert "pydantic" not in loaded


def test_a_kernel_without_models_and_tools_runs_without_their_layers() -> None:
    program = """
import agentflow as af
@af.node(provides=["x"], routes=[af.route.deliver("x")])
async def one(state):
    return {"x": 1}
assert af.define_workflow("w", nodes=[one]).run_sync({}) == 1
"""
    loaded = modules_after(program)
    assert "agentflow.run.engine" in loaded
    assert not loaded & {f"agentflow.{room}" for room in ROOMS}
