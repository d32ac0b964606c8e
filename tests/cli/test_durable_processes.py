"""Durable runs under signals, and with somebody at the terminal: each test waits for what a process says, not for time."""

from __future__ import annotations

import json
import re
import signal
import sys

import pytest

from tests.cli.durable_flows import REFUND, TWO_STEPS, asking
from tests.cli.flows import one_node
from tests.cli.processes import on_terminal, read_until, started
from tests.cli.shell import PATIENCE, Ended, Project

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")

STORE = "sqlite:///runs.db"
RUN = ("run", "flow.py", "--store", STORE, "--run-id", "r-1")


def status(project: Project) -> str:
    """What the store says of the only run."""
    (run,) = json.loads(project.agentflow("runs", "--store", STORE, "--json").out)["runs"]
    found: str = run["status"]
    return found


@pytest.fixture
def stoppable(project: Project) -> Project:
    """A project whose flow waits in each of its two nodes until it is let through."""
    project.write("flow.py", TWO_STEPS)
    return project


def let_through(project: Project, *names: str) -> None:
    for name in names:
        project.write(f"open-{name}", "")


# Signals.


def test_sigterm_lets_the_visit_under_way_finish_and_leaves_the_run_at_its_record(
    stoppable: Project,
) -> None:
    with started(stoppable, *RUN, "--grace", "60") as process:
        read_until(process, "reached first")
        process.send_signal(signal.SIGTERM)
        read_until(process, "stopping at the next record; once more ends the process at once")
        let_through(stoppable, "first")
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (143, "")
    assert "reached second" not in err
    assert "Traceback" not in err
    assert f"go on with it: agentflow resume r-1 --store {STORE} flow.py" in err
    assert status(stoppable) == "interrupted"
    let_through(stoppable, "second")
    ended = stoppable.process("resume", "r-1", "--store", STORE, "flow.py")
    assert (ended.code, ended.out) == (0, "2\n")
    assert "reached first" not in ended.err


def test_a_visit_that_outlives_the_grace_is_interrupted_and_made_again(
    stoppable: Project,
) -> None:
    with started(stoppable, *RUN, "--grace", "0.05", "--json") as process:
        read_until(process, "reached first")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
    document = json.loads(out)
    assert (process.returncode, document["status"]) == (143, "interrupted")
    assert document["error"]["code"] == "run_interrupted"
    let_through(stoppable, "first", "second")
    ended = stoppable.process(*RUN)
    assert (ended.code, ended.out) == (0, "2\n")
    assert "reached first" in ended.err


def test_ctrl_c_cancels_a_durable_run_for_good(stoppable: Project) -> None:
    with started(stoppable, *RUN) as process:
        read_until(process, "reached first")
        process.send_signal(signal.SIGINT)
        read_until(process, "cancelling; once more ends the process at once")
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert "cancelled: interrupted by Ctrl-C" in err
    assert status(stoppable) == "cancelled"


@pytest.mark.parametrize(
    ("second", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"]
)
def test_the_second_signal_ends_the_process_and_the_run_can_go_on(
    stoppable: Project, second: signal.Signals, code: int
) -> None:
    with started(stoppable, *RUN, "--grace", "60") as process:
        read_until(process, "reached first")
        process.send_signal(signal.SIGTERM)
        read_until(process, "once more ends")
        process.send_signal(second)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert status(stoppable) == "interrupted"


def test_a_killed_process_leaves_a_run_that_resume_goes_on_with(stoppable: Project) -> None:
    let_through(stoppable, "first")
    with started(stoppable, *RUN) as process:
        read_until(process, "reached second")
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert status(stoppable) == "interrupted"
    shown = stoppable.agentflow("show", "r-1", "--store", STORE).out
    assert f"go on with it: agentflow resume r-1 --store {STORE} TARGET" in shown
    let_through(stoppable, "second")
    ended = stoppable.process("resume", "r-1", "--store", STORE, "flow.py", "-q")
    assert (ended.code, ended.out) == (0, "2\n")


def test_a_run_that_lives_in_another_process_is_seen_and_cannot_be_cancelled_from_here(
    stoppable: Project,
) -> None:
    with started(stoppable, *RUN) as process:
        read_until(process, "reached first")
        assert status(stoppable) == "running"
        ended = stoppable.agentflow("cancel", "r-1", "--store", STORE)
        assert (ended.code, ended.out) == (1, "")
        told = " ".join(ended.err.split())
        assert "run 'r-1' is driven by a process that is alive; cancel it there" in told
        let_through(stoppable, "first", "second")
        out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, "2\n")


