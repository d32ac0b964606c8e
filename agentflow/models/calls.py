"""The models of an engine, and the calls that a visit makes of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agentflow.errors import ContractError
from agentflow.messages.chunk import Chunk
from agentflow.models.call import ModelCall
from agentflow.models.model import Model, as_model
from agentflow.models.request import request_of
from agentflow.models.transport import Transport, checked_transport
from agentflow.run.effects import Calls
from agentflow.run.ports import Reply

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["BoundModels", "ModelStream", "Models", "models_of"]


def models_of(model: Any, models: Mapping[str, Any]) -> Models:
    """The models of an engine.

    Args:
        model: The default: a `Model`, a provider, a `"provider:model"` string, the name of one of `models`, or `None`.
        models: Further models by name.

    Raises:
        TypeError: One of them is no model.
        ValueError: A string names no provider that is installed.
    """
    named = {name: as_model(value, name=name) for name, value in models.items()}
    if isinstance(model, str) and model in named:
        return Models(named[model], named)
    return Models(None if model is None else as_model(model), named)


class Models:
    """Every model that the nodes of an engine may call."""

    __slots__ = ("_default", "_named")

    def __init__(self, default: Model | None, named: Mapping[str, Model]) -> None:
        self._default = default
        self._named = named

    def bind(self, ctx: NodeContext) -> BoundModels:
        """The models, tied to the cancel, the budget and the facts of one visit."""
        return BoundModels(self, ctx)

    def find(self, name: str | None) -> Model:
        """The model of that name, or the default.

        Raises:
            ContractError: There is none.
        """
        if name is None:
            if self._default is None:
                raise ContractError(
                    "the engine has no model; give one: Engine(…, model=…) or workflow.run(…, model=…), in the shell --model"
                )
            return self._default
        if name not in self._named:
            listed = ", ".join(map(repr, self._named)) or "none"
            raise ContractError(
                f"the engine has no model {name!r}; registered: {listed} (give Engine(…, models={{{name!r}: …}}))"
            )
        return self._named[name]


class BoundModels:
    """`ctx.model`: the models as one attempt of one visit sees them."""

    __slots__ = ("_calls", "_ctx", "_models")

    def __init__(self, models: Models, ctx: NodeContext) -> None:
        self._models = models
        self._ctx = ctx
        self._calls = Calls(ctx, "model")

    async def invoke(self, input: Any, **options: Any) -> Reply:
        """Make one model call and return its parsed value; takes what `ModelCalls.invoke` takes.

        Raises:
            ModelError: The provider failed, or its answer was cut off.
            OutputInvalid: The answer does not keep the transport's contract.
            BudgetExceeded: The call, its input or its output is more than the budget allows.
            DeliveryError: The sink failed.
            ContractError: There is no such model or transport, or an argument is wrong.
        """
        call = self._call(input, **options)
        async with aclosing(call.chunks()) as chunks:
            async for _ in chunks:
                pass
        return call.reply()

    def stream(self, input: Any, **options: Any) -> ModelStream:
        """One model call with its chunks: `async with ctx.model.stream(…) as stream`; takes what `invoke` takes."""
        return ModelStream(self._call(input, **options))

    def _call(
        self,
        input: Any,
        *,
        transport: Transport | str = "text",
        model: str | None = None,
        instructions: str | None = None,
        tools: Iterable[Any] = (),
        tool_choice: str | None = None,
        max_output_tokens: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> ModelCall:
        ctx = self._ctx
        ctx.check_open()
        chosen = self._models.find(model)
        reading = _transport(chosen, transport)
        request = request_of(
            ctx,
            chosen,
            reading,
            reading.prepare(),
            input,
            instructions=instructions,
            tools=tools,
            tool_choice=tool_choice,
            max_output_tokens=max_output_tokens,
            parameters=parameters,
        )
        return ModelCall(ctx, request, self._calls.key(request.identity()))


def _transport(model: Model, transport: Transport | str) -> Transport:
    if isinstance(transport, str):
        if transport not in model.transports:
            listed = ", ".join(map(repr, model.transports))
            raise ContractError(
                f"model {model.name!r} has no transport {transport!r}; registered: {listed}"
            )
        return model.transports[transport]
    try:
        return checked_transport(transport)
    except TypeError as error:
        raise ContractError(str(error)) from error


class ModelStream:
    """The chunks of one model call as they come, and its reply in the end; entered with `async with`.

    The provider is asked for a chunk only when the last one was taken. Leaving the block early ends the call.
    """

    __slots__ = ("_call", "_chunks", "_reply")

    def __init__(self, call: ModelCall) -> None:
        self._call = call
        self._chunks: AsyncGenerator[Chunk, None] | None = None
        self._reply: Reply | None = None

    async def __aenter__(self) -> Self:
        self._chunks = self._call.chunks()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._chunks is not None
        await self._chunks.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        if self._chunks is None:
            raise RuntimeError(
                "the call has not begun: use 'async with ctx.model.stream(…) as stream'"
            )
        try:
            return await anext(self._chunks)
        except StopAsyncIteration:
            if self._reply is None:
                self._reply = self._call.reply()
            raise

    async def reply(self) -> Reply:
        """Take the chunks that are left, and return what `invoke` would have returned; raises what it raises."""
        async for _ in self:
            pass
        assert self._reply is not None
        return self._reply
