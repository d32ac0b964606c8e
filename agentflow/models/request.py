"""A model request: everything that is asked, fixed before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError
from agentflow.graph.frozen import FrozenDict, freeze
from agentflow.messages.message import Message, as_messages, chars_of, digests_of, system, user
from agentflow.messages.tool_spec import ToolSpec
from agentflow.models.answer_form import PLAIN, AnswerForm, form_of
from agentflow.models.model import Model
from agentflow.models.transport import Preparation, Transport

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Draft", "ModelRequest", "draft_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A request without its input: what a transport has prepared, and what the caller set; see `ModelCalls.invoke`.

    Args:
        preparation: What the transport adds, asked for once.
        reserve: Whether `max_output_tokens` is set aside: a request fits only if that many are left besides.
    """

    where: str
    model: Model
    transport: Transport
    preparation: Preparation
    instructions: str | None
    tools: tuple[ToolSpec, ...]
    tool_choice: str | None
    max_output_tokens: int | None
    parameters: Mapping[str, Any]
    stage: str | None = None
    reserve: bool = False

    def asking(self, input: Any) -> ModelRequest:
        """The request with its input.

        Raises:
            ContractError: The input is no message, or none at all.
        """
        try:
            given = as_messages(input)
        except TypeError as error:
            raise ContractError(f"{self.where}: {error}") from error
        if not given:
            raise ContractError(
                f"{self.where}: the input is empty; give the model at least one message"
            )
        return ModelRequest(self, given, self.model)


class _WorkedOut:
    """Room for what is worked out once of a request, and not before somebody asks."""

    __slots__ = ("_chars", "_form", "_messages")
    _chars: int
    _form: AnswerForm
    _messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class ModelRequest(_WorkedOut):
    """One request to one model, as its provider will get it.

    Args:
        draft: Everything but the input.
        given: The input.
        model: Who is asked: the draft's own model, or a fallback of it.
    """

    draft: Draft
    given: tuple[Message, ...]
    model: Model

    def at(self, model: Model) -> ModelRequest:
        """The same question to another model."""
        return ModelRequest(self.draft, self.given, model)

    def corrected(self, answer: Message, complaint: str) -> ModelRequest:
        """The question once more, after an answer that was none, with what was wrong with it."""
        again = user(
            f"That is no valid answer: {complaint}\nAnswer again, with the whole value and nothing else.",
            provenance="notice",
        )
        said = (answer,) if answer.content else ()
        return ModelRequest(self.draft, (*self.given, *said, again), self.draft.model)

    @property
    def form(self) -> AnswerForm:
        """How the answer is asked for."""
        schema = self.draft.preparation.schema
        if schema is None:
            return PLAIN
        try:
            return self._form
        except AttributeError:
            form = form_of(self.model.structured(schema), schema)
            object.__setattr__(self, "_form", form)
            return form

    @property
    def messages(self) -> tuple[Message, ...]:
        """The caller's instructions, the input's own leading ones, the transport's, and then the conversation."""
        try:
            return self._messages
        except AttributeError:
            messages = self._stacked()
            object.__setattr__(self, "_messages", messages)
            return messages

    def _stacked(self) -> tuple[Message, ...]:
        draft, given = self.draft, self.given
        told = draft.preparation.in_words if self.form.told else None
        texts = (draft.preparation.instructions, told)
        first = () if draft.instructions is None else (system(draft.instructions),)
        last = tuple([system(text) for text in texts if text is not None])
        if not (first or last):
            return given
        at = 0
        while at < len(given) and given[at].role == "system":
            at += 1
        return (*first, *given[:at], *last, *given[at:])

    @property
    def chars(self) -> int:
        """Its size in characters, as `Budget.input_chars` counts it: what the messages say, tools left out."""
        try:
            return self._chars
        except AttributeError:
            chars = chars_of(self.messages)
            object.__setattr__(self, "_chars", chars)
            return chars

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """What is offered to the model, the tool for the answer included."""
        tool = self.form.tool
        return self.draft.tools if tool is None else (*self.draft.tools, tool)

    @property
    def tool_choice(self) -> str | None:
        """What the model may call; its answer, if that is a call: beside other tools it may call those first."""
        tool, chosen = self.form.tool, self.draft.tool_choice
        if tool is None:
            return chosen
        if not self.draft.tools or chosen == "none":
            return tool.name
        return "required" if chosen in (None, "auto") else chosen

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes it this request and no other, as data."""
        # What is asked, and not how a provider is told: another way to the same answer is no other question.
        draft = self.draft
        return (
            self.model.name,
            draft.transport.name,
            draft.instructions,
            draft.preparation.instructions,
            digests_of(self.given),
            tuple([tool.digest for tool in draft.tools]),
            draft.tool_choice,
            draft.max_output_tokens,
            draft.preparation.schema,
            draft.parameters,
        )


def draft_of(
    ctx: NodeContext,
    model: Model,
    transport: Transport,
    *,
    instructions: str | None = None,
    tools: Iterable[Any] = (),
    tool_choice: str | None = None,
    max_output_tokens: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    stage: str | None = None,
) -> Draft:
    """Prepare a request: the transport is asked now, and not again.

    Raises:
        ContractError: A tool is none, or the tool choice names no offered tool.
    """
    where = f"node {ctx.node_id!r}: ctx.model.invoke"
    preparation = transport.prepare()
    specs = _specs(ctx, tools, where)
    if tool_choice is not None:
        _check_choice(tool_choice, specs, where)
    own = preparation.parameters
    return Draft(
        where=where,
        model=model,
        transport=transport,
        preparation=preparation,
        instructions=instructions,
        tools=specs,
        tool_choice=tool_choice,
        max_output_tokens=max_output_tokens,
        parameters=freeze({**own, **(parameters or {})}) if own or parameters else FrozenDict(),
        stage=stage,
    )


def _check_choice(tool_choice: str, specs: Iterable[ToolSpec], where: str) -> None:
    allowed = {"auto", "none", "required", *(spec.name for spec in specs)}
    if tool_choice not in allowed:
        listed = ", ".join(map(repr, sorted(allowed)))
        raise ContractError(f"{where}: tool_choice={tool_choice!r} is none of {listed}")


def _specs(ctx: NodeContext, tools: Iterable[Any], where: str) -> tuple[ToolSpec, ...]:
    found: list[ToolSpec] = []
    for tool in (tools,) if isinstance(tools, str) else tools:
        if isinstance(tool, str):
            found.extend(ctx.tools.specs([tool]))
            continue
        spec = tool if isinstance(tool, ToolSpec) else getattr(tool, "spec", None)
        if not isinstance(spec, ToolSpec):
            raise ContractError(
                f"{where}: {tool!r} is no tool; give tools made with @tool, or ids of registered ones"
            )
        found.append(spec)
    return tuple(found)
