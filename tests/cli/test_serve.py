"""`agentflow serve --mcp`: workflows as tools of whoever starts it, or asks on this machine."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from agentflow import Engine
from agentflow.mcp import MCPServer
from tests.cli.processes import started
from tests.cli.shell import PATIENCE, Project
from tests.mcp.kit import calling, run

FLOWS = """
    from typing import NotRequired, TypedDict
    import subprocess, sys
    import anyio
    from agentflow import define_workflow, node, route

    print("imported")

    class State(TypedDict):
        name: str
        said: NotRequired[str]

    async def greet(state):
        print("greeting")
        subprocess.run([sys.executable, "-c", "print(input.__name__); import sys; sys.stdin.read()"])
        return {"said": f"Grüße, {state['name']}!"}

    async def wait(state):
        await anyio.sleep_forever()

    def flow(id, body):
        said = node(body, provides=["said"], routes=[route.deliver("said")])
        return define_workflow(id, nodes=[said], state=State, inputs=["name"], result=str)

    greeting = flow("greeting", greet)
    waiting = flow("waiting", wait)
    """


def offered(project: Project, *arguments: str) -> StdioServerParameters:
    program, *rest = project.command("serve", "--mcp", *arguments)
    # A locale that knows no umlauts: the protocol is in UTF-8 all the same.
    variables = {**project.variables(), "LC_ALL": "C", "PYTHONUTF8": "0"}
    return StdioServerParameters(command=program, args=rest, cwd=project.folder, env=variables)


async def test_the_sdks_client_calls_workflows_over_pipes(project: Project) -> None:
    project.write("flows.py", FLOWS)
    async with Client(offered(project, "flows.py")) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["greeting", "waiting"]
        # What is printed by anybody else does not get into the protocol, and nobody reads what was meant for it.
        result = await client.call_tool("greeting", {"name": "Zoë"})
        assert result.structured_content == {"result": "Grüße, Zoë!"}
        with anyio.move_on_after(0.2):
            await client.call_tool("waiting", {"name": "x"})
        assert (await client.call_tool("greeting", {"name": "you"})).is_error is False


def test_it_ends_when_its_client_goes(project: Project) -> None:
    project.write("flows.py", FLOWS)
    ended = project.process("serve", "--mcp", "flows.py:greeting", stdin="")
    assert (ended.code, ended.out) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_client_that_reads_no_more_has_gone(project: Project) -> None:
    project.write("flows.py", FLOWS)
    with subprocess.Popen(
        project.command("serve", "--mcp", "flows.py:greeting"),
        cwd=project.folder,
        env=project.variables(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        process.wait(PATIENCE)
        assert "Traceback" not in process.stderr.read()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_when_it_is_asked_to_end_it_leaves_durable_runs_where_they_are(
    project: Project, number: signal.Signals
) -> None:
    project.write("flows.py", FLOWS)
    command = project.command("serve", "--mcp", "flows.py", "--store", "sqlite:///runs.db")
    call = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
        '"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"waiting","arguments":{"name":"x"},'
        '"_meta":{"progressToken":7}}}\n'
    )
    with subprocess.Popen(
        command,
        cwd=project.folder,
        env=project.variables(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(call)
        process.stdin.flush()
        while "notifications/progress" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(number)
        # Nobody has closed its stdin.
        assert process.wait(PATIENCE) == 0
        process.kill()
    runs = project.agentflow("runs", "--store", "sqlite:///runs.db").out
    assert "waiting" in runs
    assert "interrupted" in runs


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_with_a_port_it_tells_where_it_listens_until_ctrl_c(project: Project) -> None:
    project.write("flows.py", FLOWS)
    with started(project, "serve", "--mcp", "--port", "0", "flows.py:greeting") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")

        async def ask() -> Any:
            return await run(MCPServer.http(address), calling("greeting", name="you"))

        assert anyio.run(ask) == {"result": "Grüße, you!"}
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def test_a_port_that_is_taken_is_told(project: Project) -> None:
    project.write("flows.py", FLOWS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = project.agentflow("serve", "--mcp", "--port", str(port), "flows.py")
    assert ended.code == 1
    assert f"error: cannot listen on port {port}: Address already in use" in ended.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["flows.py"], "say how: --mcp is the one way for now"),
        (["--mcp", "flows.py:greeting", "flows.py:same"], "two workflows have the id 'greeting'"),
        (["--mcp", "flows.py:no"], "has no attribute 'no'"),
        (["--mcp", "flows.py", "--budget", "joy=1"], "there is no limit 'joy'"),
    ],
)
def test_what_cannot_be_served_is_told(project: Project, arguments: list[str], told: str) -> None:
    project.write("flows.py", FLOWS + '\n    same = flow("greeting", wait)\n')
    ended = project.agentflow("serve", *arguments)
    assert ended.code == 2
    assert told in " ".join(ended.err.split())


def test_an_engine_stands_for_its_workflow(project: Project) -> None:
    from agentflow.cli.importing import Imports
    from agentflow.cli.loading import load
    from agentflow.cli.single import engines_of
    from agentflow.cli.target import parse_target

    project.write(
        "flows.py", FLOWS + "\n    from agentflow import Engine\n    made = Engine(waiting)\n"
    )
    with Imports() as imports:
        engines = engines_of(load(parse_target(str(project.folder / "flows.py")), imports))
    assert [engine.workflow.id for engine in engines] == ["waiting", "greeting"]
    assert all(isinstance(engine, Engine) for engine in engines)


TOOLED = """
    import sys
    from agentflow import Engine, define_workflow, node, route
    from agentflow.mcp import MCPServer

    async def ask(state, ctx):
        receipt = await ctx.tools.invoke("greeting", {"name": "you"})
        return {"said": receipt.value["result"]}

    asking = node(ask, provides=["said"], routes=[route.deliver("said")])
    workflow = define_workflow("asking", nodes=[asking], result=str)
    command = [sys.executable, "-m", "agentflow", "serve", "--mcp", "flows.py:greeting"]
    engine = Engine(workflow, tools=[MCPServer.stdio(command[0], command[1:])])
    broken = Engine(workflow, tools=[MCPServer.stdio("/no-such/program", name="gone")])
    """


def test_the_shell_connects_to_the_servers_of_an_engine(project: Project) -> None:
    project.write("flows.py", FLOWS)
    project.write("tooled.py", TOOLED)
    store = ["--store", "sqlite:///runs.db"]
    ended = project.process("run", "tooled.py:engine", "--quiet", "--run-id", "r", *store)
    assert (ended.code, ended.out) == (0, "Grüße, you!\n")
    again = project.process("replay", "r", "tooled.py:engine", *store)
    assert again.code == 0
    assert "1 visit" in again.out


def test_a_server_that_is_not_reached_is_told_in_one_line(project: Project) -> None:
    project.write("tooled.py", TOOLED)
    for command in (["run", "tooled.py:broken", "--quiet"], ["serve", "--mcp", "tooled.py:broken"]):
        ended = project.process(*command)
        assert ended.code in (1, 2)
        assert ended.out == ""
        assert ended.err.startswith("error: MCP server 'gone': it cannot be reached: FileNotFoundE")
        assert ended.err.count("\n") == 1
