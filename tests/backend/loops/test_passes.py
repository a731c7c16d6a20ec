"""Each pass over the loop IR, before and after, and what the verifier refuses."""

from collections.abc import Callable
from dataclasses import replace
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.free_values import free_values, without_dead_values
from relay.backend.native.loops.hoist import hoist
from relay.backend.native.loops.keep_rows import keep_rows
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Apply, Block, Buffer, For, Store, Var
from relay.backend.native.loops.parallelize import parallelize
from relay.backend.native.loops.schedule import merged, schedule
from relay.backend.native.loops.text import text_of
from relay.backend.native.loops.value_builder import Scope
from relay.backend.native.loops.vectorize import vectorize
from relay.backend.native.loops.verify import verify
from relay.ir.expr import Tuple
from relay.op.registry import registry

N, M, SHORT = 1024, 256, 8
SUM: Any = registry["sum"](axis=(1,))
X, Y, OUT = (Var(ADDRESS, name) for name in ("x", "y", "out"))


def buffer(data: Var, *sizes: Any, dtype: str = "float32") -> Buffer:
    return Buffer(data, dtype, sizes, data.name)


def built(build: Callable[[Builder], None]) -> tuple[Builder, Block]:
    b = Builder(SimpleNamespace(), Scope(), Tuple(()))
    build(b)
    return Builder(SimpleNamespace(), Scope(), Tuple(())), b.scope.built()


def shows(block: Block, text: str) -> None:
    found = text_of(block, [(v, v.name) for v in (X, Y, OUT)])
    assert dedent(found) == dedent(text).strip("\n")


def put(b: Builder, to: Buffer, index: Any, x: Any) -> None:
    b.add_statement(Store(to, tuple(index), x))


def double(b: Builder, *sizes: Any, dtype: str = "float32", any_order: bool = True) -> None:
    """Each element twice."""
    source, out = buffer(X, *sizes, dtype=dtype), buffer(OUT, *sizes, dtype=dtype)

    def body(index: Any, _: Any) -> None:
        x = b.read(source, index)
        put(b, out, index, b.add(x, x))

    b.for_each(sizes, (), body, any_order=any_order)


def test_neighbouring_axes_are_merged() -> None:
    b, block = built(lambda b: double(b, 4, 1, SHORT))
    shows(
        block,
        """
  for i, i1, i2 in 4, 1, 8
    v = x[i, i1, i2]
    out[i, i1, i2] = v + v""",
    )
    shows(
        merged(b, block),
        """
  for i in 32
    v = x[0, 0, i]
    out[0, 0, i] = v + v""",
    )


def test_axes_that_are_read_in_another_order_stay_apart() -> None:
    def build(b: Builder) -> None:
        def body(i: Any, _: Any) -> None:
            put(b, buffer(OUT, 4, SHORT), i, b.read(buffer(X, SHORT, 4), (i[1], i[0])))

        b.for_each([4, SHORT], (), body, any_order=True)

    b, block = built(build)
    assert merged(b, block).statements[0].indices == block.statements[0].indices


def test_the_innermost_loop_goes_along_lanes() -> None:
    _, block = built(lambda b: double(b, SHORT, M))
    shows(
        vectorize(block),
        """
  for i, i1 in 8, 256, 64 lanes
    v = x[i, i1]
    out[i, i1] = v + v""",
    )


def reduce_rows(b: Builder, over: int) -> None:
    """Sums of a matrix over one of its axes."""
    source = buffer(X, M, M)

    def row(outer: Any, _: Any) -> None:
        def step(inner: Any, totals: Any) -> Any:
            place = (*inner, *outer) if over == 0 else (*outer, *inner)
            return [b.add(totals[0], b.read(source, place))]

        (total,) = b.for_each([M], [b.const(0.0, "float32")], step, reduction=SUM)
        put(b, buffer(OUT, M), outer, total)

    b.for_each([M], (), row, any_order=True)


def test_lanes_of_a_reduction_go_where_memory_does() -> None:
    _, block = built(lambda b: reduce_rows(b, over=1))
    shows(
        vectorize(block),
        """
  for i in 256
    for i1 in 256, 64 lanes, reduce t = 0.0
      v = x[i, i1]
      next t = t + v
    out[i] = t""",
    )
    _, block = built(lambda b: reduce_rows(b, over=0))
    shows(
        vectorize(block),
        """
  for i in 256, 64 lanes
    for i1 in 256, reduce t = 0.0
      v = x[i1, i]
      next t = t + v
    out[i] = t""",
    )


def illegal(name: str) -> Callable[[Builder], None]:
    def scattered(b: Builder) -> None:
        b.for_each([M], (), lambda i, _: put(
            b, buffer(OUT, M, 2), (i[0], 0), b.read(buffer(X, M), i)), any_order=True)  # fmt: skip

    def divided(b: Builder) -> None:
        source = buffer(X, M, dtype="int32")
        b.for_each([M], (), lambda i, _: put(
            b, buffer(OUT, M, dtype="int32"), i, b.divide(b.read(source, i), b.read(source, i))),
            any_order=True)  # fmt: skip

    def carried(b: Builder) -> None:
        def step(i: Any, totals: Any) -> Any:
            put(b, buffer(OUT, M), i, totals[0])
            return [b.add(totals[0], b.read(buffer(X, M), i))]

        b.for_each([M], [b.const(0.0, "float32")], step)

    def in_order(b: Builder) -> None:
        double(b, M, any_order=False)

    return {"scattered": scattered, "divided": divided, "carried": carried, "in order": in_order}[name]


