"""Models are bound once, named, and refused when they cannot be used; a string names one that is installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from agentflow import Engine, Model, define_workflow, node, route, structured
from agentflow.models.model import as_model
from agentflow.models.source import models_of
from agentflow.testing import fake_context
from tests.models.kit import Scripted, asking


def test_a_model_is_called_like_its_provider_unless_it_is_named() -> None:
    class Named(Scripted):
        name = "tiny-1"

    assert Model(Scripted()).name == "Scripted"
    assert Model(Named()).name == "tiny-1"
    assert Model(Named(), name="mine").name == "mine"
    assert Model("mock:echo").name == "mock:echo"


@pytest.mark.rule("R246")
def test_a_model_does_not_change() -> None:
    model: Any = Model(Scripted())
    with pytest.raises(AttributeError, match="does not change"):
        model.name = "other"
    with pytest.raises(TypeError):
        model.transports["own"] = structured(dict)


@pytest.mark.rule("R196")
@pytest.mark.parametrize("wrong", [object(), 3, {"stream": 1}])
def test_what_cannot_stream_is_no_provider(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"is no provider: it has no stream\(messages, context\)"):
        Model(wrong)


def test_a_counter_is_a_function() -> None:
    with pytest.raises(TypeError, match="counter=3 cannot be called"):
        Model(Scripted(), counter=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["gpt-5", ":x", "nowhere:", ""])
def test_a_string_without_a_provider_says_how_to_write_one(wrong: str) -> None:
    with pytest.raises(ValueError, match="write 'provider:model'"):
        Model(wrong)


def test_an_unknown_provider_is_refused_with_what_is_installed() -> None:
    with pytest.raises(
        ValueError, match=r"no provider 'nowhere' .*; installed: .*'mock'"
    ) as caught:
        Model("nowhere:gpt-1")
    assert "agentflow.providers" in str(caught.value)


def test_a_provider_that_cannot_be_imported_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = EntryPoint("lazy", "no_such_package:make", "agentflow.providers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    with pytest.raises(ValueError, match=r"'lazy' .* cannot be loaded: No module named 'no_such"):
        Model("lazy:m")


async def test_an_entry_point_is_given_what_follows_the_colon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = EntryPoint("own", "tests.models.test_model:make_own", "agentflow.providers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    made: Any = Model("own:model:with:colons").provider
    assert made.model == "model:with:colons"


@pytest.mark.rule("R195")
@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("own:m", "m"),
        ("own:model:with:colons", "model:with:colons"),
        ("own/m", "m"),
        ("own/family/m:latest", "family/m:latest"),
        ("own:family/m", "family/m"),
    ],
)
def test_a_model_is_named_by_its_provider_and_what_follows(
    name: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoint("own", "tests.models.test_model:make_own", "agentflow.providers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    made: Any = Model(name).provider
    assert (made.model, Model(name).name) == (model, name)


@pytest.mark.rule("R195")
@pytest.mark.parametrize("name", ["family/m", "family/m:latest", "m", "own", "ow:n"])
def test_a_string_that_names_no_installed_provider_is_an_error_that_lists_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = EntryPoint("own", "tests.models.test_model:make_own", "agentflow.providers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    with pytest.raises(ValueError, match="'own'"):
        Model(name)


def test_a_provider_without_a_model_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("own", "tests.models.test_model:make_own", "agentflow.providers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    with pytest.raises(ValueError, match="names no model of the provider 'own'; write 'own:model'"):
        Model("own:")


def make_own(model: str) -> Any:
    provider: Any = Scripted()
    provider.model = model
    return provider


@pytest.mark.rule("R237")
@pytest.mark.parametrize(
    "options", [{"model": object()}, {"models": {"fast": object()}}, {"model": "nowhere:x"}]
)
def test_an_engine_refuses_a_model_that_cannot_be_used_when_it_is_made(
    options: dict[str, Any],
) -> None:
    @node(routes=[route.finish(dict)])
    async def idle(state: Any) -> None:
        pass

    with pytest.raises((TypeError, ValueError)):
        Engine(define_workflow("idle", nodes=[idle]), **options)


@pytest.mark.rule("R247")
async def test_further_models_are_called_by_the_name_they_are_registered_under() -> None:
    fast, slow = Scripted(), Scripted()

    async def ask(ctx: Any) -> list[str]:
        return [
            (await ctx.model.invoke("Hi.", model=name)).invocation.name
            for name in ("fast", None, "slow")
        ]

    names = await asking(ask).run({}, model="slow", models={"fast": fast, "slow": Model(slow)})
    assert names == ["fast", "slow", "slow"]
    assert (len(fast.asked), len(slow.asked)) == (1, 2)


def test_a_renamed_model_keeps_everything_else() -> None:
    own = structured(dict)
    model = Model(Scripted(), name="a", transports={"own": own}, counter=lambda m, t: 1)
    renamed = as_model(model, name="b")
    assert (renamed.name, renamed.provider) == ("b", model.provider)
    assert (renamed.counter, renamed.transports["own"]) == (model.counter, own)
    assert as_model(model) is model
    assert as_model(model, name="a") is model


def test_the_models_of_an_engine_may_be_none() -> None:
    assert models_of(None, {}).bind(fake_context()) is not None


async def test_rebinding_gives_later_calls_another_model() -> None:
    first, second = Scripted(), Scripted()
    engine = Engine(asking(lambda ctx: ctx.model.invoke("Hi.")), model=first)
    await engine.run({})
    engine.rebind(model=second)
    await engine.run({})
    assert (len(first.asked), len(second.asked)) == (1, 1)
    with pytest.raises(TypeError):
        engine.rebind(model=object())
