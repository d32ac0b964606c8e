from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cli.flows import BROKEN, SOUND, one_node
from tests.cli.shell import Project

Snapshot = Callable[[str, str], None]
UP = '{"question": "is it up?"}'


def test_text_is_printed_as_it_is(project: Project, snapshot: Snapshot) -> None:
    project.write("flow.py", SOUND)
    ended = project.agentflow("run", "flow.py", "--input", UP)
    assert (ended.code, ended.out) == (0, "it is online\n")
    snapshot("run-completed.txt", ended.err)


@pytest.mark.parametrize(
    ("body", "printed"),
    [
        ("return {'x': None}", "null"),
        ("return {'x': {'a': [1, 2.5, True]}}", '{\n  "a": [\n    1,\n    2.5,\n    true\n  ]\n}'),
        ("return {'x': 'ä\\n\\u2028'}", "ä\n\u2028"),
        ("return {'x': {'t': 'ä'}}", '{\n  "t": "ä"\n}'),
        ("return {'x': {1, 1}}", "[\n  1\n]"),
        ("return {'x': datetime.date(2026, 11, 30)}", '"2026-11-30"'),
        ("return {'x': [float('nan'), float('inf')]}", '[\n  "NaN",\n  "Infinity"\n]'),
        ("return {'x': b'\\xff'}", '"_w=="'),
        ("return {'x': Point(1, 2)}", '{\n  "x": 1,\n  "y": 2\n}'),
        ("return {'x': Model(number=3)}", '{\n  "number": 3\n}'),
        ("return {'x': Odd()}", '"odd"'),
        ("return {'x': {'lone': '\\ud800'}}", '{\n  "lone": "\\ud800"\n}'),
    ],
)
def test_anything_else_is_printed_as_json(project: Project, body: str, printed: str) -> None:
    head = """
import dataclasses, datetime
from pydantic import BaseModel

@dataclasses.dataclass
class Point:
    x: int
    y: int

class Model(BaseModel):
    number: int

class Odd:
    def __str__(self): return "odd"
"""
    project.write("flow.py", one_node(body, head=head))
    ended = project.agentflow("run", "flow.py", "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, printed + "\n", "")


@pytest.mark.parametrize(("text", "printed"), [("ä", "\\xe4\n"), ("\ud800", "\\ud800\n")])
def test_a_result_that_the_terminal_cannot_show_is_printed_all_the_same(
    project: Project, text: str, printed: str
) -> None:
    project.write("flow.py", one_node(f"return {{'x': {text!a}}}"))
    old = Project(project.folder, {"PYTHONIOENCODING": "ascii"})
    ended = old.process("run", "flow.py", "--quiet")
    assert (ended.code, ended.out, ended.err) == (0, printed, "")


@pytest.mark.parametrize("target", ["flow.py", "flow.py:engine", "flow.py:made", "flow:engine"])
def test_an_engine_runs_with_what_it_is_bound_to(project: Project, target: str) -> None:
    body = "return {'x': (await ctx.tools.invoke('add', {'a': 1, 'b': 2})).value}"
    project.write(
        "flow.py",
        one_node(body, head="from agentflow import tool\n")
        + """
@tool
async def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

engine = Engine(workflow, tools=[add])

def made():
    return Engine(workflow, tools=[add])
""",
    )
    ended = project.agentflow("run", target, "--quiet")
    assert (ended.code, ended.out) == (0, "3\n")


def test_a_target_with_several_workflows_asks_for_one(project: Project) -> None:
    project.write("flow.py", SOUND + "\nother = define_workflow('other', nodes=[reply])\n"
                  .replace("nodes=[reply]", "nodes=[reply], state=State, inputs=['status', 'question']"))  # fmt: skip
    ended = project.agentflow("run", "flow.py", "--input", UP)
    assert ended.code == 2
    assert "name one of flow.py:workflow, flow.py:other" in ended.err
    assert project.agentflow("run", "flow.py:workflow", "-i", UP, "-q").code == 0


@pytest.mark.parametrize("source", ["text", "file", "stdin"])
def test_input_comes_as_text_from_a_file_or_from_stdin(project: Project, source: str) -> None:
    project.write("flow.py", SOUND)
    project.write("input.json", "\ufeff" + UP)
    option = {"text": UP, "file": "@input.json", "stdin": "-"}[source]
    stdin = UP if source == "stdin" else None
    ended = project.agentflow("run", "flow.py", "-q", "--input", option, stdin=stdin)
    assert (ended.code, ended.out) == (0, "it is online\n")


def test_stdin_is_not_given_to_a_module_that_reads_it(project: Project) -> None:
    project.write("flow.py", "import sys\nassert sys.stdin.read() == ''\n" + SOUND)
    ended = project.process("run", "flow.py", "--quiet", "--input", "-", stdin=UP)
    assert (ended.code, ended.out, ended.err) == (0, "it is online\n", "")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("{question: 1}", "no JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        ("", "no JSON: Expecting value at line 1, column 1"),
        ("[1]", "is a list; the input is an object"),
        ('"x"', "is text; the input is an object"),
        ("3", "is a number; the input is an object"),
        ("@nowhere.json", "'nowhere.json' cannot be read: No such file or directory"),
        ("@.", "'.' cannot be read: Is a directory"),
        ("@latin.json", "latin.json is no text in UTF-8 (byte 3)"),
        ("@long.json", "long.json is no JSON: Expecting ',' delimiter at line 2, column 106"),
        ("[" * 100_000, "nests too deeply"),
        ('{"questio": "x"}', "takes no input field 'questio'"),
        ("{}", "lacks the field 'question'"),
        ('{"question": 3}', "Input should be a valid string"),
    ],
)  # fmt: skip
def test_a_bad_input_is_refused_before_anything_runs(
    project: Project, option: str, said: str
) -> None:
    project.write(
        "flow.py", SOUND.replace("    return {", "    raise AssertionError\n    return {")
    )
    project.write("long.json", '{\n"question": "' + "x" * 90 + '" "y"}')
    (project.folder / "latin.json").write_bytes(b'{"\xe4": 1}')
    ended = project.agentflow("run", "flow.py", "--input", option)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_mistake_in_json_is_shown_where_it_is(project: Project, snapshot: Snapshot) -> None:
    project.write("flow.py", SOUND)
    project.write("input.json", '{\n  "question": "is it up?",\n  "service": web\n}\n')
    ended = project.agentflow("run", "flow.py", "--input", "@input.json")
    assert ended.code == 2
    snapshot("run-bad-json.txt", ended.err)


