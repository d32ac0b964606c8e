"""The mock server: a model behind a socket, in a thread of its own, from the first line of a test to the last."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
import anyio.to_thread

from agentflow.mock.chunking import Chunking
from agentflow.mock.server.serving import Served, Serving
from agentflow.mock.usage import Usage, word_usage
from agentflow.mock.wire.quirk import Quirk, checked_quirks
from agentflow.models.ports import Provider
from agentflow.run.ports import Clock, SystemClock

if TYPE_CHECKING:
    from agentflow.mock.server.listener import Listener

__all__ = ["MockServer"]


class MockServer:
    """A model that other programs reach by HTTP, in the formats of OpenAI and Anthropic.

    It listens from `open` to `close`, or inside of a `with` or an `async with`, on asyncio and on trio. It runs in a thread of
    its own with an event loop of its own, so functions of rules are called there. Whatever a client sends as a key is taken.

    ::

        with MockServer(MockModel([Rule(reply="Hello.")])) as server:
            client = OpenAI(base_url=server.openai_url, api_key="any")

    Args:
        model: Who answers: a `MockModel`, or any other provider.
        host: Where it listens. The default is the loopback interface, which no other machine can reach.
        port: On which port; 0 for a free one.
        names: Under which names `/v1/models` lists the model. A request may ask for any.
        usage: The figures that are told where the model reports none, as real servers always tell some; `None` for none.
        blocks: How the bytes of answers are cut on their way, such as `Chunking("bytes", 7, seed=1)`, which leaves characters
            and events in pieces; default: one block for an event.
        quirks: What it does that the formats do not say, as some servers do; `Quirk` lists them.
        clock: What answers are stamped by.
        keep: How many of the latest requests are kept.
        told: Is called with each request and how its answer begins, its HTTP status say; from the server's thread.

    Attributes:
        received: The latest requests, as they came over the wire.
    """

    def __init__(
        self,
        model: Provider,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        names: Sequence[str] | None = None,
        usage: Usage = word_usage,
        blocks: Chunking | None = None,
        quirks: Iterable[Quirk] = (),
        clock: Clock | None = None,
        keep: int = 1000,
        told: Callable[[Served, str], object] | None = None,
    ) -> None:
        if not callable(getattr(model, "stream", None)):
            raise TypeError(f"MockServer({model!r}): it is no model; it has no stream()")
        if isinstance(names, str):
            raise TypeError(f"MockServer(names={names!r}): it is a list of names")
        self.received: deque[Served] = deque(maxlen=keep)
        self._address = (host, port)
        self._listener: Listener | None = None
        self._serving = Serving(
            model=model,
            names=(getattr(model, "name", "mock"),) if names is None else tuple(names),
            usage=usage,
            blocks=blocks,
            quirks=checked_quirks(quirks),
            clock=SystemClock() if clock is None else clock,
            told=told,
            received=self.received,
        )

    @property
    def app(self) -> Any:
        """The ASGI application, for a server of your own, or for a client that needs no socket; made anew each time.

        Raises:
            ImportError: The extra `mock` is not installed.
        """
        _require_extra()
        from agentflow.mock.server.app import app_of

        return app_of(self._serving)

    def open(self) -> Self:
        """Start to listen. Returns when requests are answered; an open server stays as it is.

        Raises:
            ImportError: The extra `mock` is not installed.
            OSError: The address cannot be listened on.
        """
        if self._listener is None:
            app = self.app
            from agentflow.mock.server.listener import Listener

            self._listener = Listener(app, *self._address)
        return self

    def close(self) -> None:
        """Stop: what is being answered is broken off, and the port is free when it returns. Closing twice is nothing."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._open_listener().port

    @property
    def url(self) -> str:
        """Where it listens: the base URL for Anthropic's clients."""
        host = self._address[0]
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI's clients."""
        return f"{self.url}/v1"

    def _open_listener(self) -> Listener:
        if self._listener is None:
            raise RuntimeError("the mock server is not open: use it in a `with`, or call open()")
        return self._listener

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await anyio.to_thread.run_sync(self.open)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.close)

    def __repr__(self) -> str:
        where = self.url if self._listener is not None else "closed"
        return f"<MockServer {where}>"


def _require_extra() -> None:
    try:
        import starlette  # noqa: F401 - that they are there is all that is asked
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"the mock server needs {error.name}: install it with `pip install 'agentflow[mock]'`"
        ) from error
