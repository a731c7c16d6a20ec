"""Programs in processes of their own: what takes too long or too much, and what is left of it."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from relay.playground.pool import STARTING, Limits, Pool, ask_once, start_worker
from relay.playground.server import Conversation
from relay.playground.worker import LOADING

LOOP = "def @f(%n: int32) -> int32 { if (%n < 0) { 1 } else { @f(%n) } }\n@f(1)"
LIST = """import "std/list"
def @grown(%l: List[int32]) -> int32 { @grown(Cons(1, %l)) }
@grown(Nil)"""
PLENTY = Limits(60)
BACKENDS = ("interpreter", "native")


def run(program: str, limits: Limits = PLENTY, **more: Any) -> dict[str, Any]:
    return asyncio.run(ask_once({"ask": "run", "program": program, **more}, limits))


def code(found: dict[str, Any]) -> str:
    return found["diagnostics"][0]["code"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_program_that_does_not_end_is_stopped(backend: str) -> None:
    start = time.monotonic()
    found = run(LOOP, Limits(1), backend=backend)
    assert code(found) == "time-limit"
    assert time.monotonic() - start < 60


ENDLESS_TRACE = 'def @f(%n: int32) -> int32 { @f(trace("at {}", %n)) }\n@f(7)'


def test_what_it_wrote_before_is_shown() -> None:
    found = run(ENDLESS_TRACE, Limits(1))
    assert code(found) == "time-limit"
    assert found["log"].startswith("at 7\nat 7\n")
    assert len(found["log"]) < 60_000


def test_what_it_writes_is_sent_at_once_and_a_browser_that_leaves_ends_it() -> None:
    async def stopped_at_the_first_trace() -> list[Any]:
        pool = Pool(PLENTY)
        lines: list[dict[str, Any]] = []
        has_log = asyncio.Event()

        async def send(message: dict[str, Any]) -> None:
            lines.extend(json.loads(line) for line in message.get("body", b"").splitlines())
            if "log" in (lines or [{}])[-1]:
                has_log.set()

        async def receive() -> dict[str, Any]:
            await has_log.wait()
            return {"type": "http.disconnect"}

        asking = Conversation(pool, {"ask": "run", "program": ENDLESS_TRACE})({}, receive, send)
        await asyncio.wait_for(asking, 60)
        assert not pool.all
        return lines

    lines = asyncio.run(stopped_at_the_first_trace())
    assert lines[:2] == [{"state": STARTING}, {"state": ""}]
    assert lines[2]["log"].startswith("at 7")
    assert not any("answer" in line for line in lines)


def test_the_answer_is_the_last_line() -> None:
    async def messages() -> list[dict[str, Any]]:
        pool = Pool(PLENTY)
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        text = 'let %x = trace("é {}", 1); %x + 1'
        await Conversation(pool, {"ask": "run", "program": text})({}, asyncio.Event().wait, send)
        await pool.close()
        return sent

    start, *chunks = asyncio.run(messages())
    assert (start["status"], start["headers"]) == (200, [(b"content-type", b"application/x-ndjson")])
    assert [chunk["more_body"] for chunk in chunks] == [True] * (len(chunks) - 1) + [False]
    lines = [json.loads(line) for line in b"".join(chunk["body"] for chunk in chunks).splitlines()]
    assert "".join(line.get("log", "") for line in lines) == "é 1\n"
    assert lines[-1]["answer"]["text"] == "2"


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS")
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_program_that_takes_all_memory_is_stopped(backend: str) -> None:
    limits = Limits(60, memory_mib=64)
    assert code(run(LIST, limits, backend=backend)) == "out-of-memory"
    text = "let %x = ones(shape=(20000, 20000), dtype=float32);\nsum(sort(%x + 1.0))"
    assert code(run(text, limits, backend=backend)) == "out-of-memory"
    text = "ones(shape=(25000000000,), dtype=float32) + 1.0"
    assert code(run(text, limits, backend=backend)) == "out-of-memory"


@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS")
def test_what_machine_code_needs_is_not_counted() -> None:
    async def events() -> list[Any]:
        pool, seen = Pool(Limits(60, memory_mib=64)), []
        seen.append(await pool.ask({"ask": "run", "program": "1 + 2", "backend": "native"}, seen.append))
        await pool.close()
        return seen

    *states, found = asyncio.run(events())
    assert found.get("text") == "3", found
    assert [s["state"] for s in states] == [STARTING, "", LOADING, ""]  # none of it is time of the program


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_idle_worker_loads_what_machine_code_needs() -> None:
    async def loaded() -> bool:
        worker = await start_worker(PLENTY)
        maps = Path(f"/proc/{worker.process.pid}/maps")
        deadline = time.monotonic() + 60
        while not (found := "libllvmlite" in maps.read_text()) and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        await worker.end()
        return found

    assert asyncio.run(loaded())


def test_a_worker_without_memory_is_not_used_again() -> None:
    async def spent() -> None:
        pool = Pool(PLENTY)
        found = await pool.ask({"ask": "run", "program": "ones(shape=(25000000000,), dtype=float32) + 1.0"})
        assert code(found) == "out-of-memory"
        assert "spent" not in found
        assert not pool.all
        await pool.close()

    asyncio.run(spent())


def test_a_cancelled_question_leaves_no_process() -> None:
    async def cancelled() -> int:
        pool = Pool(PLENTY)
        asking = asyncio.ensure_future(pool.ask({"ask": "run", "program": LOOP}))
        while not pool.all:
            await asyncio.sleep(0.05)
        (worker,) = pool.all
        await asyncio.sleep(0.5)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert not pool.all
        assert pool.in_hand == 0
        return worker.process.pid

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(cancelled()), 0)


def test_a_worker_is_used_again() -> None:
    async def twice() -> None:
        pool = Pool(PLENTY)
        await pool.warm_up()
        first = set(pool.all)
        for text in ("1 + 2", "nn.relu(", 'assert(False, "no");\n1'):
            await pool.ask({"ask": "run", "program": text})
        assert pool.all == first
        await pool.close()
        assert all(w.process.returncode is not None for w in first)

    asyncio.run(twice())


def test_a_worker_that_is_lost_is_replaced() -> None:
    async def lost() -> None:
        pool = Pool(PLENTY)
        asking = asyncio.ensure_future(pool.ask({"ask": "run", "program": LOOP}))
        while not pool.all:
            await asyncio.sleep(0.05)
        (worker,) = pool.all
        await asyncio.sleep(0.5)
        worker.process.kill()
        assert code(await asking) == "worker-lost"
        assert (await pool.ask({"ask": "run", "program": "1 + 2"}))["text"] == "3"
        (other,) = pool.idle
        other.process.kill()
        await other.process.wait()
        assert (await pool.ask({"ask": "run", "program": "1 + 3"}))["text"] == "4"
        await pool.close()

    asyncio.run(lost())


def test_more_than_can_wait_are_refused() -> None:
    async def many() -> list[str]:
        pool = Pool(Limits(seconds=1, workers=1, waiting=1))
        found = await asyncio.gather(*[pool.ask({"ask": "run", "program": LOOP}) for _ in range(4)])
        await pool.close()
        return sorted(code(one) for one in found)

    assert asyncio.run(many()) == ["playground-busy", "playground-busy", "time-limit", "time-limit"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs os.getppid that changes")
def test_a_worker_ends_with_the_process_that_started_it() -> None:
    script = f"""
import asyncio, os
from relay.playground.pool import *
async def main():
    pool = Pool(Limits(60))
    asking = asyncio.ensure_future(pool.ask({{"ask": "run", "program": {LOOP!r}}}))
    while not pool.all: await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    print([w.process.pid for w in pool.all][0], flush=True)
    os._exit(1)
asyncio.run(main())
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    pid = int(ran.stdout)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and alive(pid):
        time.sleep(0.2)
    assert not alive(pid)


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_programs_cannot_write_files(tmp_path: Path) -> None:
    script = "import sys; from relay.playground.worker import limit; limit()\n"
    script += "try: open(sys.argv[1], 'w', buffering=1).write('x' + chr(10))\n"
    script += "except OSError: print('refused')"
    argv = [sys.executable, "-c", script, str(tmp_path / "file")]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert ran.stdout.strip() == ("" if sys.platform == "win32" else "refused")
