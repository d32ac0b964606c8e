"""Further tries: only where another may help, only before anything was delivered, and never longer than was said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st

from agentflow import (
    Budget,
    BudgetExceeded,
    CancelSignal,
    ContractError,
    Engine,
    Model,
    ModelDenied,
    ModelError,
    ModelRateLimited,
    ModelRequestRefused,
    ModelTimeout,
    ModelUnavailable,
    RunCancelled,
    Uses,
)
from agentflow.messages import FinishChunk, ReasoningChunk, TextChunk, ToolCallChunk, UsageChunk
from agentflow.models import Limiter, Retries
from agentflow.testing import FactRecorder, FixedClock, fake_context
from tests.models.kit import HELLO, Scripted, Sinking, asking


class Moody:
    """A provider that goes through one script for each request, and the last one from then on."""

    def __init__(self, *scripts: Any, name: str = "moody") -> None:
        self.name = name
        self.scripts = scripts
        self.asked = 0

    async def stream(self, messages: Any, context: Any) -> Any:
        self.asked += 1
        for chunk in self.scripts[min(self.asked, len(self.scripts)) - 1]:
            await anyio.lowlevel.checkpoint()
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


DOWN = (ModelUnavailable("503 overloaded", status=503),)


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailable("connection refused"),
        ModelRateLimited("429", status=429),
        ModelTimeout("too slow"),
    ],
)
async def test_a_call_that_came_to_nothing_is_made_again(error: ModelUnavailable) -> None:
    provider, recorder, clock = Moody([error], HELLO), FactRecorder(), FixedClock()
    ctx = fake_context(model=provider, observers=[recorder], clock=clock)
    reply = await ctx.model.invoke("Hi.")
    assert (reply.value, reply.invocation.tries, provider.asked) == ("Hello.", 2, 2)
    told = recorder.only("model.retried")
    assert (told.data["error"], told.data["next"]) == (type(error).__name__, "moody")
    assert clock.slept == [told.data["delay"]]
    assert recorder.kinds("model.") == [
        "model.started",
        "model.retried",
        "model.chunk",
        "model.chunk",
        "model.completed",
    ]


class Busy(Exception):
    """What an HTTP client of somebody else raises."""

    status = 429
    retry_after = 7


@pytest.mark.parametrize(
    "error", [ConnectionResetError("reset"), TimeoutError("slow"), Busy("too much")], ids=str
)
async def test_what_a_provider_raises_is_known_by_its_kind_or_its_status(error: Exception) -> None:
    provider, recorder, clock = Moody([error], HELLO), FactRecorder(), FixedClock()
    ctx = fake_context(model=provider, observers=[recorder], clock=clock)
    assert (await ctx.model.invoke("Hi.")).invocation.tries == 2
    kinds = {
        "reset": "ModelUnavailable",
        "slow": "ModelTimeout",
        "too much": "ModelRateLimited",
    }
    assert recorder.only("model.retried").data["error"] == kinds[str(error)]
    if isinstance(error, Busy):
        assert clock.slept == [7]


async def test_the_providers_own_error_is_the_cause() -> None:
    reset = ConnectionResetError("reset")
    with pytest.raises(ModelUnavailable, match=r"model .moody.*reset") as caught:
        await fake_context(model=Model(Moody([reset]), retries=0)).model.invoke("Hi.")
    assert caught.value.__cause__ is reset


@pytest.mark.parametrize(
    "error",
    [
        ModelError("it makes no sense"),
        ModelDenied("401", status=401),
        ModelRequestRefused("400", status=400),
        OSError("reset"),
        KeyError("a bug"),
    ],
)
async def test_what_another_try_does_not_help_is_raised_at_once(error: Exception) -> None:
    first, second = Moody([error]), Moody(HELLO)
    ctx = fake_context(model=[first, second], clock=FixedClock())
    with pytest.raises(ModelError):
        await ctx.model.invoke("Hi.")
    assert (first.asked, second.asked) == (1, 0)


async def test_after_the_last_try_its_error_is_raised_with_what_was_tried() -> None:
    provider, recorder = Moody(DOWN), FactRecorder()
    ctx = fake_context(model=Model(provider, retries=3), observers=[recorder], clock=FixedClock())
    with pytest.raises(
        ModelUnavailable, match="model 'moody' in 4 tries: 503 overloaded"
    ) as caught:
        await ctx.model.invoke("Hi.")
    assert (caught.value.status, provider.asked) == (503, 4)
    assert caught.value.invocation is not None
    assert (caught.value.invocation.tries, caught.value.invocation.partial) == (4, True)
    assert recorder.kinds("model.")[-1] == "model.failed"
    # The provider's own object is as it was.
    assert str(DOWN[0]) == "503 overloaded"


async def test_without_retries_there_is_one_try() -> None:
    provider = Moody(DOWN)
    with pytest.raises(ModelUnavailable):
        await fake_context(model=Model(provider, retries=0)).model.invoke("Hi.")
    assert provider.asked == 1


@pytest.mark.parametrize(
    "piece",
    [TextChunk("He"), ReasoningChunk("hm"), ToolCallChunk(0, "c", "look")],
    ids=lambda piece: piece.type,
)
async def test_nothing_is_tried_again_once_a_piece_was_delivered(piece: Any) -> None:
    provider, spare, sink = Moody([piece, *DOWN]), Moody(HELLO), Sinking([])
    ctx = fake_context(model=[provider, spare], sink=sink, clock=FixedClock())
    with pytest.raises(ModelUnavailable):
        await ctx.model.invoke("Hi.", transport="message")
    assert (provider.asked, spare.asked, len(sink.chunks)) == (1, 0, 1)


async def test_usage_alone_delivers_nothing_and_is_counted_for_every_try() -> None:
    told = UsageChunk(input_tokens=7, output_tokens=1)
    provider = Moody([told, *DOWN], [TextChunk("Hi."), told, FinishChunk()])
    ctx = fake_context(model=provider, clock=FixedClock())
    reply = await ctx.model.invoke("Hi.")
    assert reply.invocation.usage["input_tokens"] == 14
    assert ctx.ledger.used("input_tokens") == 14
    assert (ctx.ledger.usage.calls, ctx.ledger.usage.partial) == (2, 1)


async def test_one_call_takes_its_quota_once_however_many_tries_it_needs() -> None:
    ctx = fake_context(
        model=Moody(DOWN, DOWN, HELLO),
        budget=Budget(model_calls=1, input_chars=3),
        uses=Uses(model_calls=1),
        clock=FixedClock(),
    )
    assert (await ctx.model.invoke("Hi.")).invocation.tries == 3
    assert ctx.ledger.as_dict() == {"model_calls": 1, "input_chars": 3, "output_chars": 6}


async def test_what_a_failed_try_has_used_may_leave_nothing_for_another() -> None:
    told = UsageChunk(input_tokens=7, output_tokens=1)
    provider = Moody([told, *DOWN], HELLO)
    provider.reports = ("input_tokens",)  # type: ignore[attr-defined]
    ctx = fake_context(model=provider, budget=Budget(input_tokens=6), clock=FixedClock())
    with pytest.raises(BudgetExceeded, match="the limit of input_tokens"):
        await ctx.model.invoke("Hi.")
    assert provider.asked == 1


async def test_no_budget_and_no_cancel_is_tried_again() -> None:
    provider, spare = Moody(DOWN, HELLO), Moody(HELLO)
    signal = CancelSignal()

    class Cancelling(FactRecorder):
        def event(self, fact: Any) -> None:
            super().event(fact)
            if fact.kind == "model.retried":
                signal.cancel("enough")

    recorder = Cancelling()
    engine = Engine(
        asking(lambda ctx: ctx.model.invoke("Hi.")), model=[provider, spare], clock=FixedClock()
    )
    with pytest.raises(RunCancelled, match="enough"):
        await engine.run({}, signal=signal, observers=[recorder])
    assert (provider.asked, spare.asked) == (1, 0)


async def test_a_fallback_is_asked_when_the_model_stays_unavailable() -> None:
    first, second, recorder = Moody(DOWN, name="a"), Moody(HELLO, name="b"), FactRecorder()
    clock = FixedClock()
    model = Model(first, retries=1, fallbacks=[second])
    ctx = fake_context(model=model, observers=[recorder], clock=clock)
    reply = await ctx.model.invoke("Hi.")
    assert (reply.value, reply.invocation.name, reply.invocation.tries) == ("Hello.", "b", 3)
    assert [data["next"] for data in recorder.data("model.retried")] == ["a", "b"]
    # A fallback is asked at once: it is not the one that needs rest.
    assert len(clock.slept) == 1
    assert recorder.only("model.completed").data["model"] == "b"


async def test_a_list_of_models_is_a_model_with_fallbacks_and_theirs() -> None:
    names = ["a", "b", "c", "d"]
    a, b, c, d = (Moody(HELLO if name == "d" else DOWN, name=name) for name in names)
    model = [Model(a, retries=0), Model(b, retries=0, fallbacks=[Model(c, retries=0)]), d]
    ctx = fake_context(model=model)
    assert (await ctx.model.invoke("Hi.")).invocation.name == "d"
    assert [each.asked for each in (a, b, c, d)] == [1, 1, 1, 1]


async def test_a_fallback_is_held_to_the_budget_like_any_model() -> None:
    counted = Model(Moody(DOWN, name="a"), retries=0, counter=lambda m, t: 5)
    blind = Model(Moody(HELLO, name="b"))
    big = Model(Moody(HELLO, name="c"), counter=lambda m, t: 50)
    for fallback, error in ((blind, ContractError), (big, BudgetExceeded)):
        model = Model(counted.provider, retries=0, counter=counted.counter, fallbacks=[fallback])
        ctx = fake_context(model=model, budget=Budget(input_tokens=20))
        with pytest.raises(error):
            await ctx.model.invoke("Hi.")
    assert (blind.provider.asked, big.provider.asked) == (0, 0)  # type: ignore[attr-defined]


async def test_a_stream_is_tried_again_before_its_first_chunk() -> None:
    ctx = fake_context(model=Moody(DOWN, HELLO), clock=FixedClock())
    async with ctx.model.stream("Hi.") as stream:
        assert [chunk async for chunk in stream] == list(HELLO)
        assert (await stream.reply()).invocation.tries == 2


def test_the_wait_grows_to_its_limit_and_a_chance_keeps_calls_apart() -> None:
    retries = Retries(count=9, backoff=0.5, longest=8.0)
    error = ModelUnavailable("503")
    for failed, full in enumerate([0.5, 1, 2, 4, 8, 8, 8], 1):
        delays = {retries.delay(failed, error, f"call {number}") for number in range(50)}
        assert len(delays) > 40
        assert all(full / 2 <= delay <= full for delay in delays)
        assert max(delays) - min(delays) > full / 4
    assert retries.delay(3, error, "x") == retries.delay(3, error, "x")


@given(st.floats(allow_nan=False), st.integers(1, 10**6))
def test_a_provider_that_names_a_time_gets_it_but_never_more_than_is_heeded(
    wanted: float, failed: int
) -> None:
    delay = Retries(heed=30).delay(failed, ModelRateLimited("429", retry_after=wanted), "x")
    assert delay == min(max(0.0, wanted), 30)


async def test_a_provider_is_left_alone_as_long_as_it_wants() -> None:
    clock = FixedClock()
    provider = Moody([ModelRateLimited("429", retry_after=12.5)], HELLO)
    await fake_context(model=provider, clock=clock).model.invoke("Hi.")
    assert clock.slept == [12.5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Model(Scripted(), retries=-1), r"Retries\(count=-1\)"),
        (lambda: Model(Scripted(), retries=True), r"Retries\(count=True\)"),
        (lambda: Retries(backoff=-1), r"Retries\(backoff=-1\): it is seconds"),
        (lambda: Retries(heed=float("inf")), "heed=inf"),
        (lambda: Model(Scripted(), timeout=0), r"Model\(timeout=0\): it is seconds, more than 0"),
        (lambda: Model(Scripted(), idle_timeout=-3), "idle_timeout=-3"),
        (lambda: Limiter(concurrency=0), r"Limiter\(concurrency=0\): it is a whole number"),
        (lambda: Limiter(per_minute=1.5), "per_minute=1.5"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_number_is_refused_when_it_is_given(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_limiter_and_a_fallback_are_what_they_say() -> None:
    with pytest.raises(TypeError, match=r"limiter=3 is none: give Limiter\("):
        Model(Scripted(), limiter=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="is no provider"):
        Model(Scripted(), fallbacks=[object()])
    assert len(Model(Scripted(), fallbacks="mock:echo").chain) == 2


@pytest.mark.rule("R203")
@pytest.mark.parametrize("options", [{"model": []}, {"models": []}, {"models": {"a": []}}])
def test_an_empty_list_of_models_is_an_error_with_its_own_code(options: Any) -> None:
    from agentflow.errors import ModelListEmpty

    with pytest.raises(ModelListEmpty) as caught:
        Engine(asking(lambda ctx: ctx.model.invoke("Hi.")), **options)
    assert caught.value.code == "loop_models_empty"


def scripts_of(kinds: Any) -> Iterator[Any]:
    for kind in kinds:
        yield {"down": DOWN, "bad": (ModelError("bad"),), "cut": (TextChunk("He"), *DOWN)}[kind]
    yield HELLO


@given(
    st.lists(st.sampled_from(["down", "bad", "cut"]), max_size=6),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_a_chain_is_asked_exactly_as_far_as_it_may_be(
    kinds: list[str], retries: int, fallbacks: int
) -> None:
    provider = Moody(*scripts_of(kinds))
    chain = [Model(provider, retries=retries) for _ in range(fallbacks + 1)]
    allowed = (retries + 1) * (fallbacks + 1)
    fatal = next((at for at, kind in enumerate(kinds, 1) if kind != "down"), len(kinds) + 1)

    async def main() -> bool:
        try:
            await fake_context(model=chain, clock=FixedClock()).model.invoke("Hi.")
        except ModelError:
            return False
        return True

    answered = anyio.run(main)
    assert provider.asked == min(allowed, fatal)
    assert answered == (fatal == len(kinds) + 1 <= allowed)