def test_who_asks_for_a_run_that_is_driven_elsewhere_waits_for_it_and_is_told_so(
    stoppable: Project,
) -> None:
    with started(stoppable, *RUN) as first:
        read_until(first, "reached first")
        with started(stoppable, "resume", "r-1", "--store", STORE, "flow.py", "-q") as second:
            read_until(second, "run r-1 is driven by another process; waiting for it")
            let_through(stoppable, "first", "second")
            assert second.communicate(timeout=PATIENCE) == ("2\n", "")
        assert first.communicate(timeout=PATIENCE)[0] == "2\n"


# Somebody at the terminal.


def talk(project: Project, *replies: tuple[str, str], run_id: str = "r-1") -> Ended:
    """A durable run on a terminal, and what somebody types there."""
    command = ["run", "flow.py", "--store", STORE, "--run-id", run_id]
    code, shown = on_terminal(project, *command, replies=replies)
    return Ended(code, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r\n", "\n"), "")


def test_on_a_terminal_a_choice_is_made_by_its_number(project: Project) -> None:
    project.write("flow.py", REFUND)
    command = ["run", "flow.py", "--store", STORE, "--input", '{"amount": 120}']
    code, shown = on_terminal(project, *command, replies=[("2) reject", "1\n")])
    assert code == 0
    assert '{"question": "pay it?", "amount": 120.0}' in shown
    assert shown.rstrip().endswith("t-120")
    assert status(project) == "completed"


def test_what_is_no_answer_is_asked_for_again(project: Project) -> None:
    project.write("flow.py", asking('prompt="Go on?", answer="a", schema=bool'))
    ended = talk(project, ("> ", "perhaps\n"), ("'perhaps' is not of type 'boolean'", "y\n"))
    assert ended.code == 0
    assert '"a": true' in ended.out
    assert "wanted   yes or no" in ended.out


def test_several_requests_are_asked_for_one_after_the_other(project: Project) -> None:
    nodes = ['prompt="one?", answer="a", schema=int', 'prompt="two?", answer="b"']
    project.write("flow.py", asking(*nodes))
    ended = talk(project, ("one?", "1\n"), ("two?", '{"x": [1]}\n'))
    assert ended.code == 0
    result = json.loads(ended.out[ended.out.rindex('{\n  "a"') :])
    assert result == {"a": 1, "b": {"x": [1]}}


@pytest.mark.parametrize("typed", ["\n", "\x04", "\x03"], ids=["empty line", "Ctrl-D", "Ctrl-C"])
def test_a_request_may_be_left_for_later(project: Project, typed: str) -> None:
    project.write("flow.py", asking('prompt="Go on?", answer="a", schema=bool'))
    ended = talk(project, ("> ", typed))
    assert ended.code == 3
    assert f"--store {STORE} flow.py" in ended.out
    assert "Traceback" not in ended.out
    assert status(project) == "suspended"


def test_resume_asks_too_when_no_answer_was_given(project: Project) -> None:
    project.write("flow.py", asking('prompt="Go on?", answer="a", schema=bool'))
    assert project.agentflow(*RUN, "-q").code == 3
    command = ["resume", "r-1", "--store", STORE, "flow.py"]
    code, shown = on_terminal(project, *command, replies=[("> ", "no\n")])
    assert code == 0
    assert '"a": false' in shown


def test_a_call_that_needs_approval_is_shown_with_its_arguments(project: Project) -> None:
    body = "return {'x': (await ctx.tools.invoke('pay', {'to': 'bob', 'amount': 5})).value}"
    project.write(
        "flow.py",
        one_node(body, head="from agentflow import tool\n")
        + """
@tool(needs_approval=True)
async def pay(to: str, amount: int) -> str:
    "Pay somebody."
    return f"paid {to} {amount}"

engine = Engine(workflow, tools=[pay])
""",
    )
    ended = talk(project, ("> ", "y\n"))
    assert ended.code == 0
    assert '"to": "bob",\n        "amount": 5\n' in ended.out
    assert ended.out.rstrip().endswith("paid bob 5")
    again = talk(project, ("> ", '{"approved": true, "arguments": {"to": "eve", "amount": 1}}\n'), run_id="r-2")  # fmt: skip
    assert again.out.rstrip().endswith("paid eve 1")


def test_without_a_terminal_nothing_is_asked(project: Project) -> None:
    project.write("flow.py", asking('prompt="Go on?", answer="a", schema=bool'))
    ended = project.process(*RUN, stdin="y\n")
    assert (ended.code, ended.out) == (3, "")
