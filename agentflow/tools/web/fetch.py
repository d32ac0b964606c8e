"""The guarded fetch: a page of the public web as text, and nothing from anywhere else."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection
from urllib.parse import urljoin

import anyio
import anyio.to_thread

from agentflow.tools.web.page import WebPage
from agentflow.tools.web.target import Resolve, Target, TargetRefused, resolved, target_of

__all__ = ["Connect", "GuardedFetch"]

Connect = Callable[[str, int, float], socket.socket]
"""Connects to an IP address and port, within seconds."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXTS = ("text/", "application/json", "application/xml", "application/xhtml+xml")
_BLOCK = 16_384
_HOST = re.compile(r"[\w-]+(\.[\w-]+)*|[0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]*")
"""A name, or an address of the fourth or sixth version."""


def _connected(address: str, port: int, seconds: float) -> socket.socket:
    return socket.create_connection((address, port), seconds)


class GuardedFetch:
    """A loader that fetches from the public web: `await GuardedFetch()("https://example.org/")`.

    Each target, that of a redirect too, is judged by all the IP addresses that its name leads to, and connected to by the
    addresses that were judged, so that a name which leads elsewhere a moment later changes nothing. Loopback, private, link-local
    and other addresses that are not public are refused, also inside of IPv6 ones, and so are those behind which clouds keep what
    their machines may know. Proxies, cookies and credentials are not used.

    Args:
        hosts: Names of hosts that may be asked, with those below them; default: all that are public.
        seconds: How long all of it may take.
        most: How many bytes are read; what follows is left out.
        redirects: How many are followed.
        resolve: Gives the addresses of a host; default: the system's.
        connect: Opens the connection; default: a socket.

    Raises:
        TypeError: `hosts` is one text.
        ValueError: A host is no name, or nothing could be fetched within the limits.
    """

    def __init__(
        self,
        *,
        hosts: Collection[str] | None = None,
        seconds: float = 10.0,
        most: int = 500_000,
        redirects: int = 3,
        resolve: Resolve = resolved,
        connect: Connect = _connected,
    ) -> None:
        if isinstance(hosts, str):
            raise TypeError(f"GuardedFetch(hosts={hosts!r}): give a list of names")
        for host in hosts or ():
            if not _HOST.fullmatch(host):
                raise ValueError(
                    f"GuardedFetch(hosts=[{host!r}]): it is no name of a host, such as 'example.org'"
                )
        if not (seconds >= 0 and most >= 1 and redirects >= 0):
            raise ValueError(
                f"GuardedFetch(seconds={seconds!r}, most={most!r}, redirects={redirects!r}): with these nothing could be fetched"
            )
        self._hosts = None if hosts is None else frozenset(map(str.lower, hosts))
        self._seconds = seconds
        self._most = most
        self._redirects = redirects
        self._resolve = resolve
        self._connect = connect

    async def __call__(self, url: str) -> str:
        """The text of a page, with its markup; takes and raises what `page` does."""
        return (await self.page(url)).text

    async def page(self, url: str) -> WebPage:
        """A page, with its markup.

        Raises:
            TargetRefused: The target, or that of a redirect, may not be asked; or it has no text.
            OSError: It cannot be reached, or not in time, or its answer is broken.
        """
        line = _Line()
        try:
            with anyio.fail_after(self._seconds):
                return await anyio.to_thread.run_sync(
                    self._fetch, url, line, abandon_on_cancel=True
                )
        finally:
            # A thread that was left behind must not go on listening to whoever sends a byte now and then.
            line.cut()

    def _fetch(self, url: str, line: _Line) -> WebPage:
        deadline = time.monotonic() + self._seconds
        for _ in range(self._redirects + 1):
            target = target_of(url, self._resolve, self._hosts)
            found = self._asked(target, deadline, line)
            if isinstance(found, WebPage):
                return found
            url = urljoin(url, found.location)
        raise TargetRefused(f"{url}: more than {self._redirects} redirects lead there")

    def _asked(self, target: Target, deadline: float, line: _Line) -> WebPage | _Redirect:
        connection = _Pinned(target, self._connect, deadline, line)
        try:
            connection.putrequest("GET", target.path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", target.authority)
            connection.putheader("Accept", "text/*, application/json")
            connection.putheader("User-Agent", "agentflow")
            connection.endheaders()
            answer = connection.getresponse()
            location = answer.headers.get("location")
            if answer.status in _REDIRECTS and location is not None:
                return _Redirect(location)
            kind = _kind_of(target, answer)
            body = self._body(connection, answer)
            text = body[: self._most].decode(_charset(answer), "replace")
            return WebPage(target.url, kind, text, whole=len(body) <= self._most)
        except http.client.HTTPException as error:
            raise OSError(f"{target.url}: the answer cannot be read: {error!r}") from error
        finally:
            connection.close()

    def _body(self, connection: _Pinned, answer: http.client.HTTPResponse) -> bytes:
        """What the answer holds; if that is too much, a byte more than is wanted."""
        body = bytearray()
        while len(body) <= self._most:
            connection.check_time()
            block = answer.read1(min(_BLOCK, self._most + 1 - len(body)))
            if not block:
                if answer.length:
                    raise http.client.IncompleteRead(bytes(body), answer.length)
                break
            body += block
        return bytes(body)


class _Redirect:
    """Where an answer says to look instead."""

    def __init__(self, location: str) -> None:
        self.location = location


class _Line:
    """The connection that a fetch has open, so that others can cut it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: socket.socket | None = None
        self._over = False

    def take(self, sock: socket.socket) -> None:
        """Have a connection cut with the line; at once, if that is cut already."""
        with self._lock:
            self._open = sock
            over = self._over
        if over:
            self.cut()

    def cut(self) -> None:
        """End whatever waits for the connection."""
        with self._lock:
            self._over = True
            if self._open is not None:
                with contextlib.suppress(OSError):
                    # Not the method of an SSL socket, which would take it from whoever reads it.
                    socket.socket.shutdown(self._open, socket.SHUT_RDWR)


class _Pinned(http.client.HTTPConnection):
    """A connection to the addresses that were judged; the name is for the certificate and for the server only."""

    def __init__(self, target: Target, connect: Connect, deadline: float, line: _Line) -> None:
        super().__init__(target.host, target.port)
        self._target = target
        self._open = connect
        self._deadline = deadline
        self._line = line

    def connect(self) -> None:
        """Connect to the first of the addresses that answers."""
        addresses = self._target.addresses
        for at, address in enumerate(addresses, 1):
            # So that one that never answers leaves time for the next.
            seconds = _left(self._deadline) / (len(addresses) - at + 1)
            try:
                self.sock = self._open(address, self._target.port, seconds)
                break
            except OSError as error:
                if at == len(addresses):
                    raise OSError(f"{self._target.url}: it cannot be reached: {error}") from error
        self._line.take(self.sock)
        self.check_time()
        if self._target.scheme == "https":
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self._target.host)
            self._line.take(self.sock)

    def check_time(self) -> None:
        """Let the next read take no longer than what is left."""
        seconds = _left(self._deadline)
        if self.sock is not None:
            self.sock.settimeout(seconds)


def _left(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("the page did not come in time")
    return seconds


def _kind_of(target: Target, answer: http.client.HTTPResponse) -> str:
    """The media type of an answer that has a text to read."""
    if answer.status != 200:
        raise OSError(f"{target.url}: the server answered with status {answer.status}")
    kind = answer.headers.get_content_type()
    if not kind.startswith(_TEXTS):
        raise TargetRefused(f"{target.url}: {kind} is no text")
    packed = answer.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("", "identity"):
        raise OSError(f"{target.url}: the answer is packed as {packed}, which nobody has asked for")
    return kind


def _charset(answer: http.client.HTTPResponse) -> str:
    name = answer.headers.get_content_charset("utf-8")
    try:
        "".encode(name)
    except LookupError:
        return "utf-8"
    return name
