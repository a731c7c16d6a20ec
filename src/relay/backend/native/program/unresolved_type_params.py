"""Instantiate type parameters of entries that no argument determines, such as that of an empty list."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.analysis.kinds import free_type_vars
from relay.diagnostic import RelayError
from relay.ir.expr import Call, Expr, Function, GlobalVar, Tuple, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import ANY, Kind, TupleType, TypeVar
from relay.ir.walk import rewrite
from relay.transform.rewriting.copying import Copy
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.infer import infer

DEFAULT_TYPE_ARGS: Mapping[Kind, Any] = {
    Kind.Type: TupleType(()),
    Kind.BaseType: "float32",
    Kind.Shape: (),
    Kind.Dim: ANY,
}
"""What a type parameter is instantiated with that occurs in no argument."""
DEFAULT_DTYPES = ("float32", "int32", "bool")
"""What a dtype parameter is instantiated with: the first at which the function type-checks."""


@module_pass("instantiate_entries", opt_level=0)
def instantiate_entries(mod: IRModule, *, entry_functions: Sequence[str] = ("main",)) -> IRModule:
    """Instantiate the type parameters of entry functions that their arguments do not determine.

    The arguments do not depend on these parameters, so any type that the function accepts will do.

    >>> show(instantiate_entries, "type List[a] { Nil, Cons(a, List[a]) } def @main() { Nil }")
    type List[a] {
      Nil,
      Cons(a, List[a]),
    }
    <BLANKLINE>
    def @main() -> List[()] {
      @main_1<()>()
    }
    <BLANKLINE>
    def @main_1[a]() -> List[a] {
      Nil<a>()
    }
    """
    for name in entry_functions:
        if name not in mod:
            continue
        v = mod.get_global_var(name)
        fn = mod.functions[v]
        if isinstance(fn, Function) and (left := unresolved_type_params(fn)):
            mod = instantiate_entry(mod, v, fn, left)
    return mod


def unresolved_type_params(fn: Function) -> list[TypeVar]:
    """The type parameters of a function that occur in no parameter's type."""
    used = {t for p in fn.params if p.type_annotation is not None for t in free_type_vars(p.type_annotation)}
    return [t for t in fn.type_params if t not in used]


def instantiate_entry(mod: IRModule, v: GlobalVar, fn: Function, left: Sequence[TypeVar]) -> IRModule:
    """A module in which a definition calls its generic original at types at which that type-checks."""
    inner = GlobalVarSupply(mod).fresh_global(v.name_hint)
    others = {g: rewrite(e, lambda x: inner if x == v else None) for g, e in mod.functions.items()}
    others[inner] = others[v]
    refused: list[RelayError] = []
    for base in DEFAULT_DTYPES:
        kinds = {**DEFAULT_TYPE_ARGS, Kind.BaseType: base}
        try:
            instance = call_at_types(inner, fn, {t: kinds[t.kind] for t in left})
            return infer(with_definitions(mod, {**others, v: instance}))
        except RelayError as error:
            refused.append(error)
    raise refused[0]


def call_at_types(inner: GlobalVar, fn: Function, types: Mapping[TypeVar, Any]) -> Function:
    """A function that calls a generic one of the same type with some type parameters instantiated."""
    kept = [t for t in fn.type_params if t not in types]
    copy = Copy({**types, **{t: TypeVar(t.name_hint, t.kind) for t in kept}})
    params, _, result = copy.function(replace(fn, body=Tuple(())))
    call: Expr = Call(inner, params, None, tuple([copy.types[t] for t in fn.type_params]), span=fn.span)
    return replace(
        fn,
        params=params,
        body=call,
        ret_type=result,
        type_params=tuple([copy.types[t] for t in kept]),
        constraints=(),
    )
