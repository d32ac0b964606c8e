"""The tools of an MCP server: ordinary tools, under the same contracts, permits, limits and records as those of our own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.to_thread
import pytest
from structlog.testing import capture_logs

from agentflow import (
    Budget,
    BudgetExceeded,
    ContractError,
    Engine,
    OutputInvalid,
    RunCancelled,
    RunSuspended,
    Tool,
    ToolDenied,
    ToolFailed,
    UnknownTool,
    tool,
)
from agentflow.mcp import MCPInvalid, MCPServer, MCPToolError, Reconnect
from agentflow.messages import FilePart
from agentflow.testing import FactRecorder
from agentflow.tools import ToolOutput
from tests.mcp.house import PNG, House, echo, refuse, show, walk, weigh
from tests.mcp.kit import InProcess, calling, run
from tests.models.kit import asking

KILOS = {
    "type": "object",
    "properties": {"kilos": {"type": "integer"}},
    "required": ["kilos"],
    "additionalProperties": False,
}
GRAMS = {"type": "object", "properties": {"grams": {"type": "integer"}}, "required": ["grams"]}
NO_SCHEMA = "the output schema of tool 'odd': it is no valid JSON schema: 7 is not valid under any of the given schemas"


@pytest.fixture
def house() -> House:
    made = House()
    made.add("echo", echo, description="Say it.")
    made.add("weigh", weigh, input=KILOS, output=GRAMS)
    made.add("show", show)
    made.add("walk", walk)
    made.add("refuse", refuse)
    made.add("never", made.never)
    return made


def server(house: House, **options: Any) -> MCPServer:
    return MCPServer(InProcess(house.server), name="house", **options)


async def test_its_tools_and_instructions_are_told_to_models(house: House) -> None:
    async def ask(ctx: Any) -> Any:
        return ctx.tools.specs(["weigh"]), len(ctx.tools.specs()), ctx.tools.instructions

    (spec,), count, instructions = await run(server(house), ask)
    assert (spec.name, spec.parameters, count) == ("weigh", KILOS, 6)
    assert instructions == ("Knock first.",)


async def test_arguments_are_held_to_the_servers_schema_before_anything_is_sent(
    house: House,
) -> None:
    async def ask(ctx: Any) -> Any:
        for bad, reason in (({}, "'kilos' is a required"), ({"kilos": "2"}, "kilos: '2' is not")):
            with pytest.raises(ContractError, match=f"the input of tool 'weigh': .*{reason}"):
                await ctx.tools.invoke("weigh", bad)

    await run(server(house), ask)
    assert not [line for line in house.log if line.startswith("weigh")]


async def test_a_structured_value_is_data_and_held_to_its_schema(house: House) -> None:
    assert await run(server(house), calling("weigh", kilos=2)) == {"grams": 2000}

    async def lie(ctx: Any, arguments: Any) -> Any:
        return dataclasses_replaced(await weigh(ctx, {"kilos": 0.5}))

    def dataclasses_replaced(result: Any) -> Any:
        return result.model_copy(update={"structured_content": {"grams": "many"}})

    house.add("weigh", lie, input=KILOS, output=GRAMS)
    with pytest.raises(OutputInvalid, match=r"the output of tool 'weigh': .*grams: 'many' is not"):
        await run(server(house), calling("weigh", kilos=2))


async def test_a_structured_value_that_was_promised_is_missed(house: House) -> None:
    house.add("weigh", echo, output=GRAMS)
    with pytest.raises(ToolFailed, match="lacks the structured content that the tool promises"):
        await run(server(house), calling("weigh"))


async def test_images_and_resources_come_as_files_and_text(house: House) -> None:
    value = await run(server(house), calling("show"))
    assert value == ToolOutput(
        "Look:\nnote://1:\nA note.\nmore: note://3 (the rest)",
        (FilePart("image/png", PNG), FilePart("application/pdf", PNG, name="note://2")),
    )


async def test_a_model_in_a_loop_sees_them(house: House) -> None:
    from agentflow import build_loop
    from agentflow.mock import MockModel, Rule, call

    model = MockModel([Rule(reply=[call("show"), "Nice."])])
    result = await build_loop().run({"messages": "Look."}, model=model, tools=[server(house)])
    (told,) = [part for message in result.messages for part in message.tool_results]
    assert [file.media_type for file in told.files] == ["image/png", "application/pdf"]
    assert told.content.startswith("Look:")


async def test_progress_is_told_as_facts_of_the_call(house: House) -> None:
    recorder = FactRecorder(content=True)
    assert await run(server(house), calling("walk"), observers=[recorder]) == "there"
    told = recorder.of("tool.progress")
    # Trio may run the two in another order, and then the first is passed already.
    steps = [(fact.data["done"], fact.data["total"], fact.content) for fact in told]
    assert steps in ([(1, 2, "step 1"), (2, 2, "step 2")], [(2, 2, "step 2")])
    completed = recorder.only("tool.completed")
    assert all(fact.call_id == completed.call_id and fact.seq < completed.seq for fact in told)


async def test_an_error_of_the_servers_tool_is_a_failed_tool(house: House) -> None:
    with pytest.raises(ToolFailed, match="MCP server 'house': no such door") as caught:
        await run(server(house), calling("refuse"))
    assert isinstance(caught.value.__cause__, MCPToolError)


async def test_what_cannot_be_taken_as_a_result_is_a_failed_tool(house: House) -> None:
    import mcp_types as types

    async def ask_back(ctx: Any, arguments: Any) -> Any:
        return types.InputRequiredResult(request_state="and you?")

    async def blur(ctx: Any, arguments: Any) -> Any:
        image = types.ImageContent(data="no base 64!", mime_type="image/png")
        return types.CallToolResult(content=[image])

    house.add("ask_back", ask_back)
    house.add("blur", blur)

    async def ask(ctx: Any) -> Any:
        with pytest.raises(ToolFailed, match=r"MCPToolError: .* wants to ask a person, or a model"):
            await ctx.tools.invoke("ask_back")
        with pytest.raises(ToolFailed, match=r"MCPInvalid: .* a file in its answer cannot be read"):
            await ctx.tools.invoke("blur")

    await run(server(house), ask)


async def test_an_engine_that_cannot_be_entered_has_given_everything_back(house: House) -> None:
    from agentflow.stores.memory import MemoryStore

    log: list[str] = []

    class Store(MemoryStore):
        async def close(self) -> None:
            log.append("closed")
            await super().close()

    good, bad = server(house), server(house, tools=["fly"])
    engine = Engine(asking(calling("echo")), tools=[good, bad], store=Store())
    with pytest.raises(MCPInvalid):
        await engine.__aenter__()
    assert log == ["closed"]
    with pytest.raises(RuntimeError, match="is not open"):
        good.tools  # noqa: B018 - it is a property


async def test_an_engine_that_is_entered_twice_connects_once(house: House) -> None:
    way = InProcess(house.server)
    async with Engine(asking(calling("echo")), tools=[MCPServer(way, name="house")]) as engine:
        await engine.__aenter__()
        assert way.connections == 1


async def test_a_cancel_of_the_run_cancels_the_request_at_the_server(house: House) -> None:
    async with Engine(asking(calling("never")), tools=[server(house)]) as engine:
        async with engine.start({}) as going:
            await house.began.wait()
            going.cancel("enough")
            with pytest.raises(RunCancelled):
                await going.result()
        await house.cancelled.wait()


async def test_a_call_passes_the_policy_the_budget_and_approvals(house: House) -> None:
    def policy(used: Tool, input: Any, ctx: Any) -> bool:
        return bool(input != {"word": "no"})

    async def ask(ctx: Any) -> Any:
        with pytest.raises(ToolDenied):
            await ctx.tools.invoke("echo", {"word": "no"})
        await ctx.tools.invoke("echo", {"word": "yes"})
        await ctx.tools.invoke("echo", {"word": "yes"})

    with pytest.raises(BudgetExceeded):
        await run(server(house), ask, authorize=policy, budget=Budget(tool_calls=1))
    assert [line for line in house.log if line != "listed"] == ["echo {'word': 'yes'}"]


async def test_what_was_called_before_a_suspension_is_not_called_again(house: House) -> None:
    def careful(found: Tool) -> Tool:
        return dataclasses.replace(found, needs_approval=found.id == "weigh")

    async def ask(ctx: Any) -> Any:
        said = await ctx.tools.invoke("echo", {"word": "hello"})
        weight = await ctx.tools.invoke("weigh", {"kilos": 1})
        return [said.value, weight.value]

    made = server(house, adapt=careful)
    async with Engine(asking(ask), tools=[made], store="memory:") as engine:
        with pytest.raises(RunSuspended) as waits:
            await engine.run({}, run_id="r")
        (request,) = waits.value.requests
        assert request.payload["arguments"] == {"kilos": 1}
        assert await engine.resume("r", True) == ["hello", {"grams": 1000}]
    assert [line for line in house.log if line != "listed"] == [
        "echo {'word': 'hello'}",
        "weigh {'kilos': 1}",
    ]


async def test_files_survive_in_a_journal(house: House) -> None:
    async def ask(ctx: Any) -> Any:
        shown = await ctx.tools.invoke("show")
        await ctx.suspend("wait", None)
        return shown.value.files[0]

    async with Engine(asking(ask), tools=[server(house)], store="memory:") as engine:
        with pytest.raises(RunSuspended):
            await engine.run({}, run_id="r")
        assert await engine.resume("r", 1) == FilePart("image/png", PNG)
    assert house.log.count("show {}") == 1


async def test_changed_tools_are_seen_by_later_visits(house: House) -> None:
    made = server(house)
    async with Engine(asking(calling("fresh")), tools=[made]) as engine:
        with pytest.raises(UnknownTool):
            await engine.run({})
        house.add("fresh", echo)
        del house.tools["echo"]
        before = made.tools
        await house.change()
        while made.tools is before:
            await anyio.lowlevel.checkpoint()
        assert await engine.run({}) == ""
        assert "echo" not in {tool.id for tool in made.tools}


async def test_a_changed_tool_that_cannot_be_taken_is_left_out_and_told(house: House) -> None:
    @tool
    async def mine() -> None:
        """Do."""

    made = server(house)

    async def ask(ctx: Any) -> Any:
        return ctx.tools.find("mine") is mine, {spec.name for spec in ctx.tools.specs()}

    async with Engine(asking(ask), tools=[mine, made]) as engine:
        house.add("mine", echo)
        house.add("odd", echo, output={"type": 7})
        before = made.tools
        with capture_logs() as told:
            await house.change()
            while made.tools is before:
                await anyio.lowlevel.checkpoint()
            found, names = await engine.run({})
    assert found
    assert "odd" not in names
    assert [line["reason"] for line in told] == [
        NO_SCHEMA,
        f"two tools have the id 'mine': one from {mine.place} and one from MCP server 'house'; give the toolkit a prefix",
    ]


async def test_two_tools_of_one_name_are_refused_with_both_sources(house: House) -> None:
    others = MCPServer(InProcess(House().server), name="others")
    others_house = House()
    others_house.add("echo", echo)
    others = MCPServer(InProcess(others_house.server), name="others")
    engine = Engine(asking(calling("echo")), tools=[server(house), others])
    with pytest.raises(
        ContractError, match="'echo': one from MCP server 'house' and one from MCP se"
    ):
        await engine.__aenter__()
    prefixed = MCPServer(InProcess(others_house.server), name="others", prefix="others.")
    async with Engine(
        asking(calling("others.echo", word="hi")), tools=[server(house), prefixed]
    ) as engine:
        assert await engine.run({}) == "hi"


async def test_only_some_tools_may_be_taken(house: House) -> None:
    async def ask(ctx: Any) -> Any:
        return [spec.name for spec in ctx.tools.specs()]

    assert await run(server(house, tools=["walk"], prefix="h_"), ask) == ["h_walk"]
    dropped = server(house, adapt=lambda found: found if found.id == "echo" else None)
    assert await run(dropped, ask) == ["echo"]
    with pytest.raises(Exception, match="it has no tool 'fly'; its tools are: echo, never,"):
        await run(server(house, tools=["echo", "fly"]), ask)


async def test_a_connection_that_is_cut_is_made_again(house: House) -> None:
    way = InProcess(house.server)
    made = MCPServer(way, name="house", reconnect=Reconnect(backoff=0))

    async def ask(ctx: Any) -> Any:
        way.cut()
        # Nothing was under way: the call waits for the new connection.
        return (await ctx.tools.invoke("echo", {"word": "still there"})).value

    async with Engine(asking(ask), tools=[made]) as engine:
        way.cut()
        while way.connections == 1:
            await anyio.lowlevel.checkpoint()
        assert await engine.run({}) == "still there"


async def test_a_server_is_connected_once_for_several_engines(house: House) -> None:
    way = InProcess(house.server)
    made = MCPServer(way, name="house")
    flow = asking(calling("echo", word="a"))
    async with Engine(flow, tools=[made]) as first:
        async with Engine(flow, tools=[made]) as second:
            assert await second.run({}) == "a"
        assert await first.run({}) == "a"
        # One that is made while another keeps the server open need not be entered.
        assert await Engine(flow, tools=[made]).run({}) == "a"
    assert way.connections == 1
    # And again, when all have gone.
    async with Engine(flow, tools=[made]) as third:
        assert await third.run({}) == "a"
    assert way.connections == 2


async def test_a_server_belongs_to_one_event_loop(house: House) -> None:
    made = server(house)
    flow = asking(calling("echo", word="a"))
    async with Engine(flow, tools=[made]):

        def elsewhere() -> None:
            with pytest.raises(RuntimeError, match="is open in another event loop; make one for"):
                Engine(flow, tools=[made]).run_sync({})

        await anyio.to_thread.run_sync(elsewhere)


async def test_an_engine_that_is_not_entered_says_so(house: House) -> None:
    engine = Engine(asking(calling("echo")), tools=[server(house)])
    with pytest.raises(RuntimeError, match="with a server of tools is entered first"):
        await engine.run({})
    await engine.close()


def test_a_run_that_is_waited_for_connects_by_itself(house: House) -> None:
    flow = asking(calling("echo", word="a"))
    way = InProcess(house.server)
    engine = Engine(flow, tools=[MCPServer(way, name="house")])
    assert [engine.run_sync({}), engine.run_sync({})] == ["a", "a"]
    assert way.connections == 2
    assert flow.run_sync({}, tools=[server(house)]) == "a"


@pytest.mark.case("P118")
async def test_the_engine_may_be_closed_from_another_task(house: House) -> None:
    engine = Engine(asking(calling("echo", word="a")), tools=[server(house)])
    async with anyio.create_task_group() as group:
        group.start_soon(engine.__aenter__)
    assert await engine.run({}) == "a"
    async with anyio.create_task_group() as group:
        group.start_soon(engine.close)


async def test_a_server_in_use_is_closed_to_those_who_come_later(house: House) -> None:
    made = server(house)
    async with Engine(asking(calling("echo")), tools=[made]):
        (kept,) = (tool for tool in made.tools if tool.id == "echo")
    with pytest.raises(RuntimeError, match="MCP server 'house' is not open"):
        made.tools  # noqa: B018 - it is a property
    with pytest.raises(Exception, match="MCP server 'house': it is closed"):
        await kept.handler({}, None)


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"connect_timeout": -1}, {"timeout": float("nan")}]
)
def test_an_option_that_makes_no_sense_is_refused(house: House, options: Any) -> None:
    with pytest.raises(ValueError, match="give seconds above 0"):
        server(house, **options)


@pytest.mark.parametrize(
    "options", [{"tools": "echo"}, {"adapt": 3}, {"reconnect": 3}, {"args": "--verbose"}]
)
def test_an_option_of_the_wrong_kind_is_refused_by_its_name(options: Any) -> None:
    with pytest.raises(TypeError, match=r"^MCPServer.*: give"):
        MCPServer.stdio("program", **options)


def test_reconnections_are_numbers() -> None:
    assert [Reconnect(backoff=1, longest=3).delay(n) for n in (1, 2, 3, 4, 500)] == [0, 1, 2, 3, 3]
    for bad in ({"attempts": -1}, {"attempts": True}, {"backoff": -1}, {"longest": float("inf")}):
        with pytest.raises(ValueError, match="give"):
            Reconnect(**bad)


def test_an_address_is_one_of_http() -> None:
    with pytest.raises(ValueError, match="it is an address such as https://host/mcp"):
        MCPServer.http("localhost:8000")
    made = MCPServer.http("http://localhost:8000/mcp", headers={"Authorization": "secret"})
    assert made.name == "localhost"
    assert repr(made) == "<MCPServer 'localhost'>"


@pytest.fixture(autouse=True)
def nothing_is_logged_unheard() -> Iterator[None]:
    """Keep what is logged off the terminal."""
    with capture_logs():
        yield
