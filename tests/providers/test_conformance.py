"""Every provider does what every provider must do, over the vendors' own clients."""

from __future__ import annotations

import pytest

from agentflow.testing import ProviderCheck, provider_suite
from tests.providers.speakers import BRIDGE, SPEAKERS, Speaker


@pytest.mark.rule("R288", "R289")
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
@pytest.mark.parametrize("check", provider_suite, ids=str)
async def test_a_provider_conforms(check: ProviderCheck, speaker: Speaker) -> None:
    await check(lambda scenario: speaker.provider(speaker.wire(scenario)))


@pytest.mark.rule("R288")
@pytest.mark.parametrize("anyio_backend", ["asyncio"], scope="module")
@pytest.mark.parametrize("check", provider_suite, ids=str)
async def test_the_bridge_conforms_where_it_reaches(check: ProviderCheck) -> None:
    await check(lambda scenario: BRIDGE.provider(BRIDGE.wire(scenario)))
