"""Connections of `relay serve` that send no request or come while it ends, and calls of other dialects."""

import asyncio
import json
import resource
import signal
import subprocess
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from relay.serving.app import make_app, make_state
from serving.test_server import DOUBLE, LONG, PROGRAMS, Server, exchange, in_hand, post, send

pytestmark = pytest.mark.extras

FILES = 256
READY = b"GET /v2/health/ready HTTP/1.1\r\nHost: relay\r\n\r\n"


def serve(tmp_path: Path, name: str, *args: str) -> Server:
    (tmp_path / name).write_text(PROGRAMS[name])
    return Server(str(tmp_path / name), "--port", "0", "--log-format", "json", *args)


async def time_until_closed(port: int, *sent: bytes) -> float:
    """Send parts of a request, of which the last is not complete, and wait until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin = monotonic()
    try:
        for part in sent:
            writer.write(part)
            await asyncio.sleep(0.2)
        while await reader.read(4096):
            pass
    except ConnectionError:
        pass
    finally:
        writer.close()
    return monotonic() - begin


def test_a_connection_that_never_finishes_its_headers_is_closed(tmp_path: Path) -> None:
    server = serve(tmp_path, "double.relay", "--timeout", "1")

    async def wait_for_all() -> list[float]:
        cases = [(), (READY[:-4],), (READY, READY[:9]), (READY[:9], READY[9:20])]
        return await asyncio.gather(*[time_until_closed(server.port, *case) for case in cases])

    for seconds in asyncio.run(asyncio.wait_for(wait_for_all(), 30)):
        assert 0.9 < seconds < 10
    assert send(server, post("double", DOUBLE))[0] == 200
    assert server.stop() == 0


def test_slow_connections_do_not_take_the_health_probe_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))

    monkeypatch.setattr(subprocess, "Popen", partial(subprocess.Popen, preexec_fn=limit))
    server = serve(tmp_path, "double.relay")

    async def probe_among(count: int) -> list[float]:
        async def open_one() -> asyncio.StreamWriter:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(READY[:30])
            return writer

        writers = await asyncio.gather(*[open_one() for _ in range(count)])
        seconds: list[float] = []
        for _ in range(3):
            begin = monotonic()
            assert (await exchange(server.port, READY))[0] == 200
            assert (await exchange(server.port, post("double", DOUBLE)))[0] == 200
            seconds.append(monotonic() - begin)
        for writer in writers:
            writer.close()
        return seconds

    assert max(asyncio.run(asyncio.wait_for(probe_among(400), 60))) < 10
    assert server.stop() == 0
    assert not [line for line in server.log if line.get("level") == "error"]


def test_new_connections_get_503_while_the_server_drains(tmp_path: Path) -> None:
    server = serve(tmp_path, "slow.relay", "--drain", "60")

    async def stop_meanwhile() -> list[int]:
        running = asyncio.create_task(exchange(server.port, post("slow", LONG)))
        await in_hand(server, 1)
        server.process.send_signal(signal.SIGTERM)
        while (await exchange(server.port, READY))[0] == 200:
            await asyncio.sleep(0.01)
        answers = [await exchange(server.port, data) for data in (READY, post("slow", LONG))]
        assert not running.done()
        assert json.loads(answers[1][2])["error"] == "the server is shutting down"
        return [*[status for status, _, _ in answers], (await running)[0]]

    assert asyncio.run(asyncio.wait_for(stop_meanwhile(), 120)) == [503, 503, 200]
    assert server.process.wait(30) == 0


CALLS = [
    ("GET", "/v2/models/double/config", "`GET /v2/models/NAME` has"),
    ("GET", "/v2/models/double/versions/1/config", "`GET /v2/models/NAME` has"),
    ("GET", "/v2/models/double/stats", "`GET /metrics` has"),
    ("GET", "/v2/models/stats", "`GET /metrics` has"),
    ("GET", "/v2/models", "lists the models"),
    ("GET", "/v2/models/double/trace/setting", "`--log-requests`"),
    ("POST", "/v2/repository/models/double/load", "start the server again"),
    ("POST", "/v2/repository/models/double/unload", "start the server again"),
    ("GET", "/v2/systemsharedmemory/status", "does not share memory"),
    ("POST", "/v2/cudasharedmemory/region/x/register", "does not share memory"),
    ("GET", "/v2/trace/setting", "`--log-requests`"),
    ("POST", "/v2/logging", "`--log-format`"),
    ("POST", "/v2/models/double/generate", "only `infer`"),
    ("POST", "/v1/models/double:predict", "version 2 of the protocol"),
]


@pytest.mark.parametrize("root", ["", "/below"])
def test_an_application_below_a_path_answers_calls_of_other_dialects(root: str) -> None:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    path = f"{root}/v2/models/stats"
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "root_path": root,
        "query_string": b"",
        "headers": [],
    }
    asyncio.run(make_app(make_state({}))(scope, receive, send))
    assert (sent[0]["status"], json.loads(sent[1]["body"])["code"]) == (501, "unsupported")


def test_calls_of_other_dialects_are_answered_with_a_sentence(tmp_path: Path) -> None:
    server = serve(tmp_path, "double.relay")
    for method, path, sentence in CALLS:
        call = f"{method} {path} HTTP/1.1\r\nHost: relay\r\nContent-Length: 0\r\n\r\n"
        status, _, body = send(server, call.encode())
        assert (status, body["code"]) == (501, "unsupported")
        assert f"{path} is not supported: " in body["error"]
        assert sentence in body["error"]
    assert send(server, b"GET /v2/models/double HTTP/1.1\r\nHost: relay\r\n\r\n")[0] == 200
    assert server.stop() == 0
