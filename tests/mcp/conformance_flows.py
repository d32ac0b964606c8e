"""Workflows as the conformance suite of the protocol wants its tools: served by `agentflow serve --mcp`."""

from __future__ import annotations

import base64
from typing import Any, NotRequired, TypedDict

from agentflow import Workflow, define_workflow, node, route
from agentflow.messages import FilePart
from agentflow.tools.output import ToolOutput

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


class State(TypedDict):
    said: NotRequired[Any]


def giving(id: str, value: Any) -> Workflow[Any]:
    """A workflow that gives the value, or raises it."""

    async def give(state: Any) -> Any:
        if isinstance(value, Exception):
            raise value
        return {"said": value}

    return define_workflow(
        id,
        nodes=[node(give, provides=["said"], routes=[route.deliver("said")])],
        state=State,
        inputs=[],
        result=str if isinstance(value, str | Exception) else type(value),
        description="For the conformance suite.",
    )


simple_text = giving("test_simple_text", "This is a simple text response for testing.")
image = giving("test_image_content", FilePart("image/png", PIXEL))
audio = giving("test_audio_content", FilePart("audio/wav", b"RIFF"))
resource = giving(
    "test_embedded_resource",
    FilePart("text/plain", b"This is an embedded resource content.", name="test://embedded"),
)
mixed = giving(
    "test_multiple_content_types",
    ToolOutput(
        "Multiple content types test:",
        (
            FilePart("image/png", PIXEL),
            FilePart("application/json", b'{"test":"data","value":123}', name="test://mixed"),
        ),
    ),
)
error = giving(
    "test_error_handling", RuntimeError("This tool intentionally returns an error for testing")
)


class Steps(TypedDict):
    done: NotRequired[int]


async def first(state: Any) -> Any:
    return {"done": 0}


async def second(state: Any) -> Any:
    return {"done": 50}


async def third(state: Any) -> Any:
    return {"done": 100}


progress = define_workflow(
    "test_tool_with_progress",
    nodes=[
        node(first, provides=["done"], routes=[route.to("second")]),
        node(second, provides=["done"], routes=[route.to("third")]),
        node(third, provides=["done"], routes=[route.deliver("done")]),
    ],
    state=Steps,
    inputs=[],
    result=int,
    waive={"AF211": "each step only shows that it was there"},
    description="For the conformance suite.",
)


class address(TypedDict):
    street: str
    city: str


class Person(TypedDict):
    name: NotRequired[str]
    address: NotRequired[address]
    found: NotRequired[bool]


async def find(state: Any) -> Any:
    return {"found": True}


schema = define_workflow(
    "json_schema_2020_12_tool",
    nodes=[node(find, provides=["found"], routes=[route.deliver("found")])],
    state=Person,
    inputs=[],
    optional_inputs=["name", "address"],
    result=bool,
    description="For the conformance suite.",
)
