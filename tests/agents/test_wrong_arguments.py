"""What stands around agents: an argument of the wrong kind is refused where it is given, by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from agentflow import Agent, Budget, Engine, build_loop, compress_node
from agentflow.agents import (
    Guardrail,
    Hooks,
    Middleware,
    Prompts,
    StepPlan,
    Subagents,
    registered,
    spawn,
    tool_called,
)
from agentflow.agents.compression import Summarise, Trim
from agentflow.agents.memory import (
    InMemoryHistory,
    InMemoryVectors,
    InMemoryWorkingMemory,
    Memory,
    Owner,
    SemanticRecall,
    Thread,
    Turn,
    messages_of,
    text_of,
)
from agentflow.graph.codec import Unstorable
from agentflow.messages import user
from tests.agents.kit import scripted

NAN = float("nan")
HELPER = Agent("helper", None, scripted("ok"))
HISTORY = InMemoryHistory()
PASS = Middleware(output=lambda text, ctx: text)


class Note(BaseModel):
    """What is kept."""

    name: str = ""


class Letters:
    """An embedder."""

    name = "letters"

    async def embed(self, texts: Any) -> Any:
        """One number for each."""
        return [[1.0] for _ in texts]


def agent(**options: Any) -> Agent:
    return Agent("helper", None, scripted("ok"), **options)


def stream(**options: Any) -> Any:
    return HELPER.stream_text("go", **options)


def remembering(**options: Any) -> Memory:
    return Memory(**{"history": HISTORY, **options})


def recalling(**options: Any) -> SemanticRecall:
    return SemanticRecall(**{"embedder": Letters(), "index": InMemoryVectors(), **options})


def registering(**options: Any) -> None:
    with registered(PASS, **options):
        pass


WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (agent, {"store": 3}, "store=3 is no store: give a URL such as 'sqlite:///runs.db', or a"),
    (agent, {"tools": None}, "tools=None: give a list of tools and toolkits"),
    (agent, {"observers": None}, "observers=None: give a list of observers"),
    (agent, {"description": 3}, "description=3: give a text"),
    (agent, {"max_steps": [3]}, "max_steps=[3]: give a whole number of at least 1"),
    (agent, {"on_max_steps": ["stop"]}, "on_max_steps=['stop']: give 'stop', 'answer' or 'raise'"),
    (agent, {"hooks": 3}, "hooks=3: give Hooks(on_end=…), or several of them"),
    (agent, {"hooks": ""}, "hooks='': give Hooks(on_end=…), or several of them"),
    (agent, {"stop_when": ""}, "stop_when='' is no condition: give a function of the steps"),
    (agent, {"markdown": "no"}, "markdown='no': give True or False"),
    (agent, {"require_authorization": "no"}, "require_authorization='no': give True or False"),
    (agent, {"context_type": 3}, "context_type=3: give a TypedDict, a pydantic model, or another"),
    (agent, {"middlewares": [Middleware(name=3, output=print)]}, "Middleware(name=3): give a text"),  # type: ignore[arg-type]
    (agent, {"guardrails": [Guardrail(name=3, output=print)]}, "Guardrail(name=3): give a text"),  # type: ignore[arg-type]
    (stream, {"until_idle": 3}, "until_idle=3: give True or False"),
    (stream, {"max_continuations": -1}, "max_continuations=-1: give a whole number of at least 0"),
    (HELPER.as_tool, {"id": ""}, "'' is no tool id"),
    (
        HELPER.as_tool,
        {"budget": Budget(seconds=5)},
        "Budget(seconds=5): a sub-agent has no seconds",
    ),
    (
        HELPER.as_node,
        {"budget": Budget(seconds=5)},
        "Budget(seconds=5): a sub-agent has no seconds",
    ),
    (HELPER.as_tool, {"id": "ask", "description": 3}, "tool 'ask'(description=3): give a text"),
    (build_loop, {"instructions": 3}, "instructions=3: give a text, or a function"),
    (build_loop, {"prepare_step": 3}, "prepare_step=3: give a function of a StepContext"),
    (build_loop, {"retriever": 3}, "retriever=3: give a function of the query"),
    (build_loop, {"tool_choice": 3}, "tool_choice=3: give 'required', or the id of a tool"),
    (build_loop, {"repeat_limit": 3}, "repeat_limit=3: give a RepeatLimit"),
    (build_loop, {"tools": "look"}, "tools='look': give a list of ids"),
    (build_loop, {"tools": 3}, "tools=3: give a list of ids"),
    (build_loop, {"model": 3}, "StepPlan(model=3): give a text, or None"),
    (build_loop, {"parameters": "abc"}, "StepPlan(parameters='abc'): give a mapping"),
    (build_loop, {"max_output_tokens": NAN}, "StepPlan(max_output_tokens=nan): give a whole"),
    (StepPlan, {"instructions": 3}, "StepPlan(instructions=3): give a text, or None"),
    (StepPlan, {"tool_choice": 3}, "StepPlan(tool_choice=3): give a text, or None"),
    (StepPlan, {"tools": 3}, "StepPlan(tools=3): give a list of ids"),
    (StepPlan, {"max_output_tokens": 0}, "StepPlan(max_output_tokens=0): give a whole number"),
    (Prompts, {"texts": "abc"}, "Prompts(texts='abc'): give a mapping of texts by name"),
    (Prompts, {"texts": {"a": 3}}, "Prompts(texts={'a': 3}): give a mapping of texts by name"),
    (Hooks, {"on_end": 3}, "Hooks(on_end=3): give a function, or None"),
    (registering, {"agent": 3}, "registered(agent=3): give an agent, or None"),
    (spawn, {"parent": 3, "model": "mock:echo"}, "spawn(parent=3): give an agent"),
    (spawn, {"parent": HELPER, "model": "mock:echo", "prompt": 3}, "spawn(prompt=3): give a text"),
    (spawn, {"parent": HELPER, "model": "mock:echo", "tools": "look"}, "spawn(tools='look'): give"),
    (
        spawn,
        {"parent": HELPER, "model": "mock:echo", "setup": 3},
        "spawn(setup=3): give a function",
    ),
    (Subagents, {"agents": 3}, "Subagents(agents=3): give a list of agents"),
    (Subagents, {"agents": ["helper"]}, "Subagents(agents=['helper']): it is no agent"),
    (Subagents, {"agents": [], "depth": "3"}, "Subagents(depth='3'): give a whole number of at"),
    (Subagents, {"agents": [], "depth": NAN}, "Subagents(depth=nan): give a whole number of at"),
    (Subagents, {"agents": [], "ceiling": 3}, "Subagents(ceiling=3): give a function (tool, input"),
    (Subagents, {"agents": [], "backend": 3}, "Subagents(backend=3): give an object with an async"),
    (compress_node, {"id": "c", "compressor": 3}, "compress_node(compressor=3): give Summarise(…)"),
    (
        compress_node,
        {"id": "c", "above_chars": "3"},
        "compress_node(above_chars='3'): give a whole",
    ),
    (
        Summarise,
        {"keep_recent": -1},
        "Summarise(keep_recent=-1): give a whole number of at least 0",
    ),
    (Summarise, {"max_chars": NAN}, "Summarise(max_chars=nan): give a whole number of at least 0"),
    (Summarise, {"instructions": None}, "Summarise(instructions=None): give a text"),
    (Trim, {"max_chars": "3"}, "Trim(max_chars='3'): give a whole number of at least 0"),
    (remembering, {"turns": "3"}, "Memory(turns='3'): give a whole number of at least 0"),
    (remembering, {"turns": NAN}, "Memory(turns=nan): give a whole number of at least 0"),
    (remembering, {"debounce": "3"}, "Memory(debounce='3'): give seconds, of at least 0"),
    (remembering, {"recall": 3}, "Memory(recall=3): give a Recall, such as SemanticRecall(…)"),
    (remembering, {"working": 3, "working_type": Note}, "Memory(working=3): give a WorkingMemory"),
    (
        remembering,
        {"working": InMemoryWorkingMemory(), "working_type": 3},
        "Memory(working_type=3): give a pydantic model",
    ),
    (recalling, {"embedder": 3}, "SemanticRecall(embedder=3): give an Embedder"),
    (recalling, {"index": 3}, "SemanticRecall(index=3): give a VectorIndex"),
    (recalling, {"limit": "3"}, "SemanticRecall(limit='3'): give a whole number of at least 1"),
    (recalling, {"least": "3"}, "SemanticRecall(least='3'): give a similarity, from -1 to 1"),
    (Owner, {"resource_id": ""}, "Owner(resource_id=''): give a text, not empty, or None"),
    (Thread, {"resource": "me", "id": 3}, "Thread(id=3): give a text, not empty"),
    (Turn, {"id": 3, "messages": [user("Hi.")]}, "Turn(id=3): give a text, not empty"),
    (Turn, {"id": "t", "messages": ["Hi."]}, "Turn: messages[0]='Hi.' is no Message"),
    (text_of, {"messages": "abc"}, "text_of(messages='abc'): give a list"),
    (messages_of, {"text": 3}, "messages_of(text=3): give a text"),
]


@pytest.mark.parametrize(("made", "given", "told"), WRONG)
def test_an_argument_of_the_wrong_kind_is_refused_by_its_name(
    made: Callable[..., Any], given: dict[str, Any], told: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(told)}"):
        made(**given)


def test_tools_that_end_a_loop_are_named() -> None:
    with pytest.raises(ValueError, match=r"^tool_called\(\): name the tools"):
        tool_called()
    wrong: Any = ["submit"]
    with pytest.raises(TypeError, match=r"tool_called\(name=\['submit'\]\): give a text"):
        tool_called(wrong)


def test_an_engine_refuses_what_is_no_store() -> None:
    wrong: Any = 3
    with pytest.raises(TypeError, match="store=3 is no store"):
        Engine(build_loop(), store=wrong)


async def test_a_call_may_say_nothing_of_observers() -> None:
    said: Any = {"observers": None}
    assert (await agent().generate_text("go", **said)).text == "ok"


@pytest.mark.parametrize("text", ["abc", "", "3", "{}", "[3]"])
def test_a_text_that_holds_no_messages_is_damaged(text: str) -> None:
    with pytest.raises(Unstorable, match="damaged"):
        messages_of(text)
