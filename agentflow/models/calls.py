"""The calls that a visit makes of its models."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agentflow.errors import ContractError, OutputInvalid
from agentflow.messages.chunk import Chunk
from agentflow.models.call import ModelCall
from agentflow.models.correction import correction_of
from agentflow.models.model import Model
from agentflow.models.prepared import Prepared, consumed
from agentflow.models.request import Draft, ModelRequest, draft_of
from agentflow.models.transport import Transport, checked_transport
from agentflow.run.call_keys import Calls
from agentflow.run.effects import digest_of
from agentflow.run.ports import Invocation, Reply

if TYPE_CHECKING:
    from agentflow.models.source import Models
    from agentflow.run.context import NodeContext

__all__ = ["BoundModels", "ModelStream"]


class BoundModels:
    """`ctx.model`: the models as one attempt of one visit sees them."""

    __slots__ = ("_calls", "_ctx", "_models")

    def __init__(self, models: Models, ctx: NodeContext) -> None:
        self._models = models
        self._ctx = ctx
        self._calls = Calls(ctx, "model")

    async def invoke(self, input: Any, **options: Any) -> Reply:
        """Make one model call and return its parsed value; takes what `ModelCalls.invoke` takes.

        An answer that breaks the contract of a transport with `corrections` goes back to the model so often, each time as
        a call of its own, and only as long as there is one left.

        Raises:
            ModelError: The provider failed, or its answer was cut off.
            OutputInvalid: The answer does not keep the transport's contract.
            BudgetExceeded: The call, its input or its output is more than the budget allows.
            DeliveryError: The sink failed.
            ContractError: There is no such model or transport, or an argument is wrong.
        """
        call = self._call(input, options)
        corrected: list[Invocation] = []
        while True:
            await call.take_whole()
            try:
                reply = call.reply()
                return replace(reply, corrected=tuple(corrected)) if corrected else reply
            except OutputInvalid as error:
                again = correction_of(self._ctx, call, error, made=len(corrected))
                if again is None:
                    raise
                corrected.append(call.answer.invocation)
                call = self._keyed(again)

    def stream(self, input: Any, **options: Any) -> ModelStream:
        """One model call with its chunks: `async with ctx.model.stream(…) as stream`; takes what `invoke` takes.

        What was handed out cannot be taken back, so an answer that breaks the contract is an error at once.
        """
        return ModelStream(self._call(input, options))

    def prepare(
        self,
        *,
        stage: str | None = None,
        transport: Transport | str = "text",
        model: str | None = None,
        max_output_tokens: int | None = None,
        **options: Any,
    ) -> Prepared:
        """Fix everything of a call but its input, so that inputs can be measured before one is sent.

        Args:
            stage: What the call is for; facts tell it.
            transport: As in `invoke`, like `model`, and `instructions`, `tools`, `tool_choice` and `parameters` in `options`.
            max_output_tokens: How long the answer may be; so many tokens are set aside for it.

        Raises:
            ContractError: As in `invoke`.
        """
        draft = self._draft(
            stage=stage,
            transport=transport,
            model=model,
            max_output_tokens=max_output_tokens,
            **options,
        )
        return Prepared(self._ctx, replace(draft, reserve=True), self._models)

    def _call(self, input: Any, options: dict[str, Any]) -> ModelCall:
        self._ctx.check_open()
        prepared = options.pop("prepared", None)
        if prepared is None:
            draft = self._draft(**options)
        else:
            draft = consumed(prepared, self._ctx, self._models, options)
        return self._keyed(draft.asking(input))

    def _keyed(self, request: ModelRequest) -> ModelCall:
        digest = digest_of(self._ctx, request.identity)
        return ModelCall(self._ctx, request, self._calls.key(digest), digest)

    def _draft(
        self, *, transport: Transport | str = "text", model: str | None = None, **options: Any
    ) -> Draft:
        chosen = self._models.find(model)
        return draft_of(self._ctx, chosen, _transport(chosen, transport), **options)


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
