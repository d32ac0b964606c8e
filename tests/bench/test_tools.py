"""The rows of tools and extras: both measured here do the same work."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bench.tools import agentflow, floor
from bench.tools.scenarios import TOOLS, extra
from bench.tools.smith import ARGUMENTS

SMITHS: list[Any] = [floor, agentflow]


@pytest.mark.parametrize("smith", SMITHS, ids=lambda smith: smith.TITLE)
def test_the_tools_measured_here_do_the_work(smith: Any) -> None:
    assert asyncio.run(smith.calling(3)()) == "2 of checkout"
    assert smith.validating()() == ARGUMENTS
    assert set(smith.making()()["properties"]) == set(ARGUMENTS)


def test_arguments_that_are_wrong_are_refused_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ARGUMENTS, "since", "long ago")
    for smith in SMITHS:
        with pytest.raises(ValueError, match="since"):
            smith.validating()()


@pytest.mark.parametrize("name", sorted(floor.EXTRAS))
def test_every_extra_has_a_row_and_what_is_imported_holds_the_package_itself(name: str) -> None:
    assert f"extra_{name}" in {scenario.id for scenario in TOOLS}
    packages = floor.EXTRAS[name].removeprefix("import ").split(", ")
    assert set(packages) <= set(agentflow.EXTRAS[name].removeprefix("import ").split(", "))


def test_the_import_of_an_extra_is_that_of_a_whole_process() -> None:
    assert asyncio.run(extra("mock")(agentflow, 1))["value"] > 0
