"""The sub log: an intention first, then what came of it, told at the moment it is written."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import ContractError, Engine, Retry
from agentflow.run.sublog import SubEntry
from tests.run.watching import Recorder
from tests.run.workflows import alone, line


@pytest.mark.rule("R337")
async def test_intentions_are_written_and_fixed_and_read_as_a_snapshot() -> None:
    snapshots: list[Any] = []

    async def body(state: Any, ctx: Any) -> None:
        log = ctx.sub_log()
        first = log.write({"do": "search"})
        second = log.write("answer")
        snapshots.append(log.read_all())
        log.fix(first, result=[3])
        snapshots.append(log.read_all())
        assert (first, second) == (1, 2)

    await alone(body).run()
    before, after = snapshots
    assert before == (SubEntry(1, {"do": "search"}), SubEntry(2, "answer"))
    assert after == (SubEntry(1, {"do": "search"}, [3], fixed=True), SubEntry(2, "answer"))


@pytest.mark.rule("R337")
async def test_what_was_written_does_not_change_with_the_objects_it_was_made_of() -> None:
    async def body(state: Any, ctx: Any) -> Any:
        log = ctx.sub_log()
        plan = ["search"]
        log.write(plan)
        plan.append("more")
        return {"x": log.read_all()[0].intention}

    assert await alone(body).run() == {"x": ["search"]}


@pytest.mark.rule("R337")
@pytest.mark.parametrize("number", [0, 2, -1])
async def test_fixing_what_was_not_written_is_refused(number: int) -> None:
    async def body(state: Any, ctx: Any) -> None:
        log = ctx.sub_log()
        log.write("plan")
        log.fix(number)

    with pytest.raises(ContractError, match="has no entry"):
        await alone(body).run()


@pytest.mark.rule("R337")
async def test_fixing_twice_is_refused() -> None:
    async def body(state: Any, ctx: Any) -> None:
        log = ctx.sub_log()
        log.fix(log.write("plan"))
        log.fix(1)

    with pytest.raises(ContractError, match="is fixed already"):
        await alone(body).run()


@pytest.mark.rule("R338", "R367")
async def test_each_entry_goes_out_at_once_and_stays_out_when_the_node_fails() -> None:
    seen = Recorder(content={"node.progress"})
    told: list[int] = []

    async def body(state: Any, ctx: Any) -> None:
        log = ctx.sub_log()
        number = log.write("pay")
        told.append(len(seen.of("node.progress")))
        log.fix(number, "paid")
        told.append(len(seen.of("node.progress")))
        log.write("ship")
        raise OSError("no truck")

    with pytest.raises(OSError, match="no truck"):
        await alone(body).run(observers=[seen])
    assert told == [1, 2]
    entries = [
        (fact.data["sub_log"], fact.data["entry"], fact.content)
        for fact in seen.of("node.progress")
    ]
    assert entries == [
        ("write", 1, SubEntry(1, "pay")),
        ("fix", 1, SubEntry(1, "pay", "paid", fixed=True)),
        ("write", 2, SubEntry(2, "ship")),
    ]


@pytest.mark.rule("R339")
async def test_without_opting_in_only_metadata_is_seen() -> None:
    async def body(state: Any, ctx: Any) -> None:
        log = ctx.sub_log()
        log.fix(log.write("secret plan"), "secret result")
        ctx.report(payload="secret", subs=log)

    seen = Recorder()
    await alone(body).run(observers=[seen])
    assert len(seen.of("node.progress")) == 3
    assert "secret" not in repr(seen.facts)


@pytest.mark.rule("R336", "R334")
async def test_a_report_takes_the_sub_log_of_its_own_visit() -> None:
    async def body(state: Any, ctx: Any) -> None:
        log = ctx.sub_log()
        log.write("plan")
        ctx.report(payload=1, subs=log)

    seen = Recorder(content={"node.progress"})
    await alone(body).run(observers=[seen])
    report = seen.of("node.progress")[-1]
    assert report.content == {"payload": 1, "subs": (SubEntry(1, "plan"),)}


class TestForeignSubLogs:
    """A report takes nothing but what `ctx.sub_log()` made for this very execution."""

    @pytest.mark.rule("R336")
    @pytest.mark.parametrize("made_by_hand", [[], [SubEntry(1, "x")], (), "log", {}])
    async def test_a_log_made_by_hand_is_refused(self, made_by_hand: Any) -> None:
        async def body(state: Any, ctx: Any) -> None:
            ctx.report(subs=made_by_hand)

        with pytest.raises(ContractError, match=r"takes the sub log that ctx.sub_log\(\) made"):
            await alone(body).run()

    @pytest.mark.rule("R336")
    @pytest.mark.parametrize("watched", [False, True])
    async def test_a_log_of_another_run_is_refused(self, watched: bool) -> None:
        kept: list[Any] = []

        async def body(state: Any, ctx: Any) -> None:
            kept.append(ctx.sub_log())
            ctx.report(subs=kept[0])

        engine = Engine(alone(body), observers=[Recorder()] if watched else [])
        await engine.run()
        with pytest.raises(ContractError, match="takes the sub log"):
            await engine.run()

    @pytest.mark.rule("R336")
    async def test_a_log_of_another_visit_of_the_same_run_is_refused(self) -> None:
        kept: list[Any] = []

        async def body(state: Any, ctx: Any) -> None:
            kept.append(ctx.sub_log())
            ctx.report(subs=kept[0])

        with pytest.raises(ContractError, match="node 'b': report takes the sub log"):
            await line(body, body).run()

    async def test_a_log_of_another_attempt_is_refused(self) -> None:
        kept: list[Any] = []

        async def body(state: Any, ctx: Any) -> None:
            kept.append(ctx.sub_log())
            ctx.report(subs=kept[0])
            raise OSError("again")

        with pytest.raises(ContractError, match="takes the sub log"):
            await alone(body, retry=Retry(2)).run()


async def test_a_plain_node_writes_through_its_own_calls() -> None:
    def body(state: Any, ctx: Any) -> Any:
        log = ctx.sync.sub_log()
        number = log.write("plan")
        log.fix(number, "done")
        ctx.sync.report(subs=log)
        return {"x": [entry.result for entry in log.read_all()]}

    seen = Recorder(content={"node.progress"})
    assert await alone(body).run(observers=[seen]) == {"x": ["done"]}
    acts = [fact.data.get("sub_log") for fact in seen.of("node.progress")]
    assert acts == ["write", "fix", None]


async def test_a_log_of_the_loop_is_not_written_from_a_thread() -> None:
    def body(state: Any, ctx: Any) -> None:
        ctx.sub_log().write("plan")

    with pytest.raises(ContractError, match=r"call ctx\.sync\.sub_log there"):
        await alone(body).run()
