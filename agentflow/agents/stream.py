"""Streams: the answer of an agent while it is made, as text, as events, and as what comes of it in the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

import anyio

from agentflow.agents.background_task import BackgroundTasks
from agentflow.agents.call_end import finish_reason_of
from agentflow.agents.chunk_filter import ChunkFilter
from agentflow.agents.event_log import EventLog, EventReader
from agentflow.agents.events import FinishEvent, StartEvent, StepEvent
from agentflow.agents.log_sink import LogSink
from agentflow.agents.speaking import Speaker
from agentflow.agents.step import Step, message_id
from agentflow.errors import RunCancelled
from agentflow.messages.chunk import TextChunk

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from agentflow.agents.result import TextResult
    from agentflow.agents.trunk import AgentCall
    from agentflow.graph.bounds import Bounds
    from agentflow.messages.message import Message
    from agentflow.messages.part import ToolCall
    from agentflow.run.ports import Sink
    from agentflow.run.usage import Usage

__all__ = ["AgentStream", "Aggregate", "TextView"]

T = TypeVar("T")

_CUT: Final = "its caller was cancelled"


class Aggregate(Generic[T]):
    """What a stream comes to in the end; awaiting it takes the rest of the stream, if nobody else does."""

    __slots__ = ("_read", "_stream")

    def __init__(self, stream: AgentStream, read: Callable[[TextResult], T]) -> None:
        self._stream = stream
        self._read = read

    @property
    def done(self) -> bool:
        """Whether it is known."""
        return self._stream.settled

    def __await__(self) -> Generator[Any, Any, T]:
        return self._value().__await__()

    async def _value(self) -> T:
        return self._read(await self._stream.result())


class TextView(Aggregate[str]):
    """The text of a stream: iterated, its pieces as they come; awaited, what the model said last."""

    __slots__ = ()

    def __aiter__(self) -> TextReader:
        return TextReader(self._stream.events)


class TextReader:
    """Reads the text of a stream from its beginning, piece by piece."""

    __slots__ = ("_events", "_finished", "_speaker")

    def __init__(self, events: EventReader) -> None:
        self._events = events
        self._finished = False
        self._speaker = Speaker()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while not self._finished:
            event = await anext(self._events)
            heard = self._speaker.heard(event)
            if isinstance(heard, TextChunk):
                return heard.text
            if isinstance(event, FinishEvent):
                self._finished = True
                if event.error is not None:
                    # A text that broke off must not be taken for a whole one.
                    raise event.error
        raise StopAsyncIteration


class AgentStream:
    """One streamed call: `async with agent.stream_text(…) as stream`.

    The block is entered before the model has finished, and the model goes on only as fast as somebody takes what it says.
    Leaving the block early stops the run; with a store it is left `interrupted`. `text`, `tool_calls`, `steps` … can be kept and
    awaited later, also after the block if the stream has come to its end.

    Args:
        open: Opens the call.
        caller: The caller's own sink, which gets every chunk too.
    """

    def __init__(self, open: Callable[[Sink], Awaitable[AgentCall]], caller: Sink | None) -> None:
        self._open = open
        self._caller = caller
        self._log: EventLog | None = None
        self._call: AgentCall | None = None
        self._group: TaskGroup | None = None
        self._tasks: BackgroundTasks | None = None
        self._settled: anyio.Event | None = None
        self._result: TextResult | None = None
        self._error: BaseException | None = None

    async def __aenter__(self) -> Self:
        if self._log is not None:
            raise RuntimeError("this stream has begun already; make another one")
        self._log, self._settled = log, settled = EventLog(), anyio.Event()
        try:
            self._call = call = await self._begin(log)
        except BaseException as error:
            # Whoever awaits something of it is told as well, and does not wait for what will never come.
            refused = error if isinstance(error, Exception) else RunCancelled(_CUT)
            self._error = refused
            settled.set()
            log.end(FinishEvent(finish_reason=finish_reason_of(refused), error=refused))
            raise
        assert self._group is not None
        await self._group.__aenter__()
        self._group.start_soon(self._made, call, log)
        return self

    async def _begin(self, log: EventLog) -> AgentCall:
        """Open the call, and let its run begin."""
        sink = self._sink()
        call = await self._open(sink)
        self._group = anyio.create_task_group()
        self._tasks = BackgroundTasks(self._group)
        self._attach(sink, call)
        log.begin(StartEvent(run_id=call.run.id, response_id=self._response_id(call)))
        await call.begin()
        return call

    def _sink(self) -> LogSink:
        """Where one call says what it says."""
        return LogSink(self._begun(), self._caller)

    def _attach(self, sink: LogSink, call: AgentCall) -> None:
        """Have what a call says filtered by those who have a say in it, and what it begins owned by this stream."""
        profile = call.profile
        sink.open(ChunkFilter(profile.middlewares, profile.guardrails, call.view))
        self._tasks_begun().own(call.run)

    def _response_id(self, call: AgentCall) -> str:
        return message_id(call.loop_id, 1)

    def _tasks_begun(self) -> BackgroundTasks:
        assert self._tasks is not None
        return self._tasks

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._log is not None
        assert self._group is not None
        if not self._log.ended:
            await self._leave()
        self._tasks_begun().close()
        # Not told of the error: it would come out as a group, and it is the caller's own.
        try:
            await self._group.__aexit__(None, None, None)
        except BaseExceptionGroup as group:
            # What its tasks raise is no `Exception`, and ends the program: it comes out as `generate_text` raises it.
            raise group.exceptions[0] from None

    async def _leave(self) -> None:
        assert self._call is not None
        await self._call.run.stop("its reader left")

    async def _made(self, call: AgentCall, log: EventLog) -> None:
        finish = FinishEvent(finish_reason="cancelled")
        try:
            finish = await self._settle(call)
        finally:
            log.end(replace(finish, error=self._error))

    async def _settle(self, call: AgentCall) -> FinishEvent:
        """Make the call to its end; whoever awaits something of it gets what it raises."""
        reason = ""
        try:
            self._result, self._error = await _outcome_of(call)
            if self._result is not None:
                reason = self._result.finish_reason
            elif self._error is not None:
                reason = finish_reason_of(self._error)
        finally:
            if not reason:
                # The task of the block was cancelled, and the run with it.
                self._error, reason = _stopped(call), "cancelled"
            assert self._settled is not None
            self._settled.set()
        return FinishEvent(finish_reason=reason, error=self._error)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self._log is not None and self._log.ended

    @property
    def settled(self) -> bool:
        """Whether it is known what the call has come to."""
        return self._settled is not None and self._settled.is_set()

    async def result(self) -> TextResult:
        """Take the rest of the stream, and return what `generate_text` would have returned; raises what it raises."""
        self._begun().drive()
        assert self._settled is not None
        await self._settled.wait()
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    @property
    def events(self) -> EventReader:
        """Everything that is handed out, from the beginning: chunks, tool calls and results, steps, and the end."""
        return self._begun().read()

    def __aiter__(self) -> EventReader:
        return self.events

    @property
    def text(self) -> TextView:
        """The text, as it comes or as a whole."""
        return TextView(self, lambda result: result.text)

    @property
    def object(self) -> Aggregate[Any]:
        """The structured output."""
        return Aggregate(self, lambda result: result.object)

    @property
    def messages(self) -> Aggregate[tuple[Message, ...]]:
        """The whole conversation."""
        return Aggregate(self, lambda result: result.messages)

    @property
    def new_messages(self) -> Aggregate[tuple[Message, ...]]:
        """What was said since the input."""
        return Aggregate(self, lambda result: result.new_messages)

    @property
    def steps(self) -> Aggregate[tuple[Step, ...]]:
        """The steps."""
        return Aggregate(self, lambda result: result.steps)

    @property
    def tool_calls(self) -> Aggregate[tuple[ToolCall, ...]]:
        """The tool calls of all steps."""
        return Aggregate(self, lambda result: result.tool_calls)

    @property
    def usage(self) -> Aggregate[Usage]:
        """What the agent's own steps have used."""
        return Aggregate(self, lambda result: result.usage)

    @property
    def total_usage(self) -> Aggregate[Usage]:
        """What all model calls of the run have used."""
        return Aggregate(self, lambda result: result.total_usage)

    @property
    def cost(self) -> Aggregate[float | None]:
        """US dollars of the whole run, if every call has told what it cost."""
        return Aggregate(self, lambda result: result.cost)

    @property
    def finish_reason(self) -> Aggregate[str]:
        """Why it ended."""
        return Aggregate(self, lambda result: result.finish_reason)

    @property
    def steps_so_far(self) -> tuple[Step, ...]:
        """The steps that have ended, also of a stream that broke off."""
        found, speaker = [], Speaker()
        for event in self._begun().so_far():
            # The step that hands over ends when whoever has taken over has answered.
            heard = speaker.heard(event) or event
            if isinstance(heard, StepEvent):
                found.append(heard.step)
        return tuple(found)

    @property
    def text_so_far(self) -> str:
        """What was said up to now, also of a stream that broke off."""
        heard = map(Speaker().heard, self._begun().so_far())
        return "".join(event.text for event in heard if isinstance(event, TextChunk))

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self._opened().run.id

    @property
    def bounds(self) -> Bounds:
        """The proved worst case of the run."""
        return self._opened().run.workflow.bounds()

    def _opened(self) -> AgentCall:
        self._begun()
        assert self._call is not None
        return self._call

    def _begun(self) -> EventLog:
        if self._log is None:
            raise RuntimeError(
                "the stream has not begun: use 'async with agent.stream_text(…) as stream'"
            )
        return self._log


async def _outcome_of(call: AgentCall) -> tuple[TextResult | None, Exception | None]:
    """What a call has come to; caught where nothing leads back to its stream, which keeps the error."""
    try:
        return await call.ended(), None
    except Exception as error:
        return None, error


def _stopped(call: AgentCall) -> BaseException:
    """What whoever asks for the result of a call that was cut short is told."""
    try:
        call.run.outcome()
    except Exception as error:
        return error
    return RunCancelled(_CUT)
