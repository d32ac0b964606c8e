"""An agent finds the cause of an incident in the log files of a small web shop, offline.

The files in `data/` are what an on-call engineer would have: an access log, an application log and the history of changes.
The tools really read and search them. The model is a scripted one, so that every run is the same; give the engine another
model, and the rest stays as it is.

    python examples/incident_triage.py
    agentflow graph examples/incident_triage.py:workflow
    agentflow run examples/incident_triage.py:engine --input '{"incident": "INC-0417"}'
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import anyio
from pydantic import BaseModel, ConfigDict

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
    tool,
)
from agentflow.mock import MockModel, MockRequest, Rule
from agentflow.observers.console import console_progress

DATA = Path(__file__).parent / "data"


# What the agent works with: values that never change.


class Frozen(BaseModel):
    """The base of the values below."""

    model_config = ConfigDict(frozen=True)


class Incident(Frozen):
    """The alert that opened the incident."""

    id: str
    endpoint: str
    symptom: str
    start: datetime
    end: datetime


class Evidence(Frozen):
    """Something that was found out, and how."""

    source: str
    finding: str


class NextStep(Frozen):
    """What the model wants to do next: look something up, or name its suspect."""

    thought: str
    action: Literal["look", "conclude"]
    tool: str = ""
    arguments: dict[str, str] = {}
    suspect: str = ""
    service: str = ""


class Report(Frozen):
    """The result of the triage."""

    incident: str
    cause: str | None
    summary: str
    errors_before: str
    errors_during: str
    errors_after: str
    evidence: tuple[str, ...]


# The tools: each reads the files, and nothing else.


def lines(name: str) -> Iterator[str]:
    """The lines of one of the data files."""
    return iter((DATA / name).read_text(encoding="ascii").splitlines())


def access_log() -> Iterator[tuple[datetime, str, int, str]]:
    """Time, request, status and request id of every request."""
    form = re.compile(r'\[(.+?)\] "(\S+ \S+) .*?" (\d+) .* request_id=(\w+)$')
    for line in lines("access.log"):
        if match := form.search(line):
            at = datetime.strptime(match[1], "%d/%b/%Y:%H:%M:%S %z")
            yield at, match[2], int(match[3]), match[4]


@tool(kind="read")
def error_rate(endpoint: str, start: datetime, end: datetime) -> str:
    """Count the requests to an endpoint, and how many were answered with a server error.

    Args:
        endpoint: Method and path, as in "POST /checkout".
        start: The first moment that counts.
        end: The first moment that does not.
    """
    found = [
        status for at, what, status, _ in access_log() if what == endpoint and start <= at < end
    ]
    failed = sum(status >= 500 for status in found)
    share = 100 * failed / len(found) if found else 0
    return f"{failed} of {len(found)} failed ({share:.0f} %)"


@tool(kind="read")
def search_log(text: str, start: datetime, end: datetime) -> str:
    """Find lines of the application log that contain a text; the first three, and how many there are."""
    found = [
        line
        for line in lines("app.log")
        if text in line and start <= datetime.fromisoformat(line.split(" ", 1)[0]) < end
    ]
    return "\n".join([f"{len(found)} lines", *found[:3]])


@tool(kind="read")
def trace(request_id: str) -> str:
    """Follow one request through both logs."""
    found = [line for line in lines("app.log") if f"request_id={request_id} " in line]
    if not found:
        raise LookupError(f"no request has the id {request_id!r}")
    answers = [
        f"answered {status}: {what}" for _, what, status, id in access_log() if id == request_id
    ]
    return "\n".join([*found, *answers])


@tool(kind="read")
def changes(service: str, start: datetime, end: datetime) -> str:
    """List what was changed in production for a service."""
    found = [json.loads(line) for line in lines("deploys.jsonl")]
    return "\n".join(
        f"{change['id']} {change['at']} {change['kind']}: {change.get('key', change.get('version'))} "
        f"{change.get('old', change.get('previous'))} -> {change.get('new', change.get('version'))}"
        for change in found
        if change["env"] == "production"
        and change["service"] == service
        and start <= datetime.fromisoformat(change["at"]) < end
    )


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


# The scripted model: it reads the evidence as a real one would, and answers by rule.


def wants(tool: str, thought: str, **arguments: str) -> NextStep:
    """A step that looks something up."""
    return NextStep(thought=thought, action="look", tool=tool, arguments=arguments)


def found(request: MockRequest, pattern: str) -> str:
    """What the evidence says, by a pattern."""
    match = re.search(pattern, request.text)
    return match[1] if match else "unknown"


HOURS = {"start": "2026-11-12T13:30:00Z", "end": "2026-11-12T15:00:00Z"}
SCRIPT = [
    Rule(
        when="Summarise",
        reply=lambda request: (
            f"{found(request, r'Summarise: (CHG-[0-9]+)')} cut the connection pool of payments to its gateway, so checkouts "
            "waited for a connection until they timed out. The rollback ended it."
        ),
    ),
    Rule(
        when=re.compile(r"Evidence \(1\)"),
        reply=wants(
            "search_log",
            "Errors begin before 14:00. What do the services say?",
            text="ERROR payments",
            **HOURS,
        ),
    ),
    Rule(
        when=re.compile(r"Evidence \(2\)"),
        reply=lambda request: wants(
            "trace", "Follow one of them.", request_id=found(request, r"request_id=(\w{8})")
        ),
    ),
    Rule(
        when=re.compile(r"Evidence \(3\)"),
        reply=lambda request: wants(
            "trace", "That id was cut short.", request_id=found(request, r"request_id=(\w{16})")
        ),
    ),
    Rule(
        when=re.compile(r"Evidence \(4\)"),
        reply=wants(
            "search_log", "The pool was exhausted. How large is it?", text="pool status", **HOURS
        ),
    ),
    Rule(
        when=re.compile(r"Evidence \(5\)"),
        reply=wants("changes", "It shrank. Who changed it?", service="payments", **HOURS),
    ),
    Rule(
        when=re.compile(r"Evidence \(6\)"),
        reply=lambda request: NextStep(
            thought="The size went down at the very time.",
            action="conclude",
            suspect=found(request, r"(CHG-\d+) \S+ config: gateway.pool.size"),
            service="payments",
        ),
    ),
]


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
