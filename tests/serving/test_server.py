"""`relay serve` by clients: those of the protocol, broken ones, a thousand at once, and some that go away."""

import asyncio
import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import ROOT

pytestmark = pytest.mark.extras

PROGRAMS = {
    "double.relay": "def @main(%x: Tensor[(n, 4), float32]) { %x * 2.0 }",
    "pick.relay": 'def @main(%i: Tensor[(n,), int32]) { take([1.0, 2.0, 3.0], %i, mode="fast") }',
    "texts/1/t.relay": "def @main(%x: Tensor[(n,), string], %b: Tensor[(n,), bool]) { (%x, %b) }",
    "texts/3/t.relay": "def @main(%x: Tensor[(n,), string]) { %x }",
    "inverse.relay": "def @main(%x: Tensor[(2,), float64]) { 1.0 / %x }",
    "slow.relay": """
def @spin(%i: int32, %x: float64) -> float64 { if (%i == 0) { %x } else { @spin(%i - 1, sin(%x) + 1.0) } }
def @main(%n: int32, %x: float64) { @spin(%n, %x) }""",
}
OPTIONS = ("--port", "0", "--max-body", "1", "--timeout", "20", "--max-queue", "600", "--log-format", "json")


class Server:
    """`relay serve` in a process of its own."""

    def __init__(self, *args: str) -> None:
        command = [sys.executable, "-m", "relay", "serve", *args]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.log: list[dict[str, Any]] = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(json.loads(line))
            if "address" in self.log[-1]:
                break
        self.url = self.log[-1]["address"]
        self.port = int(self.url.rpartition(":")[2])

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        out = self.process.communicate(timeout=60)[1]
        self.log += [json.loads(line) for line in out.splitlines()]
        return self.process.returncode


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("models")
    for name, text in PROGRAMS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    made = Server(str(folder), *OPTIONS)
    yield made
    assert made.stop() == 0
    assert made.log[-1]["message"] == "stopped"


@pytest.fixture
def client(server: Server) -> Iterator[Any]:
    http = pytest.importorskip("tritonclient.http")
    with http.InferenceServerClient(f"127.0.0.1:{server.port}") as made:
        made.http = http
        yield made


