"""Agents: thin shells around the agentic loop. They prepare its input, run it, and shape what comes of it."""

from __future__ import annotations

import contextlib
import copy
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from agentflow.agents.agent_node import node_of
from agentflow.agents.borrowed_store import BorrowedStore
from agentflow.agents.call_engine import CallEngine
from agentflow.agents.chat import chatting
from agentflow.agents.delegation import Delegation, check_share
from agentflow.agents.idle_stream import MOST_TURNS, stream_of
from agentflow.agents.option_check import check_options, check_own
from agentflow.agents.options import AgentOptions, CallOptions, Profile, ResumedCallOptions
from agentflow.agents.registration import with_registered
from agentflow.agents.result import ObjectResult, TextResult
from agentflow.agents.stream import AgentStream
from agentflow.agents.sync import Turn, waited
from agentflow.agents.task import identifier, task_of
from agentflow.agents.transfer import transfer_to
from agentflow.agents.trunk import opened
from agentflow.agents.workflows import Workflows
from agentflow.graph.limits import Budget
from agentflow.run.attach import UNANSWERED
from agentflow.run.registry import store_of
from agentflow.tools.tool import Tool, tool

if TYPE_CHECKING:
    from agentflow.agents.instructions import Instructions
    from agentflow.agents.loop_result import LoopResult
    from agentflow.graph.node import Node
    from agentflow.graph.workflow import Workflow
    from agentflow.run.facts import Fact
    from agentflow.run.ports import Observer, Store
    from agentflow.run.run import Run

__all__ = ["Agent"]

T = TypeVar("T")


