"""Delivery: one answer on its way to the client, and everything that goes wrong with it on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NoReturn

import anyio

from agentflow.errors import AgentflowError, ModelError
from agentflow.messages.message import Message
from agentflow.mock.fault import MalformedAnswer, Refused, status_of
from agentflow.mock.server.connection import EXTENSION, Connection
from agentflow.mock.server.serving import Serving
from agentflow.mock.stream import opened
from agentflow.mock.wire.asked import Asked
from agentflow.mock.wire.dialect import Answer, Dialect, Stamp, Wrong
from agentflow.mock.wire.event import Event, body_of
from agentflow.models.ports import ModelContext
from agentflow.run.signal import CancelSignal

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["Delivery", "headers_of"]

Told = Callable[[str], object]


class Delivery:
    """One answer, as an ASGI application that is called once.

    Args:
        serving: Which model answers, and how.
        dialect: The format.
        asked: What was asked.
        stamp: What the answer is marked with.
        told: Is called with how the answer begins: its HTTP status, or what becomes of the connection.
    """

    def __init__(
        self, serving: Serving, dialect: Dialect, asked: Asked, stamp: Stamp, told: Told
    ) -> None:
        self._serving = serving
        self._dialect = dialect
        self._asked = asked
        self._stamp = stamp
        self._told = told
        self._answer: Answer = dialect.answer(asked, stamp)
        self._gathered = self._answer.gathered
        self._started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; stop asking the model for it when the client has gone."""
        signal = CancelSignal()
        dropped: _Dropped | None = None
        self._send = send
        self._connection: Connection | None = scope.get("extensions", {}).get(EXTENSION)

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            signal.cancel("the client has gone")
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            try:
                await self._deliver(signal)
            except _Dropped as error:
                # Raised outside of the group, which would put it into a group of errors.
                dropped = error
            group.cancel_scope.cancel()
        if dropped is not None:
            raise dropped

    async def _deliver(self, signal: CancelSignal) -> None:
        try:
            await (self._stream if self._asked.stream else self._whole)(signal)
        except _Dropped:
            raise
        except MalformedAnswer:
            await self._malformed()
        except Exception as error:
            if isinstance(_root(error), ConnectionError):
                self._told("connection reset")
                await self._drop("reset")
            await self._failed(error)

    async def _stream(self, signal: CancelSignal) -> None:
        async with opened(self._serving.model, *self._call(signal)) as chunks:
            async for chunk in chunks:
                if chunk.type in ("usage", "finish"):
                    self._gathered.add(chunk)
                else:
                    await self._begin()
                    await self._events(self._answer.add(chunk))
        await self._begin()
        if self._gathered.finish is None:
            if "clean-cut" not in self._serving.quirks:
                await self._drop("cut")
            await self._body(b"", more=False)
            return
        self._serving.complete(self._asked, self._gathered)
        await self._events(self._answer.end())
        await self._body(b"", more=False)

    async def _whole(self, signal: CancelSignal) -> None:
        async with opened(self._serving.model, *self._call(signal)) as chunks:
            async for chunk in chunks:
                self._gathered.add(chunk)
        is_cut = self._gathered.finish is None
        body = self._whole_body()
        await self._start(200, "application/json", length=len(body))
        if is_cut:
            await self._body(body[: len(body) // 2])
            await self._drop("cut")
        await self._body(body, more=False)

    def _whole_body(self) -> bytes:
        self._gathered.finish = self._gathered.finish or "stop"
        self._serving.complete(self._asked, self._gathered)
        return body_of(self._answer.whole())

    def _call(self, signal: CancelSignal) -> tuple[tuple[Message, ...], ModelContext]:
        context = self._asked.context(f"mock-server/{self._stamp.number}", signal)
        return self._asked.messages, context

    async def _begin(self) -> None:
        if not self._started:
            self._serving.estimate(self._asked, self._gathered)
            await self._start(200, "text/event-stream; charset=utf-8")
            await self._events(self._answer.begin())

    async def _malformed(self) -> None:
        if not self._asked.stream:
            body = self._whole_body()
            broken = body[: len(body) // 2]
            await self._start(200, "application/json", length=len(broken))
            await self._body(broken, more=False)
            return
        await self._begin()
        await self._events([self._answer.broken()])
        await self._body(b"", more=False)

    async def _failed(self, error: Exception) -> None:
        wrong = _wrong(error)
        if self._started:
            await self._events(self._answer.failed(wrong))
            await self._body(b"", more=False)
            return
        more = {}
        if (wait := getattr(_root(error), "retry_after", None)) is not None:
            more["retry-after"] = f"{wait:g}"
        if isinstance(error, AgentflowError) and not isinstance(error, ModelError):
            # A mistake in the rules does not mend itself; both vendors' clients heed this.
            more["x-should-retry"] = "false"
        body = body_of(self._dialect.wrong(wrong))
        await self._start(wrong.status, "application/json", length=len(body), **more)
        await self._body(body, more=False)

    async def _drop(self, way: Literal["cut", "reset"]) -> NoReturn:
        """End the connection without an answer, or with half of one."""
        if self._connection is None:
            raise _Dropped(way)
        (self._connection.reset if way == "reset" else self._connection.cut)()
        # Until the server notices that the connection is gone, which ends this.
        await anyio.sleep_forever()
        raise AssertionError

    async def _start(
        self, status: int, type: str, *, length: int | None = None, **more: str
    ) -> None:
        self._started = True
        self._told(str(status))
        headers = headers_of(self._stamp, type, length) | more
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})

    async def _events(self, events: Iterable[Event]) -> None:
        for event in events:
            await self._body(event.encode(self._serving.quirks))

    async def _body(self, data: bytes, *, more: bool = True) -> None:
        blocks = [data] if self._serving.blocks is None else self._serving.blocks.cut_bytes(data)
        for block in blocks:
            await self._send({"type": "http.response.body", "body": block, "more_body": True})
        if not more:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def headers_of(stamp: Stamp, type: str, length: int | None) -> dict[str, str]:
    """The headers of an answer. Each vendor has its own name for the id of a request."""
    id = f"req_mock_{stamp.number}"
    headers = {"content-type": type, "x-request-id": id, "request-id": id}
    return headers if length is None else headers | {"content-length": str(length)}


class _Dropped(ConnectionAbortedError):
    """The answer was to be dropped, and the server that runs the application cannot do that but by an error."""

    def __init__(self, way: str) -> None:
        super().__init__(f"the mock model ends the connection on purpose: {way}")


def _root(error: Exception) -> BaseException:
    """What was meant: the cause of a model error where that says more."""
    cause = error.__cause__ if isinstance(error, ModelError) else None
    return cause if isinstance(cause, Refused | ConnectionError) else error


def _wrong(error: Exception) -> Wrong:
    match _root(error):
        case Refused() as refused:
            return Wrong(status=refused.status, message=refused.message, kind=refused.kind)
        case ModelError() as failed:
            return Wrong(status=status_of(failed), message=str(failed))
        case AgentflowError() as mistaken:
            return Wrong(status=400, message=str(mistaken), code=mistaken.code)
    return Wrong(status=500, message=f"{type(error).__name__}: {error}")
