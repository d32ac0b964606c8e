"""The engine: along every path of the explorer it does what the explorer says, which ties proofs and runs together."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from hypothesis import given, strategies as st

from agentflow import BudgetExceeded, ContractError, Report, Workflow
from tests.proofs.explorer import Explorer, Place
from tests.proofs.graphs import SCRIPT, Drawn, Script, ScriptedFailure, many, workflows
from tests.proofs.visits import Way
from tests.run.watching import Recorder

pytestmark = pytest.mark.proof

_LONGEST = 24


class Story(NamedTuple):
    """A path of the explorer: the input, and each visit with the way that the run took on."""

    given: dict[str, Any]
    steps: list[tuple[Place, Way]]


@many(150)
@given(workflows(), st.binary(min_size=_LONGEST, max_size=_LONGEST))
async def test_a_run_goes_as_the_explorer_says(drawn: Drawn, choices: bytes) -> None:
    workflow = drawn.workflow
    if any(finding.code in UNRUNNABLE for finding in workflow.report.errors):
        return
    explorer = Explorer(workflow)
    story = _story(explorer, choices)
    if story is None:
        return
    script = _script(explorer, story)
    recorder = Recorder()
    outcome = await _run(workflow, story, script, recorder)
    (_, round), last = story.steps[-1]
    entered = [here.node for (here, _), _ in story.steps]
    lacking = last.problem is not None and last.problem.kind == "requires"
    assert script.visits == (entered[:-1] if lacking else entered)
    assert len(recorder.of("round.started")) == round
    assert script.answers == []
    if last.kind == "end":
        _compare_results(explorer, story, outcome)
    else:
        assert outcome == _error(last)


UNRUNNABLE = {"AF113", "AF114"}
"""Loops without a bound, in which the explorer would walk for ever."""


def _story(explorer: Explorer, choices: bytes) -> Story | None:
    """One path to the end of its run, as `choices` say; `None` if it gets too long."""
    fields = {*explorer.workflow.inputs, *explorer.workflow.optional_inputs}
    if explorer.workflow.open_inputs:
        fields |= set(explorer.names)
    # A proof holds whatever a function makes of a default; a run has the one that is made today.
    starts = [start for start in explorer.starts() if explorer.is_made(start, fields)]
    place: Place = starts[choices[0] % len(starts)], 1
    first, steps = place[0], []
    for choice in choices[1:]:
        ways = list(explorer.onward(place))
        way, after = ways[choice % len(ways)]
        steps.append((place, way))
        if after is None:
            state = explorer.values(first.state)
            return Story({name: state[name] for name in state if name in fields}, steps)
        place = after
    return None


def _script(explorer: Explorer, story: Story) -> Script:
    outcomes: list[dict[str, Any] | None] = []
    answers: list[bool] = []
    for _, way in story.steps:
        fails = way.kind == "error" or (way.problem is not None and way.problem.kind == "raised")
        update = {name: explorer.samples[name][value] for name, value in way.update}
        outcomes.append(None if fails else update)
        answers += way.answers
    return Script(outcomes, answers)


def _compare_results(explorer: Explorer, story: Story, result: Any) -> None:
    (here, _), last = story.steps[-1]
    route = explorer.nodes[here.node].routes[last.route]
    state = explorer.values(last.state)
    # A default is told only by what stands for it.
    defaults = {spec.name for spec in explorer.workflow.schema.with_default()}
    if route.kind == "deliver":
        assert route.field in defaults or result == state[route.field or ""]
        return
    assert set(result) & set(explorer.names) == set(state)
    for name in set(state) - defaults:
        assert result[name] == state[name]


def _error(last: Way) -> str:
    if last.problem is None:
        return "rounds"
    return "failed" if last.problem.kind == "raised" else "contract"


async def _run(workflow: Workflow[Any], story: Story, script: Script, recorder: Recorder) -> Any:
    """The result of a run, or the kind of its error in a word."""
    # What the validator refuses is run all the same: to see that it was refused with reason.
    workflow.__dict__["report"] = Report(workflow.id)
    token = SCRIPT.set(script)
    try:
        return await workflow.run(story.given, observers=[recorder])
    except ScriptedFailure:
        return "failed"
    except ContractError:
        return "contract"
    except BudgetExceeded as error:
        return error.limit
    finally:
        SCRIPT.reset(token)
