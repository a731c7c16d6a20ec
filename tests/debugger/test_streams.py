"""The debug adapter as an editor starts it: over standard input and output, or a port."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "relay", "debug"]


def message(seq: int, command: str, **arguments: object) -> bytes:
    body = json.dumps({"seq": seq, "type": "request", "command": command, "arguments": arguments}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def session(program: Path) -> bytes:
    return b"".join([
        message(1, "initialize", adapterID="relay"),
        message(2, "launch", program=str(program), args=["3"]),
        message(3, "configurationDone"),
    ])  # fmt: skip


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "square.relay"
    path.write_text("def @main(%x: int32) { %x * %x }\n")
    return path


def test_over_standard_input_and_output(program: Path) -> None:
    with subprocess.Popen([*COMMAND, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(session(program))
        server.stdin.flush()
        said = b""
        while b"terminated" not in said:
            said += server.stdout.read1()
        assert b'"output": "9\\n"' in said
        server.stdin.close()
        assert server.wait(20) == 0


def test_over_a_port(program: Path) -> None:
    with subprocess.Popen([*COMMAND, "--port", "0"], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", server.stderr.readline())
        assert found is not None
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=20) as client:
            client.sendall(session(program))
            said = b""
            while b"terminated" not in said:
                said += client.recv(1 << 16)
            assert b'"output": "9\\n"' in said
            client.sendall(message(4, "disconnect"))
        assert server.wait(20) == 0


@pytest.mark.parametrize(
    "sent",
    [b"hello\n\r\n", b"Content-Length: many\r\n\r\n", b"Content-Length: 5\r\n\r\n{{{{{",
     b"Content-Length: 2\r\n\r\n[]",
     b"Content-Length: 99999999999\r\n\r\n", b"Content-Length: -1\r\n\r\n", b"\r\n", b"x" * 5000],
)  # fmt: skip
def test_what_is_no_message_ends_with_a_diagnostic(sent: bytes) -> None:
    ran = subprocess.run([*COMMAND, "--stdio"], input=sent, capture_output=True, timeout=60)
    assert ran.returncode == 1
    assert b"error[debug-protocol]" in ran.stderr
    assert b"Traceback" not in ran.stderr


def test_a_client_that_hangs_up_ends_it() -> None:
    cut = b"Content-Length: 100\r\n\r\n{"
    ran = subprocess.run([*COMMAND, "--stdio"], input=cut, capture_output=True, timeout=60)
    assert ran.returncode == 0


def test_a_port_that_is_taken_is_wrong_usage() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = subprocess.run(
            [*COMMAND, "--port", str(taken.getsockname()[1])], capture_output=True, timeout=60
        )
    assert ran.returncode == 2
    assert b"cannot be used" in ran.stderr
