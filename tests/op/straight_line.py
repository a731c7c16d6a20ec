"""Programs in a straight line, and their derivatives by the operators' rules: what the tests of rules run.

The atoms of a line are variables, constants and projections of variables that hold tuples; each binding is an
operator applied to atoms.  A tuple of atoms is a Python tuple.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from op.concrete import Concrete
from relay.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, Var
from relay.ir.type import TupleType, Type
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.derivative import fields_of, is_zero_tangent, jvp, total, type_of, vjp
from relay.op.kind import Derivative

Key = tuple[Var, int | None]


class Line:
    """A line of bindings that grows; composite operators are bound as what they stand for."""

    def __init__(self) -> None:
        self.bindings: list[tuple[Var, Operator, tuple[Any, ...]]] = []
        self.atoms: dict[Expr, Any] = {}

    def add(self, root: Any) -> Any:
        """The atom that holds the value of an expression; a Python tuple field by field, None stays."""
        if root is None or isinstance(root, tuple):
            return root if root is None else tuple([self.add(e) for e in root])
        for e in post_order(root):
            if e not in self.atoms and not isinstance(e, Op):
                self.atoms[e] = self._atom(e)
        return self.atoms[root]

    def _atom(self, e: Expr) -> Any:
        match e:
            case Var() | Constant():
                return e
            case Tuple(fields):
                return tuple([self.atoms[f] for f in fields])
            case TupleGetItem(Var(), _):
                return e
            case TupleGetItem(whole, index):
                return self.atoms[whole][index]
            case Call(Operator() as op, args):
                return self.apply(op, tuple([self.atoms[a] for a in args]))
            case _:
                raise AssertionError(f"{e!r} in a straight line")

    def apply(self, op: Operator, xs: tuple[Any, ...]) -> Any:
        """The atom that holds the value of an operator."""
        types = [atom_type(x) for x in xs]
        if op.derivative is Derivative.DECOMPOSITION:
            whole: Any = op
            return self.add(whole.decompose(types, *xs))
        v = Var(f"v{len(self.bindings)}", inferred(op, types), span=None)
        self.bindings.append((v, op, xs))
        return value_of(v)

    def reverse(self, seeds: dict[Key, Any], wanted: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of the atoms `wanted`, when those of some atoms are `seeds`."""
        cotangents: dict[Key, Any] = dict(seeds)
        for v, op, xs in reversed(list(self.bindings)):
            y = value_of(v)
            g = gathered(cotangents, y)
            if is_zero_tangent(g):
                continue
            for x, d in zip(xs, vjp(op, g, y, xs), strict=True):
                self._add_to(cotangents, x, self.add(d))
        return tuple([gathered(cotangents, x) for x in wanted])

    def _add_to(self, cotangents: dict[Key, Any], x: Any, d: Any) -> None:
        if isinstance(x, tuple) and d is not None:
            for e, f in zip(fields_of(x), fields_of(d), strict=True):
                self._add_to(cotangents, e, f)
        elif d is not None and not isinstance(x, Constant):
            assert atom_type(d) is atom_type(x), f"cotangent {atom_type(d)!r} of {atom_type(x)!r}"
            so_far = cotangents.get(key_of(x))
            cotangents[key_of(x)] = d if so_far is None else self.add(total([so_far, d]))

    def forward(self, seeds: dict[Key, Any], wanted: Any) -> Any:
        """The tangent of the atoms `wanted`, when those of some atoms are `seeds`."""
        tangents: dict[Key, Any] = dict(seeds)
        for v, op, xs in list(self.bindings):
            y = value_of(v)
            d = self.add(jvp(op, [gathered(tangents, x) for x in xs], y, xs))
            for e, f in zip(y, d, strict=True) if isinstance(y, tuple) and d is not None else [(y, d)]:
                if f is not None:
                    assert atom_type(f) is atom_type(e), f"tangent {atom_type(f)!r} of {atom_type(e)!r}"
                    tangents[key_of(e)] = f
        return gathered(tangents, wanted)

    def run(self, params: Sequence[Any], values: Sequence[Any], results: Any) -> Any:
        """The values of the atoms `results` for values of the atoms `params`; None is None."""
        env: dict[Any, Any] = {}
        for p, value in zip(params, values, strict=True):
            env.update(zip(leaves(p), leaves(value), strict=True))
        with np.errstate(all="ignore"):
            for v, op, xs in self.bindings:
                env[v] = op.evaluate(*[read(env, x) for x in xs])
        return read(env, results)


def inferred(op: Operator, types: Sequence[Any]) -> Type:
    """The type an operator says its result has."""
    t = Concrete()
    out = t.fresh("type")
    op.relate(t, types, out)
    return t.resolve(out)


def leaves(x: Any) -> list[Any]:
    """The fields of nested tuples in a row; anything else alone."""
    return [leaf for f in x for leaf in leaves(f)] if isinstance(x, tuple) else [x]


def value_of(v: Var) -> Any:
    """A variable as an atom: of a tuple, its projections."""
    t = v.type_annotation
    return (
        tuple([TupleGetItem(v, i, span=None) for i in range(len(t.fields))])
        if isinstance(t, TupleType)
        else v
    )


def atom_type(x: Any) -> Type:
    """The type of an atom, or of a tuple of them."""
    return TupleType([atom_type(f) for f in x]) if isinstance(x, tuple) else type_of(x)


def key_of(x: Any) -> Key:
    """An atom that varies, as the key of its cotangent or tangent."""
    match x:
        case TupleGetItem(Var() as v, index):
            return v, index
        case _:
            assert isinstance(x, Var)
            return x, None


def gathered(known: dict[Key, Any], x: Any) -> Any:
    """The cotangent or tangent of an atom, or of a tuple of them; None where there is none."""
    if isinstance(x, tuple):
        parts = tuple([gathered(known, f) for f in x])
        return None if is_zero_tangent(parts) else parts
    return None if isinstance(x, Constant) else known.get(key_of(x))


def read(env: dict[Any, Any], x: Any) -> Any:
    """The value of an atom, or of a tuple of them."""
    match x:
        case None:
            return None
        case tuple():
            return tuple([read(env, f) for f in x])
        case Constant():
            return x.value[()]
        case TupleGetItem(Var() as v, index):
            return env[v][index]
        case _:
            return env[x]


def seeded(atoms: Iterable[Any], seeds: Iterable[Any]) -> dict[Key, Any]:
    """Cotangents or tangents of atoms, by key."""
    return {key_of(a): s for a, s in zip(atoms, seeds, strict=True)}
