"""Worker processes, and what becomes of a question whose worker takes too long or is lost."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True)
class Limits:
    """What a question may take."""

    seconds: float = 10.0
    memory_mib: int = 2048
    workers: int = 4
    """Processes at the same time at most."""
    waiting: int = 64
    """Questions that wait for a process at most."""


class LostError(Exception):
    """A worker has ended before it answered."""


class Worker:
    """One process."""

    def __init__(self, process: Process) -> None:
        """`process` was started by `start_worker`."""
        self.process = process

    async def begin(self, request: Mapping[str, Any]) -> None:
        """Send a request, and return when the process has begun with it: it may have to load something."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(dict(request)).encode() + b"\n")
            await self.process.stdin.drain()
        except OSError as error:
            raise LostError from error
        await self.reply()

    async def answer(self, log: list[str]) -> Answer:
        """The answer to the request; what the program writes meanwhile is added to `log`."""
        while "answer" not in (reply := await self.reply()):
            log.append(reply["log"])
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

    async def ask(self, request: Mapping[str, Any]) -> Answer:
        """The answer to a request, with what the program wrote in `log`.

        A worker that takes longer than the limit, or whose question is cancelled, is killed
        (`time-limit`, `worker-lost`, `playground-busy`).
        """
        if self.in_hand >= self.limits.workers + self.limits.waiting:
            return refused(
                "playground-busy", "the playground has too many questions in hand", "try again in a moment"
            )
        self.in_hand += 1
        log: list[str] = []
        try:
            async with self.slots:
                found = await self.answered(request, log)
        finally:
            self.in_hand -= 1
        return {**found, "log": "".join(log)} if log else found

    async def answered(self, request: Mapping[str, Any], log: list[str]) -> Answer:
        """The answer of a worker, which afterwards is idle again or gone."""
        worker = await self.worker()
        is_done = False
        try:
            await worker.begin(request)
            async with asyncio.timeout(self.limits.seconds):
                found = await worker.answer(log)
            is_done = not found.pop("spent", False)
            return found
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

    async def worker(self) -> Worker:
        """An idle worker, or a new one."""
        while self.idle:
            worker = self.idle.pop()
            if worker.process.returncode is None:
                return worker
            self.all.discard(worker)
        worker = await start_worker(self.limits)
        self.all.add(worker)
        return worker

    async def warm_up(self) -> None:
        """Start the first worker, so that the first question need not wait for it."""
        self.idle.append(await self.worker())

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
    """The answer to one request, by a worker of its own."""
    pool = Pool(limits)
    try:
        return await pool.ask(request)
    finally:
        await pool.close()