async def exchange(
    port: int, data: bytes, leave_after: float | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Send bytes on a connection of their own, and read the answer; or close it after some seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        await writer.drain()
        if leave_after is not None:
            await asyncio.sleep(leave_after)
            return 0, {}, b""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return int(head[0].split()[1]), headers, body
    finally:
        writer.close()


def post(model: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST /v2/models/{model}/infer HTTP/1.1", "Host: relay", *headers]
    if not any(h.lower().startswith(("content-length", "transfer-encoding")) for h in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def tensor(name: str, datatype: str, shape: list[int], data: Any) -> dict[str, Any]:
    return {"name": name, "datatype": datatype, "shape": shape, "data": data}


def asked(*inputs: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"inputs": inputs, **more}).encode()


ENDLESS = asked(
    tensor("n", "INT32", [], [2**31 - 1]), tensor("x", "FP64", [], [1]), parameters={"timeout": 50_000}
)
CHUNKED = b"100000\r\n" + b"x" * 0x100000 + b"\r\n1\r\nx\r\n0\r\n\r\n"
DOUBLE = asked(tensor("x", "FP32", [1, 4], [1, 2, 3, 4]))


def send(server: Server, data: bytes) -> tuple[int, dict[str, str], Any]:
    status, headers, body = asyncio.run(asyncio.wait_for(exchange(server.port, data), 60))
    return status, headers, json.loads(body)


def test_a_client_of_the_protocol_finds_what_there_is(client: Any) -> None:
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.get_server_metadata()["name"] == "relay"
    assert client.is_model_ready("texts", "3")
    assert not client.is_model_ready("texts", "2")
    assert client.get_model_metadata("double")["inputs"] == [
        {"name": "x", "datatype": "FP32", "shape": [-1, 4]}
    ]
    assert client.get_model_metadata("texts")["versions"] == ["1", "3"]
    assert {(m["name"], m["version"]) for m in client.get_model_repository_index()} > {
        ("texts", "1"),
        ("pick", "1"),
    }


@pytest.mark.parametrize("is_binary", [True, False])
def test_a_client_of_the_protocol_gets_results(client: Any, is_binary: bool) -> None:
    http = client.http
    x = http.InferInput("x", [3, 4], "FP32")
    given = np.arange(12, dtype="float32").reshape(3, 4)
    x.set_data_from_numpy(given, binary_data=is_binary)
    asked_for = [http.InferRequestedOutput("output", binary_data=is_binary)]
    for compression in (None, "gzip", "deflate"):
        found = client.infer(
            "double", [x], outputs=asked_for, request_compression_algorithm=compression, request_id="7"
        )
        np.testing.assert_array_equal(found.as_numpy("output"), 2 * given)
        assert found.get_response()["id"] == "7"
    texts, flags = http.InferInput("x", [2], "BYTES"), http.InferInput("b", [2], "BOOL")
    texts.set_data_from_numpy(np.array(["ü", ""], object), binary_data=is_binary)
    flags.set_data_from_numpy(np.array([True, False]), binary_data=is_binary)
    found = client.infer("texts", [texts, flags], model_version="1")
    assert [x.decode() for x in found.as_numpy("output0")] == ["ü", ""]
    assert found.as_numpy("output1").tolist() == [True, False]


def test_nan_is_sent_as_bytes_and_refused_in_json(client: Any, server: Server) -> None:
    http = client.http
    x = http.InferInput("x", [2], "FP64")
    x.set_data_from_numpy(np.array([0.0, np.nan]))
    found = client.infer("inverse", [x], outputs=[http.InferRequestedOutput("output")]).as_numpy("output")
    assert found[0] == np.inf
    assert np.isnan(found[1])
    status, _, body = send(server, post("inverse", asked(tensor("x", "FP64", [2], [0, 1]))))
    assert status == 400
    assert "NaN or infinities" in body["error"]


BAD = {
    "not JSON": b'{"inputs": [',
    "not UTF-8": b'{"id": "\xff"}',
    "a list": b"[]",
    "deep": b"[" * 100_000,
    "nothing": b"",
    "no inputs": b"{}",
    "another input": asked(tensor("y", "FP32", [1, 4], [1, 2, 3, 4])),
    "twice": asked(*[tensor("x", "FP32", [1, 4], [1, 2, 3, 4])] * 2),
    "another datatype": asked(tensor("x", "FP64", [1, 4], [1, 2, 3, 4])),
    "no datatype": asked({"name": "x", "shape": [1, 4], "data": [1, 2, 3, 4]}),
    "another rank": asked(tensor("x", "FP32", [4], [1, 2, 3, 4])),
    "another size": asked(tensor("x", "FP32", [1, 5], [1, 2, 3, 4, 5])),
    "a negative size": asked(tensor("x", "FP32", [-1, 4], [1, 2, 3, 4])),
    "a size that is true": asked(tensor("x", "FP32", [True, 4], [1, 2, 3, 4])),
    "a huge size": asked(tensor("x", "FP32", [2**61, 4], [])),
    "too few": asked(tensor("x", "FP32", [1, 4], [1, 2, 3])),
    "ragged": asked(tensor("x", "FP32", [2, 4], [[1, 2, 3, 4], [1]])),
    "texts": asked(tensor("x", "FP32", [1, 4], ["1", "2", "3", "4"])),
    "null": asked(tensor("x", "FP32", [1, 4], [1, None, 3, 4])),
    "too large a number": asked(tensor("x", "FP32", [1, 4], [1, 1e39, 3, 4])),
    "an infinite number": DOUBLE.replace(b"1,", b"1e999,"),
    "NaN": DOUBLE.replace(b"[1,", b"[NaN,"),
    "no data": asked({"name": "x", "datatype": "FP32", "shape": [1, 4]}),
    "an output that is not there": asked(tensor("x", "FP32", [1, 4], [1, 2, 3, 4]), outputs=[{"name": "y"}]),
    "bytes that are not there": asked(
        {"name": "x", "datatype": "FP32", "shape": [1, 4], "parameters": {"binary_data_size": 16}}
    ),
    "shared memory": asked(
        {**tensor("x", "FP32", [1, 4], []), "parameters": {"shared_memory_region": "r"}}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_wrong_request_is_answered_with_what_is_wrong(server: Server, name: str) -> None:
    status, _, body = send(server, post("double", BAD[name]))
    assert status == 400
    assert body["error"].startswith("error[serve-request]: ")
    assert send(server, post("double", DOUBLE))[0] == 200


@pytest.mark.parametrize(
    ("status", "data"),
    [
        (404, post("none", DOUBLE)),
        (404, post("double/versions/9", DOUBLE)),
        (404, b"GET /nothing HTTP/1.1\r\nHost: relay\r\n\r\n"),
        (405, b"GET /v2/models/double/infer HTTP/1.1\r\nHost: relay\r\n\r\n"),
        (413, post("double", b"x" * 2_000_000)),
        (413, post("double", CHUNKED, "Transfer-Encoding: chunked")),
        (400, post("double", DOUBLE, "Inference-Header-Content-Length: 99999")),
        (400, post("double", DOUBLE, "Inference-Header-Content-Length: x")),
        (400, post("double", DOUBLE, "Content-Encoding: br")),
        (400, post("double", DOUBLE, "Content-Encoding: gzip")),
        (422, post("pick", asked(tensor("i", "INT32", [1], [7])))),
        (504, post("slow", ENDLESS)),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_has_a_status(server: Server, status: int, data: bytes) -> None:
    found, _, body = send(server, data)
    assert (found, type(body["error"])) == (status, str)


def test_paths_and_bodies_that_are_wrong_are_answered_with_right_ones(server: Server) -> None:
    for path in ("/invocations", "/", "/predictions/double"):
        status, _, body = send(server, f"GET {path} HTTP/1.1\r\nHost: relay\r\n\r\n".encode())
        assert (status, body["code"]) == (404, "missing")
        assert body["error"].startswith(
            f"there is no path {path}: the server has `POST /v2/models/NAME/infer`"
        )
        assert body["error"].endswith("and `GET /metrics`")
        assert "version" not in body["error"]
    status, headers, body = send(server, b"GET /v2/models/double/infer HTTP/1.1\r\nHost: relay\r\n\r\n")
    assert (status, headers["allow"]) == (405, "post")  # `exchange` has headers in lower case
    assert body["error"] == "/v2/models/double/infer takes POST, not GET"

    assert send(server, post("double", DOUBLE).replace(b"/infer ", b"/infer/ "))[0] == 200
    assert send(server, b"GET /v2/ HTTP/1.1\r\nHost: relay\r\n\r\n")[2]["name"] == "relay"
    assert send(server, b"GET /v1/ HTTP/1.1\r\nHost: relay\r\n\r\n")[0] == 501

    for wrong in (b"{}", b"[1]"):
        for model in ("double", "texts", "pick"):
            version = "/versions/1" * (model == "texts")
            error = send(server, post(model + version, wrong))[2]["error"]
            _, _, example = error.partition("hint: send a body such as ")
            assert send(server, post(model + version, example.strip().encode()))[0] == 200


def test_a_bomb_is_not_decompressed(server: Server) -> None:
    import zlib

    bomb = zlib.compress(b" " * 20_000_000)
    assert send(server, post("double", bomb, "Content-Encoding: deflate"))[0] == 413


SLOW = asked(tensor("n", "INT32", [], [2_000_000]), tensor("x", "FP64", [], [1]))
LONG = asked(tensor("n", "INT32", [], [20_000_000]), tensor("x", "FP64", [], [1]))
CROWD = 1_000


def crowd_of(i: int) -> tuple[set[int], bytes, float | None]:
    """What one of many clients sends, the statuses that may answer it, and when it goes away."""
    match i % 10:
        case 0:
            return {400}, post("double", list(BAD.values())[i // 10 % len(BAD)]), None
        case 1:
            return {422, 503}, post("pick", asked(tensor("i", "INT32", [2], [0, 99]))), None
        case 2:
            return {0}, post("slow", SLOW), 0.001 * (i % 100)
        case 3:
            return {0}, post("double", DOUBLE)[: 40 + i % 100], 0.01
        case 4:
            return {404}, post("nobody", DOUBLE), None
        case 5 | 6:
            return {200, 503}, post("pick", asked(tensor("i", "INT32", [1], [i % 3]))), None
        case _:
            return {200, 503}, post("double", asked(tensor("x", "FP32", [1, 4], [i, 0, 0, 1]))), None


def test_of_a_thousand_requests_at_once_none_is_lost(server: Server) -> None:
    async def all_at_once() -> list[tuple[int, dict[str, str], bytes]]:
        sent = [crowd_of(i) for i in range(CROWD)]
        return await asyncio.gather(*[exchange(server.port, data, leaves) for _, data, leaves in sent])

    answers = asyncio.run(asyncio.wait_for(all_at_once(), 120))
    for i, (status, headers, body) in enumerate(answers):
        assert status in crowd_of(i)[0], (i, status, body)
        if status == 200:
            (output,) = json.loads(body)["outputs"]
            assert output["data"] == ([2.0 * i, 0, 0, 2] if i % 10 > 6 else [1.0 + i % 3])
        elif status:
            assert json.loads(body)["error"]
        if status == 503:
            assert headers["retry-after"] == "1"
    assert sum(status == 200 for status, _, _ in answers) > 100
    assert server.process.poll() is None
    assert send(server, post("double", DOUBLE))[0] == 200
    asyncio.run(in_hand(server, 0))


async def in_hand(server: Server, count: int) -> None:
    """Wait until the server has so many requests in hand."""
    async with asyncio.timeout(60):
        while True:
            page = (await exchange(server.port, b"GET /metrics HTTP/1.1\r\nHost: relay\r\n\r\n"))[2].decode()
            if f"relay_requests_in_hand {count}.0" in page:
                return
            await asyncio.sleep(0.05)


def test_what_has_begun_ends_before_the_server_does(tmp_path: Path) -> None:
    (tmp_path / "slow.relay").write_text(PROGRAMS["slow.relay"])
    made = Server(str(tmp_path / "slow.relay"), "--port", "0", "--log-format", "json")

    async def stop_meanwhile() -> int:
        running = asyncio.create_task(exchange(made.port, post("slow", LONG)))
        await in_hand(made, 1)
        made.process.send_signal(signal.SIGTERM)
        return (await asyncio.wait_for(running, 60))[0]

    assert asyncio.run(stop_meanwhile()) == 200
    assert made.process.wait(60) == 0


def test_a_server_that_has_just_started_ends_in_order(tmp_path: Path) -> None:
    (tmp_path / "double.relay").write_text(PROGRAMS["double.relay"])
    for _ in range(3):
        made = Server(str(tmp_path / "double.relay"), "--port", "0", "--log-format", "json")
        assert made.stop() == 0
        assert [line["message"] for line in made.log[-2:]] == ["stopping", "stopped"]


def test_the_example_client_gets_what_the_page_says(server: Server) -> None:
    path = str(ROOT / "examples" / "infer_client.py")
    spec = importlib.util.spec_from_file_location("infer_client", path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    found = example.infer(server.url, "double", {"x": np.ones((2, 4), "float32")})
    assert found["output"].tolist() == [[2.0] * 4] * 2
    assert example.inputs_of(server.url, "inverse") == ["x"]
    with pytest.raises(RuntimeError, match="no input `y`"):
        example.infer(server.url, "double", {"y": np.ones(2, "float32")})
