"""The guarded fetch asks public addresses only: directly, by redirect and by name, whatever the name leads to later."""

from __future__ import annotations

import dataclasses
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given, strategies as st

from agentflow import ToolDenied
from agentflow.messages import ToolCall
from agentflow.testing import fake_context
from agentflow.tools import run_calls
from agentflow.tools.web import GuardedFetch, TargetRefused, WebPage, fetch_tool, text_of_page
from agentflow.tools.web.target import target_of
from tests.tools.net import PUBLIC, Web, page, redirect


@pytest.mark.rule("R353")
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::10.0.0.1",
        "2001:0:4136:e378:8000:63bf:80ff:fffe",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "192.88.99.1",
        "fd00:ec2::254",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b:1::a00:1",
        "fec0::1",
        "3fff::1",
        "5f00::1",
    ],
)
async def test_an_address_that_is_not_public_is_refused_wherever_the_name_leads(
    address: str,
) -> None:
    direct = Web(names={"inside.example": [address]})
    with pytest.raises(TargetRefused, match="is not public"):
        await direct.fetch("http://inside.example/")
    beside = Web(names={"inside.example": [PUBLIC, address]})
    with pytest.raises(TargetRefused, match="is not public"):
        await beside.fetch("http://inside.example/")
    behind = Web(redirect("http://inside.example/x"), names={"inside.example": [address]})
    with pytest.raises(TargetRefused, match="is not public"):
        await behind.fetch("http://outside.example/")
    assert direct.connected == beside.connected == []
    assert behind.connected == [(PUBLIC, 80)]


@pytest.mark.rule("R353")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]"])
async def test_however_loopback_is_written_the_systems_own_names_lead_to_no_place(
    host: str,
) -> None:
    with pytest.raises(TargetRefused, match=r"not public|not known"):
        await GuardedFetch()(f"http://{host}:9/")


@pytest.mark.rule("R353")
async def test_a_name_that_leads_elsewhere_a_moment_later_changes_nothing() -> None:
    web = Web(page())
    answers = iter([[PUBLIC], ["127.0.0.1"]])
    fetch = GuardedFetch(resolve=lambda host, port: next(answers), connect=web.connect)
    assert await fetch("http://rebinding.example/") == "Hello."
    web.close()
    assert web.connected == [(PUBLIC, 80)]
    assert next(answers) == ["127.0.0.1"]


def leading_to(address: str) -> Callable[[str, int], list[str]]:
    return lambda host, port: [address]


PRIVATE = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"),
]
HIDING: list[Callable[[int], int]] = [
    lambda ip: ip,
    lambda ip: 0xFFFF << 32 | ip,
    lambda ip: 0x64FF9B << 96 | ip,
    lambda ip: 0x2002 << 112 | ip << 80,
]


@pytest.mark.rule("R353")
@given(
    network=st.sampled_from([ipaddress.IPv4Network(each) for each in PRIVATE]),
    place=st.integers(0, 2**32 - 1),
    hide=st.sampled_from(HIDING),
)
def test_no_private_address_is_public_however_it_is_hidden(
    network: ipaddress.IPv4Network, place: int, hide: Callable[[int], int]
) -> None:
    inside = network[place % network.num_addresses]
    for address in (str(inside), str(ipaddress.IPv6Address(hide(int(inside))))):
        with pytest.raises(TargetRefused, match="is not public"):
            target_of("http://example.org/", leading_to(address), None)


@pytest.mark.parametrize(
    "address",
    [PUBLIC, "2606:4700:4700::1111", f"64:ff9b::{PUBLIC}", f"::ffff:{PUBLIC}", "2002:5db8:d70e::1"],
)
def test_a_public_address_is_asked(address: str) -> None:
    target = target_of("http://example.org/", leading_to(address), None)
    assert target.addresses == (address,)


async def test_the_next_address_is_asked_where_one_does_not_answer() -> None:
    other = "2606:4700:4700::1111"
    web = Web(page(), names={"two.example": [other, PUBLIC]}, dead=[other])
    assert await web.fetch("http://two.example/") == "Hello."
    assert web.connected == [(other, 80), (PUBLIC, 80)]
    nobody = Web(names={"two.example": [other, PUBLIC]}, dead=[other, PUBLIC])
    with pytest.raises(OSError, match=f"cannot be reached: {PUBLIC} does not answer"):
        await nobody.fetch("http://two.example/")


