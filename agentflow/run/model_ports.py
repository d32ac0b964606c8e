"""The ports to models: what a node may do with them, owned here so that `ctx.model` is typed; the layer of models keeps them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from agentflow.run.ports import Reply

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Measurement", "ModelCalls", "ModelSource", "PreparedCall", "ReplyStream"]


class ReplyStream(Protocol):
    """The chunks of one model call as they come, and its reply when they have all come."""

    def __aiter__(self) -> AsyncIterator[Any]:
        """The chunks."""
        ...

    async def __anext__(self) -> Any:
        """The next chunk."""
        ...

    async def reply(self) -> Reply:
        """Take the chunks that are left, and return what `ModelCalls.invoke` would have returned."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """How large a request would be, and whether it would be let through now.

    Args:
        within_budget: Whether everything that it needs is left.
        input_chars: Its size in characters.
        input_tokens: Its size in tokens; `None` where the model has no counter.
        output_tokens: How many tokens are set aside for the answer.
        over: The limits of which too little is left.
    """

    within_budget: bool
    input_chars: int
    input_tokens: int | None
    output_tokens: int | None
    over: tuple[str, ...] = ()


class PreparedCall(Protocol):
    """A call of which everything but the input is fixed."""

    @property
    def stage(self) -> str | None:
        """What the call is for."""
        ...

    @property
    def model(self) -> str:
        """The name of the model that will be asked."""
        ...

    async def measure(self, input: Any) -> Measurement:
        """Measure a request with that input, without making it."""
        ...


class ModelCalls(Protocol):
    """The models as one visit sees them."""

    async def invoke(
        self,
        input: Any,
        *,
        transport: Any = "text",
        model: str | None = None,
        instructions: str | None = None,
        tools: Iterable[Any] = (),
        tool_choice: str | None = None,
        max_output_tokens: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        stage: str | None = None,
        prepared: Any = None,
    ) -> Reply:
        """Make one model call and return its parsed value.

        Args:
            input: A text, a message, or a list of them.
            transport: What the value is to be: the name of a registered transport, or a transport.
            model: The name of a registered model; default: the engine's own.
            instructions: A system text that goes before the input.
            tools: What is offered to the model: tools, tool specs, or ids of registered tools.
            tool_choice: `auto`, `none`, `required`, or the id of an offered tool.
            max_output_tokens: How long the answer may be, in the model's tokens.
            parameters: Whatever else the provider understands, by name.
            stage: What the call is for; facts tell it.
            prepared: A call that `prepare` has made, in place of all of these but the input.
        """
        ...

    def stream(
        self,
        input: Any,
        *,
        transport: Any = "text",
        model: str | None = None,
        instructions: str | None = None,
        tools: Iterable[Any] = (),
        tool_choice: str | None = None,
        max_output_tokens: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        stage: str | None = None,
        prepared: Any = None,
    ) -> AbstractAsyncContextManager[ReplyStream]:
        """Make one model call and hand out its chunks as they come: `async with ctx.model.stream(…) as stream`.

        Takes what `invoke` takes. Leaving the block early ends the call.
        """
        ...

    def prepare(
        self,
        *,
        stage: str | None = None,
        transport: Any = "text",
        model: str | None = None,
        instructions: str | None = None,
        tools: Iterable[Any] = (),
        tool_choice: str | None = None,
        max_output_tokens: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> PreparedCall:
        """Fix everything of a call but its input; takes what `invoke` takes.

        It is good for one call, of this run and of these models. `max_output_tokens` are set aside for the answer.
        """
        ...


class ModelSource(Protocol):
    """The models of an engine."""

    def bind(self, ctx: NodeContext) -> ModelCalls:
        """The models, tied to the cancel, the budget and the facts of one visit."""
        ...

    async def close(self) -> None:
        """Give back the connections that the models hold in the loop that is running, as far as they are the engine's own."""
        ...
