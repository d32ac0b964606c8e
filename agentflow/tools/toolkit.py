"""Toolkits: tools that belong together, with what a model must know to use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentflow.errors import ContractError
from agentflow.graph.argument import LIST, TEXT
from agentflow.graph.calling import is_async, takes
from agentflow.tools.tool import Tool

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Toolkit"]


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Tools that belong together, and what a model must know to use them.

    ::

        Toolkit([search, read], "Search before you read.", name="archive")
        Toolkit(lambda ctx: [refund] if "clerk" in ctx.identity.roles else [], name="desk")

    Args:
        tools: The tools; or a plain function that chooses them for a visit of a node by its context. It is asked once for each
            attempt of a visit that looks for tools, and gives the same whenever it is asked for the same visit again.
        instructions: A text for the model, said once, beside the tools' own descriptions; where the tools are chosen, only if
            there are any.
        name: What errors call it.

    Raises:
        TypeError: `tools` is neither, or one of the others is no text.
    """

    tools: tuple[Tool, ...]
    instructions: str
    name: str
    choose: Callable[[NodeContext], Iterable[Tool]] | None

    def __init__(
        self,
        tools: Iterable[Tool] | Callable[[NodeContext], Iterable[Tool]],
        instructions: str = "",
        *,
        name: str = "",
    ) -> None:
        TEXT.check("name", name, of="Toolkit")
        TEXT.check("instructions", instructions, of="Toolkit")
        object.__setattr__(self, "instructions", instructions)
        object.__setattr__(self, "name", name)
        if LIST.accepts(tools):
            assert isinstance(tools, Iterable)
            object.__setattr__(self, "tools", tuple(tools))
            object.__setattr__(self, "choose", None)
            return
        if isinstance(tools, Tool) or not callable(tools):
            raise TypeError(f"{self.label}: {tools!r} is no list of tools; write Toolkit([…])")
        if is_async(tools) or not takes(tools, 1):
            raise TypeError(
                f"{self.label}: tools are chosen by a plain function (ctx); what must be awaited is done before the run"
            )
        object.__setattr__(self, "tools", ())
        object.__setattr__(self, "choose", tools)

    @property
    def label(self) -> str:
        """What errors call it."""
        return f"toolkit {self.name!r}" if self.name else "a toolkit"

    def tools_for(self, ctx: NodeContext) -> tuple[Tool, ...]:
        """The tools that a visit sees.

        Raises:
            ContractError: The function gave no list.
        """
        if self.choose is None:
            return self.tools
        chosen = self.choose(ctx)
        if not isinstance(chosen, Iterable):
            raise ContractError(
                f"{self.label} chose {chosen!r} for node {ctx.node_id!r}; give a list of tools"
            )
        return tuple(chosen)