def test_input_that_is_asked_for_and_not_given_is_named(project: Project) -> None:
    project.write("flow.py", SOUND)
    ended = project.agentflow("run", "flow.py")
    assert ended.code == 2
    assert "lacks the field 'question'" in ended.err


@pytest.mark.rule("R229")
def test_a_refused_workflow_is_not_run_and_told_by_its_findings(project: Project) -> None:
    project.write(
        "flow.py", BROKEN.replace("    return {", "    raise AssertionError\n    return {")
    )
    ended = project.agentflow("run", "flow.py", "--input", UP)
    assert (ended.code, ended.out) == (2, "")
    assert "error[AF106]" in ended.err
    assert "4 errors" in ended.err


def test_a_budget_is_kept(project: Project, snapshot: Snapshot) -> None:
    project.write("flow.py", SOUND)
    ended = project.agentflow("run", "flow.py", "-i", UP, "--budget", "visits=1, rounds=5")
    assert (ended.code, ended.out) == (1, "")
    snapshot("run-budget.txt", ended.err)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("visit=1", "there is no limit 'visit'. Did you mean 'visits'?"),
        ("zzz=1", "The limits are rounds, visits, model_calls"),
        ("visits", "write name=value"),
        ("visits=x", "visits='x': this limit takes a whole number of at least 0"),
        ("visits=1.5", "takes a whole number"),
        ("visits=-1", "takes a whole number of at least 0"),
        ("seconds=nan", "takes a number of at least 0"),
        ("cost=", "takes a number of at least 0"),
        ("visits=1,visits=2", "'visits' is given twice"),
    ],
)
def test_a_bad_budget_is_refused_with_the_names_there_are(
    project: Project, option: str, said: str
) -> None:
    project.write("flow.py", SOUND)
    ended = project.agentflow("run", "flow.py", "-i", UP, "--budget", option)
    assert ended.code == 2
    assert said in " ".join(ended.err.split())


