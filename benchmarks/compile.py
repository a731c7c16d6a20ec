"""Parse, print, infer, compare and transform programs of 1,000 to 100,000 calls: microseconds a call, and in
units of U.

U is what Python's own `ast.parse` takes for one line `x1 = add(x0, y)` of 10,000, measured in the same run
with the cyclic collector off.  Usage: `python benchmarks/compile.py [--sizes 1000,10000,100000] [--pass-sizes
5000,50000] [--repeat 5] [--check]`.
"""

import argparse
import ast
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import relay
from relay.autodiff.expand import expand_grad
from relay.ir.equal import structural_equal
from relay.ir.expr import Call, Expr, Function, Grad, Let, Op, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.testing import resnet
from relay.text.parser import parse
from relay.text.printer import module_text
from relay.transform.base import find
from relay.typecheck.infer import infer

Change = Callable[[IRModule], IRModule]


@dataclass(frozen=True)
class Bars:
    """The most that each task may take, in U, and how much more a call may take in larger programs."""

    tasks: dict[str, float]
    growth: float


LANGUAGE = Bars({"parse": 3.5, "print": 1.7, "infer": 2.5, "equality": 0.8}, 1.3)
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


def best(work: Callable[[], object], repeat: int) -> float:
    """The least seconds of several runs."""
    times: list[float] = []
    for _ in range(repeat):
        gc.collect()
        start = time.perf_counter()
        kept = work()
        times.append(time.perf_counter() - start)
        del kept
    return min(times)


def unit(repeat: int) -> float:
    """U in seconds."""
    text = "".join(f"x{i + 1} = add(x{i}, y)\n" for i in range(LINES))
    gc.disable()
    try:
        return best(lambda: ast.parse(text), repeat) / LINES
    finally:
        gc.enable()


@dataclass(frozen=True)
class Row:
    """Seconds per call of each task on one program."""

    shape: str
    calls: int
    seconds: dict[str, float]


def measure(shape: str, calls: int, repeat: int) -> Row:
    mod = IRModule.from_expr(SHAPES[shape](calls))
    text = module_text(mod)
    parsed, again = parse(text), parse(text)
    annotated = infer(parsed)
    assert structural_equal(parsed, mod)
    total = {
        "parse": best(lambda: parse(text), repeat),
        "print": best(lambda: module_text(annotated), repeat),
        "infer": best_inference(text, repeat),
        "equality": best(lambda: structural_equal(parsed, again), repeat),
    }
    return Row(shape, calls, {task: s / calls for task, s in total.items()})


def best_inference(text: str, repeat: int) -> float:
    """Inference of a module that was just parsed, since modules remember what was inferred of them."""
    return best_change(lambda: parse(text), infer, repeat)


def best_change(make: Callable[[], IRModule], change: Change, repeat: int) -> float:
    """The least seconds that `change` takes on a module that was just made."""
    times: list[float] = []
    for _ in range(repeat):
        mod = make()
        gc.collect()
        start = time.perf_counter()
        kept = change(mod)
        times.append(time.perf_counter() - start)
        del kept
    return min(times)


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


def subject(task: str, main: Expr) -> IRModule:
    """What a pass is measured on: the annotated program, or its derivative to expand."""
    return derivative(main) if task == "grad" else infer(IRModule.from_expr(main))


def measure_passes(shape: str, calls: int, repeat: int) -> Row:
    total = {
        task: best_change(lambda task=task: subject(task, SHAPES[shape](calls)), change_of(task), repeat)
        for task in PASSES.tasks
    }
    return Row(shape, calls, {task: s / calls for task, s in total.items()})


def measure_resnet(repeat: int) -> tuple[str, bool]:
    """ResNet-50, differentiated and optimised: the figures as text, and whether they are below the bar."""
    main = resnet.get_workload(num_layers=50)[0]["main"]
    lines, good = [f"ResNet-50, seconds (bar {LONGEST})"], True
    for task in CHANGES:
        s = best_change(lambda task=task: subject(task, main), change_of(task), repeat)
        good &= s <= LONGEST
        lines.append(f"{task:<22}{s:>18.2f}{' ' if s <= LONGEST else '!'}")
    return "\n".join(lines), good


def table(rows: list[Row], u: float, bars: Bars) -> tuple[str, bool]:
    """The figures as text, and whether all bars hold."""
    widths = {task: max(13, len(task) + 5) for task in bars.tasks}
    head = "".join(f"{task + ' us':>{width}}{'U':>6}" for task, width in widths.items())
    lines, good = [f"{'program':<14} {'calls':>7}{head}"], True
    for row in rows:
        cells = ""
        for task, bar in bars.tasks.items():
            s = row.seconds[task]
            mark = " " if s / u <= bar else "!"
            good &= s / u <= bar
            cells += f"{s * 1e6:>{widths[task]}.2f}{s / u:>5.2f}{mark}"
        lines.append(f"{row.shape:<14} {row.calls:>7}{cells}")
    lines += ["", "growth of the time a call takes, from the smallest to the largest program"]
    for shape in dict.fromkeys(r.shape for r in rows):
        own = [r for r in rows if r.shape == shape]
        growth = {task: max(r.seconds[task] for r in own) / own[0].seconds[task] for task in bars.tasks}
        good &= all(g <= bars.growth for g in growth.values())
        cells = [f"{g:>{widths[t] + 5}.2f}{' ' if g <= bars.growth else '!'}" for t, g in growth.items()]
        lines.append(f"{shape:<22}" + "".join(cells))
    limits = ", ".join(f"{task} {bar} U" for task, bar in bars.tasks.items())
    lines += ["", f"bars: {limits}, growth {bars.growth}; ! marks what is above", ""]
    return "\n".join(lines), good


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", default="1000,10000,100000")
    options.add_argument("--pass-sizes", default="5000,50000")
    options.add_argument("--repeat", type=int, default=5)
    options.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    given = options.parse_args()
    print(f"relay {relay.__version__}, Python {sys.version.split()[0]}", flush=True)
    u = unit(given.repeat)
    print(f"U = {u * 1e6:.1f} us a line of Python\n", flush=True)
    good = True
    for sizes, bars, run in (
        (given.sizes, LANGUAGE, measure), (given.pass_sizes, PASSES, measure_passes),
    ):  # fmt: skip
        rows = [
            run(shape, int(size), max(2, given.repeat if int(size) < 50_000 else given.repeat // 2))
            for shape in SHAPES
            for size in sizes.split(",")
            if size
        ]
        text, holds = table(rows, u, bars)
        good &= holds
        print(text, flush=True)
    text, holds = measure_resnet(2)
    print(text)
    return 0 if (good and holds) or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
