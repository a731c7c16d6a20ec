"""The samples of operators as points at which their derivatives are tested, in float64."""

import dataclasses
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from op.operands import operand, operands_of
from op.straight_line import Line, atom_type, leaves, seeded
from relay.ir.dtype import dtype_name, is_float
from relay.ir.expr import Var, constant
from relay.ir.type import Kind, TensorType, Type, TypeVar
from relay.op.arrays import array_type
from relay.op.attribute import DTypeName, attribute_types
from relay.op.base import Operator, Sample
from relay.op.registry import instance, registry

STEP = 1e-4
"""Of central differences of fourth order: their error is near `STEP ** 4` times the fifth derivative."""

COORDINATES = ("gather_nd", "scatter_nd")
"""Operators whose second operand holds points: how many coordinates they have is part of the program."""
ROWS = ("sparse_to_dense", "dyn.sparse_to_dense", "sparse_fill_empty_rows")
"""Operators whose first operand has a point in each row: its size is part of the program."""
SIZES = dict.fromkeys(
    ("dyn.reshape", "dyn.broadcast_to", "dyn.full", "dyn.tile", "dyn.sparse_to_dense"), (1,)
)
SIZES |= {"sparse_fill_empty_rows": (2,), "image.dilation2d": (0, 1), "nn.deformable_conv2d": (0, 1, 2)}
SIZES |= dict.fromkeys([f"nn.contrib_conv{n}d_winograd_weight_transform" for n in (2, 3)], (0,))
SIZES |= dict.fromkeys([f"nn.contrib_conv{n}d_winograd_without_weight_transform" for n in (2, 3)], (0, 1))
SIZES |= {"nn.contrib_conv2d_winograd_nnpack_weight_transform": (0,)}
SIZES |= {"nn.contrib_conv2d_gemm_weight_transform": (0,)}
SIZES |= {"nn.contrib_conv2d_gemm_without_weight_transform": (0, 1)}
"""Operators with operands that hold sizes, or windows: their types are part of the program."""


@dataclasses.dataclass
class Case:
    """An operator at a point: its operands, directions to vary them in, and weights of its results.

    Directions and weights are rows, one for each leaf of nested tuples, None where that is not floating.
    """

    op: Operator
    operands: list[Any]
    directions: list[Any]
    weights: list[Any]

    def __call__(self, step: float = 0.0) -> list[Any]:
        """The results, from operands `step` further along the directions."""
        return leaves(self.op.evaluate(*rebuilt(self.operands, self.moved(step))))

    def moved(self, step: float) -> list[Any]:
        """The leaves of the operands, `step` further along the directions."""
        return along(leaves(tuple(self.operands)), self.directions, step)


def cases(name: str) -> Iterator[Case]:
    """The operator at its samples that have floating operands."""
    for s in registry[name].samples:
        case = case_of(name, s)
        if any(d is not None for d in case.directions):
            yield case


def as_sampled(name: str) -> Iterator[Case]:
    """The same with the dtypes that the samples have."""
    for s in registry[name].samples:
        operands = operands_of(s)
        if any(floating(x) for x in leaves(tuple(operands))):
            yield at_random(instance(name, s.attrs), operands, np.random.default_rng(0))


def case_of(name: str, s: Sample) -> Case:
    """The operator at a sample, which becomes one of float64."""
    cls = registry[name]
    hints = attribute_types(cls)
    attrs = {k: widened(v) if mentions_dtype(hints[k]) else v for k, v in s.attrs.items()}
    rng = np.random.default_rng(zlib.crc32(repr((name, s.operands, s.attrs)).encode()))
    names = [*cls.operands, *cls.operands[-1:] * len(s.operands)]
    operands = [point(d, domain_of(cls, n), rng) for d, n in zip(s.operands, names, strict=False)]
    return at_random(instance(name, {**default_dtypes(cls, hints), **attrs}), operands, rng)


def at_random(op: Operator, operands: list[Any], rng: np.random.Generator) -> Case:
    """A point with random directions and weights."""
    results = leaves(op.evaluate(*operands))
    directions = [random_like(x, rng) for x in leaves(tuple(operands))]
    return Case(op, operands, directions, [random_like(y, rng) for y in results])


