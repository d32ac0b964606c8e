"""The models of an engine, by name, and whose connections are whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio

from agentflow.errors import ContractError, ModelListEmpty
from agentflow.models.calls import BoundModels
from agentflow.models.model import Model, as_model

if TYPE_CHECKING:
    from agentflow.run.context import NodeContext
    from agentflow.run.model_ports import ModelSource

__all__ = ["Models", "models_of"]


def models_of(
    model: Any, models: Mapping[str, Any] | None, *, before: ModelSource | None = None
) -> Models:
    """The models of an engine.

    Args:
        model: The default: a `Model`, a provider, a `"provider:model"` string, the name of one of `models`, a list of
            these, each the fallback of the one before, or `None`.
        models: Further models by name.
        before: What the engine had until now; it is closed together with these.

    Raises:
        TypeError: One of them is no model.
        ValueError: A string names no provider that is installed.
        ModelListEmpty: A list is empty.
    """
    further: Any = {} if models is None else models
    if not isinstance(further, Mapping):
        if not further:
            raise ModelListEmpty("models=[] holds no model; give a mapping of name to model")
        raise TypeError(f"models={further!r} is no mapping of name to model; a list is for model=")
    made: list[Model] = []
    named = {name: as_model(value, name=name, made=made) for name, value in further.items()}
    if isinstance(model, str) and model in named:
        default: Model | None = named[model]
    else:
        default = None if model is None else as_model(model, made=made)
    return Models(default, named, made=made, before=before)


class Models:
    """Every model that the nodes of an engine may call."""

    __slots__ = ("_before", "_default", "_made", "_named")

    def __init__(
        self,
        default: Model | None,
        named: Mapping[str, Model],
        *,
        made: Sequence[Model] = (),
        before: ModelSource | None = None,
    ) -> None:
        self._default = default
        self._named = named
        self._made = made
        self._before = before

    def bind(self, ctx: NodeContext) -> BoundModels:
        """The models, tied to the cancel, the budget and the facts of one visit."""
        return BoundModels(self, ctx)

    async def close(self) -> None:
        """Give back the connections, in the loop that is running, of the providers that were made here from strings."""
        with anyio.CancelScope(shield=True):
            for model in self._made:
                await model.aclose()
            if self._before is not None:
                await self._before.close()

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
