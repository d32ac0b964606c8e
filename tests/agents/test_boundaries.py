"""The boundaries of middleware from the outermost to the innermost, and middleware that is registered from outside."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from agentflow import Agent, ContractError, ModelError, tool
from agentflow.agents import (
    Guardrail,
    Middleware,
    MiddlewareAborted,
    PendingRequest,
    PendingTurn,
    StepContext,
    StepPlan,
    registered,
)
from agentflow.agents.memory import InMemoryHistory, Memory, Thread
from agentflow.messages import Message, assistant, user
from agentflow.mock import MockModel, MockReply, MockRequest, Rule, call
from agentflow.testing import FactRecorder
from tests.agents.kit import assert_valid, look, scripted


def agent(model: Any, *tools: Any, **options: Any) -> Agent:
    return Agent("helper", "Be brief.", model, tools, **options)


def failing(times: int) -> MockModel:
    """A model that fails so often, and then answers."""
    broken = [MockReply(error=ValueError("broken")) for _ in range(times)]
    return scripted(*broken, "ok")


async def again(request: PendingRequest, ctx: Any) -> Message:
    """Send until there is an answer."""
    while True:
        try:
            return await request.send()
        except ModelError:
            continue


class Counting:
    """A middleware that counts how often it was at work."""

    def __init__(self) -> None:
        self.steps = 0

    def step(self, step: StepContext, ctx: Any) -> None:
        self.steps += 1


# --- the input --------------------------------------------------------------------------------------


@pytest.mark.rule("R145")
async def test_input_middleware_makes_one_message_of_three() -> None:
    model = scripted("ok")
    joined = Middleware(input=lambda asked, ctx: " ".join(one.text for one in asked))
    result = await agent(model, middlewares=[joined]).generate_text([user("a"), "b", "c"])
    assert [m.text for m in model.requests[0].messages if m.role == "user"] == ["a b c"]
    assert [m.text for m in result.messages] == ["a b c", "ok"]


# --- the turn ---------------------------------------------------------------------------------------


@pytest.mark.rule("R146")
async def test_turn_middleware_sees_the_start_and_the_end_the_first_of_them_outermost() -> None:
    log: list[str] = []

    def around(name: str) -> Middleware:
        async def turn(turn: PendingTurn, ctx: Any) -> Any:
            log.append(f"{name} starts with {turn.messages[-1].text}")
            result = await turn.proceed()
            log.append(f"{name} ends with {result.text}")
            return result

        return Middleware(name=name, turn=turn)

    asked = agent(scripted(call("look"), "ok"), look, middlewares=[around("a"), around("b")])
    result = await asked.generate_text("go")
    assert (result.text, len(result.steps)) == ("ok", 2)
    assert log == ["a starts with go", "b starts with go", "b ends with ok", "a ends with ok"]
    assert asked.workflow.bounds().model_calls.value == 10


@pytest.mark.rule("R146")
async def test_turn_middleware_sees_how_a_turn_fails() -> None:
    seen: list[str] = []

    async def turn(turn: PendingTurn, ctx: Any) -> Any:
        try:
            return await turn.proceed()
        except ModelError as error:
            seen.append(type(error).__name__)
            return "I am out of order."

    result = await agent(failing(5), middlewares=[Middleware(turn=turn)]).generate_text("go")
    assert (result.text, len(seen)) == ("I am out of order.", 1)


@pytest.mark.rule("R146")
@pytest.mark.parametrize("beside", [False, True])
async def test_turn_middleware_can_answer_without_the_model(beside: bool) -> None:
    model, history = scripted("ok"), InMemoryHistory()
    judge = Guardrail(name="g", input=lambda asked, view: True, when="beside")
    asked = agent(
        model,
        middlewares=[
            Middleware(turn=lambda turn, ctx: "We are closed.", output=lambda t, ctx: t.upper())
        ],
        guardrails=[judge] if beside else [],
        memory=Memory(history=history),
    )
    result = await asked.generate_text("go", resource_id="u", thread_id="t")
    assert not model.requests
    assert (result.text, result.finish_reason, result.steps) == ("WE ARE CLOSED.", "skipped", ())
    answer = result.messages[-1]
    assert (answer.text, answer.provenance) == ("WE ARE CLOSED.", "contributed")
    # The question is accounted for.
    (turn,) = await history.load(Thread("u", "t"), last=5)
    assert turn.messages[0].text == "go"


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [(lambda turn, ctx: 3, ContractError, "int for a turn"), (None, RuntimeError, "only once")],
)
async def test_a_turn_is_taken_once_and_comes_to_a_result(
    wrong: Any, error: Any, says: str
) -> None:
    async def twice(turn: PendingTurn, ctx: Any) -> Any:
        await turn.proceed()
        return await turn.proceed()

    asked = agent(scripted("ok", "ok"), middlewares=[Middleware(turn=wrong or twice)])
    with pytest.raises(error, match=says):
        await asked.generate_text("go")


# --- the step and its request -----------------------------------------------------------------------


@pytest.mark.rule("R147")
async def test_middleware_stands_before_and_after_each_step_once() -> None:
    log: list[str] = []
    asked = agent(
        scripted(call("look"), "ok"),
        look,
        middlewares=[
            Middleware(
                step=lambda step, ctx: log.append(f"before {step.number}"),
                commit=lambda said, ctx: log.append(f"after {said.text}") or said,  # type: ignore[func-returns-value]
            )
        ],
    )
    await asked.generate_text("go")
    assert log == ["before 1", "after ", "before 2", "after ok"]


@pytest.mark.rule("R148")
async def test_request_middleware_sends_again_inside_of_one_step() -> None:
    model, recorder = failing(1), FactRecorder()
    asked = agent(
        model,
        middlewares=[Middleware(request=again)],
        max_middleware_retries=2,
        max_steps=4,
        observers=[recorder],
    )
    result = await asked.generate_text("go")
    assert (result.text, len(result.steps), len(model.requests)) == ("ok", 1, 2)
    assert recorder.kinds("model.failed", "model.completed") == ["model.failed", "model.completed"]
    # How often it may be sent is proved: the steps, each of them three times.
    assert asked.workflow.bounds().model_calls.value == 4 * 3


@pytest.mark.rule("R148")
async def test_a_request_is_not_sent_more_often_than_was_proved() -> None:
    asked = agent(failing(5), middlewares=[Middleware(request=again)], max_middleware_retries=1)
    with pytest.raises(ContractError, match="sent 2 times"):
        await asked.generate_text("go")


@pytest.mark.rule("R148")
async def test_request_middleware_recovers_with_words_of_its_own() -> None:
    async def recovered(request: PendingRequest, ctx: Any) -> Any:
        try:
            return await request.send()
        except ModelError:
            return "Ask me later."

    result = await agent(failing(5), middlewares=[Middleware(request=recovered)]).generate_text(
        "go"
    )
    assert result.text == "Ask me later."
    assert result.messages[-1].provenance == "contributed"
    assert (result.steps[0].model, result.steps[0].usage) == ("", {})


@pytest.mark.rule("R155")
async def test_request_middleware_cannot_forge_what_the_model_says_or_calls() -> None:
    proposed = await agent(scripted(call("look")), look, max_steps=1).generate_text("x")
    forged = proposed.messages[1]
    assert forged.tool_calls
    asked = agent(scripted("ok"), look, middlewares=[Middleware(request=lambda r, ctx: forged)])
    with pytest.raises(ContractError, match="only the model says what is called"):
        await asked.generate_text("go")
    said = Middleware(request=lambda r, ctx: assistant("I am the model."))
    result = await agent(scripted("ok"), middlewares=[said]).generate_text("go")
    assert result.messages[-1].provenance == "contributed"


@pytest.mark.parametrize("boundary", ["turn", "request", "commit"])
async def test_no_other_attempt_can_be_asked_for_from_within_one(boundary: str) -> None:
    aborting: Any = {boundary: lambda value, ctx: ctx.abort("no", retry=True)}
    asked = agent(scripted("ok"), middlewares=[Middleware(**aborting)], max_middleware_retries=2)
    with pytest.raises(MiddlewareAborted, match="input and output middleware alone"):
        await asked.generate_text("go")


async def test_what_is_sent_in_place_of_a_request_is_not_kept_and_must_be_legal() -> None:
    model = scripted("ok")

    async def more(request: PendingRequest, ctx: Any) -> Any:
        return await request.send([*request.messages, user(f"(step {request.step})")])

    result = await agent(model, middlewares=[Middleware(request=more)]).generate_text("go")
    assert model.requests[0].messages[-1].text == "(step 1)"
    assert [m.text for m in result.messages] == ["go", "ok"]

    async def torn(request: PendingRequest, ctx: Any) -> Any:
        proposed = MockModel([Rule(reply=call("look"))])
        asked = await agent(proposed, look, max_steps=1).generate_text("x")
        return await request.send([user("go"), asked.messages[1]])

    with pytest.raises(ContractError, match="request middleware"):
        await agent(model, middlewares=[Middleware(request=torn)]).generate_text("go")


@pytest.mark.rule("R149")
async def test_what_is_kept_of_an_answer_is_what_commit_middleware_made_of_it() -> None:
    history, seen = InMemoryHistory(), []

    def reply(request: MockRequest) -> Any:
        seen.append([m.text for m in request.messages if m.role == "assistant"])
        return "my PIN is 1234" if request.messages[-1].role == "tool" else call("look")

    def masked(said: Message, ctx: Any) -> str:
        return said.text.replace("1234", "****") or "Let me look."

    asked = agent(
        MockModel([Rule(reply=reply)]),
        look,
        middlewares=[Middleware(commit=masked)],
        memory=Memory(history=history),
    )
    result = await asked.generate_text("go", resource_id="u", thread_id="t")
    assert result.text == "my PIN is ****"
    assert seen[1] == ["Let me look."]
    (turn,) = await history.load(Thread("u", "t"), last=5)
    assert [m.text for m in turn.messages if m.role == "assistant"] == [
        "Let me look.",
        "my PIN is ****",
    ]
    assert_valid(turn.messages)


@pytest.mark.parametrize("wrong", [3, user("hi"), assistant("I call nothing.")])
async def test_commit_middleware_gives_an_answer_with_the_same_calls(wrong: Any) -> None:
    asked = agent(
        scripted(call("look"), "ok"), look, middlewares=[Middleware(commit=lambda said, ctx: wrong)]
    )
    with pytest.raises(ContractError, match="middleware-1"):
        await asked.generate_text("go")


@pytest.mark.rule("R150")
async def test_each_thing_that_a_step_is_prepared_with_holds_for_that_step_alone() -> None:
    other = scripted(call("look"))
    model = scripted(call("look"), "ok")
    plan = StepPlan(
        model="other",
        instructions="Be long.",
        tools=["look"],
        parameters={"temperature": 0.5},
        contributions=[user("(It is noon.)")],
    )

    def prepare(step: StepContext, ctx: Any) -> StepPlan | None:
        return plan if step.number == 2 else None

    asked = agent(
        model,
        look,
        models={"other": other},
        middlewares=[Middleware(step=prepare)],
        parameters={"temperature": 0.1},
    )
    await asked.generate_text("go")
    (changed,) = other.requests
    first, last = model.requests
    assert changed.messages[0].text == "Be long."
    assert changed.messages[-1].text == "(It is noon.)"
    assert changed.context.parameters["temperature"] == 0.5
    for request in (first, last):
        assert request.messages[0].text == "Be brief."
        assert "(It is noon.)" not in [m.text for m in request.messages]
        assert request.context.parameters["temperature"] == 0.1


@pytest.mark.rule("R154")
async def test_a_step_cannot_be_given_another_conversation() -> None:
    wrong: Any = Middleware(step=lambda step, ctx: list(step.messages))
    with pytest.raises(ContractError, match="contributions"):
        await agent(scripted("ok"), middlewares=[wrong]).generate_text("go")


@pytest.mark.rule("R155")
@pytest.mark.parametrize("claimed", [assistant("I said yes."), user("Yes.", provenance="model")])
async def test_a_step_cannot_put_words_into_the_models_mouth(claimed: Message) -> None:
    def forge(step: StepContext, ctx: Any) -> StepPlan:
        return StepPlan(contributions=[claimed])

    model = scripted("ok")
    with pytest.raises(ContractError, match="nobody but the model"):
        await agent(model, middlewares=[Middleware(step=forge)]).generate_text("go")
    assert not model.requests


# --- registered from outside ------------------------------------------------------------------------


@pytest.mark.rule("R152")
async def test_what_is_registered_for_all_and_for_one_agent_are_both_asked() -> None:
    everywhere, here, elsewhere = Counting(), Counting(), Counting()
    asked, other = agent(scripted("ok")), agent(scripted("ok"))
    with registered(everywhere), registered(here, agent=asked), registered(elsewhere, agent=other):
        await asked.generate_text("go")
    assert (everywhere.steps, here.steps, elsewhere.steps) == (1, 1, 0)


@pytest.mark.rule("R151")
async def test_registered_middleware_is_asked_no_more_when_its_block_has_ended() -> None:
    counting, asked = Counting(), agent(scripted("ok", "ok"))
    with registered(counting):
        await asked.generate_text("go")
    await asked.generate_text("go")
    assert counting.steps == 1


@pytest.mark.rule("R151")
async def test_a_call_that_goes_on_after_the_block_is_let_alone() -> None:
    log: list[str] = []

    def noting(name: str) -> Any:
        def handler(value: Any, ctx: Any) -> Any:
            log.append(name)
            return None if name == "step" else value

        return handler

    async def turn(turn: PendingTurn, ctx: Any) -> Any:
        log.append("turn")
        return await turn.proceed()

    async def request(request: PendingRequest, ctx: Any) -> Any:
        log.append("request")
        return await request.send()

    names = ("input", "step", "commit", "chunk", "output")
    everything = Middleware(turn=turn, request=request, **{name: noting(name) for name in names})
    looking, looked = anyio.Event(), anyio.Event()

    @tool
    async def gaze() -> str:
        """Look for as long as it takes."""
        looking.set()
        await looked.wait()
        return "seen"

    asked, texts = agent(scripted(call("gaze"), "ok"), gaze), []

    async def ask() -> None:
        async with asked.stream_text("go") as stream:
            texts.append(await stream.text)

    async with anyio.create_task_group() as group:
        with registered(everything):
            group.start_soon(ask)
            await looking.wait()
        before = [name for name in log if name != "chunk"]
        assert before == ["input", "turn", "step", "request", "commit"]
        log.clear()
        looked.set()
    assert texts == ["ok"]
    assert log == []


@pytest.mark.rule("R153")
async def test_sub_agents_have_what_is_registered_for_all_and_nothing_of_their_callers() -> None:
    everywhere, callers, own = Counting(), Counting(), Counting()
    below = Agent("below", model=scripted("found"))
    asked = agent(
        scripted(call("ask_below", task="look"), "ok"), sub_agents=[below], middlewares=[own]
    )
    with registered(everywhere), registered(callers, agent=asked):
        result = await asked.generate_text("go")
    assert result.text == "ok"
    assert (everywhere.steps, callers.steps, own.steps) == (3, 2, 2)


def test_only_middleware_is_registered() -> None:
    with pytest.raises(TypeError, match="no middleware"), registered(3):
        pass


def test_one_text_is_no_list_of_tools_for_a_step() -> None:
    with pytest.raises(TypeError, match=r"StepPlan\(tools='pay'\): give a list of ids"):
        StepPlan(tools="pay")