@pytest.mark.parametrize("name", ["scattered", "divided", "carried", "in order"])
def test_what_has_no_form_for_several_lanes_stays_as_it_is(name: str) -> None:
    _, block = built(illegal(name))
    assert vectorize(block) is block


def exponentials(b: Builder) -> None:
    """Their sum, and each by it."""
    source, out = buffer(X, M), buffer(OUT, M)
    zero = b.const(0.0, "float32")

    def exp(i: Any) -> Any:
        return b.function("exp", b.read(source, i))

    (total,) = b.for_each([M], [zero], lambda i, t: [b.add(t[0], exp(i))], reduction=SUM)
    b.for_each([M], (), lambda i, _: put(b, out, i, b.divide(exp(i), total)), any_order=True)


def test_what_loops_over_a_row_share_is_kept() -> None:
    _, block = built(exponentials)
    shows(
        without_dead_values(keep_rows(vectorize(block))),
        """
  stack = stack 1024 bytes
  for i in 256, 32 lanes, reduce t = 0.0
    v = x[i]
    v1 = exp(v)
    row0[i] = v1
    next t = t + v1
  for i1 in 256, 32 lanes
    v2 = row0[i1]
    out[i1] = v2 / t""",
    )


def test_what_does_not_change_moves_out_of_loops() -> None:
    def build(b: Builder) -> None:
        def body(index: Any, _: Any) -> None:
            factor = b.function("exp", b.read(buffer(Y, SHORT), index[:1]))
            put(b, buffer(OUT, SHORT, M), index, b.multiply(b.read(buffer(X, SHORT, M), index), factor))

        b.for_each([SHORT, M], (), body, any_order=True)

    _, block = built(build)
    shows(
        hoist(block),
        """
  for i in 8
    v = y[i]
    v1 = exp(v)
    for i1 in 256
      v2 = x[i, i1]
      out[i, i1] = v2 * v1""",
    )


def test_long_loops_go_to_threads_and_short_ones_do_not() -> None:
    b, block = built(lambda b: double(b, N, N))
    shows(
        parallelize(b, vectorize(merged(b, block))),
        """
  on threads, [begin, end) of 16384, grain 651
    for i in (end - begin) * 64, 64 lanes
      v = x[0, (begin * 64) + i]
      out[0, (begin * 64) + i] = v + v""",
    )
    b, short = built(lambda b: double(b, SHORT, SHORT))
    assert [type(s) for s in parallelize(b, vectorize(short)).statements] == [For]


def test_a_remainder_comes_after_the_threads() -> None:
    b, block = built(lambda b: double(b, N * N + 3))
    shows(
        schedule(b, block, variables(block)),
        """
  on threads, [begin, end) of 16384, grain 651
    for i in (end - begin) * 64, 64 lanes
      v = x[(begin * 64) + i]
      out[(begin * 64) + i] = v + v
  for i1 in 3, 64 lanes, 1 masked vector
    v = x[i1 + 1048576]
    out[i1 + 1048576] = v + v""",
    )


def variables(block: Block) -> list[Var]:
    """The variables that a block reads and does not define."""
    return [x for x in free_values(block) if isinstance(x, Var)]


def test_the_verifier_accepts_what_passes_make() -> None:
    for build in (exponentials, lambda b: double(b, N, N), lambda b: reduce_rows(b, over=0)):
        b, block = built(build)
        verify(schedule(b, block, variables(block)), variables(block))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: replace(s, lanes=8, any_order=True), "no form for several lanes"),
        (lambda s: replace(s, extents=()), "an extent for each index"),
        (lambda s: replace(s, body=Block((), (Var("float32", "t"),))), "what is carried keeps its dtype"),
        (lambda s: replace(s, body=Block((Store(buffer(OUT, M), (0, 0), Var("float32", "v")),))),
         "an index for each axis"),
        (lambda s: replace(s, body=Block((Store(buffer(OUT, M), (0,), Var("int32", "v")),))), "is stored as"),
        (lambda s: replace(s, body=Block((Apply("add", (Apply("exp", (), "float32"),), "float32"),))),
         "before it is defined"),
        (lambda s: replace(s, body=Block((Apply("plus", (Var("float32", "v"), 1), INDEX),))),
         "is a function of indices"),
    ],
)  # fmt: skip
def test_the_verifier_refuses(change: Any, message: str) -> None:
    _, block = built(illegal("scattered"))
    changed = Block((change(block.statements[0]),))
    with pytest.raises(AssertionError, match=message):
        verify(changed, variables(changed))


def test_the_verifier_refuses_a_variable_that_nothing_defines() -> None:
    _, block = built(lambda b: double(b, N))
    verify(block, variables(block))
    with pytest.raises(AssertionError, match="before it is defined"):
        verify(block)


def test_the_verifier_refuses_registers_that_vectors_in_a_loop_write() -> None:
    def build(b: Builder, vectors: int) -> None:
        sums = b.registers("float32", (16,), "sums")
        b.vector_loop(16, 8, lambda i: b.write(sums, (i,), b.const(0, "float32")), vectors, is_whole=True)

    verify(built(lambda b: build(b, 2))[1])
    with pytest.raises(AssertionError, match="are unrolled"):
        verify(built(lambda b: build(b, 0))[1])
