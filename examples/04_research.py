"""A research agent hands out tasks to two others, which read real files, and puts together what they found.

One looks through the files, one counts; they work at the same time, each with its own tools, steps and share of the budget. How
many model calls all of them together can make is proved before the first. The files are those of the incident triage; the
models are mocks that make their answers of what the tools gave, so that this runs offline.

    python examples/04_research.py
    agentflow validate examples/04_research.py --bounds
    agentflow graph examples/04_research.py:workflow
"""

from __future__ import annotations

import json
from pathlib import Path

import anyio

from agentflow import Agent, Budget, tool
from agentflow.agents import SubAgentEvent, ToolCallEvent
from agentflow.mock import MockModel, MockRequest, Rule, call, calls
from agentflow.tools.files import file_tools

DATA = Path(__file__).parent / "data"


# Who looks things up. It reads what is there, and cannot leave the folder.


def line_of_the_first(request: MockRequest) -> str:
    found = json.loads(request.tool_results[0].content)["matches"]
    entry = json.loads(found[-1]["text"])
    when = f"{entry['at'][:10]} {entry['at'][11:16]}"
    return f"{entry['id']} ({entry['kind']}, {when}): {entry['summary']} [{found[-1]['path']}:{found[-1]['line']}]"


def search(request: MockRequest) -> object:
    """A real model would choose the words itself."""
    words = request.text.rpartition("'")[0].rpartition("'")[2]
    return call("search_files", text=words, names="*.jsonl")


archivist = Agent(
    "archivist",
    "Find the line that answers the question, and say where it stands.",
    MockModel([Rule(turn=1, reply=search), Rule(reply=line_of_the_first)]),
    [file_tools(DATA)],
    max_steps=4,
    description="Looks things up in the history of changes.",
)


# Who counts.


@tool
async def count_lines(name: str, words: str) -> int:
    """Count the lines of a file that have these words in them."""
    text = await anyio.Path(DATA / name).read_text(encoding="ascii")
    return sum(words in line for line in text.splitlines())


counter = Agent(
    "counter",
    "Count, and tell the number.",
    MockModel(
        [
            Rule(turn=1, reply=call("count_lines", name="app.log", words="pool exhausted")),
            Rule(reply=lambda request: f"{request.text} times 'pool exhausted' [app.log]"),
        ]
    ),
    [count_lines],
    max_steps=2,
    description="Counts lines of logs.",
)


# Who hands out the tasks, and writes the answer.


def report(request: MockRequest) -> str:
    return "\n".join(f"- {result.content}" for result in request.tool_results)


tasks = calls(
    call("ask_archivist", task="What did 'r.silva' change last?"),
    call("ask_archivist", task="Who took 'CHG-2033' back, and when?"),
    call("ask_counter", task="How often did a request find no connection?"),
)
researcher = Agent(
    "researcher",
    "Hand out what has to be found, then answer with sources only.",
    MockModel([Rule(turn=1, reply=tasks), Rule(reply=report)]),
    [
        archivist.as_tool(budget=Budget(model_calls=4)),
        counter.as_tool(budget=Budget(model_calls=2)),
    ],
    max_steps=3,
    max_delegations=3,
)
workflow = researcher.workflow


async def main() -> None:
    print("The worst case, those below included:")
    for line in workflow.bounds().as_text().splitlines()[:4]:
        print(f"  {line}")
    called: list[str] = []
    async with researcher.stream_text("Why did the checkout fail on 12 November?") as stream:
        async for event in stream.events:
            who, told = researcher.name, event
            if isinstance(event, SubAgentEvent):
                who, told = "/".join([who, *event.path]), event.event
            if isinstance(told, ToolCallEvent):
                called.append(f"  {who}: {told.call.name} {dict(told.call.arguments)}")
        result = await stream.result()
    print("\nThe calls, sorted, for they are made at the same time:", *sorted(called), sep="\n")
    print(f"\nThe answer:\n{result.text}\n\nModel calls by path:")
    for path, spent in sorted(result.usage_by_path.items()):
        print(f"  {path}: {spent.calls}")
    print(f"\nThe picture, as Mermaid:\n{workflow.to_mermaid()}", end="")


if __name__ == "__main__":
    anyio.run(main)
