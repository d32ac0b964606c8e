"""An agent finds the cause of an incident in the log files of a small web shop, offline.

The files in `data/` are what an on-call engineer would have: an access log, an application log and the history of changes.
The tools in `incident/tools.py` really read and search them. The model is a scripted one, `incident/script.py`, so that every
run is the same; give the engine another model, and the rest stays as it is.

    python examples/incident_triage.py
    agentflow graph examples/incident_triage.py:workflow
    agentflow run examples/incident_triage.py:engine --input '{"incident": "INC-0417"}'
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import anyio

from agentflow import (
    Budget,
    Engine,
    Fact,
    NodeContext,
    Uses,
    append,
    at_most,
    define_workflow,
    must_pass,
    node,
    route,
    structured,
)
from agentflow.mock import MockModel
from agentflow.observers.console import console_progress
from incident.script import SCRIPT
from incident.tools import DATA, changes, error_rate, search_log, trace
from incident.values import Evidence, Incident, NextStep, Report

# The workflow: survey, then look things up round by round, then verify before anything is reported.


class State(TypedDict):
    incident: str
    alert: NotRequired[Incident]
    evidence: NotRequired[Annotated[list[Evidence], append]]
    next_step: NotRequired[NextStep]
    action: NotRequired[Literal["look", "conclude"]]
    rates: NotRequired[dict[str, str]]
    verdict: NotRequired[Literal["confirmed", "refuted"]]
    report: NotRequired[Report]


@node(requires=["incident"], provides=["alert"], routes=[route.to("survey")])
async def open_incident(state: State) -> dict[str, Any]:
    """Read the alert."""
    text = await anyio.Path(DATA / "incident.json").read_text(encoding="ascii")
    alert = json.loads(text)
    if alert["id"] != state["incident"]:
        raise LookupError(f"there is no incident {state['incident']!r}; there is {alert['id']!r}")
    return {"alert": {**alert, **alert["window"]}}


@node(
    requires=["alert"],
    provides=["evidence"],
    uses=Uses(tool_calls=12),
    routes=[route.to("investigate")],
)
async def survey(state: State, ctx: NodeContext) -> dict[str, Any]:
    """Find out when the endpoint failed, ten minutes at a time."""
    alert, step = state["alert"], timedelta(minutes=10)
    found, at = [], alert.start
    while at < alert.end:
        window = {"endpoint": alert.endpoint, "start": at, "end": at + step}
        rate = await ctx.tools.invoke("error_rate", window)
        if not rate.value.startswith("0 of"):
            found.append(f"from {at:%H:%M}: {rate.value}")
        at += step
    return {"evidence": [Evidence(source="error_rate", finding="\n".join(found))]}


@node(
    requires=["alert", "evidence"],
    provides=["next_step", "action"],
    starts_round=True,
    uses=Uses(model_calls=1),
    routes=[
        route.to_if_equal("look", "action", "look"),
        route.to_if_equal("verify", "action", "conclude"),
    ],
)
async def investigate(state: State, ctx: NodeContext) -> dict[str, Any]:
    """Ask the model what to look at next, or whom it suspects."""
    reply = await ctx.model.invoke(briefing(state), transport=structured(NextStep))
    return {"next_step": reply.value, "action": reply.value.action}


@node(
    requires=["next_step"],
    provides=["evidence"],
    uses=Uses(tool_calls=1),
    on_error="note_failure",
    routes=[route.to("investigate")],
)
async def look(state: State, ctx: NodeContext) -> dict[str, Any]:
    """Look up what the model asked for."""
    step = state["next_step"]
    receipt = await ctx.tools.invoke(step.tool, step.arguments)
    return {"evidence": [Evidence(source=step.tool, finding=receipt.value)]}


@node(requires=["next_step"], provides=["evidence"], uses=Uses(), routes=[route.to("investigate")])
async def note_failure(state: State, ctx: NodeContext) -> dict[str, Any]:
    """A look-up that failed is evidence too: the model should know, and ask better."""
    assert ctx.failure is not None
    return {"evidence": [Evidence(source=state["next_step"].tool, finding=ctx.failure.message)]}


@node(
    requires=["alert", "next_step"],
    provides=["rates", "verdict"],
    uses=Uses(tool_calls=4),
    routes=[
        route.to_if_equal("report", "verdict", "confirmed"),
        route.to_if_equal("investigate", "verdict", "refuted"),
    ],
)
async def verify(state: State, ctx: NodeContext) -> dict[str, Any]:
    """Check the suspect against the figures, without the model: errors begin with the change and end with its rollback."""
    alert, suspect = state["alert"], state["next_step"].suspect
    window = {"service": state["next_step"].service, "start": alert.start, "end": alert.end}
    listed = (await ctx.tools.invoke("changes", window)).value.splitlines()
    times = [datetime.fromisoformat(line.split()[1]) for line in listed]
    began = next(
        (at for line, at in zip(listed, times, strict=True) if line.startswith(suspect)), None
    )
    if began is None:
        return {"rates": {}, "verdict": "refuted"}
    ended = next((at for at in times if at > began), alert.end)
    rates = {}
    for name, start, end in (
        ("before", alert.start, began),
        ("during", began, ended),
        ("after", ended + timedelta(seconds=10), alert.end),
    ):
        window = {"endpoint": alert.endpoint, "start": start, "end": end}
        rates[name] = (await ctx.tools.invoke("error_rate", window)).value
    clear = rates["before"].startswith("0 of") and rates["after"].startswith("0 of")
    sick = not rates["during"].startswith("0 of")
    return {"rates": rates, "verdict": "confirmed" if clear and sick else "refuted"}


@node(
    requires=["alert", "evidence", "next_step", "rates"],
    provides=["report"],
    uses=Uses(model_calls=1),
    routes=[route.deliver("report")],
)
async def report(state: State, ctx: NodeContext) -> dict[str, Any]:
    """Write down what was found, in words for people."""
    suspect, rates = state["next_step"].suspect, state["rates"]
    reply = await ctx.model.invoke(f"Summarise: {suspect} is confirmed.\n{briefing(state)}")
    return {"report": finding(state, suspect, reply.value, rates)}


@node(requires=["alert", "evidence"], provides=["report"], routes=[route.deliver("report")])
async def give_up(state: State) -> dict[str, Any]:
    """Rounds are out: report what is known, and that the cause is not."""
    return {"report": finding(state, None, "No cause was confirmed.", {})}


def briefing(state: State) -> str:
    """What the model is told: the alert and everything found so far."""
    alert = state["alert"]
    found = [f"{n}. {e.source}: {e.finding}" for n, e in enumerate(state["evidence"], 1)]
    return "\n".join([f"Incident {alert.id}: {alert.symptom}", f"Evidence ({len(found)}):", *found])


def finding(state: State, cause: str | None, summary: str, rates: dict[str, str]) -> Report:
    """The report, put together."""
    return Report(
        incident=state["alert"].id,
        cause=cause,
        summary=summary,
        errors_before=rates.get("before", "unknown"),
        errors_during=rates.get("during", "unknown"),
        errors_after=rates.get("after", "unknown"),
        evidence=tuple(f"{e.source}: {e.finding.splitlines()[0]}" for e in state["evidence"]),
    )


workflow = define_workflow(
    "incident-triage",
    nodes=[open_incident, survey, investigate, look, note_failure, verify, report, give_up],
    state=State,
    inputs=["incident"],
    result=Report,
    max_rounds=10,
    on_limit="give_up",
    policies=[must_pass("verify", before="report"), at_most("report", 1)],
    description="Find the cause of an incident in log files.",
)
BUDGET = Budget(model_calls=12, tool_calls=60, seconds=60)


def engine() -> Engine[Report]:
    """The workflow with its model, tools and limits."""
    return Engine(
        workflow,
        model=MockModel(SCRIPT),
        tools=[error_rate, search_log, trace, changes],
        budget=BUDGET,
    )


def show_progress(fact: Fact) -> None:
    """One line for each visit; for output that is no terminal."""
    if fact.kind == "node.failed":
        print(f"  {fact.node_id}: {fact.data['message']}")
    elif fact.kind == "route.taken":
        print(f"  {fact.node_id} -> {fact.data['target'] or 'the end'}")


async def main() -> None:
    """Triage the incident and print the report."""
    live = sys.stderr.isatty()
    progress = console_progress(workflow, budget=BUDGET) if live else nullcontext(show_progress)
    with progress as observer:
        async with engine().start({"incident": "INC-0417"}, observers=[observer]) as run:
            result = await run.result()
    print(f"\nIncident {result.incident}: caused by {result.cause or 'something unknown'}")
    print(f"  {result.summary}")
    print(f"  failed checkouts before  {result.errors_before}")
    print(f"                   during  {result.errors_during}")
    print(f"                   after   {result.errors_after}")
    print("Evidence, in the order in which it was found:")
    for item in result.evidence:
        print(f"  {item}")
    used, worst = run.ledger, workflow.bounds()
    print("Spent:")
    print(f"  rounds       {used.used('rounds'):3.0f} of at most {worst.rounds}")
    print(f"  model calls  {used.used('model_calls'):3.0f} of at most {worst.model_calls}")
    print(f"  tool calls   {used.used('tool_calls'):3.0f} of at most {worst.tool_calls}")


if __name__ == "__main__":
    anyio.run(main)