def test_an_error_in_a_node_shows_the_authors_lines_and_not_the_engines(
    project: Project, snapshot: Snapshot
) -> None:
    head = """
def helper(value):
    try:
        return {}["key"]
    except KeyError as error:
        raise ValueError("no such thing") from error
"""
    project.write(
        "flow.py",
        one_node(
            "await asyncio.sleep(0)\n    return helper(state)", head="import asyncio\n" + head
        ),
    )
    ended = project.agentflow("run", "flow.py", "--run-id", "r-1")
    assert (ended.code, ended.out) == (1, "")
    told = ended.err.replace(str(project.folder) + "/", "")
    snapshot("run-failed.txt", told)
    whole = project.agentflow("run", "flow.py", "--verbose").err
    assert "agentflow/run/frame.py" in whole
    assert "node.started" in whole


def test_a_broken_contract_is_told_without_a_traceback(project: Project) -> None:
    project.write("flow.py", one_node("return {'y': 1}"))
    ended = project.agentflow("run", "flow.py", "--run-id", "r-1", "--quiet")
    assert ended.code == 1
    assert ended.err.startswith("error: node 'work' returned the field 'y'")
    assert "in workflow 'one', run r-1" in ended.err
    assert "Traceback" not in ended.err


def test_a_predicate_that_raises_shows_its_line(project: Project) -> None:
    text = one_node("return {'x': 1}").replace(
        'route.deliver("x")', 'route.deliver("x", when=lambda state: state["y"] > 1)'
    )
    project.write("flow.py", text)
    ended = project.agentflow("run", "flow.py", "--quiet")
    assert ended.code == 1
    assert "KeyError: 'y'" in ended.err
    assert "agentflow/" not in ended.err


def test_a_node_that_exits_fails_its_run_and_not_the_shell(project: Project) -> None:
    project.write("flow.py", one_node("sys.exit(7)", head="import sys"))
    ended = project.agentflow("run", "flow.py", "--quiet")
    assert ended.code == 1
    assert "the node ended with sys.exit(7)" in ended.err


@pytest.mark.parametrize("plain", [False, True], ids=["async", "plain"])
def test_what_a_node_prints_does_not_get_into_the_answer(project: Project, plain: bool) -> None:
    body = "print('noise'); ctx.log.info('logged'); return {'x': 1}"
    project.write("flow.py", one_node(body, plain=plain))
    ended = project.process("run", "flow.py", "--json", "--quiet")
    assert json.loads(ended.out)["result"] == 1
    assert "noise" in ended.err
    assert "logged" in ended.err


def test_the_json_document_tells_result_status_ledger_and_run(project: Project) -> None:
    project.write("flow.py", SOUND)
    ended = project.agentflow(
        "run", "flow.py", "-i", UP, "--json", "--run-id", "r-1", "--budget", "visits=9"
    )
    document = json.loads(ended.out)
    assert document["ledger"]["used"].pop("seconds") >= 0
    assert document == {
        "run_id": "r-1",
        "workflow": {"id": "service-status", "version": "1"},
        "status": "completed",
        "result": "it is online",
        "error": None,
        "ledger": {"used": {"rounds": 1, "visits": 2}, "allowed": {"visits": 9}},
    }


