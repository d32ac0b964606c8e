"""`--model`: a `provider:model` string, or the place of a model object."""

from __future__ import annotations

import inspect
from typing import Any

import typer

from agentflow.cli.importing import ImportFailed, Imports
from agentflow.cli.target import FileTarget, ModuleTarget, parse_target
from agentflow.run.engine import Engine

__all__ = ["bind_model", "model_of"]


def bind_model(engine: Engine[Any], text: str, imports: Imports) -> None:
    """Give the engine the model that `text` names, in place of its default one.

    Raises:
        BadParameter: `text` names none.
    """
    model = model_of(text, imports)
    try:
        engine.rebind(model=model)
    except (TypeError, ValueError) as error:
        raise _bad(str(error)) from None


def model_of(text: str, imports: Imports) -> Any:
    """The model that `text` names: one of an installed provider, else what lies at `module:attribute` or `file.py:attribute`.

    Raises:
        BadParameter: It names neither.
    """
    from agentflow.models.resolution import names_provider

    try:
        # The string itself: what the engine makes of it, the engine closes.
        return text if names_provider(text) else _object(text, imports)
    except ValueError as error:
        raise _bad(str(error)) from None


def _object(text: str, imports: Imports) -> Any:
    from agentflow.models.resolution import provider_of

    try:
        match parse_target(text):
            case FileTarget(path=path, attribute=str(attribute)):
                module = imports.file(path)
            case ModuleTarget(module=name, attribute=str(attribute)):
                module = imports.module(name)
            case _:
                return provider_of(text)
        value = inspect.getattr_static(module, attribute)
        return imports.call(attribute, value) if inspect.isfunction(value) else value
    except ImportFailed as failed:
        if isinstance(failed.error, ModuleNotFoundError) and failed.error.name == failed.name:
            # Neither a module nor a provider; the error of providers lists what there is.
            return provider_of(text)
        message = f"{failed.what} raised {type(failed.error).__name__}: {failed.error}"
        raise _bad(message) from None
    except AttributeError:
        raise _bad(f"module {module.__name__!r} has no attribute {attribute!r}") from None


def _bad(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="--model")
