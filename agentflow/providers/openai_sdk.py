"""OpenAI's SDK: its import, the clients made of it, and its key."""

from __future__ import annotations

import os
from typing import Final

from agentflow.providers.clients import Clients

try:
    import openai
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "models of OpenAI need the package 'openai': pip install 'agentflow[openai]'",
        name=error.name,
    ) from error

__all__ = ["VENDOR_ADDRESS", "clients_of", "is_vendor"]

VENDOR_ADDRESS: Final = "https://api.openai.com"
_KEY: Final = "OPENAI_API_KEY"
_ADDRESS: Final = "OPENAI_BASE_URL"


def clients_of(
    api_key: str | None, base_url: str | None, client: openai.AsyncOpenAI | None
) -> Clients[openai.AsyncOpenAI]:
    """The clients of a provider.

    Args:
        api_key: Default: the variable `OPENAI_API_KEY`; a server of one's own may need none.
        base_url: Default: the variable `OPENAI_BASE_URL`, else the vendor's own.
        client: The caller's own client, in place of all this.

    Raises:
        ValueError: The vendor's own server is to be asked, and there is no key.
    """
    key = api_key or os.environ.get(_KEY)
    address = base_url or os.environ.get(_ADDRESS)
    if not key and client is None:
        if not address:
            raise ValueError(
                f"there is no key for OpenAI: set the variable {_KEY}, or give api_key=…; for a server of your own set "
                f"{_ADDRESS}, or give base_url=…"
            )
        # The SDK sends none without, and servers that want none look at none.
        key = "none"

    def make() -> openai.AsyncOpenAI:
        # Tries are counted and waited for one layer up. The SDK's own HTTP client closes itself in whatever loop is running
        # when it is collected, so it is given another one.
        return openai.AsyncOpenAI(
            api_key=key,
            base_url=address,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(),
        )

    return Clients(make, client)


def is_vendor(base_url: str | None, client: openai.AsyncOpenAI | None) -> bool:
    """Whether the vendor's own server is asked, and not one that speaks like it."""
    address = base_url or os.environ.get(_ADDRESS) or VENDOR_ADDRESS
    if client is not None:
        address = str(client.base_url)
    return address.startswith(VENDOR_ADDRESS)
