"""A rules file is a mock model, and what is wrong with one is told by its place, all at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agentflow import CancelSignal, ModelContext, SpecError
from agentflow.messages import ToolSpec, UsageChunk, assistant, user
from agentflow.mock import (
    Chunking,
    MockReply,
    MockRequest,
    Refused,
    RulesFile,
    ScriptExhausted,
    read_rules,
    word_usage,
)
from agentflow.mock.rules_schema import rules_schema
from agentflow.testing import FixedClock
from tests.acceptance.pages import blocks_of
from tests.house.repository import ROOT
from tests.mock.wire import post

EVERYTHING = """
$schema: mock-rules.schema.json
name: pretender
models: [small, large]
usage: {input_tokens: 3, output_tokens: 2}
chunking: {by: chars, size: 4, seed: 1}
blocks: {size: 7}
quirks: [keep-alive]
rules:
  - name: status
    when: status
    reply: All is well.
  - when: {pattern: 'order \\d+'}
    reply: {text: Found., reasoning: hm, finish: length, usage: {input_tokens: 9}, delay: 2, pace: 1}
  - turn: 2
    tools: [look]
    reply:
      text: Let me see.
      calls:
        - {name: look, arguments: {word: a}}
        - {name: look, arguments: '{"word', id: mine}
  - when: story
    replies:
      - {refuse: {status: 429, retry_after: 1.5, message: Slow down., kind: mine}}
      - {text: Once, fault: cut}
      - The end.
  - when: object
    reply: {object: {title: t}}
  - when: number
    reply: {object: 7}
  - when: word
    reply: {object: seven}
  - when: sample
    generator: schema
  - generator: echo
