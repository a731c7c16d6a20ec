"""The queue of a model: requests wait here, are joined, and run on threads; the event loop never computes."""

import asyncio
from collections import deque
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from time import perf_counter
from typing import Any

from relay.serving.joining import kind_of, run_joined
from relay.serving.metrics import ModelMetrics
from relay.serving.model import Array, Joining, Model
from relay.serving.settings import Settings


class BusyError(Exception):
    """The queue is full."""


@dataclass(slots=True, eq=False)
class Pending:
    """A request that waits; its future gets the outputs, or what the model raised."""

    arrays: Sequence[Array]
    kind: Hashable
    rows: int
    future: "asyncio.Future[Any]"
    since: float
    is_queued: bool = True


class Batcher:
    """One model in one event loop."""

    def __init__(self, model: Model, settings: Settings, metrics: ModelMetrics) -> None:
        self.model = model
        self.settings = settings
        self.metrics = metrics
        self.queues: dict[Hashable, deque[Pending]] = {}
        self.waiting = 0
        self.instances = settings.instances or (2 if model.joining is Joining.ALONE else 1)
        self.free = self.instances
        self.started: SimpleQueue[list[Pending] | None] = SimpleQueue()
        self.threads = 0
        self.is_awake = False
        self.timer: asyncio.TimerHandle | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def submit(self, arrays: Sequence[Array]) -> Pending:
        """Put a request at the end of the queue (`BusyError`)."""
        if self.waiting >= self.settings.max_queue:
            raise BusyError
        if self.loop is None:
            self.loop = asyncio.get_running_loop()
        kind, rows = kind_of(self.model, arrays)
        made = Pending(arrays, kind, rows, self.loop.create_future(), perf_counter())
        queue = self.queues.get(kind)
        if queue is None:
            queue = self.queues[kind] = deque()
        queue.append(made)
        self.waiting += 1
        self.wake()
        return made

    def drop(self, pending: Pending) -> None:
        """Forget a request that nobody waits for, unless it has started."""
        if pending.is_queued:
            pending.is_queued = False
            self.waiting -= 1
            self.queues[pending.kind].remove(pending)
            if not self.queues[pending.kind]:
                del self.queues[pending.kind]

    def wake(self) -> None:
        """Start what can be, once the event loop has read what else has arrived."""
        if self.free and self.waiting and not self.is_awake:
            self.is_awake = True
            assert self.loop is not None
            self.loop.call_soon(self.dispatch)

    def dispatch(self) -> None:
        """Start calls while the model is free."""
        self.is_awake = False
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        while self.free and self.queues:
            now = perf_counter()
            queue = min(self.queues.values(), key=lambda q: q[0].since)
            delay = queue[0].since + self.settings.max_delay_seconds - now
            if delay > 0 and not self.is_full(queue):
                assert self.loop is not None
                self.timer = self.loop.call_later(delay, self.dispatch)
                return
            self.start(self.take(queue), now)

    def is_full(self, queue: deque[Pending]) -> bool:
        """Whether nothing is gained by waiting for more."""
        return queue[0].kind is None or sum(p.rows for p in queue) >= self.settings.max_batch

    def take(self, queue: deque[Pending]) -> list[Pending]:
        """The requests of the next call."""
        first = queue.popleft()
        taken, rows = [first], first.rows
        while queue and first.kind is not None and rows + queue[0].rows <= self.settings.max_batch:
            rows += queue[0].rows
            taken.append(queue.popleft())
        if not queue:
            del self.queues[first.kind]
        self.waiting -= len(taken)
        return taken

    def start(self, batch: list[Pending], now: float) -> None:
        """Hand a batch to a thread."""
        self.free -= 1
        for p in batch:
            p.is_queued = False
            self.metrics.queued.observe(now - p.since)
        self.metrics.joined.observe(len(batch))
        self.started.put(batch)
        if self.threads < self.instances - self.free:  # as many as were ever busy at once
            self.threads += 1
            Thread(target=self.run, name="relay model", daemon=True).start()

    def run(self) -> None:
        """Run batches until there is None.  Threads are daemons: no call keeps the process from ending."""
        while (batch := self.started.get()) is not None:
            self.work(batch)

    def work(self, batch: list[Pending]) -> None:
        """Run a batch."""
        begin = perf_counter()
        try:
            results = run_joined(self.model, [p.arrays for p in batch])
        except BaseException as error:  # whatever it is, nobody must wait forever
            results = [error] * len(batch)
        with suppress(RuntimeError):  # the event loop has ended: nobody waits
            assert self.loop is not None
            self.loop.call_soon_threadsafe(self.finish, batch, results, perf_counter() - begin)

    def finish(self, batch: list[Pending], results: list[Any], seconds: float) -> None:
        """Give results to those who wait."""
        self.free += 1
        self.metrics.called.observe(seconds)
        for p, result in zip(batch, results, strict=True):
            if not p.future.done():
                p.future.set_result(result)
        self.wake()

    def close(self) -> None:
        """Stop the threads, once what they run is done."""
        for _ in range(self.threads):
            self.started.put(None)
