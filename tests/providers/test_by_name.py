"""Providers by name: a string is enough, and what is missing is said before the first run."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import anyio
import pytest

from agentflow import Engine, Model
from agentflow.messages import user
from agentflow.models.ports import ModelContext
from agentflow.providers.anthropic_messages import AnthropicMessages
from agentflow.providers.clients import Clients
from agentflow.providers.openai_chat import OpenAIChat
from agentflow.providers.openai_responses import OpenAIResponses
from agentflow.run.signal import CancelSignal
from tests.models.kit import asking
from tests.providers.speakers import CHAT, chat_piece, openai_client
from tests.providers.wires import Recorded, sse

VARIABLES = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_PROFILE",
)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.rule("R195")
@pytest.mark.parametrize(
    ("name", "kind", "variable"),
    [
        ("openai:gpt-5-mini", OpenAIChat, "OPENAI_API_KEY"),
        ("openai/gpt-5-mini", OpenAIChat, "OPENAI_API_KEY"),
        ("openai-responses:gpt-5-mini", OpenAIResponses, "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-5", AnthropicMessages, "ANTHROPIC_API_KEY"),
    ],
)
def test_a_string_names_a_provider_that_is_there_with_its_key(
    name: str, kind: Any, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=f"set the variable {variable}, or give api_key=…"):
        Model(name)
    monkeypatch.setenv(variable, "sk-secret")
    model = Model(name)
    provider: Any = model.provider
    assert isinstance(provider, kind)
    assert (model.name, provider.model) == (name, name.replace("/", ":").partition(":")[2])
    assert provider.vendor == name.replace("/", ":").partition(":")[0].partition("-")[0]
    assert "sk-secret" not in repr(model) + repr(provider)


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"])
def test_a_server_of_ones_own_needs_no_key(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://localhost:1/v1")
    provider: Any = Model(f"{variable.partition('_')[0].lower()}:m").provider
    assert provider.vendor is None
    assert OpenAIChat("m", base_url="http://localhost:1/v1").dialect.length == "max_tokens"


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("openai:m", "openai", "openai"),
        ("openai-responses:m", "openai", "openai"),
        ("anthropic:m", "anthropic", "anthropic"),
        ("pydantic-ai:test", "pydantic_ai", "pydantic-ai"),
    ],
)
def test_a_provider_whose_package_is_missing_names_the_extra(
    name: str, package: str, extra: str
) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        f"import agentflow\n"
        f"try: agentflow.Model({name!r})\n"
        f"except ValueError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert f"pip install 'agentflow[{extra}]'" in done.stdout


def test_naming_a_provider_loads_its_own_package_alone() -> None:
    program = (
        "import sys, os; os.environ['OPENAI_API_KEY'] = 'k'\n"
        "import agentflow; agentflow.Model('openai:m')\n"
        "print([name for name in ('anthropic', 'pydantic_ai', 'tiktoken') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


class Counted:
    made = closed = 0

    def __init__(self) -> None:
        type(self).made += 1

    async def close(self) -> None:
        type(self).closed += 1


def test_each_loop_has_a_client_of_its_own() -> None:
    Counted.made = Counted.closed = 0
    clients: Clients[Any] = Clients(Counted)

    async def main() -> tuple[Any, Any]:
        first, again = clients.get(), clients.get()
        assert first is again
        await clients.aclose()
        await clients.aclose()
        return first, clients.get()

    first, second = anyio.run(main)
    third, _ = anyio.run(main, backend="trio")
    assert len({id(first), id(second), id(third)}) == 3
    assert Counted.closed == 2


async def test_a_client_of_the_caller_is_used_as_it_is_and_closed_by_the_caller() -> None:
    transport = Recorded(sse(chat_piece({"content": "Hi."}, "stop"), end="[DONE]"))
    client = openai_client(transport)
    provider = OpenAIChat("m", client=client)
    context = ModelContext(signal=CancelSignal(), run_id="r", node_id="n", call_id="c")
    await provider.aclose()
    assert [chunk async for chunk in provider.stream([user("Hi.")], context)]
    assert not client.is_closed()
    await client.close()


async def test_an_engine_closes_what_it_has_made_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[str] = []

    class Closing:
        def __init__(self, name: str) -> None:
            self.name = name

        async def stream(self, messages: Any, context: Any) -> Any:
            from tests.models.kit import HELLO

            for chunk in HELLO:
                yield chunk

        async def aclose(self) -> None:
            closed.append(self.name)

    monkeypatch.setattr("agentflow.models.model.provider_of", Closing)
    mine = Model(Closing("mine"))
    workflow = asking(lambda ctx: ctx.model.invoke("Hi."))
    async with Engine(workflow, model=["a:1", mine], models={"b": "a:2", "c": mine}) as engine:
        await engine.run({})
        engine.rebind(model="a:3")
        await engine.run({})
        assert closed == []
    assert sorted(closed) == ["a:1", "a:2", "a:2", "a:3"]
    async with mine:
        pass
    assert closed[-1] == "mine"


def test_a_run_that_brings_its_own_loop_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[str] = []

    class Closing:
        def __init__(self, name: str) -> None:
            self.name = name

        def stream(self, messages: Any, context: Any) -> Any:
            return CHAT.provider(
                Recorded(sse(chat_piece({"content": "Hi."}, "stop"), end="[DONE]"))
            ).stream(messages, context)

        async def aclose(self) -> None:
            closed.append(self.name)

    monkeypatch.setattr("agentflow.models.model.provider_of", Closing)
    engine = Engine(asking(lambda ctx: ctx.model.invoke("Hi.")), model="a:1")
    assert [engine.run_sync({}).value for _ in range(2)] == ["Hi."] * 2
    assert closed == ["a:1", "a:1"]
