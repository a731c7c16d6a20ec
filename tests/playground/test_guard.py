"""Which requests the playground's server answers."""

import asyncio
from typing import Any

import pytest

from relay.playground.guard import MAX_BODY_BYTES, Guard, host_of, refusal

HOST = "127.0.0.1:8080"
ASKING = {
    "Host": HOST,
    "Origin": f"http://{HOST}",
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "application/json",
    "Content-Length": "20",
}


def status(method: str, headers: dict[str, str], host: str = "127.0.0.1") -> int | None:
    found = refusal(method, headers, host)
    return None if found is None else found[0]


def test_a_page_of_this_server_is_answered() -> None:
    assert status("POST", ASKING) is None
    assert status("GET", {"Host": HOST}) is None
    for name in ("localhost:8080", "localhost", "[::1]:8080", "LOCALHOST:80"):
        assert status("GET", {"Host": name}) is None, name
    assert status("GET", {"Host": "192.0.2.7:8080"}, host="192.0.2.7") is None
    assert status("GET", {"Host": "[2001:db8::1]:8080"}, host="2001:db8::1") is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8080",
        "0.0.0.0",
    ],
)
def test_other_names_of_this_address_are_refused(host: str) -> None:
    assert status("GET", {"Host": host}) == 421
    assert status("POST", {**ASKING, "Host": host, "Origin": f"http://{host}"}) == 421


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Origin": f"https://{HOST}"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Length": ""}, 411),
        ({"Content-Length": "-1"}, 411),
        ({"Content-Length": str(MAX_BODY_BYTES + 1)}, 413),
    ],
)
def test_pages_of_other_sites_are_refused(change: dict[str, str], expected: int) -> None:
    assert status("POST", {**ASKING, **change}) == expected


def test_hosts_are_named_with_and_without_a_port() -> None:
    assert [host_of(h) for h in ("a:1", "a", "[::1]:1", "[::1]")] == ["a", "a", "[::1]", "[::1]"]


def test_what_is_refused_does_not_reach_the_application() -> None:
    sent: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "headers": [(b"host", b"evil.example")]}
    asyncio.run(Guard(application, "127.0.0.1")(scope, None, send))
    start, body = sent
    assert start["status"] == 421
    assert b"content-security-policy" in dict(start["headers"])
    assert b"name" in body["body"]
    asyncio.run(Guard(application, "127.0.0.1")({"type": "websocket", "headers": []}, None, send))
    assert len(sent) == 2
