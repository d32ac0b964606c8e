"""Ctrl-C, SIGTERM and terminals: each test has a process of its own, and waits for what it says instead of for time."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from tests.cli.flows import one_node
from tests.cli.processes import on_terminal, read_until, started
from tests.cli.shell import PATIENCE, Project

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")

PATIENT = """
    sys.stderr.write("waiting\\n"); sys.stderr.flush()
    try:
        await asyncio.sleep(3600)
    finally:
        sys.stderr.write("cleaned up\\n")"""
STUBBORN = """
    sys.stderr.write("waiting\\n"); sys.stderr.flush()
    threading.Event().wait()"""
HEAD = "import asyncio, sys, threading"


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGINT, "interrupted by Ctrl-C"),
        (signal.SIGTERM, "asked to terminate (SIGTERM)"),
    ],
)
def test_the_first_signal_cancels_the_run_and_lets_it_clean_up(
    project: Project, number: signal.Signals, reason: str
) -> None:
    project.write("flow.py", one_node(PATIENT, head=HEAD))
    with started(project, "run", "flow.py", "--json") as process:
        read_until(process, "waiting")
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    document = json.loads(out)
    assert (document["status"], document["error"]["reason"]) == ("cancelled", reason)
    assert "cleaned up" in err
    assert "once more ends the process" in err
    assert f"cancelled: {reason}" in err
    assert "Traceback" not in err


def test_the_second_signal_ends_a_process_whose_loop_is_kept_busy(project: Project) -> None:
    project.write("flow.py", one_node(STUBBORN, head=HEAD))
    with started(project, "run", "flow.py") as process:
        read_until(process, "waiting")
        process.send_signal(signal.SIGINT)
        read_until(process, "once more ends the process")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == ""


def test_a_thread_that_does_not_stop_is_left_behind_after_the_first_signal(
    project: Project,
) -> None:
    project.write("flow.py", one_node(STUBBORN, head=HEAD, plain=True))
    with started(project, "run", "flow.py") as process:
        read_until(process, "waiting")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert "work: did not stop, and was left behind" in err


def test_a_coroutine_that_swallows_its_cancel_is_left_behind_too(project: Project) -> None:
    body = """
    sys.stderr.write("waiting\\n"); sys.stderr.flush()
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass"""
    project.write("flow.py", one_node(body, head=HEAD))
    with started(project, "run", "flow.py") as process:
        read_until(process, "waiting")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")


def test_a_signal_while_a_target_is_imported_ends_quietly(project: Project) -> None:
    project.write("flow.py", f"{HEAD}{STUBBORN.replace('    ', '')}\n")
    with started(project, "validate", "flow.py") as process:
        read_until(process, "waiting")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "")


def test_a_reader_that_goes_away_is_no_error(project: Project) -> None:
    project.write("flow.py", one_node("return {'x': 'y' * 1_000_000}"))
    with started(project, "run", "flow.py", "--quiet") as process:
        assert process.stdout is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        process.wait(timeout=PATIENCE)
    assert (process.returncode, err) == (1, "")


def test_on_a_terminal_progress_is_a_live_table_and_the_result_comes_after_it(
    project: Project,
) -> None:
    project.write("flow.py", one_node("print('noise'); return {'x': 'the result'}"))
    code, shown = on_terminal(project, "run", "flow.py")
    assert code == 0
    assert "\x1b[?25l" in shown
    assert shown.index("noise") < shown.rindex("✓") < shown.index("the result")
    assert shown.rindex("\x1b[?25h") < shown.index("the result")
    assert "work: done in" not in shown


def test_a_terminal_that_can_do_nothing_gets_plain_lines(project: Project) -> None:
    project.write("flow.py", one_node("return {'x': 1}"))
    code, shown = on_terminal(project, "run", "flow.py", TERM="dumb")
    assert code == 0
    assert "work: done in" in shown
    assert "\x1b" not in shown


def test_findings_are_coloured_on_a_terminal_unless_nobody_wants_colours(
    project: Project,
) -> None:
    project.write("flow.py", "import nothing_like_it\n")
    code, coloured = on_terminal(project, "validate", "flow.py")
    assert code == 2
    assert "\x1b[1;31merror[AF004]\x1b[0m" in coloured
    _, plain = on_terminal(project, "validate", "flow.py", NO_COLOR="1")
    assert "\x1b[1;31m" not in plain
    assert "error[AF004]: module 'flow' needs" in plain.replace("\x1b[1m", "").replace(
        "\x1b[0m", ""
    )
