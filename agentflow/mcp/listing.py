"""What a server offers, asked for page by page, and the news that it has changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
from anyio import TASK_STATUS_IGNORED

from agentflow.mcp.failure import MCPInvalid, MCPUnavailable
from agentflow.mcp.sdk import (
    MODERN_PROTOCOL_VERSIONS,
    Client,
    MCPError,
    SubscriptionLost,
    types,
)

if TYPE_CHECKING:
    from anyio.abc import TaskStatus

__all__ = ["Listing", "hear_news", "listed"]

_PAGES: Final = 1000
"""A list that has no end must not keep anybody waiting for it."""

_AGAIN: Final = 1.0
"""Seconds before a subscription that was lost is asked for again."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offers: its tools as it describes them, and what a model must know to use them."""

    tools: tuple[types.Tool, ...]
    instructions: str


async def listed(server: str, client: Client) -> Listing:
    """All tools of a server, and its instructions.

    Args:
        server: Its name, for errors.
        client: The client that is connected to it.

    Raises:
        MCPUnavailable: The connection was lost meanwhile.
        MCPInvalid: The list cannot be read, or has no end.
    """
    instructions = client.instructions or ""
    if client.server_capabilities.tools is None:
        return Listing((), instructions)
    found: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        try:
            page = await client.list_tools(cursor=cursor)
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                raise MCPUnavailable(server, "the connection was lost") from error
            raise MCPInvalid(server, f"it does not list its tools: {error}") from error
        except ValueError as error:
            # pydantic's, whose text is long and says it in terms of the SDK's own classes.
            raise MCPInvalid(
                server, f"its list of tools cannot be read: {_first(error)}"
            ) from error
        found.extend(page.tools)
        cursor = page.next_cursor
        if cursor is None:
            return Listing(tuple(found), instructions)
    raise MCPInvalid(server, f"its list of tools has more than {_PAGES} pages")


def _first(error: ValueError) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


async def hear_news(
    client: Client,
    changed: Callable[[], object],
    *,
    task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
) -> None:
    """Call `changed` whenever the server says that its tools have changed, as servers since 2026-07-28 have to be asked to say.

    Older ones say it unasked, and there is nothing to do. It has started when nothing is missed any more.
    """
    if not _must_be_asked(client):
        task_status.started()
        return
    heard = False
    while True:
        try:
            async with client.listen(tools_list_changed=True) as news:
                if heard:
                    # What was said meanwhile is not said again.
                    changed()
                else:
                    heard = True
                    task_status.started()
                async for _ in news:
                    changed()
            return
        except SubscriptionLost:
            await anyio.sleep(_AGAIN)
        except MCPError:
            # It takes no subscription after all; or the connection has gone, which others notice.
            break
    if not heard:
        task_status.started()


def _must_be_asked(client: Client) -> bool:
    offered = client.server_capabilities.tools
    modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
    return modern and offered is not None and bool(offered.list_changed)
