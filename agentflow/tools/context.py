"""The tool context: what a tool's handler may see of the run that calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.signal import CancelSignal

__all__ = ["ToolContext"]


class ToolContext:
    """What a handler gets in its parameter of this type (or named `ctx`), and what authorisation decides on.

    Attributes:
        node: The context of the visit that calls; `node.sync` from a plain handler.
        tool_id: The tool.
        call_id: The id that the model gave to the call; `None` when a node calls by itself.
        attempt: Which try of the handler this is, from 1; 0 while the call is being authorised.
    """

    __slots__ = ("_key", "attempt", "call_id", "node", "tool_id")

    def __init__(
        self, node: NodeContext, tool_id: str, key: str, *, call_id: str | None, attempt: int = 0
    ) -> None:
        self.node = node
        self.tool_id = tool_id
        self.call_id = call_id
        self.attempt = attempt
        self._key = key

    @property
    def effect_id(self) -> str:
        """The id of this call in facts and receipts."""
        return self._key

    @property
    def run_id(self) -> str:
        """The run that calls."""
        return self.node.run_id

    @property
    def node_id(self) -> str:
        """The node that calls."""
        return self.node.node_id

    @property
    def signal(self) -> CancelSignal:
        """Cancelled when the run is; hand it to whatever takes long."""
        return self.node.signal

    @property
    def context(self) -> dict[str, Any]:
        """The caller's own map."""
        return self.node.context

    @property
    def identity(self) -> Any:
        """Who this is for, set by the host."""
        return self.node.identity

    @property
    def deps(self) -> Any:
        """The live objects that the caller gave to the run."""
        return self.node.deps

    @property
    def log(self) -> Any:
        """A structlog logger that knows run, node and tool."""
        return self.node.log.bind(tool=self.tool_id, call_id=self.call_id)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell observers how far the call is, as a `tool.progress` fact; from the loop's thread.

        Args:
            done: How much is done, in whatever unit; it should grow.
            total: How much there is to do, if that is known.
            message: What is being done, for people.
        """
        # Only now: a definition that has tools does not load what carries them out.
        from agentflow.run.effects import emit

        data = {"tool": self.tool_id, "done": done, "total": total}
        emit(self.node, "tool.progress", data=data, content=message, call_id=self._key)

    def effect_key(self, name: str = "effect") -> str:
        """An idempotency key for a service outside: the same for every try of this call, unique otherwise."""
        return f"{self._key}/{name}"

    def bail(self, value: Any) -> NoReturn:
        """End the run with `value` as its result."""
        self.node.bail(value)

    def __repr__(self) -> str:
        return f"<ToolContext tool {self.tool_id!r} called by {self.node!r}>"
