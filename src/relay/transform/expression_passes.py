"""Passes on single functions and expressions, as people know them."""

from typing import Any

from relay.diagnostic import fail
from relay.ir.expr import Expr, Function, GlobalVar, Let, Var, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import Type
from relay.ir.vars import free_vars
from relay.transform.passes import continuation_passing
from relay.transform.passes.constant_folding import fold_constants
from relay.transform.passes.continuation_passing import caller, result_type, with_literals
from relay.transform.passes.cps_conversion import Converter
from relay.transform.passes.defunctionalization import defunctionalize
from relay.transform.passes.expand_grad import without_derivatives
from relay.transform.passes.unused_functions import reached
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.copying import fresh_copy
from relay.transform.rewriting.definitions import with_definitions
from relay.typecheck.infer import infer_expr
from relay.typecheck.query import type_of
from relay.typecheck.schemes import declared_type
from relay.typecheck.types import Types


def convert_to_cps(func: Any, mod: IRModule | None = None) -> Any:
    """A function in continuation-passing style; `mod` gets the definitions that it needs, as `@name_cps`.

    A module instead of the function: the pass.
    """
    if isinstance(func, IRModule):
        return continuation_passing.to_cps(func)
    work = IRModule() if mod is None else mod.copy()
    supply = GlobalVarSupply(work)
    entry = supply.fresh_global("main")
    work[entry] = func
    work = without_derivatives(work)
    needed = reached(work, [entry])
    for v in [v for v in work.functions if v not in needed]:
        del work[v]
    functions = {v: fresh_copy(e) for v, e in work.items() if isinstance(e, Function)}
    names = {v: supply.fresh_global(f"{v.name_hint}_cps") for v in functions}
    made = Converter(with_literals(with_definitions(work, functions)), names).module()
    if mod is not None:
        mod.type_definitions.update(made.type_definitions)
        mod.functions.update({names[v]: made.functions[names[v]] for v in names if v != entry})
    return made.functions[names[entry]]


def convert_from_cps(func: Any) -> Any:
    """A function without a continuation that calls one in continuation-passing style.

    For a module, the pass.  Raises `not-cps`.
    """
    if isinstance(func, IRModule):
        return continuation_passing.un_cps(func)
    if result_type(func) is None:
        fail(
            "not-cps",
            "this function is not in continuation-passing style, or its result holds functions",
            func.span,
            hint="`to_cps` brings it there; its last parameter is then the continuation",
        )
    f = Var("f", declared_type(func))
    outer = caller(f, func)
    return replace(outer, body=Let(f, func, outer.body))


def Defunctionalization(func: Function, mod: IRModule) -> Function:  # noqa: N802  as people know it
    """A function without functions as values; `mod` becomes what it needs."""
    work = mod.copy()
    work["main"] = func
    made = defunctionalize(work)
    function = made.functions.pop(GlobalVar("main", span=None))
    mod.functions, mod.type_definitions = made.functions, made.type_definitions
    mod.constant_types, mod.imports, mod.imported = made.constant_types, made.imports, made.imported
    return function  # pyright: ignore[reportReturnType]


def ToANormalFormExpr(e: Expr) -> Expr:  # noqa: N802  as people know it
    """An expression in A-normal form; what is free in it stays free."""
    annotated = infer_expr(e)
    return anf(annotated, Types(IRModule()))


def FoldConstantExpr(expr: Expr, mod: IRModule, fold_qnn: bool = True) -> Expr:  # noqa: N802  as people know it
    """An expression with constants folded; without `fold_qnn` the operators of `qnn` stay."""
    work = mod.copy()
    name = GlobalVarSupply(work).fresh_global("expression")
    main = expr if isinstance(expr, Function) else Function(tuple(free_vars(expr)), expr)
    work[name] = main
    made: Any = fold_constants(work, fold_qnn=fold_qnn)[name]
    return made if isinstance(expr, Function) else made.body


def InferTypeLocal(expr: Expr) -> Type:  # noqa: N802  as people know it
    """The type of an expression, from the types of its parts where they are known."""
    return type_of(expr)
