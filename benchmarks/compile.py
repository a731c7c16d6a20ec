"""Parse, print, infer, compare and transform programs of 1,000 to 100,000 calls: microseconds a call, and in
units of U.

U is what Python's own `ast.parse` takes for one line `x1 = add(x0, y)` of 10,000, measured in the same run
with the cyclic collector off.  Usage: `python benchmarks/compile.py [--sizes 1000,10000,100000] [--pass-sizes
5000,50000] [--rounds 5] [--check]`.
"""

import argparse
import ast
import gc
import itertools
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from statistics import median
from typing import Any

import relay
from relay.analysis import post_order_visit
from relay.expansion.expand import expand_grad
from relay.ir.equal import structural_equal
from relay.ir.expr import Call, Expr, Function, Grad, Let, Op, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.testing import resnet
from relay.text.parser import parse_module
from relay.text.printer import module_text
from relay.transform.rewriting.registry import find
from relay.typecheck.infer import infer

Change = Callable[[IRModule], IRModule]


@dataclass(frozen=True)
class Bars:
    """The most that each task may take, in U, and how much more a call may take in larger programs."""

    tasks: dict[str, float]
    growth: float


LANGUAGE = Bars({"parse": 3.5, "print": 1.7, "infer": 2.5, "equality": 0.8, "read": inf}, 1.3)
PASSES = Bars(
    {
        "to_anf": 1.5, "fold_constants": 2.5, "eliminate_common_subexpr": 3, "fuse_ops": 4,
        "partial_evaluate": 8, "grad": 14, "all by default": 12,
    },
    1.5,
)  # fmt: skip
LONGEST = 5.0
"""Seconds that the gradient of ResNet-50, and the passes that programs go through by default, may take."""
LINES = 10_000


def call(name: str, *args: Expr, **attrs: object) -> Expr:
    return Call(Op.get(name), args, attrs or None)


def var(name: str, *shape: int) -> Var:
    return Var(name, TensorType(shape, "float32"))


