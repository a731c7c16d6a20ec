"""Branches and loops of traced functions."""
# ruff: noqa: F821 - annotations in quotes are Relay types

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay

X = np.arange(1, 8, dtype="float32")
RUN = pytest.mark.parametrize("run", [relay.function, relay.compile], ids=["run", "compile"])
Runner = Callable[[Any], Any]


@RUN
def test_one_branch_is_taken(run: Runner) -> None:
    def f(x: Any, p: Any) -> Any:
        return relay.cond(x > 0, lambda y, p: {"y": y * p, "k": 1}, lambda y, p: {"y": -y, "k": 0}, x, p)

    assert run(f)(3.0, 2.0) == {"y": 6, "k": 1}
    assert run(f)(-3.0, 2.0) == {"y": 3, "k": 0}
    value, slopes = run(relay.grad(lambda x, p: f(x, p)["y"]))(3.0, 2.0)
    assert (value, slopes) == (6, (2, 3))
    assert run(relay.grad(lambda x, p: f(x, p)["y"]))(-3.0, 2.0) == (3, (-1, 0))


def test_condition_that_is_known_is_pythons() -> None:
    assert relay.cond(True, lambda: 1, lambda: 2) == 1
    assert relay.function(lambda x: relay.cond(np.bool_(False), lambda: x, lambda: x + 1))(1) == 2
    with pytest.raises(relay.RelayError) as error:
        relay.cond(3, lambda: 1, lambda: 2)
    assert error.value.codes == ("condition-type",)


@RUN
def test_switch_takes_the_nearest_branch(run: Runner) -> None:
    def f(i: Any, x: Any) -> Any:
        return relay.switch(i, [lambda y, k=k: (y * k, y) for k in range(5)], x)

    assert [run(f)(i, 2.0)[0] for i in (-3, 0, 1, 2, 3, 4, 9)] == [0, 0, 2, 4, 6, 8, 8]
    assert run(relay.value_and_grad(lambda i, x: f(i, x)[0], 1))(3, 2.0) == (6, 3)
    assert relay.switch(7, [lambda: "a", lambda: "b"]) == "b"
    with pytest.raises(ValueError, match="at least one branch"):
        relay.switch(0, [])


@RUN
def test_loop_goes_on_while_its_condition_holds(run: Runner) -> None:
    def f(x: Any) -> Any:
        return relay.while_loop(
            lambda c: c["x"] < 100, lambda c: {"x": c["x"] * x, "n": c["n"] + 1}, {"x": x, "n": 0}
        )

    assert run(f)(3.0) == {"x": 243, "n": 4}
    value, (slope,) = run(relay.grad(lambda x: f(x)["x"]))(3.0)
    assert (value, slope) == (243, 5 * 3**4)


def test_long_loop_runs_in_constant_space() -> None:
    assert relay.while_loop(lambda n: n < 200_000, lambda n: n + 1, 0) == 200_000
    assert relay.compile(lambda n: relay.fori(0, n, lambda i, s: s + i % 2, 0))(300_001) == 150_000


@RUN
def test_loop_over_numbers(run: Runner) -> None:
    def f(x: Any, n: Any) -> Any:
        return relay.fori(1, n, lambda i, s: s * x + i.astype("float32"), 0.0)

    assert run(f)(2.0, 4) == 1 * 4 + 2 * 2 + 3
    assert run(f)(2.0, np.int64(4)) == 11
    assert run(f)(2.0, 1) == 0
    assert run(relay.value_and_grad(f, 0))(2.0, 4) == (11, 2 * 2 + 2)
    assert relay.fori(0, 3, lambda i, s: (s[0] + i, s[1] * 2), (0, 1.0)) == (3, 8)


def recurrence(x: Any, reverse: bool = False) -> tuple[Any, Any]:
    """`c = c / 2 + x`, for each `x` in turn: the last one, and all of them."""
    rows = x[::-1] if reverse else x
    c, ys = np.zeros_like(x[:1].sum(0)), []
    for row in rows:
        c = c / 2 + row
        ys.append(c)
    stacked = np.asarray(ys, x.dtype).reshape(x.shape)
    return c, stacked[::-1] if reverse else stacked


