"""Data types in the place of function types."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from relay.diagnostic import fail
from relay.ir.expr import Constructor, GlobalVar
from relay.ir.module import IRModule, TypeData
from relay.ir.subst import substitute_type
from relay.ir.supply import GlobalVarSupply, NameSupply
from relay.ir.type import (
    ANY,
    HAS_VAR,
    FuncType,
    GlobalTypeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.transform.passes.cps_conversion import functional_types
from relay.transform.rewriting.type_rewriting import TypeRewriter

MOST_INSTANCES = 1000
"""Instances of data types, beyond which a data type holds itself at ever larger types."""


@dataclass(eq=False, slots=True)
class Closures:
    """The data type of the functions of one type: a constructor for each definition and what it takes."""

    header: GlobalTypeVar
    type: FuncType
    apply: GlobalVar
    cases: dict[tuple[Any, ...], Constructor] = field(default_factory=dict[tuple[Any, ...], Constructor])
    """The constructors by the definition that is called and the types of what it takes."""


class ClosureTypes:
    """The types of a program without functions as values."""

    def __init__(self, mod: IRModule, supply: GlobalVarSupply) -> None:
        """Names of `mod` are taken."""
        self.mod = mod
        self.supply = supply
        self.names = NameSupply()
        for h, data in mod.type_definitions.items():
            for name in (h.name_hint, *[c.name_hint for c in data.constructors]):
                self.names.reserve_name(name)
        self.functional = functional_types(mod)
        self.closures: dict[FuncType, Closures] = {}
        self.instances: dict[tuple[Type, tuple[Any, ...]], GlobalTypeVar] = {}
        """What becomes of data types that hold functions, by their arguments."""
        self.data: dict[GlobalTypeVar, TypeData] = {}
        self.pending: list[tuple[GlobalTypeVar, TypeData, tuple[Any, ...]]] = []
        self.rewrite = TypeRewriter(self.rule)

    def __call__(self, t: Any) -> Any:
        """A type with data types in the place of function types."""
        return self.rewrite(t)

    def rule(self, t: Any) -> Any:
        """What becomes of a type whose parts are converted."""
        if isinstance(t, FuncType):
            return TypeCall(self.of(t).header, ())
        if isinstance(t, TypeCall) and t.func in self.functional:
            return TypeCall(self.instance(t.func, t.args), ())
        return t

    def of(self, t: FuncType) -> Closures:
        """The data type of functions of a type, whose parts are converted."""
        if t.type_params:
            refuse(t)
        key = FuncType([erased(a) for a in t.arg_types], erased(t.ret_type))
        if key not in self.closures:
            header = GlobalTypeVar(self.names.fresh_name("Closure"))
            self.closures[key] = Closures(header, key, self.supply.fresh_global("apply"))
        return self.closures[key]

    def of_value(self, t: Type) -> Closures:
        """The data type of functions of a type of the source."""
        assert isinstance(t, FuncType)
        return self.of(FuncType([self(a) for a in t.arg_types], self(t.ret_type)))

    def case(self, of: Closures, callee: GlobalVar, captured: Sequence[Type]) -> Constructor:
        """The constructor for functions that call a definition with values of these types first."""
        inputs = tuple([erased(self(t)) for t in captured])
        key = (callee, inputs)
        if key not in of.cases:
            name = self.names.fresh_name(f"Call_{callee.name_hint}")
            of.cases[key] = Constructor(name, inputs, of.header, len(of.cases))
        return of.cases[key]

    # --- data types that hold functions ---

    def instance(self, header: Type, args: tuple[Any, ...]) -> GlobalTypeVar:
        """The data type for one that holds functions, at these arguments."""
        assert isinstance(header, GlobalTypeVar)
        known = self.instances.get((header, args))
        if known is None:
            data = self.mod.type_definitions[header]
            made = TypeCall(header, args)
            if len(self.instances) > MOST_INSTANCES or made.flags & HAS_VAR:
                refuse(made)
            name = self.names.fresh_name(header.name_hint) if args else header.name_hint
            known = self.instances[header, args] = GlobalTypeVar(name)
            self.pending.append((known, data, args))
        return known

    def constructor(self, c: Constructor, t: Type) -> Constructor:
        """The constructor for `c` of a value of type `t`, a type of the source."""
        if c.belong_to not in self.functional:
            return c
        made = self(t)
        assert isinstance(made, TypeCall)
        self.settle()
        return self.data[made.func].constructors[c.tag]  # pyright: ignore[reportArgumentType]

    def settle(self) -> None:
        """Make the data types that have been asked for."""
        while self.pending:
            header, data, args = self.pending.pop()
            by = dict(zip(data.type_vars, args, strict=True))
            made: list[Constructor] = []
            for c in data.constructors:
                inputs = tuple([self(substitute_type(t, by)) for t in c.inputs])
                name = self.names.fresh_name(c.name_hint) if args else c.name_hint
                made.append(Constructor(name, inputs, header, c.tag, c.field_names, span=c.span))
            self.data[header] = TypeData(header, (), tuple(made), data.is_extern, span=data.span)

    def finish(self) -> dict[GlobalTypeVar, TypeData]:
        """The data types of the result, those of closures included."""
        self.settle()
        kept = {h: d for h, d in self.mod.type_definitions.items() if h not in self.functional}
        closures = {
            c.header: TypeData(c.header, (), tuple(c.cases.values()), is_extern=not c.cases)
            for c in self.closures.values()
        }
        return {**kept, **self.data, **closures}


def erased(t: Type) -> Any:
    """`t` without type parameters: sizes are left to run time; what else is open is refused."""
    if not t.flags & HAS_VAR:
        return t
    if isinstance(t, TupleType):
        return TupleType([erased(f) for f in t.fields])
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple) or isinstance(t.dtype, TypeVar):
        refuse(t)
    return TensorType([ANY if isinstance(d, Type) and d.flags & HAS_VAR else d for d in t.shape], t.dtype)


def refuse(t: Type) -> NoReturn:
    """Say that a type has no first-order form."""
    fail(
        "open-closure",
        f"functions with values of type {t} have no first-order form: its type parameters are open",
        hint="give the definitions around it types without parameters, or only with dimensions",
    )
