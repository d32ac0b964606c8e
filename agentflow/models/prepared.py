"""Prepared calls: everything of a call but its input is fixed, so that inputs can be measured before one is sent.

A measurement is neither a reservation nor a pass: what is sent in the end is checked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentflow.errors import ContractError
from agentflow.models.limits import input_tokens, needs
from agentflow.models.request import Draft
from agentflow.run.effects import left
from agentflow.run.model_ports import Measurement

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext

__all__ = ["Prepared", "consumed"]


class Prepared:
    """One call, prepared by `ctx.model.prepare`; good for one call, of the run and the models that made it."""

    __slots__ = ("_ctx", "_draft", "_models", "_used")

    def __init__(self, ctx: NodeContext, draft: Draft, models: Any) -> None:
        self._ctx = ctx
        self._draft = draft
        self._models = models
        self._used = False

    @property
    def stage(self) -> str | None:
        """What the call is for."""
        return self._draft.stage

    @property
    def model(self) -> str:
        """The name of the model that will be asked."""
        return self._draft.model.name

    async def measure(self, input: Any) -> Measurement:
        """Measure a request with that input; as often as you like, without a call of the model.

        Raises:
            ContractError: The input is none, or a limit of tokens is set and the model has no counter: nothing is guessed.
        """
        request = self._draft.asking(input)
        tokens = await input_tokens(request)
        if tokens is None:
            self._refuse_guessing()
        wanted = [*needs(request, tokens), ("model_calls", 1)]
        over = tuple(limit for limit, amount in wanted if amount > left(self._ctx, limit))
        return Measurement(
            within_budget=not over,
            input_chars=request.chars,
            input_tokens=tokens,
            output_tokens=self._draft.max_output_tokens,
            over=over,
        )

    def _refuse_guessing(self) -> None:
        for limit in ("input_tokens", "total_tokens"):
            if self._ctx.ledger.limits(limit):
                raise ContractError(
                    f"{self._draft.where}: the budget limits {limit}, and the model {self.model!r} has no counter to "
                    f"measure them with; give Model(…, counter=…)"
                )

    def __repr__(self) -> str:
        return f"<Prepared call of {self.model!r}{', used' if self._used else ''}>"


def consumed(prepared: Any, ctx: NodeContext, models: Any, options: Mapping[str, Any]) -> Draft:
    """What a prepared call has fixed, taken for the one call that it is good for.

    Raises:
        ContractError: It belongs to another run or to other models, was used before, or something is to be replaced.
    """
    where = f"node {ctx.node_id!r}: ctx.model.invoke(prepared=…)"
    if not isinstance(prepared, Prepared):
        raise ContractError(f"{where}: {prepared!r} is none; make one with ctx.model.prepare(…)")
    if options:
        given = ", ".join(sorted(options))
        raise ContractError(
            f"{where}: {given} cannot be given again: the call was prepared for model {prepared.model!r} with what "
            f"ctx.model.prepare(…) was given"
        )
    if prepared._ctx.run is not ctx.run:
        raise ContractError(f"{where}: the call was prepared in another run")
    if prepared._models is not models:
        raise ContractError(f"{where}: the call was prepared with other models")
    if prepared._used:
        raise ContractError(f"{where}: the call was made already; prepare another one")
    prepared._used = True
    return prepared._draft