@RUN
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_keeps_what_each_round_gives(run: Runner, reverse: bool) -> None:
    def f(x: Any) -> Any:
        return relay.scan(lambda c, row: (c / 2 + row, c / 2 + row), 0.0, x, reverse=reverse)

    @relay.function
    def of_any_size(x: "Tensor[(n,), float32]"):
        return f(x)

    for n in range(8):
        for found in (run(f)(X[:n]), run(of_any_size)(X[:n])):
            np.testing.assert_allclose(found[0], recurrence(X[:n], reverse)[0])
            np.testing.assert_allclose(found[1], recurrence(X[:n], reverse)[1])
    assert str(of_any_size.function.ret_type) == "(float32, Tensor[(n,), float32])"


@RUN
def test_gradient_of_a_scan(run: Runner) -> None:
    weights = X * X

    def f(x: Any) -> Any:
        last, all_ = relay.scan(lambda c, row: (c / 2 + row, c / 2 + row), 0.0, x)
        return (all_ * weights).sum() + last

    @relay.function
    def of_any_size(x: "Tensor[(n,), float32]"):
        return f(x)

    unit = np.eye(len(X), dtype="float32")
    expected = [(recurrence(e)[1] * weights).sum() + recurrence(e)[0] for e in unit]
    np.testing.assert_allclose(run(relay.value_and_grad(f, 0))(X)[1], expected, rtol=1e-6)
    np.testing.assert_allclose(run(relay.value_and_grad(of_any_size, 0))(X)[1], expected, rtol=1e-6)


@RUN
def test_scan_over_nested_values(run: Runner) -> None:
    def f(p: Any, xs: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            h = relay.tanh(row["x"] @ p["w"] + c["h"])
            return {"h": h, "n": c["n"] + 1}, {"h": h, "y": row["y"] * 2}

        return relay.scan(step, {"h": p["b"], "n": 0}, xs)

    w, b = np.eye(3, dtype="float32"), np.ones(3, "float32")
    xs = {"x": np.arange(15, dtype="float32").reshape(5, 3) / 10, "y": np.arange(5)}
    last, all_ = run(f)({"w": w, "b": b}, xs)
    h = b
    for t in range(5):
        h = np.tanh(xs["x"][t] + h)
        np.testing.assert_allclose(all_["h"][t], h, rtol=1e-6)
    np.testing.assert_allclose(last["h"], h, rtol=1e-6)
    assert last["n"] == 5
    assert all_["y"].tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 64])
