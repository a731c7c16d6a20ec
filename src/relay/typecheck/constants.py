"""Types of global constants and open expressions, and of what is still unknown at the end of inference."""

from typing import Any

from relay.ir.expr import Constructor, Expr, GlobalVar, Op
from relay.ir.type import HAS_ANY, FuncType, Type
from relay.typecheck.bindings import subsume
from relay.typecheck.generalize import Signature, ambiguous, default_literals, generalise, leftovers
from relay.typecheck.inference import Inference
from relay.typecheck.kinds import name_of
from relay.typecheck.leaves import operator_value
from relay.typecheck.literals import fits, is_integral
from relay.typecheck.records import decide_fields
from relay.typecheck.schemes import instance_of
from relay.typecheck.unknown import ERROR, Unknown, has_unknown, head, zonk


def value_type(inf: Inference, e: Expr, written: Type | None, name: str = "") -> Any:
    """The type of the value of a constant or open expression: names keep their polymorphic type."""
    inf.level = 1
    if type(e) is Op:
        t = operator_value(inf, e)
        inf.level = 0
        if t is ERROR:
            return t
        sig = inf.signatures[e] = Signature(e, t, False)
        t = generalise(inf, [sig], (0, 0))[0]
    else:
        t = inf.raw(e) if type(e) in (GlobalVar, Constructor) else None
        if t is None:
            t = inf.infer(e, written if written is not None and written.flags & HAS_ANY else None)
    if written is not None:
        t = _ascribed(inf, e, t, written, name)
    inf.level = 0
    inf.settle()
    _generalise_nothing(inf, Signature(e, FuncType((), t), False))
    return t


def _ascribed(inf: Inference, e: Expr, t: Any, written: Type, name: str) -> Any:
    """The type of a constant whose type is written."""
    wanted = inf.annotation(written, e, polymorphic=True)
    if isinstance(wanted, FuncType) and wanted.type_params:
        if t != wanted:
            subsume(inf, wanted, t, e)
    else:
        made = instance_of(inf, t, e) if isinstance(t, FuncType) and t.type_params else t
        inf.agree(wanted, made, e, name)
    return wanted


def _generalise_nothing(inf: Inference, sig: Signature) -> None:
    """Decide what is open at the end of a definition that is not a function."""
    decide_fields(inf, 0)
    default_literals(inf, [sig], 0)
    goals, inf.pending = [g for g in inf.pending if not g.done], []
    leftovers(inf, goals)


def finish(inf: Inference) -> None:
    """Errors at the end of a group: undecided goals, literals that do not fit."""
    inf.settle()
    for g in inf.pending:
        if not g.done:
            ambiguous(inf, g)
    for v, p, e in inf.required:
        if type(head(v)) is Unknown and not inf.failed:
            message = f"cannot infer the type parameter `{p.name}`, which is {name_of(p.kind)}"
            inf.diagnose(
                "ambiguous-type", message, e, hint="call the function with type arguments: `@f<…>(…)`"
            )
    for c, v in inf.constant_dtype.items():
        dtype = head(v)
        if isinstance(dtype, str) and not fits(c, dtype):
            kind = "integer" if is_integral(c) else "number"
            shown = c.value[()] if c.is_scalar else "of this literal"
            inf.diagnose(
                "literal-out-of-range",
                f"the {kind} {shown} does not fit in {dtype}",
                c,
                hint="give it a wider type with a suffix, or use `cast`",
            )


def check_free(inf: Inference) -> None:
    """A free variable has a type that its annotation or its uses decide."""
    for v in inf.free:
        if not inf.failed and has_unknown(zonk(inf.vars[v])):
            message = f"cannot infer the type of `%{v.name}`"
            hint = "give it a type: `free_var %x: T;`, or `relay.var(name, type)`"
            inf.diagnose("ambiguous-type", message, v, hint=hint)