def residual_mlp(calls: int) -> Expr:
    """Blocks `x + relu(bias_add(dense(x, w), b))`: four calls each."""
    x, w, b = var("x", 8, 16), var("w", 16, 16), var("b", 16)
    h: Expr = x
    for _ in range(calls // 4):
        h = call("add", h, call("nn.relu", call("nn.bias_add", call("nn.dense", h, w), b)))
    return Function((x, w, b), h)


def unrolled_lstm(calls: int) -> Expr:
    """Steps of 14 calls; the four gates come from one product and are split."""
    x, h0, c0 = var("x", 1, 8), var("h", 1, 8), var("c", 1, 8)
    wx, wh, b = var("wx", 32, 8), var("wh", 32, 8), var("b", 32)
    h, c = h0, c0
    for _ in range(calls // 14):
        product = call("add", call("nn.dense", x, wx), call("nn.dense", h, wh))
        gates = call("split", call("nn.bias_add", product, b), indices_or_sections=4, axis=1)
        i, f, g, o = [TupleGetItem(gates, k) for k in range(4)]
        new = call("multiply", call("sigmoid", i), call("tanh", g))
        c = call("add", call("multiply", call("sigmoid", f), c), new)
        h = call("multiply", call("sigmoid", o), call("tanh", c))
    return Function((x, h0, c0, wx, wh, b), h)


def let_chain(calls: int) -> Expr:
    """`let %x1 = add(%x0, %y);` over and over."""
    first, y = var("x0", 4), var("y", 4)
    names = [first, *[Var(f"x{i}") for i in range(1, calls + 1)]]
    body: Expr = names[-1]
    for i in range(calls, 0, -1):
        body = Let(names[i], call("add", names[i - 1], y), body)
    return Function((first, y), body)


SHAPES: dict[str, Callable[[int], Expr]] = {
    "residual MLP": residual_mlp, "unrolled LSTM": unrolled_lstm, "let chain": let_chain,
}  # fmt: skip


@dataclass(frozen=True)
class Work:
    """What is timed: `run` on something that `make` has just made, which is not timed."""

    make: Callable[[], Any]
    run: Callable[[Any], object]

    def seconds(self, times: int) -> float:
        """The mean of several runs."""
        total = 0.0
        gc.collect()
        for _ in range(times):
            subject = self.make()
            start = time.perf_counter()
            kept = self.run(subject)
            total += time.perf_counter() - start
            del kept, subject
        return total / times


def unit() -> float:
    """U in seconds, as measured now."""
    text = "".join(f"x{i + 1} = add(x{i}, y)\n" for i in range(LINES))
    gc.disable()
    try:
        return Work(lambda: text, ast.parse).seconds(2) / LINES
    finally:
        gc.enable()


Tasks = Callable[[Callable[[], Expr]], dict[str, Work]]
"""What to time on a program, given a function that builds it anew."""


@dataclass(frozen=True)
class Row:
    """One program: of each task the seconds a call takes, that in U, and that over what it is in the smallest
    program.

    All are medians over the rounds.  A round measures U and every size of a program one after the other, the
    small programs as often as it takes to have as many calls as the large one, so that what else the machine
    does meanwhile meets them alike.
    """

    shape: str
    calls: int
    seconds: dict[str, float]
    units: dict[str, float]
    growth: dict[str, float]


def measure(shape: str, sizes: list[int], tasks: Tasks, rounds: int) -> list[Row]:
    works = {size: tasks(partial(SHAPES[shape], size)) for size in sizes}
    names = list(works[sizes[0]])
    seconds: dict[tuple[int, str], list[float]] = defaultdict(list)
    units: dict[str, list[float]] = defaultdict(list)
    for name, _ in itertools.product(names, range(rounds)):
        units[name].append(unit())
        for size in sizes:
            seconds[size, name].append(works[size][name].seconds(max(sizes) // size) / size)

    def ratios(size: int, name: str, to: list[float]) -> float:
        return median(s / t for s, t in zip(seconds[size, name], to, strict=True))

    return [
        Row(
            shape,
            size,
            {name: median(seconds[size, name]) for name in names},
            {name: ratios(size, name, units[name]) for name in names},
            {name: ratios(size, name, seconds[sizes[0], name]) for name in names},
        )
        for size in sizes
    ]


def calls_of(mod: IRModule) -> list[Call]:
    found: list[Call] = []
    post_order_visit(mod["main"], lambda e: found.append(e) if isinstance(e, Call) else None)
    return found


def read(pairs: list[tuple[Call, Call]]) -> None:
    """Read three fields of each of two calls, as the least that any comparison must do.

    It has no bar: its growth is what the caches of the machine take from whatever visits a larger program.
    """
    for a, b in pairs:
        assert a.op is b.op
        assert len(a.args) == len(b.args)
        assert (a.attrs is None) == (b.attrs is None)


def language(build: Callable[[], Expr]) -> dict[str, Work]:
    """Parse, print, infer and compare; modules remember what was inferred of them, so each is parsed anew."""
    mod = IRModule.from_expr(build())
    text = module_text(mod)
    parsed, again = parse_module(text), parse_module(text)
    annotated = infer(parsed)
    assert structural_equal(parsed, mod)
    return {
        "parse": Work(lambda: text, parse_module),
        "print": Work(lambda: annotated, module_text),
        "infer": Work(lambda: parse_module(text), infer),
        "equality": Work(lambda: parsed, lambda mod: structural_equal(mod, again)),
        "read": Work(lambda: list(zip(calls_of(parsed), calls_of(again), strict=True)), read),
    }


def all_by_default(mod: IRModule) -> IRModule:
    """The passes that make programs lean, then fusion, each with what it infers again."""
    return find("fuse_ops").run(find("optimize").run(mod))


CHANGES: dict[str, Change] = {"grad": expand_grad, "all by default": all_by_default}


def change_of(task: str) -> Change:
    return CHANGES[task] if task in CHANGES else find(task).run


def derivative(main: Expr) -> IRModule:
    """A module whose `@main` calls `grad` of a function; annotated."""
    assert isinstance(main, Function)
    params = tuple([Var(p.name_hint, p.type_annotation) for p in main.params])
    return infer(IRModule.from_expr(Function(params, Call(Grad("grad", main), params))))


def subject(task: str, build: Callable[[], Expr]) -> IRModule:
    """What a pass is measured on: the annotated program, or its derivative to expand."""
    return derivative(build()) if task == "grad" else infer(IRModule.from_expr(build()))


def passes(build: Callable[[], Expr]) -> dict[str, Work]:
    return {task: Work(partial(subject, task, build), change_of(task)) for task in PASSES.tasks}


def measure_resnet() -> tuple[str, bool]:
    """ResNet-50, differentiated and optimised: the figures as text, and whether they are below the bar."""
    main = resnet.get_workload(num_layers=50)[0]["main"]
    lines, good = [f"ResNet-50, seconds (bar {LONGEST})"], True
    for task, change in CHANGES.items():
        seconds = Work(lambda task=task: subject(task, lambda: main), change).seconds(2)
        good &= seconds <= LONGEST
        lines.append(f"{task:<22}{seconds:>18.2f}{mark(seconds, LONGEST)}")
    return "\n".join(lines), good


def mark(value: float, bar: float) -> str:
    return " " if value <= bar else "!"


def table(rows: list[Row], bars: Bars) -> tuple[str, bool]:
    """The figures as text, and whether all bars hold."""
    lines, good = [f"{'task':<26}{'program':<14}{'calls':>8}{'us':>8}{'U':>7}{'growth':>8}"], True
    for task, bar in bars.tasks.items():
        most = bars.growth if bar < inf else inf
        for row in rows:
            u, growth = row.units[task], row.growth[task]
            good &= u <= bar and growth <= most
            name = f"{task:<26}{row.shape:<14}{row.calls:>8}{row.seconds[task] * 1e6:>8.2f}"
            lines.append(f"{name}{u:>6.2f}{mark(u, bar)}{growth:>7.2f}{mark(growth, most)}")
    limits = ", ".join(f"{task} {bar} U" for task, bar in bars.tasks.items() if bar < inf)
    lines += ["", f"bars: {limits}, growth {bars.growth}; ! marks what is above", ""]
    return "\n".join(lines), good


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", default="1000,10000,100000")
    options.add_argument("--pass-sizes", default="5000,50000")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    given = options.parse_args()
    print(
        f"relay {relay.__version__}, Python {sys.version.split()[0]}, U = {unit() * 1e6:.1f} us\n", flush=True
    )
    good = True
    for given_sizes, bars, tasks in ((given.sizes, LANGUAGE, language), (given.pass_sizes, PASSES, passes)):
        sizes = sorted(int(size) for size in given_sizes.split(",") if size)
        if not sizes:
            continue
        text, holds = table([row for s in SHAPES for row in measure(s, sizes, tasks, given.rounds)], bars)
        good &= holds
        print(text, flush=True)
    text, holds = measure_resnet()
    print(text)
    return 0 if (good and holds) or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
