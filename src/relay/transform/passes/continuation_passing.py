"""Continuation-passing style: a function hands its result to a function that says what to do with it."""

from relay.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Let, Op, Var, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import FuncType, Type, TypeVar
from relay.ir.walk import post_order, rewrite, type_post_order
from relay.transform.passes.cps_conversion import MARK, Converter, is_direct
from relay.transform.passes.eta import expanded
from relay.transform.passes.expand_grad import without_derivatives
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.copying import Copy
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.types import Types


@module_pass("to_cps", needs=(ANF,), gives=(ANF,), public="ToCPS")
def to_cps(mod: IRModule) -> IRModule:
    """Convert functions to continuation-passing style, in which all calls are tail calls.

    The continuation is a new last parameter, which is called with the result.  Operators, constructors and
    fused functions are called as before.  Derivatives are expanded first.  Data types that contain functions
    get a type parameter for the final result.  A module that already has the form is left alone.  Raises
    `grad-not-expanded` where a parameter is differentiated, and `constant-function`.

    >>> show(to_cps, "def @f(%x: int32) { %x + 1 } def @main(%y: int32) { @f(%y) * 2 }")
    def @f[answer](%x: int32, %k: fn(int32) -> answer, cps=1) -> answer {
      let %x: int32 = %x + 1i32;
      %k(%x)
    }
    <BLANKLINE>
    def @main[answer](%y: int32, %k: fn(int32) -> answer, cps=1) -> answer {
      let %k_1: fn(int32) -> answer = fn (%x1: int32) -> answer {
        let %x: int32 = %x1 * 2i32;
        %k(%x)
      };
      @f<answer>(%y, %k_1)
    }
    """
    if all(e.attrs.get(MARK) for e in mod.functions.values() if isinstance(e, Function)):
        return mod
    ready = with_literals(without_derivatives(mod))
    return Converter(ready, {v: v for v in ready.functions}).module()


@module_pass("un_cps", needs=(ANF,), gives=(ANF,))
def un_cps(mod: IRModule) -> IRModule:
    """Give each function in continuation-passing style a wrapper without a continuation, under its name.

    The wrapper returns what the continuation receives.  A function whose result contains functions stays as
    it is, because these are in continuation-passing style too.

    >>> show(un_cps, "def @main<a>(%x: int32, %k: fn(int32) -> a, cps=1) -> a { %k(%x) }")
    def @main(%x: int32) -> int32 {
      let %k: fn(int32) -> int32 = fn (%x: int32) -> int32 { %x };
      @main_cps<int32>(%x, %k)
    }
    <BLANKLINE>
    def @main_cps[a](%x: int32, %k: fn(int32) -> a, cps=1) -> a {
      %k(%x)
    }
    """
    supply = GlobalVarSupply(mod)
    renamed: dict[Expr, Expr] = {}
    for v, e in mod.functions.items():
        if isinstance(e, Function) and e.attrs.get(MARK) and result_type(e) is not None:
            renamed[v] = supply.fresh_global(f"{v.name_hint}_cps")
    if not renamed:
        return mod
    new: dict[GlobalVar, Expr] = {}
    for v, e in mod.functions.items():
        body = rewrite(e, renamed.get)
        assert isinstance(body, Function) or v not in renamed
        new[v] = body
        if v in renamed:
            assert isinstance(e, Function)
            new[v] = caller(renamed[v], e)
            new[renamed[v]] = body  # pyright: ignore[reportArgumentType]
    return with_definitions(mod, new)


def with_literals(mod: IRModule) -> IRModule:
    """`mod` with function literals for the operators, constructors and fused functions that are values."""
    types = Types(mod)
    new: dict[GlobalVar, Expr] = {}
    fused: set[Expr] = {v for v, e in mod.functions.items() if is_direct(e)}
    for v, e in mod.functions.items():
        named = {n.var for n in post_order(e) if isinstance(n, Let) and is_direct(n.value)} | fused
        made = expanded(e, types, lambda c, named=named: isinstance(c, Op | Constructor) or c in named)
        new[v] = e if made is e else anf(made, types)
    return with_definitions(mod, new)


def result_type(fn: Function) -> Type | None:
    """The type that a function's continuation takes; None if it holds functions in this style."""
    t = fn.params[-1].type_annotation if fn.params else None
    if not isinstance(t, FuncType) or not fn.type_params or t.ret_type is not fn.type_params[-1]:
        return None
    result = t.arg_types[0]
    return None if fn.type_params[-1] in type_post_order(result) else result


def caller(name: Expr, fn: Function) -> Function:
    """A function that calls one in continuation-passing style and returns what its continuation gets."""
    result = result_type(fn)
    assert result is not None
    own = fn.type_params[:-1]
    copy = Copy({p: TypeVar(p.name_hint, p.kind) for p in own})
    copy.types[fn.type_params[-1]] = t = copy.type(result)
    params = tuple([Var(p.name_hint, copy.type(p.type_annotation), span=p.span) for p in fn.params[:-1]])
    x, k = Var("x", t), Var("k", FuncType((t,), t))
    type_params = tuple([copy.types[p] for p in own])
    call = Call(name, (*params, k), None, (*type_params, t), span=fn.span)
    return replace(
        fn,
        params=params,
        body=Let(k, Function((x,), x, t), call),
        ret_type=t,
        type_params=type_params,
        constraints=tuple([copy.type(c) for c in fn.constraints]),
        attrs={name: value for name, value in fn.attrs.items() if name != MARK},
    )