def test_the_json_document_tells_a_failure_too(project: Project) -> None:
    project.write("flow.py", one_node("raise ValueError('no')"))
    ended = project.agentflow("run", "flow.py", "--json", "--run-id", "r-1")
    document = json.loads(ended.out)
    assert ended.code == 1
    assert (document["status"], document["result"]) == ("failed", None)
    assert document["error"] == {
        "type": "ValueError",
        "code": None,
        "message": "no",
        "notes": ["in node 'work' of workflow 'one', run r-1"],
        "reason": None,
    }
    assert "ValueError: no" in ended.err


def test_a_run_that_takes_too_long_is_cancelled_and_says_so(project: Project) -> None:
    project.write("flow.py", one_node("await asyncio.sleep(3600)", head="import asyncio"))
    ended = project.agentflow("run", "flow.py", "--timeout", "0.05", "--json")
    assert ended.code == 130
    assert "cancelled: timed out after 0.05 s" in ended.err
    document = json.loads(ended.out)
    assert document["status"] == "cancelled"
    assert document["error"]["reason"] == "timed out after 0.05 s"


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "x"])
def test_a_timeout_is_a_number_of_seconds_above_zero(project: Project, seconds: str) -> None:
    project.write("flow.py", SOUND)
    assert project.agentflow("run", "flow.py", "-i", UP, "--timeout", seconds).code == 2


def test_code_that_ignores_its_timeout_does_not_keep_the_process(project: Project) -> None:
    body = "threading.Event().wait()"
    project.write("flow.py", one_node(body, head="import threading", plain=True))
    ended = project.process("run", "flow.py", "--timeout", "0.2", "--json")
    assert ended.code == 130
    assert json.loads(ended.out)["status"] == "cancelled"
    assert "was left behind" in ended.err


@pytest.mark.parametrize("model", ["flow.py:model", "flow:model", "flow:make", "mock:echo"])
def test_a_model_is_named_by_its_provider_or_by_its_place(project: Project, model: str) -> None:
    project.write(
        "flow.py",
        one_node("return {'x': (await ctx.model.invoke(input='ping')).value}")
        + """
from agentflow.mock import MockModel, Rule

def make():
    return MockModel(rules=[Rule(reply="pong")])

model = make()
""",
    )
    ended = project.agentflow("run", "flow.py:workflow", "--quiet", "--model", model)
    assert ended.code == 0
    assert ended.out == ("ping\n" if model == "mock:echo" else "pong\n")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nowhere:x", "there is no provider 'nowhere'"),
        ("gpt", "'gpt' names no model"),
        ("flow:zzz", "module 'flow' has no attribute 'zzz'"),
        ("bad.py:x", "module 'bad' raised ValueError: broken"),
        ("flow:State", "is no provider"),
    ],
)
def test_a_model_that_is_none_is_bad_usage(project: Project, model: str, said: str) -> None:
    project.write("flow.py", SOUND)
    project.write("bad.py", "raise ValueError('broken')\n")
    ended = project.agentflow("run", "flow.py:workflow", "-i", UP, "--model", model)
    assert ended.code == 2
    assert said in " ".join(ended.err.split())


def test_a_model_that_cannot_be_reached_is_told_without_the_lines_of_its_client(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    # Nobody listens on the port for throwing things away.
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr("agentflow.models.retries.Retries.delay", lambda *_: 0.0)
    project.write("flow.py", one_node("return {'x': (await ctx.model.invoke('ping')).value}"))
    ended = project.agentflow("run", "flow.py:workflow", "-i", UP, "--model", "openai:gpt-5-mini")
    assert ended.code == 1
    assert "in 3 tries: the connection to the server failed" in ended.err
    assert "site-packages" not in ended.err
    assert "flow.py" in ended.err


def test_a_model_whose_key_is_missing_is_bad_usage(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    project.write("flow.py", one_node("return {'x': (await ctx.model.invoke('ping')).value}"))
    ended = project.agentflow("run", "flow.py:workflow", "-i", UP, "--model", "openai:gpt-5-mini")
    assert ended.code == 2
    assert "OPENAI_API_KEY" in ended.err