"""
CONTEXT = ModelContext(signal=CancelSignal(), run_id="r", node_id="n", call_id="c")


@pytest.fixture
def everything(tmp_path: Path) -> RulesFile:
    path = tmp_path / "rules.yaml"
    path.write_text(EVERYTHING, encoding="utf-8")
    return read_rules(path, clock=FixedClock())


def reply(file: RulesFile, text: str, **context: Any) -> MockReply:
    from dataclasses import replace

    return file.model.generate(MockRequest((user(text),), replace(CONTEXT, **context)))


def test_a_file_can_say_what_rules_can_say(everything: RulesFile) -> None:
    assert reply(everything, "the status?") == MockReply(text="All is well.")
    assert reply(everything, "order 66") == MockReply(
        text="Found.",
        reasoning="hm",
        finish="length",
        usage=UsageChunk(input_tokens=9),
        delay=2,
        pace=1,
    )
    offered = ModelContext(
        signal=CancelSignal(), run_id="", node_id="", call_id="", tools=(ToolSpec("look", "", {}),)
    )
    second = MockRequest((user("a"), assistant("b"), user("c")), offered)
    calls = everything.model.generate(second).calls
    assert [(call.name, call.text, call.id) for call in calls] == [
        ("look", '{"word": "a"}', None),
        ("look", '{"word', "mine"),
    ]
    assert reply(everything, "anything").text == "anything"


def test_a_list_of_replies_tells_a_story(everything: RulesFile) -> None:
    refused = reply(everything, "story").error
    assert isinstance(refused, Refused)
    assert (refused.status, refused.retry_after, refused.message, refused.kind) == (
        429,
        1.5,
        "Slow down.",
        "mine",
    )
    assert reply(everything, "story") == MockReply(text="Once", fault="cut")
    assert reply(everything, "story") == MockReply(text="The end.")
    with pytest.raises(ScriptExhausted):
        reply(everything, "story")


def test_an_object_is_said_as_the_request_wants_it(everything: RulesFile) -> None:
    assert reply(everything, "object").text == '{"title":"t"}'
    assert reply(everything, "number").text == "7"
    assert reply(everything, "word").text == '"seven"'
    look = (ToolSpec("look", "", {}),)
    (call,) = reply(everything, "object", tools=look, tool_choice="look").calls
    assert (call.name, call.text) == ("look", '{"title":"t"}')
    assert reply(everything, "sample", output_schema={"const": 4}).text == "4"


def test_a_file_can_say_how_a_server_answers(everything: RulesFile) -> None:
    assert everything.model.name == "pretender"
    assert everything.names == ("small", "large")
    assert everything.model.usage == UsageChunk(input_tokens=3, output_tokens=2)
    assert everything.model.chunking == Chunking("chars", 4, 1)
    assert everything.blocks == Chunking("bytes", 7)
    assert everything.quirks == ("keep-alive",)
    body = {"model": "m", "messages": [{"role": "user", "content": "status"}]}
    with everything.server() as server:
        got = post(server, "/v1/chat/completions", body).data
    assert got["choices"][0]["message"]["content"] == "All is well."
    assert got["usage"]["total_tokens"] == 5


def test_what_a_file_leaves_out_has_a_sensible_value() -> None:
    file = read_rules({"rules": [{"reply": "Hello."}]})
    assert (file.model.name, file.names, file.blocks) == ("mock", ("mock",), None)
    assert file.model.usage is word_usage
    assert file.model.chunking == Chunking("words")
    assert read_rules({"usage": "none", "rules": [{"reply": ""}]}).model.usage is None


def test_json_will_do(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"rules": [{"reply": "Hello."}]}), encoding="utf-8")
    assert reply(read_rules(path), "Hi.").text == "Hello."


@pytest.mark.parametrize(
    ("rules", "pointer", "message"),
    [
        ({}, "", "'rules' is missing"),
        ({"rules": []}, "/rules", "is empty"),
        ({"rules": [{}]}, "/rules/0", "has exactly one of 'reply', 'replies', 'generator'"),
        (
            {"rules": [{"reply": "a", "generator": "echo"}]},
            "/rules/0",
            "both 'reply' and 'generator'",
        ),
        ({"rules": [{"generator": "eco"}]}, "/rules/0/generator", "did you mean 'echo'?"),
        ({"rules": [{"reply": {"txt": "a"}}]}, "/rules/0/reply/txt", "did you mean 'text'?"),
        ({"rules": [{"reply": 3}]}, "/rules/0/reply", "3 is not a text or reply"),
        ({"rules": [{"reply": {"fault": "cat"}}]}, "/rules/0/reply/fault", "did you mean 'cut'?"),
        (
            {"rules": [{"when": {"pattern": "("}, "reply": ""}]},
            "/rules/0",
            "unterminated subpattern",
        ),
        (
            {"rules": [{"reply": {"object": {}, "text": "a"}}]},
            "/rules/0",
            "either an object, or text and calls",
        ),
        (
            {"rules": [{"reply": {"fault": "cut", "refuse": {"status": 500}}}]},
            "/rules/0",
            "breaks off in one way only",
        ),
        (
            {"rules": [{"reply": {"refuse": {"status": 200}}}]},
            "/rules/0/reply/refuse/status",
            "200 is less than the minimum of 400",
        ),
    ],
)
def test_what_is_wrong_is_told_by_its_place(
    rules: dict[str, Any], pointer: str, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        read_rules(rules)
    assert caught.value.pointer == pointer
    assert message in str(caught.value)


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    broken = {"rules": [{"reply": 3}, {"when": {"pattern": "("}, "reply": "", "turn": 0}]}
    path.write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        read_rules(path)
    first, second = str(caught.value).splitlines()
    assert first == f"{path}#/rules/0/reply: 3 is not a text or reply"
    assert second.startswith(f"{path}#/rules/1/turn: ")


def test_the_example_of_everything_satisfies_the_schema(tmp_path: Path) -> None:
    import yaml

    Draft202012Validator(rules_schema()).validate(yaml.safe_load(EVERYTHING))


def test_the_file_on_the_page_can_be_read() -> None:
    import yaml

    (block,) = [
        block for block in blocks_of(ROOT / "docs" / "mock.md") if block.file == "rules.yaml"
    ]
    assert len(read_rules(yaml.safe_load(block.text)).model.rules) == 5
