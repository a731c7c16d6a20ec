"""Operators whose sizes are found at run time, where the program says the sizes: their static forms."""

from collections.abc import Iterator
from math import prod
from typing import Any, cast

import numpy as np

from relay.analysis.call_graph import CallGraph
from relay.diagnostic import RelayError
from relay.ir.dtype import is_integer, to_numpy
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Var, replace
from relay.ir.module import IRModule
from relay.ir.type import ANY, TensorType, TupleType, Type
from relay.op.arithmetic import Add, Maximum, Minimum, Multiply, Subtract
from relay.op.broadcast import Where
from relay.op.cast import Cast
from relay.op.create import Arange
from relay.op.division import FloorDivide
from relay.op.dynamic_slice import DynStridedSlice
from relay.op.join import Concatenate, Stack
from relay.op.pad import Pad
from relay.op.random_keys import DynThreefryGenerate
from relay.op.reduce import Prod, Sum
from relay.op.reshape import ExpandDims, Reshape, ReshapeLike, Squeeze
from relay.op.sizes import NdarraySize, ShapeOf
from relay.op.slice import SliceLike, StridedSlice
from relay.op.sort import DynTopK
from relay.op.subscript import Subscript
from relay.op.take import Take
from relay.transform.passes.algebra_shapes import SHAPES, as_shape
from relay.transform.passes.static_forms import FORMS, constant_value, static_form
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call_of
from relay.transform.rewriting.rulebook import Rulebook, table
from relay.typecheck.check import check
from relay.typecheck.query import Types

STATIC = Rulebook()
MAX_COMPUTED_ELEMENTS = 64
"""The most elements that are computed at compile time: shapes, positions, and arithmetic on them."""


def constant(value: Any, dtype: str, source: Expr) -> Constant:
    """A tensor that is known."""
    array = np.asarray(value).astype(to_numpy(dtype))
    return Constant(array, TensorType(array.shape, dtype), span=source.span)


@STATIC.rule("shape_of(x), ndarray_size(x) => a constant", ShapeOf, NdarraySize)
def _size(w: Rewriter, e: Call) -> Expr | None:
    t = w.tensor(e.args[0])
    if t is None or not w.may_go(e.args[0]):
        return None
    shape = t.concrete_shape
    return constant(shape if isinstance(e.attrs, ShapeOf) else prod(shape), e.attrs.dtype, e)


@STATIC.rule("take(shape_of(x), i) => a constant", Take)
def _one_size(w: Rewriter, e: Call) -> Expr | None:
    sizes, i = e.args
    whole, at = w.seen(sizes), constant_value(w, i)
    if not isinstance(whole, Call) or not isinstance(whole.attrs, ShapeOf) or np.shape(at) != ():
        return None
    t = w.types(whole.args[0])
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple) or not w.may_go(whole.args[0]):
        return None
    size = t.shape[int(at)] if -len(t.shape) <= at < len(t.shape) else None
    return constant(size, whole.attrs.dtype, e) if isinstance(size, int) else None


@STATIC.rule("arithmetic on sizes => a constant",
             Add, Subtract, Multiply, FloorDivide, Maximum, Minimum, Where, Cast, Concatenate, Stack,
             StridedSlice, Take, Pad, Prod, Sum, Reshape, ExpandDims, Squeeze)  # fmt: skip
def _sizes(w: Rewriter, e: Call) -> Expr | None:
    values: list[Any] = [constant_value(w, a) for a in e.args]
    t = w.types(e)
    if any(v is None for v in values) or not isinstance(t, TensorType) or not isinstance(t.dtype, str):
        return None
    if not is_integer(t.dtype) or sum(np.size(f) for v in values for f in _fields(v)) > MAX_COMPUTED_ELEMENTS:
        return None
    try:
        value = e.attrs.evaluate(*values)
    except RelayError:
        return None
    return constant(value, t.dtype, e) if np.size(value) <= MAX_COMPUTED_ELEMENTS else None


def _fields(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]


@STATIC.rule("dyn.strided_slice(x, begin, end, strides) => strided_slice(x)", DynStridedSlice)
def _slice(w: Rewriter, e: Call) -> Expr | None:
    x, *places = e.args
    values = [constant_value(w, p) for p in places]
    if any(v is None for v in values):
        return None
    begin, end, strides = (tuple(v.tolist()) for v in values)
    how = {"slice_mode": e.attrs.slice_mode, "axes": e.attrs.axes}
    return call_of("strided_slice", (x,), e, begin=begin, end=end, strides=strides, **how)


@STATIC.rule("index(x, constants) => index(x)", Subscript)
def _subscript(w: Rewriter, e: Call) -> Expr | None:
    x, *operands = e.args
    values = [constant_value(w, a) for a in operands]
    if not values or any(v is None or np.shape(v) != () or not is_integer(str(v.dtype)) for v in values):
        return None
    return Subscript(with_numbers(e.attrs.items, iter([int(v) for v in values])))(x)


def with_numbers(items: tuple[Any, ...], numbers: Iterator[int]) -> tuple[Any, ...]:
    """Subscripts with numbers in the place of operands."""
    return tuple(
        [
            with_numbers(cast("tuple[Any, ...]", i), numbers)
            if isinstance(i, tuple)
            else next(numbers)
            if i == "%"
            else i
            for i in items
        ]
    )


STATIC.rule("dyn.reshape(x, shape) => reshape(x), and so on", *FORMS)(static_form)


@STATIC.rule("dyn.random.threefry_generate(key, shape) => random.threefry_generate(key)", DynThreefryGenerate)
def _words(w: Rewriter, e: Call) -> Expr | None:
    key, shape = e.args
    value = constant_value(w, shape)
    if value is None or any(d < 0 for d in value.tolist()):
        return None
    return call_of("random.threefry_generate", (key,), e, out_shape=tuple(value.tolist()))


