"""One model call: let through, sent, received chunk by chunk, collected, counted, parsed; and always cleaned up.

Nothing is executed on seeing a chunk, and nothing is read ahead: the next chunk is asked for when the last one has been taken.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from agentflow.errors import AgentflowError, BudgetExceeded, DeliveryError, ModelError
from agentflow.graph.frozen import freeze
from agentflow.messages.chunk import Chunk, FinishChunk, UsageChunk
from agentflow.messages.message import Message
from agentflow.models.replay import chunks_of
from agentflow.models.request import ModelRequest
from agentflow.models.tries import Tries
from agentflow.run.effects import emit, is_listened_to, performing
from agentflow.run.ports import Invocation, Reply

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.effects import Digest, Performance

__all__ = ["Answer", "ModelCall"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave, before a transport reads it: the record of the effect."""

    message: Message
    invocation: Invocation


class ModelCall:
    """One call of a model by one visit.

    Args:
        ctx: The visit.
        request: What is asked.
        key: The key of the effect, and the id of the call.
        digest: The digest of the request's identity.
    """

    __slots__ = ("_answer", "_ctx", "_digest", "_key", "_tries", "request")

    def __init__(self, ctx: NodeContext, request: ModelRequest, key: str, digest: Digest) -> None:
        self._ctx = ctx
        self._key = key
        self._digest = digest
        self._tries: Tries | None = None
        self._answer: Answer | None = None
        self.request = request

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        """The chunks as they come, each one delivered to the sink first. Close it when you leave it early."""
        async with performing(self._ctx, "model", self._key, self._digest) as performance:
            if performance.recorded:
                self._answer = performance.value
                for chunk in chunks_of(performance.value.message):
                    yield chunk
                return
            self._tries = tries = Tries(self._ctx, self.request, self._key, performance)
            try:
                try:
                    while (come := await tries.next()) is not None:
                        await self._deliver(come)
                        yield come
                finally:
                    await tries.close()
                await self._keep(performance, tries)
            except BaseException as error:
                self._raise_failed(error, tries)

    async def take_whole(self) -> None:
        """Have the answer come, where nobody takes it piece by piece; raises what `chunks` raises."""
        async with performing(self._ctx, "model", self._key, self._digest) as performance:
            if performance.recorded:
                self._answer = performance.value
                return
            self._tries = tries = Tries(self._ctx, self.request, self._key, performance)
            delivers = self._ctx.run.sink is not None or is_listened_to(self._ctx)
            try:
                try:
                    while (come := await tries.next()) is not None:
                        if delivers:
                            await self._deliver(come)
                finally:
                    await tries.close()
                await self._keep(performance, tries)
            except BaseException as error:
                self._raise_failed(error, tries)

    async def _keep(self, performance: Performance, tries: Tries) -> None:
        """Read what has come, count it, and keep it."""
        trial = tries.last
        assert trial is not None
        message = trial.answer()
        trial.settle(partial=False)
        await performance.keep(Answer(message, self._invocation(tries)))
        self._answer = performance.value

    def _raise_failed(self, error: BaseException, tries: Tries) -> NoReturn:
        """Raise what the caller gets for an error."""
        raised = self._failed(error, tries)
        try:
            if raised is error:
                raise error
            # A copy of an error is no news beside it.
            copied = isinstance(error, ModelError) and error.__cause__ is not None
            raise raised from error.__cause__ if copied else error
        finally:
            del error, raised  # This frame stands in their tracebacks.

    @property
    def answer(self) -> Answer:
        """The answer, when it has come whole.

        Raises:
            ModelError: It has not.
        """
        if self._answer is None:
            raise ModelError(f"model {self.request.model.name!r}: the answer has not come whole")
        return self._answer

    def reply(self) -> Reply:
        """The parsed value of an answer that has come whole, and the record of the call.

        Raises:
            OutputInvalid: The answer does not keep the transport's contract.
        """
        answer = self.answer
        invocation = answer.invocation
        try:
            value = self.request.draft.transport.parse(answer.message)
        except Exception as error:
            self._tell_failed(error, invocation)
            raise
        if is_listened_to(self._ctx):
            data = {
                "model": invocation.name,
                "usage": invocation.usage,
                "finish_reason": invocation.finish_reason,
            }
            self._emit("model.completed", data, value)
        return Reply(value, invocation)

    async def _deliver(self, chunk: Chunk) -> None:
        """Hand a piece of content on, to the sink and to those who listen."""
        if isinstance(chunk, (UsageChunk, FinishChunk)):
            return
        sink = self._ctx.run.sink
        if sink is not None:
            try:
                await sink.send(replace(chunk, origin=self._key, stage=self.request.draft.stage))
            except Exception as error:
                raise DeliveryError(
                    f"node {self._ctx.node_id!r}: the sink failed to take a chunk: {type(error).__name__}: {error}"
                ) from error
        self._emit("model.chunk", {"type": chunk.type}, chunk)

    def _invocation(self, tries: Tries, *, partial: bool = False) -> Invocation:
        trial = tries.last
        assert trial is not None
        chars = {"input_chars": trial.request.chars, "output_chars": trial.collector.chars}
        return Invocation(
            id=self._key,
            kind="model",
            name=trial.request.model.name,
            node_id=self._ctx.node_id,
            usage=freeze({**chars, **tries.usage()}),
            partial=partial,
            finish_reason=trial.collector.finish_reason,
            seconds=self._ctx.run.monotonic() - tries.began,
            tries=tries.sent,
        )

    def _failed(self, error: BaseException, tries: Tries) -> BaseException:
        """What the caller gets for an error; a call that was sent is told and counted as far as it came."""
        trial = tries.last
        if trial is None or not tries.sent:
            return error
        # The error stands, whatever limit the figures pass.
        with suppress(BudgetExceeded):
            trial.settle(partial=True)
        invocation = self._invocation(tries, partial=True)
        raised = error
        if isinstance(error, ModelError):
            raised = _told(error, invocation)
        elif isinstance(error, Exception) and not isinstance(error, AgentflowError):
            text = f"model {invocation.name!r} failed: {type(error).__name__}: {error}"
            raised = ModelError(text, invocation=invocation)
        self._tell_failed(raised, invocation)
        return raised

    def _tell_failed(self, error: BaseException, invocation: Invocation) -> None:
        message = str(error)
        if isinstance(error, GeneratorExit):
            message = "the reader left before the end of the answer"
        data = {
            "model": invocation.name,
            "error": type(error).__name__,
            "message": message,
            "usage": invocation.usage,
        }
        self._emit("model.failed", data)

    def _emit(self, kind: str, data: dict[str, Any], content: Any = None) -> None:
        # An answer from the record is told as a replayed effect; no model was called.
        if self._tries is not None and self._tries.sent:
            emit(self._ctx, kind, data=data, content=content, call_id=self._key)


def _told(error: ModelError, invocation: Invocation) -> ModelError:
    """The same error, of the same kind, with the model and the record of the call."""
    times = "" if invocation.tries == 1 else f" in {invocation.tries} tries"
    text = f"model {invocation.name!r}{times}: {error}"
    try:
        # A provider may raise one object several times, so it is left as it is.
        told = copy.copy(error)
    except Exception:
        # A class of somebody else's, which takes other arguments.
        return ModelError(text, invocation=invocation, status=error.status)
    told.args, told.invocation = (text,), invocation
    return told
