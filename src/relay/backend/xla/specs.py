"""Arguments that are not there yet, as JAX is told of them: arrays of a dtype and a shape.

A size that is a type parameter is a symbol of `jax.export`, which stands for any size from 1 on, unless it is
given as a number.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from relay.backend.xla.data import LEAF, Structure, flatten
from relay.backend.xla.shapes import evaluated
from relay.diagnostic import Span, fail
from relay.ir.dtype import to_numpy
from relay.ir.module import TypeData
from relay.ir.subst import substitute_type
from relay.ir.type import (
    ANY,
    Dim,
    FuncType,
    GlobalTypeVar,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)
from relay.ir.walk import type_post_order

WHOLE = "a file has what XLA computes as a whole"
RESERVED = "floordiv mod max min non_negative"
"""Words that cannot name a symbol."""


class Specs:
    """The arrays of the arguments of one definition."""

    def __init__(
        self, jax: Any, name: str, datatypes: Mapping[GlobalTypeVar, TypeData], likely: int | None = None
    ) -> None:
        """`name` is that of the definition; `likely` is to stand for sizes that are unknown, if anything."""
        self.likely = likely
        self.jax = jax
        self.name = name
        self.datatypes = datatypes
        self.scope = jax.export.SymbolicScope()
        self.symbols: dict[TypeVar, Any] = {}
        self.names: set[str] = set()

    def of_value(self, value: Any) -> tuple[list[Any], Structure]:
        """The arrays of an example, and the structure around them."""
        leaves, structure = flatten(value)
        return [self.jax.ShapeDtypeStruct(x.shape, x.dtype) for x in leaves], structure

    def of_type(self, t: Type | None, param: str, span: Span | None) -> tuple[list[Any], Structure]:
        """The arrays of a parameter of a type whose values have one structure (`xla-unsupported`)."""
        leaves: list[Any] = []
        parts: list[Any] = []
        stack: list[tuple[Type | None, tuple[GlobalTypeVar, ...]]] = [(t, ())]
        while stack:
            part, inside = stack.pop()
            if isinstance(part, TensorType) and is_fixed(part):
                leaves.append(self.array(part))
                parts.append(LEAF)
            elif isinstance(part, TupleType):
                parts.append(len(part.fields))
                stack += [(field, inside) for field in reversed(part.fields)]
            else:
                header, args = (part.func, part.args) if isinstance(part, TypeCall) else (part, ())
                data = self.datatypes.get(header) if isinstance(header, GlobalTypeVar) else None
                if data is None or len(data.constructors) != 1 or data.header in inside:
                    self.refuse(t, param, span)
                by = dict(zip(data.type_vars, args, strict=True))
                inputs = [substitute_type(x, by) for x in data.constructors[0].inputs]
                parts.append(data.constructors[0])
                stack += [(x, (*inside, data.header)) for x in reversed(inputs)]
        return leaves, Structure(tuple(parts))

    def refuse(self, t: Type | None, param: str, span: Span | None) -> NoReturn:
        """Say that a type does not tell the structure of its values."""
        if t is not None and any(isinstance(x, FuncType | RefType) for x in type_post_order(t)):
            message = f"it takes functions or references from outside: `%{param}` is of the type {t}"
            fail("xla-unsupported", f"`@{self.name}` cannot be exported: {message}", span, hint=WHOLE)
        message = f"values of the type {t} of `%{param}` have no one structure"
        hint = f'give one that shows it: `example={{"{param}": …}}`'
        fail("xla-unsupported", f"`@{self.name}` cannot be exported: {message}", span, hint=hint)

    def array(self, t: TensorType) -> Any:
        """What JAX is told of a tensor."""
        shape = tuple([self.size(d) for d in t.shape]) if isinstance(t.shape, tuple) else ()
        return self.jax.ShapeDtypeStruct(shape, to_numpy(str(t.dtype)))

    def size(self, d: Dim) -> Any:
        """A size as JAX has it."""
        if d is ANY:
            return self.symbol("any")
        found = evaluated(d, self.size_of_parameter)
        return self.symbol("any") if found is None else found

    def size_of_parameter(self, p: TypeVar) -> Any:
        """The symbol of a type parameter."""
        if p not in self.symbols:
            self.symbols[p] = self.symbol(p.name_hint)
        return self.symbols[p]

    def symbol(self, name: str) -> Any:
        """A symbol that is new."""
        if self.likely is not None:
            return self.likely
        base = name if name.isidentifier() and name.isascii() and name not in RESERVED.split() else "size"
        taken = len(self.names)
        name = f"{base}_{taken}" if base in self.names else base
        self.names.add(name)
        (found,) = self.jax.export.symbolic_shape(name, scope=self.scope)
        return found


def is_fixed(t: TensorType) -> bool:
    """Whether a tensor has a dtype and a rank by its type, and elements that XLA knows."""
    return isinstance(t.dtype, str) and t.dtype != "string" and isinstance(t.shape, tuple)


def is_size(p: TypeVar) -> bool:
    """Whether a type parameter is a size."""
    return p.kind is Kind.Dim
