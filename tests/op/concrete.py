"""A `Typing` for types that are known, enough to check what an operator says of its result against its
value.
"""

from typing import Any

import numpy as np

from relay.diagnostic import Diagnostic, RelayError
from relay.ir import dim as arithmetic
from relay.ir.dtype import dtype_name
from relay.ir.type import ANY, IncompleteType, Kind, TensorType, TupleType, Type
from relay.op.arrays import array_type
from relay.op.attribute import attribute_types, conform
from relay.op.axes import holds
from relay.op.registry import instance, registry


class Concrete:
    """Answers at once; an unknown is bound by the first thing it is made equal to."""

    def __init__(self) -> None:
        self.bound: dict[Type, Any] = {}
        self.open: list[tuple[Any, str, Any]] = []

    def resolve(self, t: Any) -> Any:
        while t in self.bound:
            t = self.bound[t]
        if isinstance(t, TensorType):
            shape = self.resolve(t.shape) if isinstance(t.shape, Type) else t.shape
            shape = tuple(self.resolve(d) for d in shape) if isinstance(shape, tuple) else shape
            return TensorType(shape, self.resolve(t.dtype))
        if isinstance(t, TupleType):
            return TupleType([self.resolve(f) for f in t.fields])
        return t

    def tensor(self, t: Type) -> TensorType:
        t = self.resolve(t)
        if isinstance(t, IncompleteType):
            self.bound[t] = self.fresh("tensor")
            t = self.resolve(t)
        if not isinstance(t, TensorType):
            self.fail("expected-tensor", f"expected a tensor, found {t!r}")
        return t

    def shape(self, t: Type, rank: int | None = None, what: str = "") -> tuple[Any, ...]:
        shape = self.tensor(t).shape
        if isinstance(shape, IncompleteType) and rank is not None:
            self.bound[shape] = tuple(self.fresh("dim") for _ in range(rank))
            return self.bound[shape]
        assert isinstance(shape, tuple), "a shape that nothing decides"
        if rank is not None and len(shape) != rank:
            self.fail("rank-mismatch", f"{what} has rank {len(shape)} and needs {rank}")
        return shape

    def dtype(self, t: Type) -> Any:
        return self.tensor(t).dtype

    def known_dtype(self, t: Type) -> str:
        found = self.dtype(t)
        assert isinstance(found, str)
        return found

    def fields(self, t: Type) -> tuple[Type, ...]:
        t = self.resolve(t)
        if not isinstance(t, TupleType):
            self.fail("expected-tuple", f"expected a tuple, found {t!r}")
        return t.fields

    def static(self, d: Any) -> int | None:
        d = self.resolve(d)
        return d if isinstance(d, int) else None

    def settled(self, d: Any) -> Any:
        return self.resolve(d)

    def equal(self, a: Any, b: Any, why: str = "") -> None:
        a, b = self.resolve(a), self.resolve(b)
        if a is b or (not isinstance(a, Type) and a == b):
            return
        if isinstance(a, IncompleteType):
            self.bound[a] = b
        elif isinstance(b, IncompleteType):
            self.bound[b] = a
        elif isinstance(a, TensorType) and isinstance(b, TensorType):
            self.equal(a.shape, b.shape, why)
            self.equal(a.dtype, b.dtype, why)
        elif isinstance(a, tuple | TupleType) and isinstance(b, tuple | TupleType):
            left = a if isinstance(a, tuple) else a.fields
            right = b if isinstance(b, tuple) else b.fields
            if len(left) != len(right):
                self.fail("type-mismatch", f"{a} and {b} differ: {why}")
            for x, y in zip(left, right, strict=True):
                self.equal(x, y, why)
        elif _is_dim(a) and _is_dim(b):
            if a is ANY or b is ANY:
                return
            if arithmetic.is_never(a, b):
                self.fail("type-mismatch", f"{a} and {b} differ: {why}")
            self.open.append((a, "==", b))
        else:
            self.fail("type-mismatch", f"{a!r} and {b!r} differ: {why}")

    def require(self, a: Any, comparison: Any, b: Any, why: str, code: str = "shape-constraint") -> None:
        a, b = self.resolve(a), self.resolve(b)
        if isinstance(a, int) and isinstance(b, int):
            if not holds(a, comparison, b):
                self.fail(code, why)
        else:
            self.open.append((a, comparison, b))

    def broadcast(self, *shapes: Any) -> tuple[Any, ...]:
        out: list[Any] = []
        for i in range(max((len(s) for s in shapes), default=0)):
            size: Any = 1
            for s in shapes:
                if i < len(s):
                    found = arithmetic.broadcast(size, s[-1 - i])
                    if found is None:
                        self.fail("broadcast-mismatch", f"cannot broadcast {shapes}")
                    size = found
            out.insert(0, size)
        return tuple(out)

    def dtype_in(self, t: Type, allowed: Any, what: str = "") -> None:
        found = self.dtype(t)
        if isinstance(found, str) and found not in allowed:
            self.fail("dtype-not-supported", f"{what} {found}")

    decided_dtype_in = dtype_in

    def fresh(self, like: str = "type") -> Any:
        kinds = {"type": Kind.Type, "shape": Kind.Shape, "dim": Kind.Dim, "dtype": Kind.BaseType}
        if like == "tensor":
            return TensorType(self.fresh("shape"), self.fresh("dtype"))
        return IncompleteType(kinds[like])

    def fail(self, code: str, message: str, label: str = "", hint: str = "") -> Any:
        raise RelayError(Diagnostic(code, message, None, label, (), hint))


