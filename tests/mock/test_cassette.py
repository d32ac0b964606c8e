"""What was recorded is played again to the letter, and nothing else is; what drifted and what is left is told."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from agentflow import (
    CancelSignal,
    ModelContext,
    ModelDenied,
    ModelError,
    ModelRateLimited,
    ModelRequestRefused,
    ModelUnavailable,
    SpecError,
    build_loop,
    structured,
    tool,
)
from agentflow.messages import (
    Chunk,
    Collector,
    FilePart,
    FinishChunk,
    Message,
    ReasoningChunk,
    ReasoningPart,
    TextChunk,
    ToolCall,
    ToolCallChunk,
    ToolSpec,
    UsageChunk,
    assistant,
    system,
    tool_result,
    user,
)
from agentflow.mock import (
    CassetteDrifted,
    Chunking,
    MockCall,
    MockModel,
    MockReply,
    MockServer,
    RecordingModel,
    ReplayingModel,
    RepliesUnused,
    Rule,
    call,
)
from agentflow.mock.cassette.schema import cassette_schema
from agentflow.testing import ProviderCheck, Scenario, fake_context, provider_suite
from tests.mock.wire import post

CONTEXT = ModelContext(signal=CancelSignal(), run_id="r", node_id="n", call_id="r/n#1/model:1.1")
LOOK = ToolSpec("look", "Look something up.\nIn a book.", {"type": "object", "properties": {}})


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


class Kept(BaseModel):
    a: list[int]


class Source:
    """A provider that sends these chunks, and then raises this error."""

    name = "source"
    reports = frozenset({"input_tokens", "output_tokens"})

    def __init__(self, *chunks: Chunk, error: Exception | None = None) -> None:
        self._chunks = chunks
        self._error = error

    async def stream(
        self, messages: Sequence[Message], context: ModelContext
    ) -> AsyncIterator[Chunk]:
        for chunk in self._chunks:
            yield chunk
        if self._error is not None:
            raise self._error


async def heard(model: Any, *messages: Message | str, **context: Any) -> list[Chunk]:
    said = tuple(user(each) if isinstance(each, str) else each for each in messages)
    return [chunk async for chunk in model.stream(said, replace(CONTEXT, **context))]


def whole(chunks: Sequence[Chunk]) -> tuple[Message, dict[str, float], str | None]:
    collector = Collector("r/n#1/model:1.1")
    for chunk in chunks:
        collector.add(chunk)
    return collector.message(), collector.usage, collector.finish_reason


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tape.json"


async def test_an_answer_is_played_again_to_the_letter(path: Path) -> None:
    source = Source(
        UsageChunk(input_tokens=3),
        ReasoningChunk("hm\n"),
        TextChunk("Let me "),
        TextChunk("see,\n世界."),
        ToolCallChunk(0, "abc", "look", '{"wo'),
        ToolCallChunk(0, arguments='rd": "ä"}'),
        ToolCallChunk(1, "def", "now"),
        ToolCallChunk(2, "ghi", "look", '{"word'),
        UsageChunk(input_tokens=3, output_tokens=9),
        FinishChunk("tool_calls"),
    )
    recorded = await heard(RecordingModel(source, path), "Hi.", tools=(LOOK,))
    replaying = ReplayingModel(path)
    replayed = await heard(replaying, "Hi.", tools=(LOOK,))
    assert whole(replayed) == whole(recorded)
    assert replaying.unused == ()
    assert (replaying.name, replaying.reports) == (source.name, source.reports)


async def test_a_workflow_runs_on_a_cassette_without_the_model(path: Path) -> None:
    @tool
    def look(word: str) -> str:
        """Look a word up."""
        return f"{word}: a word"

    loop = build_loop(instructions="Be brief.")
    live = MockModel([Rule(when=": a word", reply="I see."), Rule(reply=call("look", word="a"))])
    first = await loop.run({"messages": "a?"}, model=RecordingModel(live, path), tools=[look])
    with ReplayingModel(path) as model:
        second = await loop.run({"messages": "a?"}, model=model, tools=[look])
    assert first.text == second.text == "I see."
    assert len(first.steps) == len(second.steps) == 2


async def test_a_cassette_is_for_people_to_read(path: Path) -> None:
    recording = RecordingModel(Source(TextChunk("One.\nTwo."), FinishChunk()), path)
    look = ToolCall("call_xyz", "look", {"word": "a"})
    await heard(
        recording,
        system("Be brief.\nBe kind."),
        "Hi.",
        assistant("Well.", tool_calls=[look], reasoning="hm"),
        tool_result(look, "gone", is_error=True),
        tools=(LOOK,),
        tool_choice="auto",
        max_output_tokens=9,
        parameters={"temperature": 0.5},
    )
    assert json.loads(text_of(path)) == {
        "version": 1,
        "provider": {"name": "source", "reports": ["input_tokens", "output_tokens"]},
        "exchanges": [
            {
                "request": {
                    "messages": [
                        {"role": "system", "content": ["Be brief.\n", "Be kind."]},
                        {"role": "user", "content": "Hi."},
                        {
                            "role": "assistant",
                            "content": [
                                {"reasoning": "hm"},
                                {"text": "Well."},
                                {
                                    "call": {
                                        "id": "call_1",
                                        "name": "look",
                                        "arguments": {"word": "a"},
                                    }
                                },
                            ],
                        },
                        {
                            "role": "tool",
                            "content": [
                                {
                                    "result": {
                                        "id": "call_1",
                                        "name": "look",
                                        "content": "gone",
                                        "is_error": True,
                                    }
                                }
                            ],
                        },
                    ],
                    "tools": [
                        {
                            "name": "look",
                            "description": ["Look something up.\n", "In a book."],
                            "parameters": {"type": "object", "properties": {}},
                        }
                    ],
                    "tool_choice": "auto",
                    "max_output_tokens": 9,
                    "parameters": {"temperature": 0.5},
                },
                "answer": {"parts": [{"text": ["One.\n", "Two."]}], "finish": "stop"},
            }
        ],
    }
    assert [each.name for each in path.parent.iterdir()] == ["tape.json"]


async def test_what_is_written_satisfies_the_schema(path: Path) -> None:
    recording = RecordingModel(MockModel([Rule(reply=call("look", word="a"))]), path)
    await heard(recording, "Hi.", tools=(LOOK,), output_schema={"type": "object"})
    with pytest.raises(OSError, match="reset"):
        await heard(RecordingModel(Source(error=OSError("reset")), path), "Hi.")
    schema = Draft202012Validator(cassette_schema())
    schema.validate(json.loads(text_of(path)))


async def test_ids_of_runs_and_calls_do_not_count(path: Path) -> None:
    def conversation(id: str) -> tuple[Message, ...]:
        look = ToolCall(id, "look")
        return (user("Hi."), assistant(tool_calls=[look]), tool_result(look, "found"))

    await heard(RecordingModel(Source(FinishChunk()), path), *conversation("call_old"))
    replaying = ReplayingModel(path)
    await heard(replaying, *conversation("call_new"), run_id="another", call_id="another")
    assert replaying.unused == ()


@pytest.mark.parametrize(
    ("messages", "context", "drift"),
    [
        (["Hello."], {}, '/messages/0/content: "Hi." was recorded, "Hello." is asked'),
        ([system("x")], {}, '/messages/0/role: "user" was recorded, "system" is asked'),
        (["Hi.", "More."], {}, '/messages/1: {"role": "user", "content": "More."} was not there'),
        ([], {}, '/messages/0: {"role": "user", "content": "Hi."} is gone'),
        (["Hi."], {"max_output_tokens": 7}, "/max_output_tokens: 7 was not there"),
        (["Hi."], {"parameters": {"a": True}}, '/parameters: {"a": true} was not there'),
        (
            ["Hi."],
            {"tools": (ToolSpec("look", "Look it up.", {"a": 1}),)},
            "/tools: ",
        ),
    ],
)
async def test_another_request_is_refused_and_its_difference_is_told(
    path: Path, messages: list[Any], context: dict[str, Any], drift: str
) -> None:
    await heard(RecordingModel(Source(FinishChunk()), path), "Hi.")
    replaying = ReplayingModel(path)
    with pytest.raises(CassetteDrifted, match=re.escape(drift)) as caught:
        await heard(replaying, *messages, **context)
    assert any(each.startswith(drift) for each in caught.value.differences)
    assert replaying.unused == ('1 message, the last by user: "Hi."',)


async def test_true_is_not_one(path: Path) -> None:
    await heard(RecordingModel(Source(FinishChunk()), path), "Hi.", parameters={"a": 1})
    with pytest.raises(CassetteDrifted, match="/parameters/a: 1 was recorded, true is asked"):
        await heard(ReplayingModel(path), "Hi.", parameters={"a": True})


async def test_long_texts_are_shown_from_where_they_differ(path: Path) -> None:
    await heard(RecordingModel(Source(FinishChunk()), path), "a" * 500 + "b" + "c" * 500)
    with pytest.raises(CassetteDrifted) as caught:
        await heard(ReplayingModel(path), "a" * 500 + "x" + "c" * 500)
    (difference,) = caught.value.differences
    assert f'"…{"a" * 20}b' in difference
    assert f'"…{"a" * 20}x' in difference


async def test_the_nearest_request_is_compared_line_by_line(path: Path) -> None:
    recording = RecordingModel(Source(FinishChunk()), path)
    await heard(recording, "far away", parameters={"a": 1})
    await heard(recording, "one\ntwo\nthree")
    with pytest.raises(CassetteDrifted) as caught:
        await heard(ReplayingModel(path), "one\n2\nthree")
    assert caught.value.differences == (
        '/messages/0/content/1: "two\\n" was recorded, "2\\n" is asked',
    )
    assert "the nearest of 2 that are left" in str(caught.value)


async def test_equal_requests_get_their_answers_in_order_and_no_more(path: Path) -> None:
    live = MockModel([Rule(reply=["one", "two"])])
    recording = RecordingModel(live, path)
    for _ in range(2):
        await heard(recording, "Hi.")
    replaying = ReplayingModel(path)
    texts = [whole(await heard(replaying, "Hi."))[0].text for _ in range(2)]
    assert texts == ["one", "two"]
    with pytest.raises(CassetteDrifted, match="all 2 recorded replies are used up"):
        await heard(replaying, "Hi.")


async def test_other_requests_may_come_in_any_order(path: Path) -> None:
    recording = RecordingModel(MockModel([Rule(reply=lambda asked: asked.text)]), path)
    for text in ("one", "two"):
        await heard(recording, text)
    replaying = ReplayingModel(path)
    texts = [whole(await heard(replaying, text))[0].text for text in ("two", "one")]
    assert texts == ["two", "one"]


async def test_replies_that_nobody_asked_for_are_told_at_the_end(path: Path) -> None:
    recording = RecordingModel(MockModel([Rule(reply="a")]), path)
    for text in ("one", "two"):
        await heard(recording, text)
    with (
        pytest.raises(RepliesUnused, match="1 of 2 recorded replies in") as caught,
        ReplayingModel(path) as model,
    ):
        await heard(model, "one")
    assert str(caught.value).splitlines()[1:] == ['  1 message, the last by user: "two"']
    with pytest.raises(KeyError), ReplayingModel(path):
        raise KeyError("the reason")


async def test_an_error_is_recorded_and_raised_again_after_what_was_said(path: Path) -> None:
    recording = RecordingModel(Source(TextChunk("Well"), error=OSError("reset")), path)
    with pytest.raises(OSError, match="reset"):
        await heard(recording, "Hi.")
    stream = ReplayingModel(path).stream((user("Hi."),), CONTEXT)
    assert await anext(stream) == TextChunk("Well")
    with pytest.raises(ModelError, match="OSError: reset"):
        await anext(stream)


async def test_an_error_of_ours_keeps_its_class_and_what_it_knows(path: Path) -> None:
    error = ModelRateLimited("too much", status=429, retry_after=7)
    with pytest.raises(ModelRateLimited):
        await heard(RecordingModel(Source(error=error), path), "Hi.")
    with pytest.raises(ModelRateLimited, match=r"^too much$") as caught:
        await heard(ReplayingModel(path), "Hi.")
    assert (caught.value.status, caught.value.retry_after) == (429, 7)


async def test_what_a_vendor_wants_back_is_played_again(path: Path) -> None:
    data = {"vendor": "acme", "signature": "abc"}
    source = Source(
        ReasoningChunk("hm"),
        ReasoningChunk("", vendor_data=data),
        ReasoningChunk("well"),
        ToolCallChunk(0, "c1", "look", "{}", vendor_data=data),
        FinishChunk("tool_calls"),
    )
    recorded = await heard(RecordingModel(source, path), "Hi.")
    replayed = await heard(ReplayingModel(path), "Hi.")
    assert whole(replayed) == whole(recorded)
    first, second, called = whole(replayed)[0].content
    assert first == ReasoningPart("hm", data)
    assert second == ReasoningPart("well")
    assert isinstance(called, ToolCall)
    assert called.vendor_data == data


async def test_files_are_known_again_by_their_content_and_not_kept(path: Path) -> None:
    image = FilePart("image/png", b"a" * 5000, name="a.png")
    asked = user("What is it?", files=[image, FilePart("image/png", url="https://example.org/a")])
    await heard(RecordingModel(Source(FinishChunk()), path), asked)
    assert "aaaa" not in text_of(path)
    assert "a.png" in text_of(path)
    await heard(ReplayingModel(path), asked)
    other = replace(image, data=b"b" * 5000)
    changed = user("What is it?", files=[other, *asked.content[2:]])  # type: ignore[list-item]
    with pytest.raises(CassetteDrifted, match="/messages/0/content/1/file/sha256: "):
        await heard(ReplayingModel(path), changed)


@pytest.mark.parametrize("way", ["schema", "tool", "prompt", lambda schema: "tool"])
async def test_objects_are_asked_for_again_as_the_recorded_provider_wanted(
    path: Path, way: Any
) -> None:
    live = MockModel([Rule(reply={"a": [1]})])
    live.structured = way  # type: ignore[attr-defined]
    recording = RecordingModel(live, path)
    first = await fake_context(model=recording).model.invoke("Hi.", transport=structured(Kept))
    with ReplayingModel(path) as replaying:
        context = fake_context(model=replaying)
        second = await context.model.invoke("Hi.", transport=structured(Kept))
    assert first.value == second.value == Kept(a=[1])


async def test_an_answer_that_is_cut_or_left_has_no_end(path: Path) -> None:
    await heard(RecordingModel(Source(TextChunk("Well")), path), "Hi.")
    assert await heard(ReplayingModel(path), "Hi.") == [TextChunk("Well")]
    recording = RecordingModel(Source(TextChunk("one"), TextChunk("two"), FinishChunk()), path)
    stream = recording.stream((user("Hi."),), CONTEXT)
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    assert await heard(ReplayingModel(path), "Hi.") == [TextChunk("one")]


async def test_calls_at_the_same_time_are_kept_in_the_order_in_which_they_began(path: Path) -> None:
    class Turns:
        """Answers the first call last."""

        def __init__(self) -> None:
            self._second = anyio.Event()

        async def stream(
            self, messages: Sequence[Message], context: ModelContext
        ) -> AsyncIterator[Chunk]:
            if messages[-1].text == "first":
                await self._second.wait()
            else:
                self._second.set()
            yield TextChunk(messages[-1].text)
            yield FinishChunk()

    recording = RecordingModel(Turns(), path)
    async with anyio.create_task_group() as group:
        group.start_soon(heard, recording, "first")
        await anyio.wait_all_tasks_blocked()
        group.start_soon(heard, recording, "second")
    said = [
        exchange["answer"]["parts"][0]["text"]
        for exchange in json.loads(text_of(path))["exchanges"]
    ]
    assert said == ["first", "second"]


async def test_texts_are_scrubbed_before_they_are_kept_and_compared(path: Path) -> None:
    def scrub(text: str) -> str:
        return re.sub(r"\d{4}-\d\d-\d\d", "DATE", text).replace("secret", "***")

    live = MockModel([Rule(reply=MockCall("look", {"key": "secret"}))])
    await heard(RecordingModel(live, path, scrub=scrub), "Today is 2030-01-01.", tools=(LOOK,))
    assert "secret" not in text_of(path)
    replaying = ReplayingModel(path, scrub=scrub)
    message, _, _ = whole(await heard(replaying, "Today is 2031-12-31.", tools=(LOOK,)))
    assert dict(message.tool_calls[0].arguments) == {"key": "***"}


async def test_a_cassette_answers_structured_calls(path: Path) -> None:
    live = RecordingModel(MockModel([Rule(reply={"a": [1]})]), path)
    first = await fake_context(model=live).model.invoke("Hi.", transport=structured(dict))
    again = fake_context(model=ReplayingModel(path, chunking=Chunking("chars", 2)))
    second = await again.model.invoke("Hi.", transport=structured(dict))
    assert first.value == second.value == {"a": [1]}


def test_a_server_can_record_what_others_ask_and_play_it_again(path: Path) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi."}]}
    with MockServer(RecordingModel(MockModel([Rule(reply="Hello.")]), path)) as server:
        first = post(server, "/v1/chat/completions", body).data
    with ReplayingModel(path) as model, MockServer(model) as server:
        second = post(server, "/v1/chat/completions", {**body, "stream": True}).events
        third = post(server, "/v1/chat/completions", body)
    pieces = [data["choices"][0]["delta"].get("content", "") for _, data in second[:-1]]
    assert "".join(pieces) == first["choices"][0]["message"]["content"] == "Hello."
    assert (third.status, third.data["error"]["code"]) == (400, "cassette_drifted")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the file is no JSON"),
        ("[]", "not an object with the list 'exchanges'"),
        ('{"version": 2, "exchanges": []}', "/version: 2 is none of 1"),
        ('{"version": 1}', "'exchanges' is missing"),
        (
            '{"version": 1, "exchanges": [{"request": {"messages": []}, "answer": {"parts": [{}]}}]}',
            "#/exchanges/0/answer/parts/0: part has exactly one of",
        ),
    ],
)
def test_what_is_no_cassette_is_told(path: Path, text: str, message: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match=re.escape(message)):
        ReplayingModel(path)


def test_a_cassette_may_be_written_by_hand_and_as_yaml(tmp_path: Path) -> None:
    path = tmp_path / "tape.yaml"
    path.write_text(
        """
