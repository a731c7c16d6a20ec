"""Speed of the interpreter: small recursive programs, and what it costs to get large ones ready.

Run as `python benchmarks/interpreter.py`.  The yardstick U is Python's own `ast.parse` of 10,000 lines
`x1 = add(x0, y)`, cyclic collector off, per line, measured in the same run.  Limits are those the project
promises: 300 ms for `fib(20)` on int32 scalars, 150 ms for a loop of 10,000 steps by tail calls.
"""

import ast
import gc
import sys
import time
from collections.abc import Callable

import numpy as np

import relay
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import values_equal
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, Let, Var, constant
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.testing import mlp

PROGRAM = """
type List[A] { Nil, Cons(A, List[A]), }
def @fib(%n: int32) -> int32 { if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }
def @generic(%n) { if (%n < 2) { %n } else { @generic(%n - 1) + @generic(%n - 2) } }
def @local(%m: int32) -> int32 {
  let %one = %m / %m;
  let %fib = fn(%n: int32) -> int32 { if (%n < 2) { %n } else { %fib(%n - %one) + %fib(%n - 2) } };
  %fib(%m)
}
def @loop(%i: int32, %s: int32) -> int32 { if (%i == 0) { %s } else { @loop(%i - 1, %s + %i) } }
def @deep(%n: int32) -> int32 { if (%n == 0) { 0 } else { 1 + @deep(%n - 1) } }
def @build(%n: int32, %l: List[int32]) -> List[int32] {
  if (%n == 0) { %l } else { @build(%n - 1, Cons(%n, %l)) }
}
def @long(%n: int32) { @build(%n, Nil) }
def @total(%l: List[int32], %s: int32) -> int32 {
  match (%l) { Nil => %s, Cons(%h, %t) => @total(%t, %s + %h) }
}
def @sum_to(%n: int32) { @total(@long(%n), 0) }
"""


def best(action: Callable[[], object], times: int = 5) -> float:
    """The least time that `action` takes, in seconds."""
    found = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        action()
        found = min(found, time.perf_counter() - start)
    return found


def yardstick() -> float:
    """U: seconds per line of `ast.parse`."""
    text = "".join([f"x{i + 1} = add(x{i}, y)\n" for i in range(10_000)])
    gc.disable()
    try:
        return best(lambda: ast.parse(text)) / 10_000
    finally:
        gc.enable()


def let_chain(n: int) -> Function:
    """`n` additions, each bound by a `let`."""
    x = Var("x", TensorType((), "float32"))
    names = [Var(f"v{i}") for i in range(n)]
    e: Expr = names[-1]
    for i in range(n - 1, -1, -1):
        e = Let(names[i], relay.add(names[i - 1] if i else x, constant(1.0)), e)
    return Function((x,), e)


class Table:
    """Rows of times, beside the yardstick and the limits."""

    def __init__(self, u: float) -> None:
        self.u = u
        self.failed = False
        print(f"U = {u * 1e6:.1f} us\n")

    def row(self, name: str, seconds: float, limit: float | None = None) -> None:
        """Print a row; a limit that is exceeded is remembered."""
        slow = limit is not None and seconds > limit
        self.failed = self.failed or slow
        bound = "" if limit is None else f"   limit {limit * 1000:.3g} ms{' EXCEEDED' if slow else ''}"
        print(f"{name:<46}{seconds * 1000:>10.1f} ms {seconds / self.u:>10.0f} U{bound}")


def small_programs(table: Table) -> None:
    """Recursion and lists, by an executor as people make it."""
    executor = relay.create_executor("debug", mod=relay.parse(PROGRAM))
    fib, generic, local, loop, deep, long, sum_to = [
        executor.evaluate(f) for f in ("fib", "generic", "local", "loop", "deep", "long", "sum_to")
    ]
    table.row("fib(20), int32", best(lambda: fib(20)), 0.3)
    table.row("fib(20), of inferred polymorphic type", best(lambda: generic(20)))
    table.row("fib(20), a closure with a captured variable", best(lambda: local(20)))
    table.row("loop of 10,000 steps by tail calls", best(lambda: loop(10_000, 0)), 0.15)
    table.row("recursion 100,000 deep", best(lambda: deep(100_000)))
    table.row("recursion 1,000,000 deep", best(lambda: deep(1_000_000), 1))
    table.row("list of 1,000,000 cells: build and sum", best(lambda: sum_to(1_000_000), 1))
    lists = [long(1_000_000) for _ in range(2)]
    table.row("list of 1,000,000 cells: compare", best(lambda: values_equal(*lists), 1))


def calls_from_python(table: Table) -> None:
    """What a call costs that computes next to nothing."""
    call = relay.create_executor(
        "debug", mod=relay.parse("def @main(%x: Tensor[(8,), float32]) { %x + %x }")
    ).evaluate()
    eight = np.ones(8, "float32")
    table.row(
        "1,000 calls of a prepared function from Python", best(lambda: [call(eight) for _ in range(1000)])
    )


def training_step(table: Table) -> None:
    """A forward pass of an MLP on a batch of 64, and the gradient by its weights: at most 4 times that."""
    mod = relay.infer(mlp.get_workload(batch_size=64)[0])
    net = mod["main"]
    assert isinstance(net, Function)
    data, *inner = variables(net)
    _, *outer = variables(net)
    loss = Function(tuple(inner), relay.sum(Call(GlobalVar("net"), (data, *inner))))
    step = IRModule.from_expr(Function((data, *outer), Call(Grad("grad", loss), tuple(outer))))
    step["net"] = net
    rng = np.random.default_rng(0)
    args = [rng.normal(0, 0.05, p.type_annotation.concrete_shape).astype("float32") for p in net.params]
    runs = [
        relay.create_executor("debug", mod=relay.transform.optimize(relay.infer(m))).evaluate()
        for m in (mod, step)
    ]
    forward, gradient = [best(lambda run=run: run(*args), 200) for run in runs]
    table.row("MLP, batch of 64: forward", forward)
    table.row("   and its gradient", gradient, 4 * forward)


def variables(fn: Function) -> list[Var]:
    """New parameters like those of a function."""
    return [Var(p.name_hint, p.type_annotation) for p in fn.params]


def large_programs(table: Table) -> None:
    """What it costs to get a program ready, and to run it then."""
    for n in (1_000, 10_000, 100_000):
        fn = let_chain(n)
        first = best(lambda fn=fn: Interpreter().evaluate(fn, 1), 1)
        closure = Interpreter().evaluate(fn)
        table.row(f"let chain of {n:,}: infer, lower, run", first)
        table.row("   per call", first / n)
        table.row("   run again", best(lambda closure=closure: closure(1)))


def main() -> int:
    """Print a table; the exit status says whether the promises hold."""
    table = Table(yardstick())
    small_programs(table)
    calls_from_python(table)
    training_step(table)
    large_programs(table)
    return int(table.failed)


if __name__ == "__main__":
    sys.exit(main())