def _is_dim(x: Any) -> bool:
    return isinstance(x, int) or (isinstance(x, Type) and x.kind is Kind.Dim)


def infer(name: str, *types: Type, **attrs: Any) -> Any:
    """The type an operator says its result has."""
    t = Concrete()
    out = t.fresh("type")
    instance(name, attrs).relate(t, types, out)
    return t.resolve(out)


def fits(found: Type, inferred: Any) -> bool:
    """Whether the type of a value is as inferred, where `?` is any size."""
    if isinstance(found, TupleType):
        return len(found.fields) == len(inferred.fields) and all(
            fits(a, b) for a, b in zip(found.fields, inferred.fields, strict=True)
        )
    assert isinstance(found, TensorType)
    return (
        found.dtype == inferred.dtype
        and len(found.shape) == len(inferred.shape)
        and all(b is ANY or a == b for a, b in zip(found.shape, inferred.shape, strict=True))
    )


def run(name: str, *operands: Any, **attrs: Any) -> Any:
    """The value of an operator, whose type is checked to be the inferred one."""
    arrays = [
        tuple(np.asarray(x)[()] for x in o) if isinstance(o, tuple) else np.asarray(o)[()] for o in operands
    ]
    op = instance(name, attrs)
    value = op.evaluate(*arrays)
    inferred = infer(name, *[array_type(a) for a in arrays], **attrs)
    assert fits(array_type(value), inferred), f"{name}: value {array_type(value)!r}, inferred {inferred!r}"
    return value


def decomposed(name: str, *operands: Any, **attrs: Any) -> Any:
    """The value of a composite operator by its decomposition alone."""
    from relay.op.composite import Composite

    op = instance(name, attrs)
    with np.errstate(all="ignore"):
        return Composite.reference(op, np, *operands)


def symbolic(name: str, *types: Type, **attrs: Any) -> tuple[Any, list[tuple[Any, str, Any]]]:
    """The inferred type and what is left to check at run time."""
    t = Concrete()
    out = t.fresh("type")
    instance(name, attrs).relate(t, types, out)
    return t.resolve(out), t.open


def attribute(name: str, key: str, value: Any) -> Any:
    """An attribute's value as the operator takes it."""
    return conform(value, attribute_types(registry[name])[key], name, key)


def dtype_of(x: Any) -> str:
    """The dtype of an array."""
    return dtype_name(x.dtype)