def mentions_dtype(hint: Any) -> bool:
    """Whether an attribute may name a dtype."""
    return hint is DTypeName or DTypeName in getattr(hint, "__args__", ())


def default_dtypes(cls: type[Operator], hints: Mapping[str, Any]) -> dict[str, Any]:
    """Floating dtypes that attributes have by default, in their widest form."""
    defaults = {f.name: f.default for f in dataclasses.fields(cls) if mentions_dtype(hints[f.name])}  # type: ignore[arg-type]
    return {k: widened(v) for k, v in defaults.items() if widened(v) != v}


def widened(dtype: Any) -> Any:
    """The name of a dtype, float64 for every float."""
    return "float64" if isinstance(dtype, str) and dtype and is_float(dtype) else dtype


def domain_of(cls: type[Operator], operand_name: str) -> tuple[float, float]:
    """Where an operand of the operator may be."""
    domain = cls.domain
    return domain.get(operand_name, (-np.inf, np.inf)) if isinstance(domain, Mapping) else domain


def point(described: Any, domain: tuple[float, float], rng: np.random.Generator) -> Any:
    """The value that one entry of a sample describes, floats as float64 within the domain."""
    if isinstance(described, tuple):
        return tuple([point(d, domain, rng) for d in described])
    if not isinstance(described, str):
        x = np.asarray(described)
        return (x.astype("float64") if is_float(dtype_name(x.dtype)) else x)[()]
    size, _, dtype = described.rpartition(" ")
    if not is_float(dtype):
        return operand(described, rng)
    return within(domain, rng.standard_normal(tuple(int(d) for d in size.split("x")) if size else ()))


def within(domain: tuple[float, float], x: Any) -> Any:
    """Normal numbers moved into an open interval, well away from its ends."""
    low, high = domain
    if np.isinf(low):
        return np.asarray(x if np.isinf(high) else high - 0.3 - np.abs(x))[()]
    if np.isinf(high):
        return np.asarray(low + 0.3 + np.abs(x))[()]
    return np.asarray(low + (high - low) * (0.1 + 0.8 / (1 + np.exp(-x))))[()]


def random_like(x: Any, rng: np.random.Generator) -> Any:
    """A direction for a leaf, None if it is not floating."""
    return np.asarray(np.asarray(rng.standard_normal(np.shape(x)), x.dtype))[()] if floating(x) else None


def floating(x: Any) -> bool:
    """Whether a value is of floats."""
    return not isinstance(x, str) and is_float(dtype_name(x.dtype))


def along(xs: list[Any], directions: list[Any], step: float) -> list[Any]:
    """Leaves moved along directions."""
    moves = zip(xs, directions, strict=True)
    return [x if d is None else np.asarray(x + step * d, x.dtype)[()] for x, d in moves]


def rebuilt(shape: Any, values: list[Any]) -> list[Any]:
    """Leaves in a row as the nested tuples of `shape`."""
    rest = iter(values)

    def take(x: Any) -> Any:
        return tuple([take(f) for f in x]) if isinstance(x, tuple) else next(rest)

    return [take(x) for x in shape]


def difference(f: Callable[[float], list[Any]]) -> list[Any]:
    """The derivative at 0 of floating leaves by central differences of fourth order; None for the others."""
    rows = zip(f(STEP), f(-STEP), f(2 * STEP), f(-2 * STEP), strict=True)
    return [fourth_order(*row) if floating(row[0]) else None for row in rows]


def fourth_order(*values: Any) -> Any:
    """The difference quotient of values one step and two steps away; an infinite value does not vary."""
    finite = [np.where(np.isinf(v), 0.0, v) for v in values]
    return (8 * (finite[0] - finite[1]) - (finite[2] - finite[3])) / (12 * STEP)


