"""Operators on several threads: the same results, to the last bit, and the same failures."""

import threading
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.native_program import NativeProgram

WIDE = "Tensor[(300, 401), float32]"
PROGRAMS = {
    "one after the other": f"def @main(%x: {WIDE}) {{ exp(%x) * 0.5f + %x }}",
    "fewer than lanes are left": "def @main(%x: Tensor[(120011,), float32]) { sin(%x) }",
    "rows": f"def @main(%x: {WIDE}) {{ nn.softmax(%x) }}",
    "columns": f"def @main(%x: {WIDE}) {{ sum(exp(%x), axis=0) }}",
    "all of it": f"def @main(%x: {WIDE}) {{ sum(%x * %x) }}",
    "in another order": f"def @main(%x: {WIDE}) {{ transpose(tanh(%x)) + 1f }}",
    "parts": f"def @main(%x: {WIDE}) {{ concatenate((%x, tanh(%x)), axis=1) }}",
    "several results": f"def @main(%x: {WIDE}) {{ (exp(%x), %x + 1f, sum(%x, axis=1)) }}",
    "sizes known at run time": """def @main(%x: Tensor[(n, m), float32]) {
        exp(%x) / sum(exp(%x), axis=1, keepdims=True)
    }""",
    "a product": f"def @main(%x: {WIDE}) {{ nn.relu(nn.dense(%x, %x) + 1f) }}",
    "a row and a matrix": """def @main(%x: Tensor[(1, 700), float32], %y: Tensor[(900, 700), float32]) {
        nn.dense(%x, %y)
    }""",
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_any_number_of_threads_computes_the_same(name: str) -> None:
    mod = relay.infer(relay.parse(PROGRAMS[name]))
    numbers = np.random.default_rng(0)
    shapes = [
        tuple([d if isinstance(d, int) else 350 for d in p.type_annotation.shape]) for p in mod["main"].params
    ]
    args = [numbers.standard_normal(s).astype("float32") for s in shapes]
    wanted = fields(mod.evaluate("main", *args))
    first = fields(NativeProgram(mod, threads=1)(*args))
    for x, y in zip(first, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-4)
    for threads in (2, 3):
        found = fields(NativeProgram(mod, threads=threads)(*args))
        for x, y in zip(found, first, strict=True):
            np.testing.assert_array_equal(x, y)


def test_the_first_failure_is_reported() -> None:
    mod = relay.parse("""def @main(%x: Tensor[(200000,), int32], %y: Tensor[(200000,), int32]) {
        100 / %x + 7 % %y
    }""")
    x, y = np.ones(200_000, "int32"), np.ones(200_000, "int32")
    x[150_000], y[70_000] = 0, 0
    spans = set[str]()
    for threads in (1, 2, 3, 3, 3):
        with pytest.raises(relay.RelayError) as found:
            NativeProgram(mod, threads=threads)(x, y)
        spans.add(str(found.value))
    assert len(spans) == 1
    assert "%y" in spans.pop()


def test_a_number_of_threads_that_is_none() -> None:
    with pytest.raises(relay.RelayError) as found:
        NativeProgram(relay.parse("def @main() { 1 }"), threads=0)
    assert found.value.codes == ("thread-count",)


def fields(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def test_several_threads_of_python_with_loops_on_several_threads() -> None:
    mod = relay.parse("""def @main(%x: Tensor[(60000,), float32], %y: Tensor[(60000,), int32]) {
        sum(exp(%x)) + cast(sum(100 / %y), dtype="float32")
    }
    def @other(%x: Tensor[(200, 300), float32]) { nn.softmax(nn.dense(%x, %x)) }""")
    program = NativeProgram(mod, ("main", "other"), threads=3, direct=True)
    main, other = program.function("main"), program.function("other")
    x, y = np.linspace(-1, 1, 60_000, dtype="float32"), np.ones(60_000, "int32")
    bad = y.copy()
    bad[40_000:] = 0
    square = x.reshape(200, 300)
    wanted, softmax = main(x, y), other(square)
    wrong: list[str] = []

    def work() -> None:
        for _ in range(30):
            if main(x, y) != wanted or not (other(square) == softmax).all():
                wrong.append("a result")
            try:
                main(x, bad)
            except relay.RelayError:
                continue
            wrong.append("no failure")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
