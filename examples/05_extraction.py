"""Invoices are read from real documents into values, and middleware sends back what does not add up.

The form of an answer is a pydantic model, so what has the wrong type is corrected inside of the loop. Whether the figures agree
with each other, and stand in the document at all, no schema tells: middleware looks, and asks for another attempt with what is
wrong, once. Attempts are counted in the bounds. The model is a mock that reads as carelessly as a real one may.

    python examples/05_extraction.py
    agentflow validate examples/05_extraction.py --bounds
    agentflow graph examples/05_extraction.py:workflow
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import anyio
from pydantic import BaseModel, Field

from agentflow import Agent, Message
from agentflow.agents import Middleware, MiddlewareAborted, MiddlewareContext
from agentflow.mock import MockModel, MockRequest, Rule

LETTERS = Path(__file__).parent / "data" / "letters"


class Invoice(BaseModel):
    number: int
    issued: date
    net: float = Field(ge=0)
    vat: float = Field(ge=0)
    total: float = Field(ge=0)
    days_to_pay: int


# What no schema can tell.


def adds_up(invoice: Invoice, ctx: MiddlewareContext) -> Invoice:
    """The figures agree with each other."""
    if abs(invoice.net + invoice.vat - invoice.total) > 0.005:
        ctx.abort(
            f"net {invoice.net:.2f} and VAT {invoice.vat:.2f} do not make {invoice.total:.2f}; read them again",
            retry=True,
        )
    return invoice


def keep(messages: Sequence[Message], ctx: MiddlewareContext) -> Sequence[Message]:
    """Remember what was asked with, for the other end of the call."""
    ctx.state["document"] = messages[-1].text
    return messages


def is_there(invoice: Invoice, ctx: MiddlewareContext) -> Invoice:
    """Every figure stands in the document: nothing is invented."""
    for said in (f"{invoice.net:.2f}", f"{invoice.total:.2f}", str(invoice.number)):
        if said not in ctx.state["document"]:
            ctx.abort(f"{said} does not stand in the document", retry=True)
    return invoice


# The mock: it takes the first sum for the net, until it is told to look again.


def figure(text: str, name: str) -> str:
    found = re.search(rf"{name}[^\n]*?([\d.]+)$", text, re.MULTILINE)
    return found[1] if found else "0"


def read(request: MockRequest) -> object:
    """What the mock makes of a document; of a letter that is no invoice, figures of its own."""
    text = request.text
    careless = not any("read them again" in message.text for message in request.messages)
    sums = re.findall(r"\d+\.\d\d$", text, re.MULTILINE) or ["57.00"]
    issued = re.search(r"(\d+) November 2026", text)
    number = re.search(r"[Ii]nvoice (\d+)", text)
    days = re.search(r"within (\d+) days", text)
    return {
        "number": int(number[1]) if number else 0,
        "issued": f"2026-11-{int(issued[1]) if issued else 1:02d}",
        "net": float(sums[0] if careless else figure(text, "Net")),
        "vat": float(figure(text, "VAT")),
        "total": float(figure(text, "Total")),
        "days_to_pay": int(days[1]) if days else 0,
    }


reader = Agent(
    "reader",
    "Read the invoice. Invent nothing.",
    MockModel([Rule(reply=read)]),
    output=Invoice,
    middlewares=[
        Middleware(name="is_there", input=keep, output=is_there),
        Middleware(name="adds_up", output=adds_up),
    ],
    max_middleware_retries=1,
    max_steps=2,
)
workflow = reader.workflow


async def main() -> None:
    print("The worst case, further attempts included:")
    for line in workflow.bounds().as_text().splitlines()[:4]:
        print(f"  {line}")
    print("\nThe documents:")
    for path in sorted(LETTERS.glob("*.txt")):
        text = await anyio.Path(path).read_text(encoding="ascii")
        print(f"  {path.name}")
        try:
            result = await reader.generate_object(text, Invoice)
        except MiddlewareAborted as aborted:
            print(f"    {aborted}")
            continue
        invoice = result.object
        print(
            f"    {invoice.number} of {invoice.issued}: {invoice.total:.2f}, {invoice.vat:.2f} of it VAT;",
            end="",
        )
        print(f" due in {invoice.days_to_pay} days; {result.total_usage.calls} model calls")
    print(f"\nThe picture, as Mermaid:\n{workflow.to_mermaid()}", end="")


if __name__ == "__main__":
    anyio.run(main)