def dot(xs: list[Any], ys: list[Any]) -> float:
    """The inner product of rows of leaves, where None is zero."""
    return float(sum(np.sum(x * y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None))


@dataclasses.dataclass
class Derivatives:
    """A line that computes an operator, its cotangents and its tangents."""

    case: Case
    line: Line
    params: list[Any]
    result: Any
    weights: list[Any]
    """Parameters for the cotangents of the floating results, None for the others."""
    directions: list[Any]
    """Parameters for the tangents of the floating operands, None for the others."""

    def run(self, results: Any, step: float = 0.0) -> Any:
        """Values of atoms, from operands `step` further along the directions."""
        atoms = [*leaves(tuple(self.params)), *self.weights, *self.directions]
        values = [*self.case.moved(step), *self.case.weights, *self.case.directions]
        given = [(a, v) for a, v in zip(atoms, values, strict=True) if isinstance(a, Var)]
        return self.line.run([a for a, _ in given], [v for _, v in given], results)

    def cotangents(self) -> list[Any]:
        """Atoms of the cotangents of the operands' leaves."""
        return list(self.line.reverse(seeded_floats(self.result, self.weights), leaves(tuple(self.params))))

    def tangents(self) -> list[Any]:
        """Atoms of the tangents of the results' leaves."""
        seeds = seeded_floats(tuple(self.params), self.directions)
        return [self.line.forward(seeds, y) for y in leaves(self.result)]


def seeded_floats(atoms: Any, seeds: list[Any]) -> dict[Any, Any]:
    """Seeds of those leaves that have one."""
    found = [(a, s) for a, s in zip(leaves(atoms), seeds, strict=True) if s is not None]
    return seeded([a for a, _ in found], [s for _, s in found])


def derivatives_of(case: Case, *, symbolic: bool = False) -> Derivatives:
    """A line for the case, in which what is not floating is constant.

    With `symbolic` it is not, and every size but 0 and 1 is a type parameter.
    """
    sizes: dict[int, TypeVar] = {}
    params = [parameter(f"x{i}", x, sizes if symbolic else None) for i, x in enumerate(case.operands)]
    if symbolic and case.op.name in COORDINATES:
        points = symbolised(array_type(case.operands[1]), sizes)
        depth = case.operands[1].shape[0]
        assert isinstance(points.shape, tuple)
        params[1] = Var("points", TensorType((depth, *points.shape[1:]), points.dtype), span=None)
    if symbolic and case.op.name in ROWS and case.operands[0].ndim == 2:
        points = symbolised(array_type(case.operands[0]), sizes)
        assert isinstance(points.shape, tuple)
        params[0] = Var(
            "points", TensorType((points.shape[0], case.operands[0].shape[1]), points.dtype), span=None
        )
    for at in SIZES.get(case.op.name, ()) if symbolic else ():
        params[at] = Var("sizes", array_type(case.operands[at]), span=None)
    line = Line()
    y = line.apply(case.op, tuple(params))
    weights = [None if w is None else alike("g", a) for w, a in zip(case.weights, leaves(y), strict=True)]
    xs = leaves(tuple(params))
    directions = [None if d is None else alike("d", a) for d, a in zip(case.directions, xs, strict=True)]
    return Derivatives(case, line, params, y, weights, directions)


def parameter(name: str, x: Any, sizes: dict[int, TypeVar] | None) -> Any:
    """A variable or a constant for a value, for a tuple a tuple of them."""
    if isinstance(x, tuple):
        return tuple([parameter(f"{name}_{i}", f, sizes) for i, f in enumerate(x)])
    if sizes is None and not floating(x):
        return constant(x, span=None)
    return Var(name, array_type(x) if sizes is None else symbolised(array_type(x), sizes), span=None)


def alike(name: str, atom: Any) -> Var:
    """A variable of the type of an atom."""
    return Var(name, atom_type(atom), span=None)


def symbolised(t: Type, sizes: dict[int, TypeVar]) -> TensorType:
    """A tensor type with a type parameter for each size but 0 and 1."""
    assert isinstance(t, TensorType)
    dims = [d if d < 2 else sizes.setdefault(d, TypeVar(f"n{d}", Kind.Dim)) for d in t.concrete_shape]
    return TensorType(dims, t.dtype)
