"""The queue of a model: what is joined, what waits, what is dropped, and that nothing is lost."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from relay.serving.batcher import Batcher, BusyError
from relay.serving.model import Joining, TensorSpec
from relay.serving.settings import Settings


class Meter:
    """Stands in for a metric, and keeps what it is told."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def observe(self, value: float) -> None:
        self.seen.append(value)


class Meters:
    def __init__(self) -> None:
        self.queued, self.called, self.joined = Meter(), Meter(), Meter()


class Doubling:
    """`2 * x`, which waits until it may go on, and fails where an element is negative."""

    platform = "test"
    inputs = outputs = (TensorSpec("x", "float32", ("n", 2)),)
    joining = Joining.ROWS

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.calls: list[int] = []

    def check(self, arrays: Sequence[Any]) -> None:
        pass

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        self.gate.wait(10)
        self.calls.append(len(arrays[0]))
        if (arrays[0] < 0).any():
            raise ValueError("negative")
        return [2 * arrays[0]]

    stacked = __call__


def rows(count: int, value: float = 1.0) -> list[np.ndarray]:
    return [np.full((count, 2), value, "float32")]


def run(test: Callable[[Doubling, Callable[..., Batcher]], Any]) -> Any:
    model = Doubling()

    def batcher(**limits: Any) -> Batcher:
        return Batcher(model, Settings(**{"instances": 1, **limits}), Meters())

    async def within() -> Any:
        return await asyncio.wait_for(test(model, batcher), 20)

    return asyncio.run(within())


def test_what_arrives_together_is_one_call() -> None:
    async def test(model: Doubling, batcher: Callable[..., Batcher]) -> None:
        b = batcher()
        found = await asyncio.gather(*[b.submit(rows(i, i)).future for i in (1, 2, 3)])
        assert model.calls == [6]
        assert [x[0].tolist() for x in found] == [[[2.0 * i] * 2] * i for i in (1, 2, 3)]
        assert b.metrics.joined.seen == [3]

    run(test)


def test_a_call_has_at_most_max_batch_rows_unless_one_request_has_more() -> None:
    async def test(model: Doubling, batcher: Callable[..., Batcher]) -> None:
        b = batcher(max_batch=4)
        await asyncio.gather(*[b.submit(rows(i)).future for i in (1, 2, 2, 9, 1)])
        assert model.calls == [3, 2, 9, 1]

    run(test)


def test_a_request_that_fails_leaves_the_others_alone() -> None:
    async def test(model: Doubling, batcher: Callable[..., Batcher]) -> None:
        b = batcher()
        good, bad, other = await asyncio.gather(*[b.submit(rows(1, v)).future for v in (1, -1, 3)])
        assert isinstance(bad, ValueError)
        assert (good[0][0, 0], other[0][0, 0]) == (2, 6)
        assert model.calls == [3, 1, 1, 1]

    run(test)


def test_with_a_delay_requests_wait_for_others_until_the_call_is_full() -> None:
    async def test(model: Doubling, batcher: Callable[..., Batcher]) -> None:
        b = batcher(max_delay_seconds=5.0, max_batch=2)
        first = b.submit(rows(1)).future
        await asyncio.sleep(0.02)
        assert not first.done()
        begin = time.monotonic()
        await asyncio.gather(first, b.submit(rows(1)).future)
        assert model.calls == [2]
        assert time.monotonic() - begin < 4
        b.settings = Settings(instances=1, max_delay_seconds=0.01, max_batch=2)
        await b.submit(rows(1)).future
        assert model.calls == [2, 1]

    run(test)


def test_requests_beyond_the_queue_are_refused() -> None:
    async def test(model: Doubling, batcher: Callable[..., Batcher]) -> None:
        b = batcher(max_queue=2)
        model.gate.clear()
        running = b.submit(rows(1)).future
        await asyncio.sleep(0.05)
        waiting = [b.submit(rows(1)).future for _ in range(2)]
        with pytest.raises(BusyError):
            b.submit(rows(1))
        model.gate.set()
        await asyncio.gather(running, *waiting)
        assert b.waiting == 0
        assert b.queues == {}

    run(test)


def test_a_dropped_request_is_not_computed() -> None:
    async def test(model: Doubling, batcher: Callable[..., Batcher]) -> None:
        b = batcher()
        model.gate.clear()
        running = b.submit(rows(1))
        await asyncio.sleep(0.05)
        gone, kept = b.submit(rows(5)), b.submit(rows(2))
        b.drop(gone)
        b.drop(gone)
        b.drop(running)  # it has started: nothing happens
        model.gate.set()
        await asyncio.gather(running.future, kept.future)
        assert model.calls == [1, 2]
        assert not gone.future.done()

    run(test)


@pytest.mark.parametrize("instances", [1, 4])
def test_many_requests_of_many_kinds_are_all_answered(instances: int) -> None:
    async def test(model: Doubling, batcher: Callable[..., Batcher]) -> None:
        b = batcher(instances=instances, max_batch=8, max_queue=10_000)
        requests = [[np.full((i % 3, 1 + i % 5), i % 7 - 1, "float32")] for i in range(2_000)]
        found = await asyncio.gather(*[b.submit(x).future for x in requests])
        for (x,), result in zip(requests, found, strict=True):
            if (x < 0).any():
                assert isinstance(result, ValueError)
            else:
                np.testing.assert_array_equal(result[0], 2 * x)

    run(test)


@pytest.mark.parametrize(
    ("joining", "expected"), [(Joining.ROWS, 1), (Joining.STACKED, 1), (Joining.ALONE, 2)]
)
def test_one_call_at_a_time_is_for_models_whose_requests_are_joined(joining: Joining, expected: int) -> None:
    model = Doubling()
    model.joining = joining
    assert Batcher(model, Settings(), Meters()).instances == expected
    assert Batcher(model, Settings(instances=3), Meters()).instances == 3
