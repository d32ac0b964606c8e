"""A server behind a socket, in a thread with an event loop of its own: whoever asks it may be on any loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager

from anyio.from_thread import start_blocking_portal

__all__ = ["beside"]


@contextmanager
def beside(listen: Callable[[], AbstractAsyncContextManager[str]]) -> Iterator[str]:
    """The address of what `listen` enters, until the block ends."""
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(listen()) as address,
    ):
        yield address
