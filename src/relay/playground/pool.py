"""Worker processes, and what becomes of a question whose worker takes too long or is lost."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from relay.diagnostic import Diagnostic
from relay.playground.answers import refused
from relay.playground.checking import Answer, plain

MEBIBYTE = 1 << 20
MAX_LINE_BYTES = 64 * MEBIBYTE
"""The longest line that a worker may answer."""
QUIET = {
    "RELAY_CACHE": "off",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "2",
    "OPENBLAS_NUM_THREADS": "2",
}
"""The environment in which workers write no files, and libraries start few threads."""

STARTING = "starting Python…"
"""The state that the page shows while a worker starts."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a question may take."""

    seconds: float = 10.0
    memory_mib: int = 2048
    workers: int = 4
    """Processes at the same time at most."""
    waiting: int = 64
    """Questions that wait for a process at most."""


Report = Callable[[Mapping[str, str]], None]
"""Takes what happens before the answer: `log`, a text that the program writes, or `state`, why it waits."""


def drop_event(_: Mapping[str, str]) -> None:
    """Take what happens before an answer, and leave it."""


class LostError(Exception):
    """A worker has ended before it answered."""


class Worker:
    """One process."""

    def __init__(self, process: Process) -> None:
        """`process` was started by `start_worker`."""
        self.process = process

    async def begin(self, request: Mapping[str, Any], report: Report) -> None:
        """Send a request, and return when the process has begun with it; `report` is told what it loads."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(dict(request)).encode() + b"\n")
            await self.process.stdin.drain()
        except OSError as error:
            raise LostError from error
        while "begun" not in (reply := await self.reply()):
            report(reply)

    async def answer(self, report: Report) -> Answer:
        """Return the answer to the request; `report` is told what the program writes, as it is written."""
        while "answer" not in (reply := await self.reply()):
            report(reply)
        return reply["answer"]

    async def reply(self) -> dict[str, Any]:
        """The next line that the process writes."""
        assert self.process.stdout is not None
        try:
            return json.loads(await self.process.stdout.readline())
        except (OSError, ValueError) as error:  # it was killed between two lines, or within one
            raise LostError from error

    async def end(self) -> None:
        """Kill the process."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()


async def start_worker(limits: Limits) -> Worker:
    """A new process, when it is ready for questions."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "relay.playground.worker",
        str(limits.memory_mib * MEBIBYTE),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={**os.environ, **QUIET},
        limit=MAX_LINE_BYTES,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        await process.stdout.readline()
    except asyncio.CancelledError:
        process.kill()
        raise
    return Worker(process)


class Pool:
    """Workers, which are started when they are needed, and kept."""

    def __init__(self, limits: Limits) -> None:
        """No process is started yet."""
        self.limits = limits
        self.slots = asyncio.Semaphore(limits.workers)
        self.idle: list[Worker] = []
        self.all: set[Worker] = set()
        self.in_hand = 0

    async def ask(self, request: Mapping[str, Any], report: Report = drop_event) -> Answer:
        """Return the answer to a request; `report` is told what happens before.

        A worker that takes longer than the limit, or whose question is cancelled, is killed
        (`time-limit`, `worker-lost`, `playground-busy`).
        """
        if self.in_hand >= self.limits.workers + self.limits.waiting:
            return refused(
                "playground-busy", "the playground has too many questions in hand", "try again in a moment"
            )
        self.in_hand += 1
        try:
            async with self.slots:
                return await self.answered(request, report)
        finally:
            self.in_hand -= 1

    async def answered(self, request: Mapping[str, Any], report: Report) -> Answer:
        """Return the answer of a worker, which afterwards is idle again or gone."""
        worker = self.idle_worker()
        if worker is None:
            report({"state": STARTING})
            worker = await self.new_worker()
            report({"state": ""})
        is_done = False
        try:
            await worker.begin(request, report)
            async with asyncio.timeout(self.limits.seconds):
                answer = await worker.answer(report)
            is_done = not answer.pop("spent", False)
            return answer
        except TimeoutError:
            return {"diagnostics": [plain(too_long(self.limits))]}
        except LostError:
            return {"diagnostics": [plain(lost(self.limits, await worker.process.wait()))]}
        finally:
            if is_done:
                self.idle.append(worker)
            else:
                self.all.discard(worker)
                await asyncio.shield(worker.end())

    def idle_worker(self) -> Worker | None:
        """Return an idle worker, if there is one."""
        while self.idle:
            worker = self.idle.pop()
            if worker.process.returncode is None:
                return worker
            self.all.discard(worker)
        return None

    async def new_worker(self) -> Worker:
        """Start a worker, and return it when it is ready for questions."""
        worker = await start_worker(self.limits)
        self.all.add(worker)
        return worker

    async def warm_up(self) -> None:
        """Start the first worker, so that the first question need not wait for it."""
        self.idle.append(await self.new_worker())

    async def close(self) -> None:
        """End every worker."""
        await asyncio.gather(*[worker.end() for worker in self.all])
        self.all.clear()
        self.idle.clear()


def too_long(limits: Limits) -> Diagnostic:
    """What is said of a program that is not done in time."""
    return Diagnostic(
        "time-limit",
        f"the program was stopped after {limits.seconds:g} s",
        hint="does a loop or a recursion never end? `relay run` has no limit; "
        "`relay playground --time-limit` sets this one",
    )


def lost(limits: Limits, status: int) -> Diagnostic:
    """What is said when a worker ended by itself: mostly, it got no more memory."""
    return Diagnostic(
        "worker-lost",
        f"the process of the program ended (status {status})",
        hint=f"it may have needed more than {limits.memory_mib:,} MiB of memory; "
        "`relay playground --memory-limit` sets this limit",
    )


async def ask_once(request: Mapping[str, Any], limits: Limits) -> Answer:
    """Return the answer to one request, by a worker of its own, with what the program wrote in `log`."""
    pool = Pool(limits)
    events: list[Mapping[str, str]] = []
    try:
        answer = await pool.ask(request, events.append)
    finally:
        await pool.close()
    log = "".join(event.get("log", "") for event in events)
    return {**answer, "log": log} if log else answer
