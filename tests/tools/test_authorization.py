"""Authorisation: the tool and the policy must both agree, a kind permits nothing, and whatever goes wrong is a no."""

from __future__ import annotations

from typing import Any

import pytest

from agentflow import Budget, ContractError, ToolContext, ToolDenied, tool
from agentflow.testing import FactRecorder, fake_context

CALLS: list[int] = []


@pytest.fixture(autouse=True)
def no_calls() -> None:
    CALLS.clear()


def made(**options: Any) -> Any:
    async def act(x: int = 1) -> int:
        """Act."""
        CALLS.append(x)
        return x

    return tool(act, **options)


def yes(*_: Any) -> bool:
    return True


def no(*_: Any) -> bool:
    return False


async def yes_later(*_: Any) -> bool:
    return True


async def no_later(*_: Any) -> bool:
    return False


async def denial(used: Any, **options: Any) -> str | None:
    recorder = FactRecorder()
    ctx = fake_context(tools=[used], observers=[recorder], **options)
    try:
        await ctx.tools.invoke("act")
    except ToolDenied as denied:
        assert CALLS == []
        assert ctx.ledger.used("tool_calls") == 0
        assert recorder.kinds() == ["tool.denied"]
        assert recorder.only("tool.denied").data["tool"] == "act"
        return str(denied)
    assert CALLS == [1]
    return None


@pytest.mark.rule("R239", "R314")
@pytest.mark.parametrize(
    ("own", "policy", "allowed"),
    [
        (None, None, True),
        (True, None, True),
        (yes, None, True),
        (yes_later, None, True),
        (None, yes, True),
        (None, yes_later, True),
        (yes, yes, True),
        (False, None, False),
        (no, None, False),
        (no_later, None, False),
        (None, no, False),
        (None, no_later, False),
        (yes, no, False),
        (no, yes, False),
        (False, yes, False),
    ],
)
async def test_the_tool_and_the_policy_must_both_agree(
    own: Any, policy: Any, allowed: bool
) -> None:
    said = await denial(made(authorize=own), authorize=policy)
    assert (said is None) is allowed


@pytest.mark.rule("R318")
@pytest.mark.parametrize("kind", ["read", "write", None])
async def test_a_kind_permits_nothing(kind: str | None) -> None:
    assert "its own authorize said no" in str(await denial(made(kind=kind, authorize=False)))
    said = await denial(made(kind=kind), require_authorization=True)
    assert "neither the tool nor the engine has an authorize" in str(said)


@pytest.mark.rule("R317")
async def test_without_any_policy_the_table_of_tools_runs_what_it_holds() -> None:
    assert await denial(made()) is None


async def test_one_voice_is_enough_where_authorisation_is_required() -> None:
    assert await denial(made(authorize=True), require_authorization=True) is None
    CALLS.clear()
    assert await denial(made(), authorize=yes, require_authorization=True) is None


@pytest.mark.rule("R280")
async def test_more_rounds_grant_no_permission() -> None:
    said = await denial(made(authorize=False), budget=Budget(rounds=100, tool_calls=100))
    assert said is not None


async def test_a_policy_decides_on_the_tool_the_whole_input_and_who_asks() -> None:
    seen: list[Any] = []

    def own(input: Any, ctx: ToolContext) -> bool:
        seen.append((input, ctx.identity, ctx.attempt))
        return True

    def policy(used: Any, input: Any, ctx: ToolContext) -> bool:
        seen.append((used.id, used.kind, input, ctx.node_id))
        return True

    await denial(made(authorize=own, kind="write"), authorize=policy, identity="ann")
    assert seen == [({"x": 1}, "ann", 0), ("act", "write", {"x": 1}, "node")]


@pytest.mark.parametrize("verdict", [None, 1, "yes", []])
async def test_only_true_is_a_yes(verdict: Any) -> None:
    said = await denial(made(authorize=lambda given: verdict))
    assert f"gave {verdict!r}, which is neither True nor False" in str(said)


async def test_a_policy_that_raises_denies_and_its_error_is_the_cause() -> None:
    def policy(*_: Any) -> bool:
        raise LookupError("no such user")

    ctx = fake_context(tools=[made()], authorize=policy)
    with pytest.raises(
        ToolDenied, match="the engine's policy raised LookupError: no such"
    ) as caught:
        await ctx.tools.invoke("act")
    assert isinstance(caught.value.__cause__, LookupError)


async def test_bad_input_is_not_even_shown_to_the_policy() -> None:
    seen: list[Any] = []

    def policy(given: Any) -> bool:
        seen.append(given)
        return True

    ctx = fake_context(tools=[made(authorize=policy)])
    with pytest.raises(ContractError):
        await ctx.tools.invoke("act", {"x": "many"})
    assert seen == []