version: 1
exchanges:
  - request: {messages: [{role: user, content: "one\\ntwo"}]}
    answer: {parts: [{text: "Hello."}], finish: stop}
""",
        encoding="utf-8",
    )

    async def main() -> None:
        assert whole(await heard(ReplayingModel(path), "one\ntwo"))[0].text == "Hello."

    anyio.run(main)


def test_a_recording_is_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"name the file \.json"):
        RecordingModel(Source(), tmp_path / "tape.yaml")


def test_whatever_the_provider_has_besides_is_passed_on(path: Path) -> None:
    class Priced(Source):
        vendor = "acme"
        price = 3

    recording = RecordingModel(Priced(), path)
    assert (recording.name, recording.vendor, recording.price) == ("source", "acme", 3)
    with pytest.raises(AttributeError):
        _ = recording.nothing


def provider_of(scenario: Scenario) -> MockModel:
    usage = None
    if scenario.usage is not None:
        usage = UsageChunk(input_tokens=scenario.usage[0], output_tokens=scenario.usage[1])
    reply = MockReply(
        text=scenario.text,
        calls=tuple(MockCall(name, arguments) for name, arguments in scenario.calls),
        reasoning=scenario.reasoning,
        usage=usage,
        finish="length" if scenario.length else None,
        error=OSError("reset") if scenario.fails else REFUSALS.get(scenario.refuses or ""),
        fault="cut" if scenario.cut else "stall" if scenario.stalls else None,
    )
    return MockModel([Rule(reply=reply)])


REFUSALS: dict[str, Exception] = {
    "denied": ModelDenied("401"),
    "limited": ModelRateLimited("429", retry_after=7),
    "unavailable": ModelUnavailable("503"),
    "refused": ModelRequestRefused("400"),
}


@pytest.mark.parametrize("check", provider_suite, ids=str)
async def test_a_recording_model_does_what_every_provider_must(
    check: ProviderCheck, path: Path
) -> None:
    await check(lambda scenario: RecordingModel(provider_of(scenario), path))


@pytest.mark.parametrize("check", provider_suite, ids=str)
async def test_a_replaying_model_does_what_every_provider_must(
    check: ProviderCheck, path: Path
) -> None:
    def place(scenario: Scenario) -> Path:
        name = hashlib.sha256(repr(scenario).encode()).hexdigest()
        return path.with_name(f"{name}.json")

    recording: dict[Path, RecordingModel] = {}

    def record(scenario: Scenario) -> RecordingModel:
        # A check may make the same provider several times.
        tape = place(scenario)
        return recording.setdefault(tape, RecordingModel(provider_of(scenario), tape))

    replaying: dict[Path, ReplayingModel] = {}

    def replay(scenario: Scenario) -> ReplayingModel:
        tape = place(scenario)
        return replaying.setdefault(tape, ReplayingModel(tape))

    # First to record what the check asks for, then to play it.
    await check(record)
    await check(replay)


PIECES = st.lists(
    st.one_of(
        st.text(max_size=9).map(TextChunk),
        st.text(max_size=9).map(ReasoningChunk),
        st.builds(
            ToolCallChunk,
            st.integers(0, 2),
            st.sampled_from(["a", "b"]),
            st.just("look"),
            st.text(max_size=9) | st.just('{"a":\r\n1}'),
        ),
    )
)


@given(PIECES, st.integers(1, 5), st.integers())
async def test_any_answer_comes_back_however_it_was_cut(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[Chunk], size: int, seed: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    source = Source(*pieces, FinishChunk())
    recorded = await heard(RecordingModel(source, path), "Hi.")
    chunking = Chunking("chars", size, seed)
    replayed = await heard(ReplayingModel(path, chunking=chunking), "Hi.")
    assert _said(replayed) == _said(recorded)


def _said(chunks: Sequence[Chunk]) -> list[Any]:
    message, _, finish = whole(chunks)
    calls = [(c.name, c.arguments, c.error, c.raw) for c in message.tool_calls]
    return [message.text, message.reasoning, calls, finish]
