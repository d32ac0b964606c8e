"""A server of the SDK that tests change as they like: its tools, and what they do."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

__all__ = ["PNG", "House", "text"]

PNG = b"\x89PNG\r\n"
Do = Callable[[Any, dict[str, Any]], Awaitable[Any]]


def text(said: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=said)])


class House:
    """The server and what has happened in it.

    Attributes:
        log: What the tools have noted.
        cancelled: Opens when a call was cancelled by the client.
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.cancelled = anyio.Event()
        self.began = anyio.Event()
        self.tools: dict[str, tuple[types.Tool, Do]] = {}
        self._bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            "house",
            instructions="Knock first.",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        # What older clients are told, who cannot subscribe.
        make = self.server.create_initialization_options
        self.server.create_initialization_options = lambda *_: make(  # type: ignore[method-assign]
            NotificationOptions(tools_changed=True)
        )
        self._session: Any = None

    def add(
        self,
        name: str,
        do: Do,
        *,
        input: dict[str, Any] | None = None,
        output: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        tool = types.Tool(
            name=name,
            input_schema=input or {"type": "object"},
            output_schema=output,
            **more,
        )
        self.tools[name] = (tool, do)

    async def change(self) -> None:
        """Tell clients that the tools are others now."""
        await self._bus.publish(ToolsListChanged())
        await self._session.send_tool_list_changed()

    async def _list(self, ctx: Any, params: Any) -> types.ListToolsResult:
        self._session = ctx.session
        self.log.append("listed")
        # In pages of two.
        names = sorted(self.tools)
        start = int(params.cursor) if params and params.cursor else 0
        page = [self.tools[name][0] for name in names[start : start + 2]]
        more = str(start + 2) if len(names) > start + 2 else None
        return types.ListToolsResult(tools=page, next_cursor=more, ttl_ms=0)

    async def _call(self, ctx: Any, params: Any) -> Any:
        self.log.append(f"{params.name} {params.arguments}")
        return await self.tools[params.name][1](ctx, params.arguments or {})

    async def never(self, ctx: Any, arguments: dict[str, Any]) -> Any:
        """A tool that answers only to a cancel."""
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()


async def echo(ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
    return text(arguments.get("word", ""))


async def weigh(ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
    given = arguments["kilos"]
    return types.CallToolResult(
        content=[types.TextContent(text=f"{given} kg")], structured_content={"grams": given * 1000}
    )


async def show(ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
    data = base64.b64encode(PNG).decode()
    page = types.TextResourceContents(uri="note://1", text="A note.")
    blob = types.BlobResourceContents(uri="note://2", mime_type="application/pdf", blob=data)
    return types.CallToolResult(
        content=[
            types.TextContent(text="Look:"),
            types.ImageContent(data=data, mime_type="image/png"),
            types.EmbeddedResource(resource=page),
            types.EmbeddedResource(resource=blob),
            types.ResourceLink(name="more", uri="note://3", description="the rest"),
        ]
    )


async def walk(ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
    for step in (1, 2):
        await ctx.session.report_progress(step, 2, f"step {step}")
    return text("there")


async def refuse(ctx: Any, arguments: dict[str, Any]) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text="no such door")], is_error=True)
