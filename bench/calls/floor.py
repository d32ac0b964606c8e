"""The floor: the vendors' own SDKs, whose events are read to the end and whose texts are joined."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.calls.caller import Ask

TITLE = "the SDK"
DISTRIBUTION = None
LACKS: Mapping[str, str] = {}
FEWER: Mapping[str, int] = {}


@asynccontextmanager
async def openai(url: str) -> AsyncIterator[Ask]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="any", max_retries=0, timeout=600) as client:

        async def ask(question: str) -> str:
            stream = await client.chat.completions.create(
                model="any",
                messages=[{"role": "user", "content": question}],
                stream=True,
                stream_options={"include_usage": True},
            )
            async with stream:
                pieces = [
                    chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices
                ]
            return "".join(pieces)

        yield ask


@asynccontextmanager
async def anthropic(url: str) -> AsyncIterator[Ask]:
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(base_url=url, api_key="any", max_retries=0, timeout=600) as client:

        async def ask(question: str) -> str:
            stream = await client.messages.create(
                model="any",
                max_tokens=1_000,
                messages=[{"role": "user", "content": question}],
                stream=True,
            )
            async with stream:
                pieces = [
                    event.delta.text
                    async for event in stream
                    if event.type == "content_block_delta" and event.delta.type == "text_delta"
                ]
            return "".join(pieces)

        yield ask
