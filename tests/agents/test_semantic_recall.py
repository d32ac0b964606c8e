"""Recall by meaning: which turns are found, whose, and where they are told. The embedder counts words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from agentflow import Agent
from agentflow.agents.memory import (
    InMemoryHistory,
    InMemoryVectors,
    InMemoryWorkingMemory,
    Memory,
    Owner,
    SemanticRecall,
    Thread,
    Turn,
)
from agentflow.messages import assistant, user
from agentflow.mock import MockModel, Rule
from tests.agents.kit import scripted

WORDS = ("tea", "coffee", "train", "rain")
MINE: Any = {"resource_id": "u1", "thread_id": "t1"}


class Counting:
    """An `Embedder` that knows four words."""

    name = "counting"

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.texts += texts
        return [[float(text.count(word)) for word in WORDS] for text in texts]


def recall(embedder: Counting | None = None, **options: Any) -> SemanticRecall:
    return SemanticRecall(embedder=embedder or Counting(), index=InMemoryVectors(), **options)


def agent(history: InMemoryHistory, found: Any, model: Any, **options: Any) -> Agent:
    memory = Memory(history=history, recall=found, **options)
    return Agent("desk", model=model, memory=memory)


def fine() -> MockModel:
    return MockModel([Rule(reply="ok")])


async def put(found: SemanticRecall, id: str, *texts: str, thread: str = "t1") -> None:
    said = tuple(user(text) for text in texts)
    await found.add(Thread("u1", thread), Turn(id, said))


@pytest.mark.rule("R038")
async def test_history_may_come_from_what_is_like_the_question_and_not_from_the_latest() -> None:
    model, history = fine(), InMemoryHistory()
    asked = agent(history, recall(), model, turns=0)
    for text in ("I like tea.", "The train was late."):
        await asked.generate_text(text, **MINE)
    await asked.generate_text("Which tea?", **MINE)
    told = [m.text for m in model.requests[-1].messages]
    assert told == ["I like tea.", "ok", "Which tea?"]


@pytest.mark.rule("R038")
async def test_the_search_is_for_what_the_user_asks() -> None:
    class Watching:
        def __init__(self) -> None:
            self.asked: list[Any] = []

        async def add(self, thread: Thread, turn: Turn) -> None:
            self.asked.append(("add", thread, turn.id))

        async def search(self, resource: str, thread: str | None, text: str) -> Sequence[str]:
            self.asked.append(("search", resource, thread, text))
            return []

        async def forget(self, resource: str, thread: str | None = None) -> None:
            self.asked.append(("forget", resource, thread))

    watching = Watching()
    asked = agent(InMemoryHistory(), watching, fine())
    result = await asked.generate_text("Which tea?", **MINE)
    assert watching.asked == [
        ("search", "u1", "t1", "Which tea?"),
        ("add", Thread("u1", "t1"), result.run_id),
    ]
    # Without a resource there is nobody's memory to search.
    await asked.generate_text("Which tea?", thread_id="t1")
    assert len(watching.asked) == 2


async def test_what_was_found_is_told_before_the_latest_and_once() -> None:
    model, history = scripted(*["ok"] * 4), InMemoryHistory()
    asked = agent(history, recall(), model, turns=2)
    for text in ("tea one", "rain", "tea two", "tea?"):
        await asked.generate_text(text, **MINE)
    told = [m.text for m in model.requests[-1].messages if m.role == "user"]
    assert told == ["tea one", "rain", "tea two", "tea?"]


async def test_turns_of_other_conversations_are_found_unless_it_is_to_stay_in_one() -> None:
    for reach, expected in (("resource", ["a", "b"]), ("thread", ["a"])):
        found = recall(reach=reach)
        await put(found, "a", "tea")
        await put(found, "b", "tea", thread="t2")
        assert sorted(await found.search("u1", "t1", "tea")) == expected
        assert await found.search("u2", "t1", "tea") == []
    assert await found.search("u1", None, "tea") == []


async def test_what_is_too_far_away_is_not_found_and_no_more_than_asked_for() -> None:
    found = recall(limit=2, least=0.6)
    for id, text in (("tea", "tea tea"), ("both", "tea train"), ("tea too", "tea"), ("no", "rain")):
        await put(found, id, text)
    assert await found.search("u1", "t1", "tea") == ["tea", "tea too"]
    assert await found.search("u1", "t1", "coffee") == []


async def test_of_a_turn_the_user_and_the_last_answer_count() -> None:
    embedder = Counting()
    found = recall(embedder)
    said = (user("one"), assistant("hm"), user("two"), assistant("last"))
    await found.add(Thread("u1", "t1"), Turn("t", said))
    assert embedder.texts == ["one\ntwo\nlast"]


async def test_nothing_is_embedded_of_what_says_nothing() -> None:
    embedder = Counting()
    found = recall(embedder)
    await found.add(Thread("u1", "t1"), Turn("t", (user(" "),)))
    assert await found.search("u1", "t1", " ") == []
    assert embedder.texts == []


async def test_what_is_forgotten_is_neither_told_nor_found() -> None:
    class Note(BaseModel):
        likes: str

    history, working, found = InMemoryHistory(), InMemoryWorkingMemory(), recall()
    memory = Memory(history=history, working=working, working_type=Note, recall=found)
    await working.put("u1", "{}")
    for thread in ("t1", "t2"):
        await memory.keep(
            Owner(resource_id="u1", thread_id=thread), Turn(f"in {thread}", (user("tea"),))
        )
    await memory.forget("u1", "t1")
    assert await found.search("u1", None, "tea") == ["in t2"]
    assert list(await history.find("u1", ["in t1", "in t2"])) == [Turn("in t2", (user("tea"),))]
    # What is known of somebody belongs to no conversation.
    assert await working.get("u1") == "{}"
    await memory.forget("u1")
    assert await found.search("u1", None, "tea") == []
    assert list(await history.load(Thread("u1", "t2"), last=9)) == []
    assert await working.get("u1") is None


def test_numbers_and_reach_are_looked_at_when_it_is_made() -> None:
    for wrong in ({"limit": 0}, {"least": 2.0}, {"reach": "world"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            recall(**wrong)
