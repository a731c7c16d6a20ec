"""Lambda lifting: functions inside of definitions become definitions; before that, closures hold less."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from relay.ir.bind import renew
from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import UNIT
from relay.ir.vars import free_vars
from relay.ir.walk import post_order
from relay.op.composite import Composite
from relay.op.kind import Fusion
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.lifting import lifted
from relay.transform.rewriting.registry import module_pass

STEPS = 8
"""The most operators that compute a value again rather than hold it."""
MAX_LEVELS = 8
"""The most records inside one another that hold less: what is inside a record is walked for it.

Each order of a derivative nests records once more.
"""
Steps: TypeAlias = Mapping[Expr, tuple[int, Let]]
"""Bindings, by their variables, with places in the order in which they are evaluated."""


@module_pass("lambda_lift", needs=(ANF,), gives=(ANF,), public="LambdaLift")
def lambda_lift(mod: IRModule) -> IRModule:
    """Turn each inner function into a definition that takes its captured variables as arguments.

    Calls pass these along.  Where such a function is used as a value, a partial application remains: a
    function that only calls the definition.  Fused functions stay.

    >>> show(lambda_lift, '''
    ... def @main(%x: int32) {
    ...   let %add = fn(%y: int32) { %x + %y };
    ...   (%add(2), %add)
    ... }
    ... ''')
    def @main(%x: int32) -> (int32, fn(int32) -> int32) {
      let %add: fn(int32) -> int32 = fn (%y: int32) -> int32 { @main_add(%x, %y) };
      let %x1: int32 = @main_add(%x, 2i32);
      (%x1, %add)
    }
    <BLANKLINE>
    def @main_add(%x: int32, %y: int32) -> int32 {
      %x + %y
    }
    """
    return lifted(mod, GlobalVarSupply(mod))


@module_pass("compute_again", opt_level=2)
def compute_again(mod: IRModule) -> IRModule:
    """Compute cheap values again in functions that run for their effect, so that these hold less.

    The records on the tape of a derivative are such functions, with the result `()`: a loop makes one in each
    step.  Elementwise arithmetic on values that are held anyhow, and on constants, is cheap.

    >>> show(compute_again, '''
    ... def @main(%x: Tensor[(2,), float32], %r: ref(Tensor[(2,), float32])) -> fn() -> () {
    ...   let %y = 2f * %x;
    ...   let %z = 1f - %y;
    ...   let %back = fn() -> () { let %g = ref_read(%r); ref_write(%r, %g * %x * %z) };
    ...   %back
    ... }
    ... ''')
    def @main(%x: Tensor[(2,), float32], %r: ref(Tensor[(2,), float32])) -> fn() -> () {
      let %y: Tensor[(2,), float32] = 2f * %x;
      let %z: Tensor[(2,), float32] = 1f - %y;
      let %back: fn() -> () = fn () -> () {
        let %y: Tensor[(2,), float32] = 2f * %x;
        let %z: Tensor[(2,), float32] = 1f - %y;
        let %g: Tensor[(2,), float32] = ref_read(%r);
        ref_write(%r, %g * %x * %z)
      };
      %back
    }
    """
    return mod.map_functions(_holding_less)


def _holding_less(root: Expr) -> Expr:
    """A definition whose records compute again what is cheap."""
    order = list(post_order(root))
    if not any(is_record(e) for e in order):
        return root
    lets = [e for e in reversed(order) if isinstance(e, Let)]
    cheap: Steps = {e.var: (i, e) for i, e in enumerate(lets) if is_cheap(e.value)}
    new: dict[Expr, Expr] = {}
    levels: dict[Expr, int] = {}
    for e in order:
        children = tuple([new[c] for c in e.children])
        rebuilt = e if children == e.children else e.rebuild(children)
        levels[e] = max([levels[c] for c in e.children], default=0) + is_record(e)
        is_shallow = is_record(e) and levels[e] <= MAX_LEVELS
        new[e] = _record(rebuilt, cheap) if is_shallow and isinstance(rebuilt, Function) else rebuilt
    return new[root]


def _record(f: Function, cheap: Steps) -> Function:
    """A function that computes again those of its free variables that are cheap, from the others."""
    held: set[Expr] = set(free_vars(f))
    again: dict[Expr, tuple[int, Let]] = {}
    for v in sorted(held & cheap.keys(), key=lambda v: -cheap[v][0]):
        held.discard(v)
        steps = _steps_to(v, held, cheap)
        if steps is None:
            held.add(v)
        else:
            again.update(steps)
    body = f.body
    for _, e in sorted(again.values(), key=lambda row: -row[0]):
        body = Let(e.var, replace(e.value), body, span=e.span)  # shared nodes are computed once
    renewed = renew(replace(f, body=body)) if again else f
    assert isinstance(renewed, Function)
    return renewed


def _steps_to(v: Expr, held: AbstractSet[Expr], cheap: Steps) -> Steps | None:
    """The cheap bindings through which a variable is computed from those that are held, if there are few."""
    steps: dict[Expr, tuple[int, Let]] = {}
    pending = [v]
    while pending:
        e = pending.pop()
        if isinstance(e, Constant) or e in held or e in steps:
            continue
        if e not in cheap or len(steps) == STEPS:
            return None
        steps[e] = cheap[e]
        pending += cheap[e][1].value.children[1:]
    return steps


def is_record(e: Expr) -> bool:
    """Return True if `e` is a function that gives nothing: it runs for its effect."""
    return type(e) is Function and e.ret_type == UNIT


def is_cheap(e: Expr) -> bool:
    """Return True if `e` does about one instruction for each number that it reads or writes."""
    if not (isinstance(e, Call) and isinstance(e.op, Op)) or isinstance(e.attrs, Composite):
        return False
    return e.attrs.fusion in (Fusion.ELEMENTWISE, Fusion.BROADCAST) and e.attrs.element_cost == 1
