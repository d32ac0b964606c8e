"""The application: a model behind the paths of OpenAI's and Anthropic's APIs, for any ASGI server."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from agentflow.messages.formats.fields import Fields, FormatError
from agentflow.messages.message import Message
from agentflow.mock.server.delivery import Delivery, headers_of
from agentflow.mock.server.listing import Listing, anthropic_listing, openai_listing
from agentflow.mock.server.serving import Served, Serving
from agentflow.mock.wire.chat_answer import ChatDialect
from agentflow.mock.wire.dialect import Dialect, Wrong
from agentflow.mock.wire.event import body_of
from agentflow.mock.wire.messages_answer import MessagesDialect
from agentflow.mock.wire.messages_request import conversation_of
from agentflow.mock.wire.responses_answer import ResponsesDialect

__all__ = ["app_of"]

Endpoint = Callable[[Request], Awaitable[ASGIApp]]
Told = Callable[[str], object]


def app_of(serving: Serving) -> Starlette:
    """The application that answers as `serving` says."""
    api = _Api(serving)
    chat, messages, responses = ChatDialect(serving.quirks), MessagesDialect(), ResponsesDialect()

    def of_response(body: Fields) -> Sequence[Message]:
        return responses.asked(body).messages

    posts = {
        "/v1/chat/completions": api.answers(chat),
        "/v1/responses": api.answers(responses),
        "/v1/responses/input_tokens": api.counts(
            responses, of_response, {"object": "response.input_tokens"}
        ),
        "/v1/messages": api.answers(messages),
        "/v1/messages/count_tokens": api.counts(messages, conversation_of, {}),
    }
    gets = {"/v1/models": api.models, "/v1/models/{name:path}": api.model}
    return Starlette(
        routes=[
            *(Route(path, endpoint, methods=["POST"]) for path, endpoint in posts.items()),
            *(Route(path, endpoint, methods=["GET"]) for path, endpoint in gets.items()),
        ],
        exception_handlers={HTTPException: api.lost},
    )


class _Api:
    """The endpoints."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    def answers(self, dialect: Dialect) -> Endpoint:
        """Answers of the model, in one format."""

        async def endpoint(request: Request) -> ASGIApp:
            data, told = await self._read(request)
            try:
                asked = dialect.asked(_object(data))
            except FormatError as error:
                return self._refusal(dialect, _wrong(error), told)
            return Delivery(self._serving, dialect, asked, self._serving.stamp(), told)

        return endpoint

    def counts(
        self,
        dialect: Dialect,
        conversation: Callable[[Fields], Sequence[Message]],
        more: Mapping[str, Any],
    ) -> Endpoint:
        """How many input tokens a request has."""

        async def endpoint(request: Request) -> ASGIApp:
            data, told = await self._read(request)
            try:
                messages = conversation(_object(data))
            except FormatError as error:
                return self._refusal(dialect, _wrong(error), told)
            return self._told({"input_tokens": self._serving.count(messages), **more}, 200, told)

        return endpoint

    async def models(self, request: Request) -> ASGIApp:
        """All names of the model."""
        _, told = await self._read(request)
        listing = _listing(request)
        entries = [listing.entry(name, self._serving.created) for name in self._serving.names]
        return self._told(listing.whole(entries), 200, told)

    async def model(self, request: Request) -> ASGIApp:
        """One name of the model."""
        _, told = await self._read(request)
        name = request.path_params["name"]
        if name not in self._serving.names:
            known = ", ".join(map(repr, self._serving.names))
            message = f"there is no model {name!r}; there are {known}"
            wrong = Wrong(status=404, message=message, param="model")
            return self._refusal(_dialect(request), wrong, told)
        return self._told(_listing(request).entry(name, self._serving.created), 200, told)

    async def lost(self, request: Request, error: Exception) -> Response:
        """The answer to a request for what there is not."""
        _, told = await self._read(request)
        status = error.status_code if isinstance(error, HTTPException) else 500
        path = request.url.path
        hint = (
            "" if path.startswith("/v1/") else "; OpenAI's clients need a base URL that ends in /v1"
        )
        message = f"the mock server has no {request.method} {path}{hint}"
        return self._refusal(_dialect(request), Wrong(status=status, message=message), told)

    async def _read(self, request: Request) -> tuple[Any, Told]:
        """The JSON body of a request, which is noted; what is none is `None`."""
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            body = None
        served = Served(
            method=request.method,
            path=request.url.path,
            headers=dict(request.headers),
            body=body,
        )
        self._serving.received.append(served)
        return body, lambda outcome: self._serving.tell(served, outcome)

    def _refusal(self, dialect: Dialect, wrong: Wrong, told: Told) -> Response:
        return self._told(dialect.wrong(wrong), wrong.status, told)

    def _told(self, data: Mapping[str, Any], status: int, told: Told) -> Response:
        told(str(status))
        body = body_of(data)
        headers = headers_of(self._serving.stamp(), "application/json", len(body))
        return Response(body, status, headers)


def _object(data: Any) -> Fields:
    if not isinstance(data, dict):
        raise FormatError("the body is no JSON object")
    return Fields(data)


def _wrong(error: FormatError) -> Wrong:
    return Wrong(status=400, message=error.message, param=error.place)


def _is_anthropic(request: Request) -> bool:
    return "anthropic-version" in request.headers or request.url.path.startswith("/v1/messages")


def _dialect(request: Request) -> Dialect:
    return MessagesDialect() if _is_anthropic(request) else ChatDialect()


def _listing(request: Request) -> Listing:
    return anthropic_listing if _is_anthropic(request) else openai_listing
