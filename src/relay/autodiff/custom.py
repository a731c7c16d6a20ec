"""Functions that say how they are differentiated in reverse: with a rule of their own, or by running again.

A function `fn(%f, %rule, %x, custom_vjp=1) { %f(%x) }`, as `@custom_vjp` of `std/autodiff` is one, has the
cotangents that `rule(x, y, g)` returns as a tuple, where `y` is `f(x)` and `g` its cotangent.  `fn(%x,
checkpoint=1) { … }` keeps nothing of its inside: it runs once more when cotangents are pulled back through
it (Chen, Xu, Zhang and Guestrin, 2016).
"""

from collections.abc import Sequence

from relay.autodiff.dual_types import TAPE
from relay.autodiff.structure import COTANGENT, LIFT, PRIMAL, PULL, Structure, new_tape
from relay.autodiff.values import Block
from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Function, Let, RefRead, RefWrite, TupleGetItem, Var, replace
from relay.ir.module import IRModule
from relay.ir.type import UNIT, FuncType, TupleType, Type

CUSTOM, CHECKPOINT = "custom_vjp", "checkpoint"


def with_rule(
    f: Expr, rule: Expr, dual_args: Sequence[Expr], t: FuncType, tape: Expr, structure: Structure, b: Block
) -> Expr:
    """The dual result of the plain function `f`, of type `t`, whose cotangents `rule` gives."""
    types, inside = structure.types, Block()
    xs = [structure.apply(PRIMAL, a, [p], b) for p, a in zip(dual_args, t.arg_types, strict=True)]
    y = b.bind(Call(f, tuple(xs)), t.ret_type, "y")
    dual = b.bind(structure.apply(LIFT, t.ret_type, [y], b), types.dual(t.ret_type), "y")
    g = structure.apply(COTANGENT, t.ret_type, [dual], inside)
    found = inside.bind(Call(rule, (*xs, y, g)), TupleType(t.arg_types), "g")
    for i, (p, a) in enumerate(zip(dual_args, t.arg_types, strict=True)):
        structure.apply(PULL, a, [p, inside.bind(TupleGetItem(found, i), a, "g")], inside)
    _record(tape, inside, b)
    return dual


def run_again(f: Function, quiet: Function, t: Type, structure: Structure) -> Function:
    """A differentiated function with source result type `t` that keeps nothing, and runs again to go back:
    `quiet` is what runs then, which writes nothing.
    """
    types, b, inside = structure.types, Block(), Block()
    params = tuple([Var(p.name_hint, p.type_annotation, span=p.span) for p in f.params[:-1]])
    tape = Var("tape", TAPE)
    whole = FuncType([p.type_annotation for p in f.params if p.type_annotation is not None], types.dual(t))
    again = forward = b.bind(replace(f, attrs={}), whole, "again")
    if quiet is not f:
        again = b.bind(replace(quiet, attrs={}), whole, "again")
    first = b.bind(Call(forward, (*params, new_tape(b))), types.dual(t), "y")
    dual = b.bind(structure.apply(LIFT, t, [structure.apply(PRIMAL, t, [first], b)], b), types.dual(t), "y")
    own = new_tape(inside)
    second = inside.bind(Call(again, (*params, own)), types.dual(t), "y")
    structure.apply(PULL, t, [second, structure.apply(COTANGENT, t, [dual], inside)], inside)
    inside.bind(Call(inside.bind(RefRead(own), TAPE.value, "back"), ()), UNIT, "_")
    _record(tape, inside, b)
    return Function((*params, tape), b.finish(dual), types.dual(t), span=f.span)


def _record(tape: Expr, inside: Block, b: Block) -> None:
    """Put a way back on the tape."""
    before = b.bind(RefRead(tape), TAPE.value, "before")
    back = b.bind(Function((), inside.finish(Call(before, ())), UNIT), TAPE.value, "back")
    b.bind(RefWrite(tape, back), UNIT, "_")


def checkpoint(f: Function) -> Function:
    """`f`, marked to be run again when cotangents are pulled back through it, so that nothing of it is
    kept.
    """
    return f.with_attr(CHECKPOINT, 1)


def custom_vjp(f: Expr, rule: Expr, mod: IRModule | None = None) -> Function:
    """`f`, with `rule` for its derivative in reverse mode; forward mode differentiates `f` itself.

    For `f: fn(T1, …, Tn) -> R`, `rule: fn(T1, …, Tn, R, R) -> (T1, …, Tn)` gets the arguments, the result
    and the cotangent of the result.  Both are expressions over the definitions of `mod`.

    Raises `unknown-grad-target` if `f` is not a function.
    """
    t = (IRModule() if mod is None else mod).type_of(f)
    if not isinstance(t, FuncType):
        fail("unknown-grad-target", f"a derivative is of a function, not of {t}", span=f.span)
    rule_type = FuncType((*t.arg_types, t.ret_type, t.ret_type), TupleType(t.arg_types))
    inner = (Var("f", t), Var("rule", rule_type), *[Var("x", a) for a in t.arg_types])
    special = Function(inner, Call(inner[0], inner[2:]), t.ret_type, attrs={CUSTOM: 1})
    params = tuple([Var("x", a) for a in t.arg_types])
    name = Var("with_rule")
    return Function(params, Let(name, special, Call(name, (f, rule, *params))), t.ret_type)
