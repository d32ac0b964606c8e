"""Instructions: what a model is told before the conversation, gathered from its sources and stacked in one fixed order.

Gathering asks: the author's function, the retriever, the working memory. Stacking is pure.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from agentflow.agents.prompts import Prompts
from agentflow.errors import ContractError
from agentflow.messages.message import Message, Provenance, system

__all__ = [
    "InstructionContext",
    "InstructionSources",
    "Instructions",
    "Layer",
    "LayerName",
    "Retriever",
    "SubAgentNote",
    "gather",
    "stack",
    "supervisor_layers",
]

LayerName = Literal[
    "supervisor_opening",
    "base",
    "toolkit",
    "markdown",
    "retrieved",
    "working_memory",
    "supervisor_rules",
]
"""Every kind of layer, in the order in which they are stacked: the supervisor's text stands around all others."""

_PLACES: Final = {name: place for place, name in enumerate(get_args(LayerName))}
_MARKDOWN: Final = "Write your answers in Markdown."
_RULES: Final = (
    "Delegate a task to an agent when its description fits the task better than you do yourself.",
    "Say all that the agent needs to know: it sees neither this conversation nor the other agents.",
    "Do not do again what an agent has done; use what it gave.",
    "When an agent fails, tell what went wrong, try it another way or do it yourself.",
    "You answer the user, in your own words, from what the agents gave.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionContext:
    """What instructions may depend on.

    Args:
        context: The context of the run.
        identity: Who asks, as the host has said.
        headers: The headers of the request that the run answers.
        prompts: The application's texts, by name.
        query: What is asked, for a retriever.
    """

    context: Any = None
    identity: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    prompts: Prompts = field(default_factory=Prompts)
    query: str = ""


Instructions = str | Callable[[InstructionContext], str | Awaitable[str]]
"""A text, or a function, plain or async, that makes it for each attempt."""

Retriever = Callable[
    [str, InstructionContext], str | Iterable[str] | Awaitable[str | Iterable[str]]
]
"""Finds what belongs to a query: one text or several, none if there is nothing. Its `name`, or that of the function, is what
errors call it."""


@dataclass(frozen=True, slots=True)
class SubAgentNote:
    """What a supervisor is told of an agent that it may delegate to."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionSources:
    """Where the layers come from.

    Args:
        base: The author's instructions.
        toolkits: What the toolkits say that have something to say, such as `ctx.tools.instructions`.
        markdown: Whether answers are wanted in Markdown.
        retriever: Finds what belongs to the question; asked once each time the instructions are gathered.
        working_memory: Reads the working memory, plain or async; `None` where the memory has none.
        sub_agents: The agents that this one may delegate to.
    """

    base: Instructions | None = None
    toolkits: Sequence[str] = ()
    markdown: bool = False
    retriever: Retriever | None = None
    working_memory: Callable[[], str | Awaitable[str | None] | None] | None = None
    sub_agents: Sequence[SubAgentNote] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the instructions.

    Args:
        name: Its kind, which tells its place.
        text: What it says.
        provenance: Where it comes from: code of the application, or a memory.
    """

    name: LayerName
    text: str
    provenance: Provenance = "contributed"


async def gather(
    sources: InstructionSources, context: InstructionContext | None = None
) -> tuple[Layer, ...]:
    """Ask the sources, one after the other, for what they have to say now. Whatever says nothing makes no layer.

    Args:
        sources: Where the layers come from.
        context: What they may depend on.

    Raises:
        ContractError: A source gave something other than a text.
        Exception: Whatever a source raises, as it is, with a note that names the source.
    """
    context = InstructionContext() if context is None else context
    found = [Layer("base", await _base(sources.base, context))]
    found += [Layer("toolkit", text) for text in sources.toolkits]
    if sources.markdown:
        found.append(Layer("markdown", _MARKDOWN))
    if sources.retriever is not None:
        text = await _retrieved(sources.retriever, context)
        found.append(Layer("retrieved", _within("context", text)))
    if sources.working_memory is not None:
        text = await _remembered(sources.working_memory)
        found.append(Layer("working_memory", _within("working_memory", text), "memory"))
    found += supervisor_layers(sources.sub_agents)
    return tuple(layer for layer in found if layer.text.strip())


def stack(layers: Iterable[Layer]) -> tuple[Message, ...]:
    """The layers as instructions of a request, one message each, in the fixed order, whatever order they come in.

    Layers of one kind keep their order.
    """
    ordered = sorted(layers, key=lambda layer: _PLACES[layer.name])
    return tuple(system(layer.text, provenance=layer.provenance) for layer in ordered)


def supervisor_layers(agents: Sequence[SubAgentNote]) -> tuple[Layer, ...]:
    """What an agent is told that may delegate to others, before and after all else; nothing where there are none."""
    if not agents:
        return ()
    listed = "\n".join(_listed(agents))
    rules = "\n".join(f"- {rule}" for rule in _RULES)
    return (
        Layer(
            "supervisor_opening",
            f"You supervise other agents, and can delegate tasks to them:\n{listed}\n"
            f"Your own instructions follow; the rules of delegation come after them.",
        ),
        Layer("supervisor_rules", f"The rules of delegation:\n{rules}"),
    )


def _listed(agents: Sequence[SubAgentNote]) -> Iterator[str]:
    for agent in agents:
        yield f"- {agent.name}: {agent.description}" if agent.description else f"- {agent.name}"


async def _base(given: Instructions | None, context: InstructionContext) -> str:
    if given is None or isinstance(given, str):
        return given or ""
    what = f"the function of the instructions, {_name(given)!r},"
    return _text(await _asked(what, given, context), what)


async def _retrieved(retriever: Retriever, context: InstructionContext) -> str:
    what = f"the retriever {_name(retriever)!r}"
    found = await _asked(what, retriever, context.query, context)
    if isinstance(found, str) or not isinstance(found, Iterable):
        return _text(found, what)
    return "\n\n".join(_text(each, what) for each in found)


async def _remembered(read: Callable[[], Any]) -> str:
    what = "the working memory"
    found = await _asked(what, read)
    return "" if found is None else _text(found, what)


async def _asked(what: str, source: Callable[..., Any], *given: Any) -> Any:
    try:
        found = source(*given)
        return await found if inspect.isawaitable(found) else found
    except Exception as error:
        error.add_note(f"raised by {what.rstrip(',')}, while the instructions were gathered")
        raise


def _text(found: object, what: str) -> str:
    if not isinstance(found, str):
        raise ContractError(f"{what} gave {type(found).__name__}; it must give a text")
    return found


def _name(source: object) -> str:
    named = getattr(source, "name", None) or getattr(source, "__name__", None)
    return str(named or type(source).__name__)


def _within(tag: str, text: str) -> str:
    # It may be text of strangers, which must not look as if it had ended.
    inner = text.replace(f"</{tag}", f"<\\/{tag}")
    return f"<{tag}>\n{inner}\n</{tag}>" if text.strip() else ""
