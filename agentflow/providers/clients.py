"""The clients of a provider: one for each event loop, because connections belong to the loop that made them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from anyio.lowlevel import RunVar

__all__ = ["Client", "Clients"]


class Client(Protocol):
    """What the SDKs of the vendors have in common."""

    async def close(self) -> None:
        """Give the connections back."""
        ...


C = TypeVar("C", bound=Client)


class Clients(Generic[C]):
    """Makes a client for each loop that needs one; the first at once, since reading certificates would hold a loop up.

    Args:
        make: Makes a client.
        given: The caller's own client, used in every loop and closed by nobody here.
    """

    __slots__ = ("_given", "_made", "_make", "_spare")

    def __init__(self, make: Callable[[], C], given: C | None = None) -> None:
        self._make = make
        self._given = given
        self._spare: C | None = make() if given is None else given
        self._made: RunVar[Any] = RunVar(f"agentflow client {id(self)}")

    def get(self) -> C:
        """The client of the loop that is running."""
        if self._given is not None:
            return self._given
        client: C | None = self._made.get(None)
        if client is None:
            client, self._spare = self._spare or self._make(), None
            self._made.set(client)
        return client

    @property
    def unused(self) -> C:
        """A client that no loop has used yet, to be looked at before the first call."""
        assert self._spare is not None
        return self._spare

    async def aclose(self) -> None:
        """Close the client of the loop that is running; the next call makes another one."""
        client: C | None = self._made.get(None)
        if client is not None:
            self._made.set(None)
            await client.close()