class Agent:
    """A model with instructions and tools, that works step by step until it is done.

    It holds nothing of a call, so one agent serves any number of them, also at the same time. Its loop is a workflow:
    `agent.workflow`. With a store, or with models named by strings, use it as `async with Agent(…) as agent`, or close it.

    Args:
        name: What facts, errors and other agents call it.
        instructions: What the model is told before the conversation: a text, or a function of an `InstructionContext`.
        model: A provider, a `Model`, a `"provider:model"` string, or a list of these, each the fallback of the one before. A
            call may name another.
        tools: What the model may call: tools and toolkits.
        description: What it is good for, told to agents that may hand it a task.
        context: Its own part of the context; each call gets a copy, with the caller's laid over it.
        budget: The limits of every call.
        observers: Who gets the facts of every call.
        store: Where calls are recorded, so that they survive this process: a `Store`, or a URL.
        options: See `AgentOptions`.

    Raises:
        TypeError: A model, a tool, a store, a condition or an option is none.
        ValueError: A model's string names nothing that is installed, or two tools have the same id.
        DefinitionError: The options make no loop that could run, such as `max_steps=0`.
    """

    def __init__(
        self,
        name: str,
        instructions: Instructions | None = None,
        model: Any = None,
        tools: Iterable[Any] = (),
        *,
        description: str = "",
        context: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
        observers: Iterable[Observer | Callable[[Fact], Any]] = (),
        store: Store | str | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        check_own(name=name, description=description, tools=tools, observers=observers)
        check_options({"context": context, "max_steps": options.get("max_steps")})
        self.name = name
        # Weak, for its engine knows it: a circle would keep it until somebody collects garbage.
        self._itself = weakref.ref(self)
        self.description = description
        self.context: Mapping[str, Any] = {} if context is None else dict(context)
        given: dict[str, Any] = dict(options)
        steps = given.pop("max_steps", None)
        said = {"instructions": instructions, "model": model, "tools": tuple(tools), **given}
        self.profile = replace(Profile().over(said), max_steps=steps)
        self._own = self.profile.setup()
        self._budget = budget
        self._observers = tuple(observers)
        self._store: Store | None = store_of(store)
        self._workflows = Workflows(self.id, self._own)
        self._task: tuple[Workflow[LoopResult], Workflow[LoopResult]] | None = None
        # Now, and not with the first call: a model or a tool that cannot be used must not wait to say so.
        self._engine: CallEngine | None = self._engine_of(self.profile, self._store)
        self._entered = False
        self._turn = None if self._store is None else Turn(name)

    @property
    def id(self) -> str:
        """Its name as the id of its workflow, of its node in another workflow, and of the tool that asks it."""
        return identifier(self.name)

    @property
    def workflow(self) -> Workflow[LoopResult]:
        """What it runs, with what is `registered` where this is asked: to be drawn, bounded, validated, or taken apart."""
        return self._workflows.of(with_registered(self.profile, self))

    @property
    def engine(self) -> CallEngine:
        """The engine that makes its calls: for `runs`, `history`, `recover`, `cancel` and `drain`."""
        if self._engine is None:
            self._engine = self._engine_of(self.profile, self._store)
        return self._engine

    async def generate_text(self, input: Any, **options: Unpack[CallOptions]) -> TextResult:
        """Ask, and wait for the whole answer.

        Args:
            input: A text, a message, or a conversation: a list of messages.
            options: See `CallOptions`.

        Raises:
            AgentDenied: Whoever asks may not.
            RunCancelled: The call was cancelled.
            RunSuspended: A tool call waits for an approval; go on with `resume`.
            BudgetExceeded: A hard limit was reached.
            StructuredOutputNotGenerated: `output` was asked for, and the steps ended without it.
            ContractError: The context, an option or an answer of the application's code is not what it must be.
            Exception: What the model raised.
        """
        call = await opened(self, input, options)
        await call.begin()
        return await call.ended()

    def chat(
        self, input: Any, **options: Unpack[CallOptions]
    ) -> AbstractAsyncContextManager[Run[LoopResult]]:
        """Ask the model once: `async with agent.chat(…) as run`, and `await run.result()`. No tool call is made.

        What stands around a call stands around this one: permission, middleware, guardrails, memory and hooks. The tools are
        offered; the `tool_calls` of the result are those that the model has proposed, and have no results: who makes them gives the
        results with the next chat. Then the `finish_reason` is `max_steps`, as it is of a loop that has no step left.

        Leaving the block early stops the run. Raises what `generate_text` does: as the block is entered, or by the result.

        Args:
            input: As for `generate_text`.
            options: See `CallOptions`; what they say of further steps has no meaning.
        """
        return chatting(self, input, options)

    async def generate_object(
        self, input: Any, schema: type[T], **options: Unpack[CallOptions]
    ) -> ObjectResult[T]:
        """Ask for an answer of a type; tools may be called before.

        Args:
            input: As for `generate_text`.
            schema: The type, or `structured(type, …)`.
            options: See `CallOptions`.

        Raises:
            TypeError: There is no schema.
            OutputInvalid: The model's answer is not of the type, and stayed so.
            Exception: What `generate_text` raises.
        """
        if schema is None:
            raise TypeError("schema=None: give the type of the answer; generate_text gives a text")
        call = await opened(self, input, {**options, "output": schema})
        await call.begin()
        return ObjectResult.holding(await call.ended())

    def stream_text(
        self,
        input: Any,
        *,
        until_idle: bool = False,
        max_continuations: int = MOST_TURNS,
        **options: Unpack[CallOptions],
    ) -> AgentStream:
        """Ask, and take the answer while it is made: `async with agent.stream_text(…) as stream`.

        With `output`, `await stream.object` is the structured output. Takes and raises what `generate_text` does.

        Args:
            input: As for `generate_text`.
            until_idle: Keep the stream open until all background tasks that were begun in it have ended, and the model was
                told of each in a further turn. Without a memory that is written, it is a plain stream.
            max_continuations: How many further turns there may be; one more ends the stream with `BudgetExceeded`.
            options: See `CallOptions`.
        """
        return stream_of(
            self, input, options, until_idle=until_idle, max_continuations=max_continuations
        )

    def stream_object(
        self, input: Any, schema: type[T], **options: Unpack[CallOptions]
    ) -> AgentStream:
        """Deprecated: use `stream_text(…, output=schema)`, and `await stream.object`."""
        warnings.warn(
            "stream_object() is deprecated: use stream_text(…, output=schema) and 'await stream.object'",
            DeprecationWarning,
            stacklevel=2,
        )
        said: Any = {**options, "output": schema}
        return self.stream_text(input, **said)

    async def resume(
        self, run_id: str, answers: Any = UNANSWERED, **options: Unpack[ResumedCallOptions]
    ) -> TextResult:
        """Answer a suspended call and go on with it; returns and raises as `generate_text`.

        Args:
            run_id: The run, as `RunSuspended` and results tell it.
            answers: A mapping of request id to answer, or the bare answer when there is one request.
            options: See `ResumedCallOptions`.

        Raises:
            ResumeConflict: The run waits no more, or not for this answer.
            RuntimeError: The agent has no store.
        """
        call = await opened(self, None, {**options, "run_id": run_id}, answers=answers)
        await call.begin()
        return await call.ended()

    def generate_text_sync(self, input: Any, **options: Unpack[CallOptions]) -> TextResult:
        """`generate_text`, from code that is not async."""
        made: TextResult = waited(self, "generate_text", input, options)
        return made

    def generate_object_sync(
        self, input: Any, schema: type[T], **options: Unpack[CallOptions]
    ) -> ObjectResult[T]:
        """`generate_object`, from code that is not async."""
        said = {**options, "schema": schema}
        made: ObjectResult[T] = waited(self, "generate_object", input, said)
        return made

    @contextlib.contextmanager
    def apart(self) -> Iterator[Self]:
        """The same agent with an engine of its own, for a loop of its own; for calls that are not async alone.

        Raises:
            RuntimeError: It has a store that is open already where nobody can wait for it.
        """
        apart = copy.copy(self)
        apart._engine, apart._entered = None, False
        with self._turn or contextlib.nullcontext():
            if self._turn is not None and self._entered:
                raise RuntimeError(
                    f"agent {self.name!r} has a store, and is open in another loop; ask it there, as by anyio.from_thread.run"
                )
            yield apart

    def engine_for(self, profile: Profile) -> tuple[CallEngine, bool]:
        """The engine for a call, and whether it was made for it; for the trunk alone.

        Raises:
            TypeError: The call's model or a tool is none.
            ValueError: The model's string names nothing that is installed.
        """
        if self._store is not None and not self._entered:
            raise RuntimeError(
                f"agent {self.name!r} has a store, so it is entered first: async with Agent(…, store=…) as agent"
            )
        if self.is_as_made(profile):
            return self.engine, False
        store = None if self._store is None else BorrowedStore(self._store)
        return self._engine_of(profile, store), True

    def is_as_made(self, profile: Profile) -> bool:
        """Whether a profile is its own, and so is all that is proved of it: sub-agents may have what is registered for them."""
        return profile is self.profile and self.engine.workflow is self._workflows.of(profile)

    def made_for(self, profile: Profile) -> tuple[CallEngine, Workflow[LoopResult]]:
        """An engine and a `task` of its own for a profile, to be used below another run; for delegation alone."""
        return self._engine_of(profile, None), task_of(self.id, self._workflows.of(profile))

    def _engine_of(self, profile: Profile, store: Any) -> CallEngine:
        return CallEngine(
            self._workflows.of(profile),
            profile,
            own=self._own,
            agent=self._itself,
            budget=self._budget,
            observers=self._observers,
            store=store,
        )

    def as_tool(
        self, *, id: str | None = None, description: str | None = None, budget: Budget | None = None
    ) -> Tool:
        """A tool that hands a task to this agent, which works on it below the run of whoever calls.

        It shares the caller's context and cancel, spends what the caller's run has left, and has its own instructions, model
        and tools; without a model it asks the caller's. If it fails, the tool fails, and the caller goes on.

        Args:
            id: The tool's id; default: `ask_` and the agent's name.
            description: What a model is told; default: the agent's description.
            budget: What one task may spend at most.

        Raises:
            TypeError: The budget is none.
            ValueError: It limits seconds, which only a run has.
        """
        check_share(budget)
        told = description or self.description or f"Hand a task to {self.name}, and get the answer."
        tool_id = f"ask_{self.id}" if id is None else id
        return tool(Delegation(self, budget), id=tool_id, description=told)

    def as_handoff(
        self, *, id: str | None = None, description: str | None = None, carry: Any = None
    ) -> Tool:
        """A tool that hands the conversation over to this agent, which answers in place of the caller; for `handoffs`.

        It works below the caller's run as one that has a task does, with its own instructions, model and tools. What it comes to
        is what the call comes to. If it fails, the tool has failed, and the caller goes on.

        Args:
            id: The tool's id; default: `transfer_to_` and the agent's name.
            description: What a model is told; default: to whom it hands over, and the agent's description.
            carry: Makes of the conversation what is carried over, such as `Trim()` or `Summarise()`; default: all of it. Who
                asks a model for it says so by an attribute `uses`.

        Raises:
            TypeError: `carry` cannot be called.
        """
        return transfer_to(self, id=id, description=description, carry=carry)

    def as_node(
        self,
        id: str | None = None,
        *,
        input: str = "messages",
        output: str = "answer",
        budget: Budget | None = None,
        **options: Any,
    ) -> Node:
        """A node that asks this agent, in any other workflow; the agent has its own model and tools there.

        Args:
            id: The node's id; default: the agent's.
            input: The field with what it is asked: a text, or messages; put to `requires` by itself.
            output: The field for its answer, which is the text or the structured output; put to `provides` by itself.
            budget: What one visit may spend at most.
            options: `routes`, `on_error` and whatever else `node` takes; `uses` is what is proved of the agent.

        Raises:
            TypeError: The budget is none.
            ValueError: It limits seconds, which only a run has.
        """
        return node_of(self, id, input=input, output=output, budget=budget, options=options)

    @property
    def task(self) -> Workflow[LoopResult]:
        """Its workflow inside of one that has a node of its name, so that what happens below another run tells whose it is."""
        workflow = self.engine.workflow
        if self._task is None or self._task[0] is not workflow:
            self._task = workflow, task_of(self.id, workflow)
        return self._task[1]

    async def close(self) -> None:
        """Cancel what is running, and give back connections and the store; the agent can be used again."""
        self._entered = False
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()

    async def __aenter__(self) -> Self:
        await self.engine.__aenter__()
        self._entered = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Agent {self.name!r}>"