def test_scan_of_any_number_of_rounds(count: int, reverse: bool) -> None:
    def f(x: "Tensor[(n, m), float32]", c: "float32"):
        rounds = relay.scan(lambda c, row: (c / 2 + row[0], (c * row, row.sum())), c, x, reverse=reverse)
        assert str(rounds[1][0].shape) == "(n, m)"
        return rounds

    x = np.arange(3.0 * count, dtype="float32").reshape(count, 3) % 7
    c, rows, sums = np.float32(2), np.empty_like(x), x.sum(1)
    for i in reversed(range(count)) if reverse else range(count):
        rows[i] = c * x[i]
        c = c / 2 + x[i, 0]
    for g in (relay.function(f), relay.compile(f)):
        last, (products, found) = g(x, np.float32(2))
        np.testing.assert_allclose(last, c, rtol=1e-6)
        np.testing.assert_allclose(products, rows, rtol=1e-6)
        np.testing.assert_array_equal(found, sums)

    def total(run: Any) -> Any:
        return lambda x, c: run(x, c)[1][0].sum()

    open_size = relay.value_and_grad(total(relay.function(f)), (0, 1))(x, np.float32(2))
    known = relay.value_and_grad(
        lambda x, c: relay.scan(lambda c, r: (c / 2 + r[0], c * r), c, x, reverse=reverse)[1].sum(), (0, 1)
    )(x, np.float32(2))
    for a, b in zip(open_size[1], known[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_scan_of_thousands_of_rounds_copies_no_buffer_in_each() -> None:
    @relay.compile
    def f(x: "Tensor[(n, 1000), float32]"):
        return relay.scan(lambda c, row: (c + row[0], row * c), 0.0, x)[1]

    x = np.ones((8000, 1000), "float32")
    begin = time.process_time()
    assert f(x)[-1, 0] == 7999
    assert time.process_time() - begin < 5, "a copy of all results in each round takes 20 s"


def test_scan_without_rows_or_results() -> None:
    assert relay.scan(lambda c, _: (c * 2, None), 1, length=10) == (1024, None)
    powers = relay.scan(lambda c, _: (c * 2, c), 1, length=5)[1]
    assert powers.tolist() == [1, 2, 4, 8, 16]


def test_program_of_a_scan_grows_with_the_bits_of_its_rounds() -> None:
    def size(n: int) -> int:
        f = relay.function(lambda x: relay.scan(lambda c, row: (c + row, c), 0.0, x)[1])
        made, _ = f.for_arguments((np.ones(n, "float32"),), {})
        return len(list(relay.post_order(made.function)))

    assert size(1000) < 2 * size(100)


def test_loops_nest_and_capture() -> None:
    @relay.function
    def f(x: Any, n: Any):
        def row(i: Any, total: Any) -> Any:
            inner = relay.fori(0, i, lambda j, s: s + x[j], 0.0)
            return relay.cond(inner > 2, lambda: total + inner, lambda: total)

        return relay.fori(0, n, row, 0.0)

    assert f(X, 4) == 3 + 6


def test_function_called_in_a_trace_captures_its_values() -> None:
    @relay.function
    def f(x: Any):
        @relay.function
        def scaled(y: Any):
            return x * y

        return scaled(2.0) + relay.value_and_grad(lambda y: x * y * y, 0)(3.0)[1]

    assert f(np.float32(5)) == 10 + 30


def refused(make: Callable[[], Any]) -> relay.Diagnostic:
    """The one diagnostic that a call raises."""
    with pytest.raises(relay.RelayError) as error:
        make()
    (d,) = error.value.diagnostics
    return d


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (
            lambda x: relay.cond(x > 0, lambda: x, lambda: (x, x)),
            "the branches of relay.cond return different",
        ),
        (
            lambda x: relay.switch(x.astype("int32"), [lambda: {"a": x}, lambda: {"b": x}]),
            "relay.switch return",
        ),
        (
            lambda x: relay.while_loop(lambda c: c < x, lambda c: (c,), x),
            "carries is * before a round and (*,)",
        ),
        (
            lambda x: relay.while_loop(lambda c: c < 3, lambda c: c.astype("float32"), 0),
            "relay.while_loop carries is int32 before a round and float32 after it",
        ),
        (
            lambda x: relay.fori(0, 3, lambda i, s: s + np.ones((2, 1), "float32"), x[None]),
            "Tensor[(2, 1), float32] after it",
        ),
        (lambda x: relay.scan(lambda c, _: c, x, length=3), "not the carry and a result"),
    ],
)
def test_structures_that_do_not_fit_are_explained(f: Any, message: str) -> None:
    d = refused(lambda: relay.function(f)(1.0))
    assert d.code == "structure-mismatch"
    assert message in d.message
    assert d.span is not None
    assert d.span.source_name.name == __file__


def test_rounds_that_nothing_says_are_an_error() -> None:
    with pytest.raises(ValueError, match="needs tensors of rank 1 or more in `xs`, or `length`"):
        relay.scan(lambda c, _: (c, c), 0)
    with pytest.raises(ValueError, match="different sizes: 7, 2"):
        relay.scan(lambda c, _: (c, c), 0, (X, X[:2]))


@pytest.mark.parametrize(
    "statement", ["if x > 0: x = -x", "while x > 0: x = x - 1", "x = x > 0 and x", "bool(x)"]
)
def test_statements_of_python_name_what_to_write(statement: str) -> None:
    source = f"import relay\n@relay.function\ndef f(x: 'float32'):\n    {statement}\n    return x\n"
    d = refused(lambda: exec(source, {}))
    assert d.code == "traced-control-flow"
    for name in ("cond", "switch", "while_loop", "fori", "scan"):
        assert f"relay.{name}" in d.hint
