"""The other side of a provider, in process: a transport for the vendors' own clients that answers with recorded bytes."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

import anyio
import httpx2

__all__ = ["Recorded", "sse"]


def sse(*bodies: Any, names: bool = False, end: str | None = None) -> bytes:
    """Events as a server sends them; with `names` each is named by its own type."""
    lines = []
    for body in bodies:
        name = f"event: {body['type']}\n" if names else ""
        lines.append(f"{name}data: {json.dumps(body)}\n\n")
    if end is not None:
        lines.append(f"data: {end}\n\n")
    return "".join(lines).encode()


class Recorded(httpx2.AsyncBaseTransport):
    """Answers each request with what `answer(request)` gives: a body, or a response; keeps what was asked.

    Args:
        answer: The bytes of a stream, in one piece or in several, a response, or an exception; or a function of the request.
        fails: Raised in the middle of the connection, when the pieces have been sent.
        stalls: Whether nothing more comes then, and the connection stays open.
    """

    def __init__(
        self, answer: Any, *, fails: Exception | None = None, stalls: bool = False
    ) -> None:
        self.answer = answer
        self.fails = fails
        self.stalls = stalls
        self.requests: list[Any] = []
        self.headers: list[Any] = []
        self.paths: list[str] = []
        self.closed = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        self.requests.append(json.loads(body) if body else None)
        self.headers.append(request.headers)
        self.paths.append(request.url.path)
        answer = self.answer(self.requests[-1]) if callable(self.answer) else self.answer
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx2.Response):
            return answer
        pieces = [answer] if isinstance(answer, bytes) else list(answer)
        return httpx2.Response(
            200,
            headers={"content-type": "text/event-stream; charset=utf-8"},
            stream=_Body(pieces, self),
        )


class _Body(httpx2.AsyncByteStream):
    def __init__(self, pieces: Sequence[bytes], owner: Recorded) -> None:
        self.pieces = pieces
        self.owner = owner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece
        if self.owner.fails is not None:
            raise self.owner.fails
        if self.owner.stalls:
            await anyio.sleep_forever()

    async def aclose(self) -> None:
        self.owner.closed += 1


def split(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """The bytes in pieces."""
    edges = [0, *sorted(cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


Answer = Callable[[Any], Any]
