"""Effects over the lives of a run: what was recorded is returned, what was not is done again under the same key."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from agentflow import ContractError, Divergence, Engine, NodeContext, Retry, tool
from agentflow.graph.codec import encoded
from agentflow.messages.chunk import UsageChunk
from agentflow.mock import Chunking, MockModel, MockReply as Reply, Rule
from agentflow.run.effects import digest
from agentflow.run.run import Run
from agentflow.stores.memory import MemoryStore
from tests.durable.crashing import CrashingStore, process
from tests.durable.shelf import Place, double
from tests.run.watching import Recorder
from tests.run.workflows import alone


class Scene:
    """A run of one node that is killed after a number of writes, and goes on, perhaps with other code."""

    def __init__(self, **options: Any) -> None:
        self.store = MemoryStore()
        self.options = options

    async def dies(self, body: Callable[..., Any], at: int, **node: Any) -> Run[Any]:
        """Let the process die right after its write `at`."""
        store = CrashingStore(self.store, at, before=False)
        run = await process(alone(body, **node), store, **self.options)
        assert run.status == "interrupted"
        return run

    async def goes_on(self, body: Callable[..., Any], **node: Any) -> Run[Any]:
        return await process(alone(body, **node), self.store, **self.options)


@pytest.mark.rule("R258", "R260")
async def test_what_was_recorded_is_returned_as_it_was() -> None:
    given = {"when": datetime.datetime(2030, 1, 2, tzinfo=datetime.UTC), "parts": ({1, 2}, b"x")}
    calls: list[str] = []
    found: list[Any] = []

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        def act() -> Any:
            calls.append(ctx.effect_key("act"))
            return given

        found.append(await ctx.once("act", act))
        calls.append(ctx.effect_key("late"))
        return {"x": await ctx.once("late", lambda: 1)}

    scene = Scene()
    await scene.dies(body, 3)
    run = await scene.goes_on(body)
    assert run.outcome() == {"x": 1}
    assert calls == ["r/only#1/act", "r/only#1/late", "r/only#1/late"]
    assert found == [given] * 2
    assert encoded(found[0]) == encoded(found[1])


@pytest.mark.rule("R181", "R323")
@pytest.mark.case("P055")
async def test_an_effect_that_died_before_its_record_is_done_again_under_its_key() -> None:
    keys: list[str] = []

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        await ctx.once("pay", lambda: keys.append(ctx.effect_key("pay")))
        return {"x": 1}

    store = MemoryStore()
    for _ in range(3):
        await process(alone(body), CrashingStore(store, 2, before=True))
    run = await process(alone(body), store)
    assert run.outcome() == {"x": 1}
    assert keys == ["r/only#1/pay"] * 4


async def test_what_an_effect_gave_must_be_storable() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.once("act", object)}

    run = await Scene().goes_on(body, retry=Retry(3))
    with pytest.raises(ContractError) as caught:
        run.outcome()
    said = "node 'only': what the once effect 'r/only#1/act' gave cannot be stored: builtins.object"
    assert str(caught.value).startswith(said)


@tool
async def greet(name: str) -> str:
    """Greet."""
    return f"hello {name}"


async def test_a_tool_call_with_other_arguments_is_a_divergence() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": (await ctx.tools.invoke("greet", {"name": "ada"}, call_id="c")).value}

    async def changed(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": (await ctx.tools.invoke("greet", {"name": "bob"}, call_id="c")).value}

    scene = Scene(tools=[greet])
    await scene.dies(body, 2)
    run = await scene.goes_on(changed, retry=Retry(3))
    with pytest.raises(Divergence, match=r"tool effect 'r/only#1/tool:1:c' .* another request"):
        run.outcome()
    assert run.status == "failed"


async def test_a_model_call_with_another_request_is_a_divergence() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": (await ctx.model.invoke("hello")).value}

    async def changed(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": (await ctx.model.invoke("good bye")).value}

    scene = Scene(model=_echo())
    await scene.dies(body, 2)
    run = await scene.goes_on(changed, retry=Retry(3))
    with pytest.raises(Divergence, match="another request"):
        run.outcome()


def _echo() -> MockModel:
    return MockModel(
        [Rule(reply=lambda request: request.text.upper())],
        usage=UsageChunk(input_tokens=3, output_tokens=2),
        chunking=Chunking("chars"),
    )


async def test_a_recorded_model_call_is_not_made_again_and_not_counted_twice() -> None:
    replies: list[Any] = []

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        reply = await ctx.model.invoke("hello", tools=["double"])
        replies.append(reply)
        await ctx.once("then", lambda: None)
        return {"x": reply.value}

    seen = Recorder()
    scene = Scene(model=_echo(), tools=[double], observers=[seen])
    first = await scene.dies(body, 3)
    run = await scene.goes_on(body)
    assert run.outcome() == {"x": "HELLO"}
    assert replies[0] == replies[1]
    assert len(scene.options["model"].requests) == 1
    expected = {"model_calls": 1, "input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    for ledger in (first.ledger, run.ledger):
        assert {name: ledger.used(name) for name in expected} == expected
    assert len(seen.of("model.started")) == 1
    assert [fact.data["kind"] for fact in seen.of("effect.replayed")] == ["model", "once"]


async def test_a_recorded_stream_gives_its_chunks_again() -> None:
    texts: list[str] = []

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        async with ctx.model.stream("hello") as stream:
            texts.append("".join([chunk.text async for chunk in stream if hasattr(chunk, "text")]))
            reply = await stream.reply()
        await ctx.once("then", lambda: None)
        return {"x": reply.value}

    scene = Scene(model=_echo())
    await scene.dies(body, 3)
    run = await scene.goes_on(body)
    assert run.outcome() == {"x": "HELLO"}
    assert texts == ["HELLO", "HELLO"]
    assert len(scene.options["model"].requests) == 1


async def test_a_stream_that_was_left_early_is_asked_for_again() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        async with ctx.model.stream("hello") as stream:
            await anext(stream)
        await ctx.once("then", lambda: None)
        return {"x": (await ctx.model.invoke("more")).value}

    scene = Scene(model=_echo())
    await scene.dies(body, 2)
    run = await scene.goes_on(body)
    assert run.outcome() == {"x": "MORE"}
    assert len(scene.options["model"].requests) == 3


async def test_a_retry_asks_the_model_anew_and_a_crash_does_not() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        reply = await ctx.model.invoke("hello")
        if ctx.attempt == 1:
            raise OSError("not good enough")
        return {"x": [reply.value, ctx.attempt]}

    script = MockModel([Rule(reply=["first", "second", "third"])])
    scene = Scene(model=script)
    # Writes: started, the first call, the failed attempt, the second call.
    await scene.dies(body, 4, retry=Retry(2))
    run = await scene.goes_on(body, retry=Retry(2))
    assert run.outcome() == {"x": ["second", 2]}
    assert len(script.requests) == 2


async def test_attempts_that_are_left_are_left_after_a_crash() -> None:
    attempts: list[int] = []

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        attempts.append(ctx.attempt)
        raise OSError(f"attempt {ctx.attempt}")

    scene = Scene()
    await scene.dies(body, 3, retry=Retry(4))
    run = await scene.goes_on(body, retry=Retry(4))
    with pytest.raises(OSError, match="attempt 4"):
        run.outcome()
    assert attempts == [1, 2, 3, 4]


class Race:
    """Lets the effects of two tasks end in the order that a test wants, whichever began first."""

    def __init__(self, order: str) -> None:
        self.order = order
        self.ended = {name: anyio.Event() for name in order}

    async def end(self, name: str) -> None:
        at = self.order.index(name)
        if at:
            await self.ended[self.order[at - 1]].wait()
        self.ended[name].set()


@pytest.mark.case("P053")
@pytest.mark.parametrize("order", ["abc", "cba", "bca"])
@pytest.mark.parametrize("at", [2, 3])
async def test_effects_beside_each_other_are_found_by_key_whoever_ended_first(
    order: str, at: int
) -> None:
    place, race = Place(), Race(order)

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        found: dict[str, str] = {}

        async def one(name: str) -> None:
            async def act() -> str:
                if not ctx.deps.done[name]:
                    await race.end(name)
                return str(ctx.deps.act(name))

            found[name] = await ctx.once(name, act)

        async with anyio.create_task_group() as group:
            for name in "abc":
                group.start_soon(one, name)
        return {"x": dict(sorted(found.items()))}

    scene = Scene(deps=place)
    await scene.dies(body, at)
    for event in race.ended.values():
        event.set()
    run = await scene.goes_on(body)
    assert run.outcome() == {"x": {name: f"did {name}" for name in "abc"}}
    for name in order[: at - 1]:
        assert place.done[name] == 1


@pytest.mark.case("P053")
@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("at", [2, 3])
@pytest.mark.parametrize("kind", ["model", "tool"])
async def test_calls_beside_each_other_are_found_again_whoever_began_first(
    order: str, at: int, kind: str
) -> None:
    """A loop may run its tasks in another order each time, and what a task did before may take no time at all now."""
    place = Place()

    @tool
    async def say(name: str) -> str:
        """Say a name."""
        place.act(name)
        return name.upper()

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        found: dict[str, str] = {}

        async def one(name: str) -> None:
            if kind == "model":
                found[name] = (await ctx.model.invoke(name)).value
            else:
                found[name] = (await ctx.tools.invoke("say", {"name": name})).value

        async with anyio.create_task_group() as group:
            for name in ctx.deps:
                group.start_soon(one, name)
                await anyio.wait_all_tasks_blocked()
        return {"x": dict(sorted(found.items()))}

    scene = Scene(model=_echo(), tools=[say], deps=order)
    await scene.dies(body, at)
    scene.options["deps"] = order[::-1]
    run = await scene.goes_on(body)
    assert run.outcome() == {"x": {"a": "A", "b": "B"}}
    if at == 3 and kind == "tool":
        assert place.done == {"a": 1, "b": 1}


async def test_a_digest_is_the_same_in_every_process() -> None:
    # Sets stand in another order in each process, and a live object somewhere else in memory.
    assert digest(("t", {"a": {0, 8}}), exact=True) == digest(("t", {"a": {8, 0}}), exact=True)
    assert digest(("t", {"a": 1, "b": 2}), exact=True) == digest(
        ("t", {"b": 2, "a": 1}), exact=True
    )
    assert digest(("t", object()), exact=True) == digest(("t", object()), exact=True)
    assert digest(("t", 1), exact=True) != digest(("t", True), exact=True)
    assert digest(("t", 1), exact=True) != digest(("t", "1"), exact=True)


async def test_an_engine_without_a_store_records_nothing() -> None:
    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        return {"x": await ctx.once("act", object)}

    async with Engine(alone(body)) as engine:
        result = await engine.run()
    assert type(result["x"]) is object


async def test_a_reply_of_a_model_is_stored_with_all_its_parts() -> None:
    script = MockModel([Rule(reply=Reply(text="so \ud800", reasoning="hm"))])
    texts: list[Any] = []

    async def body(state: Any, ctx: NodeContext) -> dict[str, Any]:
        reply = await ctx.model.invoke("hello", transport="message")
        texts.append(reply)
        await ctx.once("then", lambda: None)
        return {"x": reply.value}

    scene = Scene(model=script)
    await scene.dies(body, 3)
    await scene.goes_on(body)
    assert texts[0] == texts[1]
    assert (texts[1].value.text, texts[1].value.reasoning) == ("so \ufffd", "hm")