@pytest.mark.rule("R353")
async def test_redirects_are_followed_within_bounds_and_each_is_judged() -> None:
    web = Web(redirect("/two"), redirect("http://other.example:8080/three?q=1"), page("Here."))
    assert await web.fetch("http://first.example/one") == "Here."
    assert web.asked == ["first.example", "first.example", "other.example"]
    assert web.connected == [(PUBLIC, 80), (PUBLIC, 80), (PUBLIC, 8080)]
    lines = [sent.split(b"\r\n") for sent in web.sent]
    assert [line[0] for line in lines] == [
        b"GET /one HTTP/1.1",
        b"GET /two HTTP/1.1",
        b"GET /three?q=1 HTTP/1.1",
    ]
    assert b"Host: other.example:8080" in lines[2]
    round_and_round = Web(*[redirect("/again")] * 4)
    with pytest.raises(TargetRefused, match="more than 3 redirects"):
        await round_and_round.fetch("http://first.example/")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://example.org/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("http:///path", "only http and https"),
        ("http://user:secret@example.org/", "names a user"),
        ("http://example.org/a b", "no part of a URL"),
        ("http://example.org/\r\nHost: x", "no part of a URL"),
        ("http://example.org:99999/", "is no URL"),
        ("http://[::1/", "is no URL"),
        ("http://other.example/", "none of the hosts"),
        ("http://notexample.org/", "none of the hosts"),
    ],
)
async def test_a_url_that_may_not_be_asked_is_told_why(url: str, message: str) -> None:
    web = Web()
    with pytest.raises(TargetRefused, match=message) as caught:
        await web.fetch(url, hosts=["Example.org"])
    assert "secret" not in str(caught.value)
    assert web.connected == []


