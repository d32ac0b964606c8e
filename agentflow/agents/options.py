"""What an agent may be told, when it is made and again with each call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict

from agentflow.agents.compression import Compressor
from agentflow.agents.delegation import Delegation
from agentflow.agents.guardrails import Guardrail, as_guardrails
from agentflow.agents.hooks import Hooks, as_hooks
from agentflow.agents.instructions import Instructions, Retriever, SubAgentNote
from agentflow.agents.loop import OnMaxSteps
from agentflow.agents.max_steps import default_steps, resolve_steps
from agentflow.agents.memory.settings import Memory, as_memory
from agentflow.agents.middleware import Middleware, as_middlewares
from agentflow.agents.option_check import check_options
from agentflow.agents.overlay import overlaid
from agentflow.agents.prompts import Prompts
from agentflow.agents.setup import LoopSetup
from agentflow.agents.step_plan import PrepareStep, StepPlan, chained, forcing
from agentflow.agents.stop import StopWhen, as_conditions
from agentflow.agents.structured_step import as_structured
from agentflow.agents.transfer import Transfer
from agentflow.graph.limits import Uses
from agentflow.run.options import ResumeOptions, RunOptions
from agentflow.tools.repeats import RepeatLimit
from agentflow.tools.tool import Tool
from agentflow.tools.toolkit import Toolkit
from agentflow.tools.workspace import Workspace

if TYPE_CHECKING:
    from agentflow.agents.agent import Agent
    from agentflow.agents.permission import Permission
    from agentflow.run.ports import Authorize

__all__ = ["AgentOptions", "CallOptions", "Profile", "ResumedCallOptions"]


class AgentOptions(TypedDict, total=False):
    """What an agent is told besides its name, instructions, model and tools; all of it may be said anew with a call.

    What a call says is laid over what the agent says: `models`, `parameters` and `context` are merged, at every depth; `tools`
    and `observers` are added; `prepare_step` is asked after the agent's; of a `budget` both hold; everything else is replaced.

    Attributes:
        markdown: Whether the model is told to answer in Markdown.
        retriever: Finds what belongs to the current question, asked once for each attempt.
        prompts: The application's texts, for functions of instructions.
        headers: The headers of the request that a call answers, for the same.
        models: Further models by name, for step plans and sub-agents.
        max_steps: How many steps the loop may take.
        on_max_steps: What happens when they run out: `stop`, `answer` or `raise`.
        stop_when: Conditions of which any ends the loop.
        prepare_step: Says what one step asks with; that of the call is laid over that of the agent.
        tool_choice: What the model must call in step 1: `required`, or the id of a tool.
        output: The type of the structured output.
        max_output_tokens: How long each answer may be.
        parameters: Whatever else the provider understands, by name.
        repeat_limit: How often the model may make the same tool call.
        context_type: What the context must be: a TypedDict, a pydantic model, or any other type.
        middlewares: Who rewrites what passes; those of a call are added after the agent's.
        max_middleware_retries: How many further attempts middleware may ask for.
        guardrails: Who judges what passes, likewise.
        hooks: Who is told, likewise: `Hooks`, or several of them.
        sub_agents: Agents that tasks can be handed to, each by a tool of its own.
        max_delegations: How many tasks may be handed out in one step.
        handoffs: Agents that the conversation can be handed to, each by a tool of its own; an agent, or what its `as_handoff`
            makes.
        permission: Whether whoever asks may: a function of the call, plain or async.
        authorize: A policy `(tool, input, ctx) -> bool` that every tool call must pass.
        require_authorization: Refuse tools that neither policy speaks of.
        max_parallel_tools: How many tool calls of one answer run at the same time.
        memory: What is remembered from call to call: a `Memory`; `False` for nothing, whatever the agent says; `None` says
            nothing, so that an agent has no memory, and a call what the agent has.
        compressor: Makes a long conversation shorter before the model is asked: `Summarise(…)`, `Trim(…)`, or an async function of
            the messages and the context; the conversation itself, and what is remembered of it, stay what they are.
        compress_above_chars: How long it may be, in characters, before that.
    """

    markdown: bool
    retriever: Retriever | None
    prompts: Prompts
    headers: Mapping[str, str]
    models: Mapping[str, Any]
    max_steps: int | None
    on_max_steps: OnMaxSteps
    stop_when: StopWhen | Iterable[StopWhen] | None
    prepare_step: PrepareStep | None
    tool_choice: str | None
    output: Any
    max_output_tokens: int | None
    parameters: Mapping[str, Any]
    repeat_limit: RepeatLimit | None
    context_type: Any
    middlewares: Iterable[Any]
    max_middleware_retries: int
    guardrails: Iterable[Any]
    hooks: Hooks | Iterable[Hooks]
    sub_agents: Iterable[Agent]
    max_delegations: int
    handoffs: Iterable[Agent | Tool]
    permission: Permission | None
    authorize: Authorize | None
    require_authorization: bool
    max_parallel_tools: int
    memory: Memory | Literal[False] | None
    compressor: Compressor | None
    compress_above_chars: int


class SaidAnew(AgentOptions, total=False):
    """Everything that an agent may be told, as a call may say it anew.

    Attributes:
        instructions: What the model is told before the conversation, in place of the agent's.
        model: The model, in place of the agent's.
        tools: Tools besides the agent's.
    """

    instructions: Instructions | None
    model: Any
    tools: Iterable[Any]


class ResumedCallOptions(SaidAnew, ResumeOptions, total=False):
    """What a call that goes on may say: what it has said before is said again, for nobody has kept it."""


class CallOptions(SaidAnew, RunOptions, total=False):
    """What one call may say: everything that an agent may be told, what a run may be given, and whose memory it has.

    Attributes:
        resource_id: Whose memory it is, unless identity or context say it.
        thread_id: Which conversation it belongs to, likewise.
    """

    resource_id: str | None
    thread_id: str | None


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What holds for one call: the agent's own options with those of the call laid over them.

    Args:
        call_steps: What the call says of the steps; `max_steps` is what the agent says.
        streams: Whether the answer is handed out while it is made, so that nothing of it can be taken back.
        chats: Whether the model is asked once, and no loop is run.
    """

    instructions: Instructions | None = None
    markdown: bool = False
    retriever: Retriever | None = None
    prompts: Prompts = field(default_factory=Prompts)
    headers: Mapping[str, str] = field(default_factory=dict)
    model: Any = None
    models: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[Any, ...] = ()
    max_steps: int | None = None
    call_steps: int | None = None
    on_max_steps: OnMaxSteps = "stop"
    stop_when: tuple[StopWhen, ...] = ()
    prepare_step: tuple[PrepareStep, ...] = ()
    tool_choice: str | None = None
    output: Any = None
    max_output_tokens: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    repeat_limit: RepeatLimit | None = None
    context_type: Any = None
    middlewares: tuple[Middleware, ...] = ()
    max_middleware_retries: int = 0
    guardrails: tuple[Guardrail, ...] = ()
    hooks: tuple[Hooks, ...] = ()
    max_delegations: int = 10
    permission: Permission | None = None
    authorize: Authorize | None = None
    require_authorization: bool = False
    max_parallel_tools: int = 10
    memory: Memory | None = None
    compressor: Compressor | None = None
    compress_above_chars: int = 20_000
    streams: bool = False
    chats: bool = False

    def over(self, call: Mapping[str, Any]) -> Self:
        """What holds when the options of a call are laid over these.

        Raises:
            TypeError: There is no such option, or one of them is not what it must be.
        """
        said = {name: value for name, value in call.items() if value is not None}
        known = {each.name for each in fields(self)} - {"call_steps", "streams", "chats"}
        known |= {"sub_agents", "handoffs"}
        unknown = said.keys() - known
        if unknown:
            raise TypeError(f"an agent has no option {', '.join(map(repr, sorted(unknown)))}")
        check_options(said)
        made = [_handing_to(agent) for agent in said.pop("sub_agents", ())]
        made += [_over_to(agent) for agent in said.pop("handoffs", ())]
        if made or "tools" in said:
            said["tools"] = (*self.tools, *said.get("tools", ()), *made)
        for name in ("models", "parameters"):
            if name in said:
                said[name] = overlaid(getattr(self, name), said[name])
        if "max_steps" in said:
            said["call_steps"] = said.pop("max_steps")
        if "stop_when" in said:
            said["stop_when"] = as_conditions(said["stop_when"])
        for name, as_records in (("middlewares", as_middlewares), ("guardrails", as_guardrails)):
            if name in said:
                own = getattr(self, name)
                said[name] = (*own, *as_records(said[name], before=len(own)))
        if "hooks" in said:
            said["hooks"] = (*self.hooks, *as_hooks(said["hooks"]))
        if "memory" in said:
            said["memory"] = as_memory(said["memory"])
        if "prepare_step" in said:
            said["prepare_step"] = (*self.prepare_step, said["prepare_step"])
        return replace(self, **said) if said else self

    @property
    def steps(self) -> int:
        """How many steps there are."""
        default = default_steps(
            workspace=any(isinstance(tool, Workspace) for tool in self.tools),
            sub_agents=len(self.delegations),
        )
        return resolve_steps(
            call=self.call_steps,
            agent=self.max_steps,
            default=default,
            stops=bool(self.stop_when),
        )

    @property
    def delegations(self) -> tuple[Delegation, ...]:
        """How it can hand tasks to other agents."""
        handlers = (getattr(tool, "handler", None) for tool in self._listed())
        return tuple(handler for handler in handlers if isinstance(handler, Delegation))

    @property
    def handoffs(self) -> Mapping[str, Transfer]:
        """By which tools it can hand the conversation to other agents."""
        handlers = {tool.id: tool.handler for tool in self._listed() if isinstance(tool, Tool)}
        return {id: one for id, one in handlers.items() if isinstance(one, Transfer)}

    def _listed(self) -> Iterator[Any]:
        """The tools that are known: what lies behind a connection is no agent of this process."""
        for item in self.tools:
            yield from item.tools if isinstance(item, Toolkit) else (item,)

    @property
    def delegated_calls(self) -> int | None:
        """How many model calls sub-agents may make in one step, as it is proved of them; `None` for any number."""
        bounds = [one.agent.workflow.bounds().model_calls.value for one in self.delegations]
        known = [bound for bound in bounds if bound is not None]
        if len(known) < len(bounds):
            return None
        return self.max_delegations * max(known, default=0)

    @property
    def handing(self) -> Uses | None:
        """What whoever takes the conversation over may spend, as it is proved of them; `None` if nobody can."""
        bounds = [one.model_calls for one in self.handoffs.values()]
        if not bounds:
            return None
        known = [bound for bound in bounds if bound is not None]
        return Uses(model_calls=max(known) if len(known) == len(bounds) else None, tool_calls=None)

    @property
    def is_guarded(self) -> bool:
        """Whether somebody stands before or after the loop."""
        found: list[object] = [one.input or one.turn or one.output for one in self.middlewares]
        found += [one.input or one.output for one in self.guardrails]
        return any(found) or self.memory is not None

    @property
    def takes_turns(self) -> bool:
        """Whether middleware stands around the turn."""
        return any(one.turn is not None for one in self.middlewares)

    @property
    def sends(self) -> int:
        """How often a step may send its model request."""
        asks = any(one.request is not None for one in self.middlewares)
        return 1 + self.max_middleware_retries if asks else 1

    @property
    def judges_beside(self) -> bool:
        """Whether a guardrail judges the input while the loop is at work."""
        return any(one.input is not None and one.when == "beside" for one in self.guardrails)

    def setup(self) -> LoopSetup:
        """The setup of its loop."""
        wanted = as_structured(self.output)
        prepare = chained(self.prepare_step) if self.prepare_step else None
        if self.tool_choice is not None:
            prepare = forcing(self.tool_choice, prepare)
        return LoopSetup(
            instructions=self.instructions,
            markdown=self.markdown,
            retriever=self.retriever,
            prompts=self.prompts,
            headers=self.headers,
            sub_agents=tuple(
                SubAgentNote(one.agent.name, one.agent.description) for one in self.delegations
            ),
            plan=StepPlan(max_output_tokens=self.max_output_tokens, parameters=self.parameters),
            prepare_step=prepare,
            stop_when=self.stop_when,
            output=wanted,
            # What was handed out cannot be taken back.
            corrections=0 if wanted is None or self.streams else wanted.corrections,
            repeat_limit=self.repeat_limit,
            middlewares=self.middlewares,
            guardrails=self.guardrails,
            hooks=self.hooks,
            retries=self.max_middleware_retries,
            memory=self.memory,
            handoffs=self.handoffs,
            compressor=self.compressor,
            compress_above_chars=self.compress_above_chars,
        )


def _handing_to(agent: Any) -> Tool:
    """The tool that hands a task to an agent.

    Raises:
        TypeError: It is no agent.
    """
    if not callable(getattr(agent, "as_tool", None)):
        raise TypeError(f"sub_agents: {agent!r} is no agent")
    made: Tool = agent.as_tool()
    return made


def _over_to(agent: Any) -> Tool:
    """The tool that hands the conversation to an agent.

    Raises:
        TypeError: It is neither an agent nor such a tool.
    """
    if isinstance(agent, Tool) and isinstance(agent.handler, Transfer):
        return agent
    if not callable(getattr(agent, "as_handoff", None)):
        raise TypeError(
            f"handoffs: {agent!r} is no agent; give agents, or agent.as_handoff(…). They are made before this one, so that no "
            f"hand-off leads back in a circle"
        )
    made: Tool = agent.as_handoff()
    return made
