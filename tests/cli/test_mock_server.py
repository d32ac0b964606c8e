"""`agentflow mock-server`: it tells where it listens, answers by its rules, and ends cleanly."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from tests.cli.processes import started
from tests.cli.shell import PATIENCE, Project

RULES = """
    rules:
      - {when: weather, reply: Sunny.}
      - {reply: {refuse: {status: 429, retry_after: 3}}}
    """


def addresses(process: subprocess.Popen[str]) -> dict[str, str]:
    """What the server prints when it listens."""
    assert process.stdout is not None
    lines = [process.stdout.readline().rstrip("\n") for _ in range(2)]
    return dict(line.split("=", 1) for line in lines)


def ask(openai_url: str, prompt: str) -> Any:
    body = {"model": "any", "messages": [{"role": "user", "content": prompt}]}
    request = urllib.request.Request(
        f"{openai_url}/chat/completions", json.dumps(body).encode(), method="POST"
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.rule("R351")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_tells_where_it_listens_and_answers_until_it_is_asked_to_end(
    project: Project, number: signal.Signals
) -> None:
    project.write("rules.yaml", RULES)
    with started(project, "mock-server", "--rules", "rules.yaml") as process:
        found = addresses(process)
        base = found["ANTHROPIC_BASE_URL"]
        assert found["OPENAI_BASE_URL"] == f"{base}/v1"
        assert ask(found["OPENAI_BASE_URL"], "the weather?") == "Sunny."
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(found["OPENAI_BASE_URL"], "anything else?")
        refused.value.close()
        assert (refused.value.code, refused.value.headers["retry-after"]) == (429, "3")
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert out == ""
    assert err == "POST /v1/chat/completions 200\nPOST /v1/chat/completions 429\n"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2])))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_without_rules_it_says_what_it_is_told_and_quietly_if_asked(project: Project) -> None:
    with started(project, "mock-server", "--quiet") as process:
        assert ask(addresses(process)["OPENAI_BASE_URL"], "Hello?") == "Hello?"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")


def test_rules_that_are_none_are_told_by_their_place(project: Project) -> None:
    project.write("rules.json", '{"rules": [{"reply": {"fault": "cat"}}]}')
    ended = project.agentflow("mock-server", "--rules", "rules.json")
    assert ended.code == 2
    assert ended.err == (
        "error: rules.json#/rules/0/reply/fault: 'cat' is none of 'cut', 'reset', 'stall', 'malformed'; "
        "did you mean 'cut'?\n"
    )
    gone = project.agentflow("mock-server", "--rules", "gone.yaml")
    assert gone.code == 2
    assert "gone.yaml: the file cannot be read" in gone.err


def test_a_port_that_is_taken_is_told(project: Project) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = project.agentflow("mock-server", "--port", str(port))
    assert ended.code == 1
    assert f"cannot listen on 127.0.0.1, port {port}: " in ended.err


def test_without_the_extra_the_command_says_what_to_install(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    ended = project.agentflow("mock-server")
    assert ended.code == 2
    assert "pip install 'agentflow[mock]'" in ended.err


def test_its_help_says_what_it_needs(project: Project) -> None:
    ended = project.agentflow("mock-server", "--help")
    assert ended.code == 0
    assert "agentflow schema mock-rules" in " ".join(ended.out.split())
    assert json.loads(project.agentflow("schema", "mock-rules").out)["title"] == "rules file"