async def test_hosts_that_may_be_asked_are_and_those_below_them() -> None:
    for host in ("example.org", "www.example.org"):
        assert await Web(page()).fetch(f"http://{host}/", hosts=["Example.org"]) == "Hello."


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", OSError, "status 404"),
        (page(kind="image/png"), TargetRefused, "image/png is no text"),
        (b"nonsense\r\n\r\n", OSError, "cannot be read"),
        (b"", OSError, "cannot be read"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nHel", OSError, "cannot be read"),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nHel",
            OSError,
            "cannot be read",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc",
            OSError,
            "packed as gzip",
        ),
    ],
)
async def test_an_answer_that_is_no_page_is_told(
    answer: bytes, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        await Web(answer).fetch("http://example.org/")


async def test_a_page_is_read_up_to_a_size_and_in_its_own_characters() -> None:
    for size, whole in ((20_000, True), (20_001, False), (99_999, False)):
        found = await Web(page("a" * size)).page("http://example.org/", most=20_000)
        assert found == WebPage("http://example.org/", "text/plain", "a" * 20_000, whole=whole)
    latin = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=latin-1\r\n\r\nGr\xfc\xdfe"
    assert await Web(latin).fetch("http://example.org/") == "Grüße"
    unknown = (
        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=klingon\r\n\r\nGr\xc3\xbc\xc3\x9fe"
    )
    assert await Web(unknown).fetch("http://example.org/") == "Grüße"


async def test_a_page_that_does_not_come_in_time_is_given_up() -> None:
    with pytest.raises(TimeoutError):
        await Web(page()).fetch("http://example.org/", seconds=0)


async def test_a_fetch_that_is_cancelled_hangs_up() -> None:
    ours, theirs = socket.socketpair()
    asked = threading.Event()

    def connect(address: str, port: int, seconds: float) -> socket.socket:
        asked.set()
        return ours

    fetch = GuardedFetch(resolve=lambda host, port: [PUBLIC], connect=connect, seconds=60)
    async with anyio.create_task_group() as group:
        group.start_soon(fetch.page, "http://silent.example/")
        assert await anyio.to_thread.run_sync(asked.wait, 5)
        theirs.settimeout(5)
        assert await anyio.to_thread.run_sync(theirs.recv, 65536)
        group.cancel_scope.cancel()
    # The other side is told, so the thread that was left behind listens no more.
    assert await anyio.to_thread.run_sync(theirs.recv, 65536) == b""
    theirs.close()


async def test_the_certificate_must_be_that_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[str] = []

    class Context:
        def wrap_socket(self, sock: socket.socket, server_hostname: str) -> socket.socket:
            named.append(server_hostname)
            return sock

    monkeypatch.setattr(ssl, "create_default_context", Context)
    web = Web(page())
    assert await web.fetch("https://example.org/") == "Hello."
    assert (named, web.connected) == (["example.org"], [(PUBLIC, 443)])


def test_hosts_are_a_list() -> None:
    with pytest.raises(TypeError, match="give a list of names"):
        GuardedFetch(hosts="example.org")


@pytest.mark.parametrize(
    "host", ["https://example.org", "example.org/docs", "example.org:443", ".example.org", "*", ""]
)
def test_what_is_no_name_of_a_host_is_refused_instead_of_matching_none(host: str) -> None:
    with pytest.raises(ValueError, match="it is no name of a host"):
        GuardedFetch(hosts=["example.org", host])


@pytest.mark.parametrize("host", ["example.org", "bücher.example", "93.184.216.34", "2606:4700::1"])
def test_names_and_addresses_are_hosts(host: str) -> None:
    GuardedFetch(hosts=[host])


@pytest.mark.parametrize("limit", [{"seconds": -1}, {"most": 0}, {"redirects": -1}])
def test_limits_within_which_nothing_can_be_fetched_are_refused(limit: Any) -> None:
    with pytest.raises(ValueError, match="with these nothing could be fetched"):
        GuardedFetch(**limit)


HTML = (
    "<html><head><title>T</title></head><body><p>One &amp; two.</p>\n\n<p>Three.</p></body></html>"
)


async def test_the_tool_gives_what_people_read() -> None:
    web = Web(redirect("/there"), page(HTML, "text/html"))
    ctx = fake_context(tools=[fetch_tool(web.guarded())])
    receipt = await ctx.tools.invoke("fetch_page", {"url": "http://example.org/"})
    web.close()
    assert receipt.value == WebPage("http://example.org/there", "text/html", "One & two.\n\nThree.")
    (spec,) = ctx.tools.specs()
    assert spec.parameters["properties"]["url"]["description"] == "Its address, with http or https."


async def test_the_tool_leaves_other_texts_as_they_are_and_tells_what_it_cuts() -> None:
    web = Web(page("<1>\n\n\n<2>", "text/plain"))
    made = fetch_tool(web.guarded(), id="web", most=6)
    found = await made(url="http://example.org/")
    web.close()
    assert found == WebPage("http://example.org/", "text/plain", "<1>\n\n\n", whole=False)
    with pytest.raises(ValueError, match="it is at least 1"):
        fetch_tool(most=0)


@pytest.mark.rule("R353")
@pytest.mark.case("P082")
async def test_what_the_tool_may_not_ask_is_told_to_the_model() -> None:
    web = Web(names={"inside.example": ["10.0.0.1"]})
    ctx = fake_context(tools=[fetch_tool(web.guarded())])
    call = ToolCall("c1", "fetch_page", {"url": "http://inside.example/"})
    (result,) = await run_calls(ctx, [call])
    (part,) = result.tool_results
    assert part.is_error
    assert "'inside.example' leads to 10.0.0.1, which is not public" in part.content
    assert web.connected == []


async def test_the_tool_can_be_given_a_permit_of_its_own() -> None:
    strict = dataclasses.replace(fetch_tool(), authorize=False)
    with pytest.raises(ToolDenied):
        await fake_context(tools=[strict]).tools.invoke(
            "fetch_page", {"url": "http://example.org/"}
        )


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("plain", "plain"),
        (
            "<head><title>T</title></head><body><p>One &amp; two.</p><p>Three.</p></body>",
            "One & two.\n\n\n\nThree.",
        ),
        ("a<script>b</script>c<style>d</style>e", "ace"),
        ("<p>open", "open"),
    ],
)
def test_the_text_of_a_page_is_what_people_read(markup: str, text: str) -> None:
    assert text_of_page(markup) == text


@given(st.text(max_size=40))
def test_whatever_is_given_as_a_url_is_a_target_or_refused(url: str) -> None:
    resolve: Callable[[str, int], list[str]] = lambda host, port: [PUBLIC]  # noqa: E731
    for given_url in (url, f"http://{url}", f"http://example.org/{url}"):
        try:
            target = target_of(given_url, resolve, None)
        except TargetRefused:
            continue
        assert target.addresses == (PUBLIC,)
        assert not set(target.path) & set("\r\n \t")
        assert not set(target.authority) & set("\r\n \t/")
