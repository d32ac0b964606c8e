"""A data analyst reads a table, asks it questions, draws a chart, and says what is to be seen.

The tools compute; the model only chooses what to ask and says what came of it. A chart is a file of SVG that goes to the model
beside its figures, and lies in a folder when the run is over. What the model may repeat is limited, and so are its steps. The
model is a mock that reads the figures, so that this runs offline, and needs no library for tables or pictures.

    python examples/06_analyst.py
    agentflow validate examples/06_analyst.py --bounds
    agentflow graph examples/06_analyst.py:workflow
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import anyio

from agentflow import Agent, ToolContext, tool
from agentflow.messages import FilePart
from agentflow.mock import MockModel, MockRequest, Rule, call
from agentflow.tools import RepeatLimit, ToolOutput

SALES = Path(__file__).parent / "data" / "sales.csv"
Column = Literal["month", "region"]
Measure = Literal["orders", "revenue", "revenue per order"]

# The tools.


def grouped(by: Column, measure: Measure) -> dict[str, float]:
    """The measure for each value of a column, in the order of the file."""
    orders: dict[str, float] = defaultdict(float)
    revenue: dict[str, float] = defaultdict(float)
    with SALES.open(encoding="ascii", newline="") as file:
        for row in csv.DictReader(file):
            orders[row[by]] += float(row["orders"])
            revenue[row[by]] += float(row["revenue"])
    if measure == "revenue per order":
        return {key: round(revenue[key] / orders[key], 2) for key in orders}
    return dict(orders if measure == "orders" else revenue)


@tool(kind="read", cache="run")
def total(by: Column, measure: Measure) -> dict[str, float]:
    """Add up a measure of the sales.

    Args:
        by: What to group by.
        measure: What to add up.
    """
    return grouped(by, measure)


@tool(kind="write")
def draw(by: Column, measure: Measure, ctx: ToolContext) -> ToolOutput:
    """Draw a chart with a bar for each value of a column.

    Args:
        by: What the bars are.
        measure: How long they are.
    """
    values = grouped(by, measure)
    picture = svg(f"{measure} by {by}", values)
    name = f"{measure}-by-{by}.svg".replace(" ", "-")
    Path(ctx.deps, name).write_bytes(picture)
    text = f"{name}: {json.dumps(values)}"
    return ToolOutput(text, (FilePart("image/svg+xml", picture),), data={"file": name})


def svg(title: str, values: dict[str, float]) -> bytes:
    """A chart of bars, as long as the largest allows."""
    height, longest = 24, max(values.values())
    size = {"width": "420", "height": str(height * (len(values) + 1))}
    picture = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size})
    ElementTree.SubElement(picture, "text", x="4", y="16").text = title
    for row, (label, value) in enumerate(values.items(), start=1):
        top, length = row * height, 280 * value / longest
        ElementTree.SubElement(picture, "text", x="4", y=str(top + 16)).text = label
        bar = {"x": "80", "y": str(top + 4), "width": f"{length:.1f}", "height": str(height - 8)}
        ElementTree.SubElement(picture, "rect", bar, fill="steelblue")
        at = {"x": f"{84 + length:.1f}", "y": str(top + 16)}
        ElementTree.SubElement(picture, "text", at).text = f"{value:g}"
    ElementTree.indent(picture)
    return ElementTree.tostring(picture)


# The mock: it asks one thing after the other, and reads the figures that it gets.


def conclusion(request: MockRequest) -> str:
    """Nothing but what the figures say: of the first total, and of the chart."""
    results = [result for message in request.messages for result in message.tool_results]
    by_region = json.loads(results[0].content)
    by_month = json.loads(results[-1].content.partition(": ")[2])
    best, *_, worst = sorted(by_region, key=by_region.__getitem__, reverse=True)
    weak = min(by_month, key=by_month.__getitem__)
    return (
        f"{weak} was the weakest month, with {by_month[weak]:g}. "
        f"An order of the {best} brings {by_region[best]:g}, one of the {worst} {by_region[worst]:g}."
    )


def bars(picture: bytes) -> list[str]:
    """The chart for a terminal: a sign for every ten units of a bar."""
    root = ElementTree.fromstring(picture)
    name = "{http://www.w3.org/2000/svg}"
    texts = [str(text.text) for text in root.iter(f"{name}text")]
    lengths = [float(bar.attrib["width"]) for bar in root.iter(f"{name}rect")]
    rows = zip(texts[1::2], lengths, texts[2::2], strict=True)
    return [texts[0], *(f"{key} {'#' * round(length / 10)} {value}" for key, length, value in rows)]


analyst = Agent(
    "analyst",
    "Look at totals first, then draw what matters. Say nothing that no figure says.",
    MockModel(
        [
            Rule(turn=1, reply=call("total", by="region", measure="revenue per order")),
            Rule(turn=2, reply=call("total", by="region", measure="orders")),
            Rule(turn=3, reply=call("draw", by="month", measure="revenue")),
            Rule(reply=conclusion),
        ]
    ),
    [total, draw],
    max_steps=6,
    on_max_steps="answer",
    repeat_limit=RepeatLimit(warn=2, stop=3),
)
workflow = analyst.workflow


async def main() -> None:
    print("The worst case:")
    for line in workflow.bounds().as_text().splitlines()[:4]:
        print(f"  {line}")
    with tempfile.TemporaryDirectory() as folder:
        result = await analyst.generate_text("How are our sales going?", deps=folder)
        print("\nThe steps:")
        for message in result.new_messages:
            for told in message.tool_results:
                print(f"  {told.name}: {told.content}")
        async for chart in anyio.Path(folder).glob("*.svg"):
            picture = await chart.read_bytes()
            print(f"\n{chart.name}, {len(picture):,} bytes:")
            for line in bars(picture):
                print(f"  {line}")
    print(f"\nThe answer:\n  {result.text}")
    print(f"\nThe picture, as Mermaid:\n{workflow.to_mermaid()}", end="")


if __name__ == "__main__":
    anyio.run(main)
