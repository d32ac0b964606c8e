"""The floor: pydantic's own validation around the function, and each extra's package imported by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from bench.tools.function import Filter, look_up
from bench.tools.smith import ARGUMENTS

TITLE = "pydantic"
DISTRIBUTION = None
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}
EXTRAS = {
    "openai": "import openai",
    "anthropic": "import anthropic",
    "pydantic-ai": "import pydantic_ai.models",
    "mcp": "import mcp",
    "mock": "import starlette.applications, uvicorn",
}


def calling(calls: int) -> Callable[[], Awaitable[str]]:
    from pydantic import validate_call

    checked = validate_call(validate_return=True)(look_up)
    given: Any = ARGUMENTS

    async def act() -> str:
        said = ""
        for _ in range(calls):
            said = await checked(**given)
        return said

    return act


def validating() -> Callable[[], object]:
    from pydantic import BaseModel

    class Parameters(BaseModel, extra="forbid"):
        service: str
        since: int
        filters: list[Filter]
        order: Literal["newest", "oldest"] = "newest"

    return lambda: dict(Parameters.model_validate(ARGUMENTS))


def making() -> Callable[[], Mapping[str, object]]:
    from pydantic import TypeAdapter

    function: Any = look_up
    return lambda: TypeAdapter(function).json_schema()
