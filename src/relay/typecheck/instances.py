"""The type arguments of an instance of a polymorphic type, by its constraints too."""

from typing import Any, NoReturn

from relay.diagnostic import Report
from relay.ir.expr import Expr, GlobalVar
from relay.ir.module import IRModule
from relay.ir.type import FuncType, Type
from relay.typecheck.inference import Inference
from relay.typecheck.schemes import demand, instantiate
from relay.typecheck.unknown import Mismatch, Unknown, has_unknown, zonk


def solved_args(scheme: FuncType, instance: Type) -> tuple[Any, ...] | None:
    """The type arguments at which `scheme` is `instance`, those included that its constraints alone
    determine; None if it is not, or something stays open.
    """
    report = Report()
    inf = Inference(IRModule(), report, _no_definition)
    made, constraints, args = instantiate(inf, scheme, None)
    try:
        inf.unify(made, instance)
    except Mismatch:
        return None
    demand(inf, constraints, made, None)
    found = tuple(map(zonk, args))
    return None if report.errors or any(map(_is_open, found)) else found


def _is_open(arg: Any) -> bool:
    """Whether a type argument has unknown parts."""
    if isinstance(arg, tuple):
        return any(map(_is_open, arg))  # pyright: ignore[reportUnknownArgumentType]
    return type(arg) is Unknown or (isinstance(arg, Type) and has_unknown(arg))


def _no_definition(name: GlobalVar, at: Expr) -> NoReturn:
    raise AssertionError("types mention no definitions")