@STATIC.rule("dyn.topk(x, k) => topk(x)", DynTopK)
def _topk(w: Rewriter, e: Call) -> Expr | None:
    x, k = e.args
    t, value = w.types(x), constant_value(w, k)
    if value is None or not isinstance(t, TensorType) or not isinstance(t.shape, tuple):
        return None
    axis: int = e.attrs.axis
    size, wanted = t.shape[axis], int(np.reshape(value, ()))
    if not isinstance(size, int):
        return None
    return call_of("topk", (x,), e, **{**e.attrs.attributes(), "k": min(wanted, size)})


@STATIC.rule("arange(start, stop, step) => arange with attributes", Arange)
def _arange(w: Rewriter, e: Call) -> Expr | None:
    limits = [constant_value(w, a) for a in e.args]
    if not limits or any(v is None for v in limits):
        return None
    numbers = [v.item() for v in limits]
    first = [] if len(numbers) > 1 else [0]
    attrs = dict(zip(("start", "stop", "step"), [*first, *numbers], strict=False))
    return None if attrs.get("step") == 0 else call_of("arange", (), e, **attrs, dtype=e.attrs.dtype)


@STATIC.rule("reshape_like(x, y) => reshape(x); slice_like(x, y) => strided_slice(x)", ReshapeLike, SliceLike)
def _like(w: Rewriter, e: Call) -> Expr | None:
    x, like = e.args
    t = w.tensor(e)
    if t is None or w.tensor(x) is None or not w.may_go(like):
        return None
    shape = t.concrete_shape
    if isinstance(e.attrs, ReshapeLike):
        return as_shape(x, shape, e)
    return call_of("strided_slice", (x,), e, begin=(0,) * len(shape), end=shape)


LIKE = ("zeros_like, ones_like", "broadcast_to_like(x, y)", "cast_like(x, y)")
RULES = table([*STATIC.entries, *[entry for entry in SHAPES.entries if entry.text.startswith(LIKE)]])


class Refining(Rewriter):
    """Rules that may find out sizes: variables get the types that their values then have."""

    def __init__(self, root: Expr, types: Types) -> None:
        """The rules are those of this pass."""
        super().__init__(root, types, RULES)
        self.better: set[Expr] = set()
        """Variables that stand for those of a type with unknown sizes."""

    def accepts(self, made: Type, wanted: Type) -> bool:
        """A type with the sizes that were unknown will do."""
        return refines(made, wanted)

    def renamed(self, e: Expr) -> Expr | None:
        """An atom, or a variable of the type that the value now has."""
        atom = super().renamed(e)
        value = self.values.get(e)
        if atom is not None or value is None or value not in self.new or not isinstance(e, Var):
            return atom
        t, declared = self.types(self.new[value]), self.types(e)
        if t == declared or not refines(t, declared):
            return None
        var = Var(e.name_hint, t, span=e.span)
        self.better.add(var)
        self.values[var] = value
        return var

    def without(self, e: Let, now: tuple[Expr, ...]) -> Expr:
        """A `let` of the variable of a better type, or none."""
        var = self.new[e.var]
        return replace(e, var=var, value=now[0], body=now[1]) if var in self.better else now[1]


def refines(t: Type, wanted: Type) -> bool:
    """Whether a type is another one with some unknown sizes known."""
    stack = [(t, wanted)]
    while stack:
        a, b = stack.pop()
        if a is b or a == b:
            continue
        if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.fields) == len(b.fields):
            stack += zip(a.fields, b.fields, strict=True)
            continue
        if not isinstance(a, TensorType) or not isinstance(b, TensorType) or a.dtype != b.dtype:
            return False
        if not isinstance(a.shape, tuple) or not isinstance(b.shape, tuple) or len(a.shape) != len(b.shape):
            return False
        if any(d != f and f is not ANY for d, f in zip(a.shape, b.shape, strict=True)):
            return False
    return True


@module_pass("dynamic_to_static", keeps=(ANF,), opt_level=3, public="DynamicToStatic")
def dynamic_to_static(mod: IRModule) -> IRModule:
    """Replace operators whose sizes or positions are operands by static ones, where these are known.

    Shapes and arithmetic on them are computed at compile time: the operators `dyn.*` and `arange`
    become operators with attributes, and `reshape_like` and its kin lose their second operand.  The sizes
    found are propagated into the types of variables, and into the result types of definitions that no other
    definition mentions.

    >>> show(dynamic_to_static, '''
    ... def @main(%x: Tensor[(4, 6), float32]) {
    ...   dyn.strided_slice(%x, [0, 0], shape_of(%x) - [2, 3], [1, 1])
    ... }''')
    def @main(%x: Tensor[(4, 6), float32]) -> Tensor[(2, 3), float32] {
      strided_slice(%x, begin=(0, 0), end=(2, 3), strides=(1, 1))
    }
    """
    try:
        out = with_definitions(mod, _refined(mod))
        if out is not mod:
            check(out)
    except RelayError:  # a size that is known now, where the type asks for one that is not
        return apply_rules(mod, RULES)
    return out


def _refined(mod: IRModule) -> dict[GlobalVar, Expr]:
    """The definitions with the sizes that are found."""
    types = Types(mod)
    mentioned = {v for several in CallGraph(mod).mentions.values() for v in several}
    new: dict[GlobalVar, Expr] = {}
    for v, e in mod.functions.items():
        made = Refining(e, types).run()
        if made is not e and isinstance(made, Function) and v not in mentioned and made.ret_type is not None:
            t = types(made.body)
            made = replace(made, ret_type=t) if refines(t, made.ret_type) else made
        new[v] = anf(made, types) if made is not e and ANF.is_known_of(mod, v) else made
    return new
