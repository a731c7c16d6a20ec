"""Batching rules: a batched call is the stack of the calls of its rows, for every operator and sample."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import relay
from op.operands import operand, operands_of
from op.straight_line import Line, leaves, value_of
from relay.autodiff.values import Block
from relay.backend.native.host.native_program import NativeProgram
from relay.batching.operators import batched
from relay.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.type import ANY, Kind, TensorType, TupleType, Type, TypeVar
from relay.ir.walk import post_order
from relay.op.arrays import array_type, unboxed
from relay.op.base import Operator, Sample, sample
from relay.op.batching_table import BY_ROWS
from relay.op.composite import Composite, as_operand
from relay.op.derivative import fields_of
from relay.op.random_keys import random_key
from relay.op.registry import instance, registry
from relay.typecheck.types import Types

ROWS = 3
STACK = np.asarray([[[2, 1], [1, -3]], [[1, 4], [-1, 3]]], "float64")
NAMES = sorted(registry)
SPARSE = ("nn.sparse", "nn.internal.sparse")
"""Operators of which the integers are places of sparse matrices, which have one order."""


def rows_of(name: str, s: Sample) -> list[list[Any]]:
    """The operands of each row: other floats where a sample describes them by a text, and the numbers that it
    gives in another order; larger where they are a matrix of linear algebra, which may be of some kind.
    """
    rng = np.random.default_rng(5)
    first = operands_of(s)
    how = kept if name.startswith(SPARSE) else larger if name.startswith("linalg.") else reordered
    pairs = list(zip(s.operands, first, strict=True))
    return [first, *[[varied(d, x, i, rng, how) for d, x in pairs] for i in range(1, ROWS)]]


def varied(described: Any, first: Any, row: int, rng: np.random.Generator, how: Any) -> Any:
    """An operand of a further row; `how` varies numbers that a sample gives."""
    if isinstance(described, tuple):
        pairs = zip(described, fields_of(first), strict=True)
        return tuple([varied(d, x, row, rng, how) for d, x in pairs])
    if isinstance(described, str):
        return operand(described, rng) if _is_random(first) else first
    return how(first, row)


def kept(first: Any, row: int) -> Any:
    """The same numbers for each row."""
    return first


def larger(first: Any, row: int) -> Any:
    """A multiple of the matrix."""
    return first * first.dtype.type(row + 1)


def reordered(first: Any, row: int) -> Any:
    """The numbers in another order, a single one nearer to zero."""
    return np.roll(first, row, -1) if np.ndim(first) else nearer_zero(first, row)


def nearer_zero(x: Any, row: int) -> Any:
    """Another number of the dtype of `x`, which is as good an index."""
    return x if isinstance(x, np.bool_ | bool) else type(x)(x // (row + 1))


def _is_random(x: Any) -> bool:
    """Whether other numbers do as well: they are floats, and no indices or sizes."""
    return all(np.asarray(a).dtype.kind in "fV" for a in leaves(x))


def choices(operands: list[Any]) -> Iterator[tuple[Any, ...]]:
    """Which operands are batched: each set of them; of a tuple all fields, or the first."""
    each = [
        (False, True)
        if not isinstance(x, tuple)
        else (_all(x, False), _all(x, True), (_all(x[0], True), *_all(x[1:], False)))
        if x
        else ((),)
        for x in operands
    ]
    for which in itertools.islice(itertools.product(*each), 1, 40):
        if any(leaves(which)):
            yield which


def first_and_last(operands: list[Any]) -> list[tuple[Any, ...]]:
    """The last operand alone, and all: what is tried but in long tests."""
    found = [*choices(operands)]
    return found if len(found) < 2 else [found[0], found[-1]]


def only_all(operands: list[Any]) -> list[tuple[Any, ...]]:
    """All operands: what is compiled but in long tests."""
    return [*choices(operands)][-1:]


CHOICES = pytest.mark.parametrize(
    "choose", [first_and_last, pytest.param(choices, marks=pytest.mark.long)], ids=["some", "every"]
)


def _all(x: Any, value: bool) -> Any:
    return tuple([_all(f, value) for f in fields_of(x)]) if isinstance(x, tuple) else value


def stacked(which: Any, rows: list[Any]) -> Any:
    """The batched operand, or the one for all rows."""
    if isinstance(which, tuple):
        return tuple([stacked(w, [r[i] for r in rows]) for i, w in enumerate(fields_of(which))])
    arrays = [np.asarray(r, object if isinstance(r, str) else None) for r in rows]
    return np.stack(arrays) if which else rows[0]


def chosen(which: Any, row: Any, first: Any) -> Any:
    """The operand of one row: the first one's where it is not batched."""
    if isinstance(which, tuple):
        return tuple([chosen(w, r, f) for w, r, f in zip(fields_of(which), row, first, strict=True)])
    return row if which else first


def batched_type(t: Any, which: Any, n: Any) -> Any:
    """The type of an operand that is batched or not."""
    if isinstance(which, tuple):
        return TupleType([batched_type(f, w, n) for f, w in zip(t.fields, fields_of(which), strict=True)])
    return TensorType((n, *t.shape), t.dtype) if which else t


def expected(op: Any, which: tuple[Any, ...], rows: list[list[Any]]) -> Any:
    """The stack of the rows' values."""
    values = [
        op.evaluate(*[chosen(w, x, f) for w, x, f in zip(which, r, rows[0], strict=True)]) for r in rows
    ]
    return stacked(_all(values[0], True), values)


def agree(found: Any, wanted: Any, about: Any) -> None:
    """Check a batched value."""
    for a, b in zip(leaves(found), leaves(wanted), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype), about
        if a.dtype.kind in "fV":
            tolerance = 1e-9 if a.dtype == np.float64 else 2e-2 if a.dtype.itemsize < 4 else 2e-5
            np.testing.assert_allclose(
                a.astype(np.float64), b.astype(np.float64), tolerance, tolerance, err_msg=str(about)
            )
        else:
            np.testing.assert_array_equal(a, b, str(about))


def atom_of(value: Any) -> Any:
    """An atom for a value: a variable, for a tuple one for each field."""
    if isinstance(value, tuple):
        return tuple(map(atom_of, fields_of(value)))
    return Var("x", array_type(unboxed(value)), span=None)


def types_of_rows(rows: list[list[Any]]) -> list[Type]:
    """The types of the operands of a row."""
    return [array_type(unboxed(x)) for x in rows[0]]


def without_rule(op: Operator, types: list[Type], about: Any) -> None:
    """Demand that the table says so of an operator that has no rule, or of one that it is made of."""
    names = parts(op, types)
    assert names & BY_ROWS.keys(), f"{about}: no rule, and no entry in the table of those without"


def parts(op: Operator, types: list[Type]) -> set[str]:
    """The names of the operators that an operator is made of, and its own."""
    if not isinstance(op, Composite):
        return {op.name}
    params = [Var("x", t, span=None) for t in types]
    body = op.decompose(types, *[as_operand(p, t) for p, t in zip(params, types, strict=True)])
    infer, found = Types(), {op.name}
    for e in post_order(body):
        if isinstance(e, Call) and isinstance(e.attrs, Operator):
            found |= parts(e.attrs, [infer(a) for a in e.args])
    return found


@pytest.mark.parametrize("name", sorted(BY_ROWS))
def test_an_operator_without_a_rule_for_some_operands_is_in_the_table(name: str) -> None:
    missing = 0
    for s in registry[name].samples:
        rows = rows_of(name, s)
        for which in choices(rows[0]):
            xs = tuple([atom_of(stacked(w, [r[i] for r in rows])) for i, w in enumerate(which)])
            missing += batched(instance(name, s.attrs), ROWS, which, xs, Line().add) is None
    assert missing, "it has a rule for all of them"


@pytest.mark.parametrize("name", NAMES)
def test_a_batched_call_is_the_stack_of_rows(name: str) -> None:
    for s in registry[name].samples:
        op, rows = instance(name, s.attrs), rows_of(name, s)
        for which in choices(rows[0]):
            values = [stacked(w, [r[i] for r in rows]) for i, w in enumerate(which)]
            xs, line = tuple(map(atom_of, values)), Line()
            made = line.add(batched(op, ROWS, which, xs, line.add))
            if made is None:
                without_rule(op, types_of_rows(rows), (s, which))
                continue
            agree(line.run(xs, values, made), expected(op, which, rows), (s, which))


@CHOICES
@pytest.mark.parametrize("name", NAMES)
def test_sizes_may_be_symbolic(name: str, choose: Any) -> None:
    """The number of rows, and the sizes of a row as far as the operator allows it."""
    for s in registry[name].samples:
        op, rows, n = instance(name, s.attrs), rows_of(name, s), TypeVar("n", Kind.Dim)
        types, sizes = open_types(s, op, rows[0])
        for which in choose(rows[0]):
            f = batched_function(op, n, sizes, types, which)
            if f is None:
                without_rule(op, types_of_rows(rows), (s, which))
                continue
            values = [stacked(w, [r[i] for r in rows]) for i, w in enumerate(which)]
            found = relay.run(relay.infer(IRModule.from_expr(f)), "main", values)
            agree(found, expected(op, which, rows), (s, which))


@CHOICES
@pytest.mark.parametrize("name", NAMES)
def test_there_may_be_no_rows(name: str, choose: Any) -> None:
    for s in registry[name].samples:
        op, rows, n = instance(name, s.attrs), rows_of(name, s), TypeVar("n", Kind.Dim)
        for which in choose(rows[0]):
            f = batched_function(op, n, (), types_of_rows(rows), which)
            if f is None or (name == "dyn.reshape" and -1 in rows[0][1]):  # of no elements -1 is a size of 0
                continue
            values = [without_rows(stacked(w, [r[i] for r in rows]), w) for i, w in enumerate(which)]
            found = relay.run(relay.infer(IRModule.from_expr(f)), "main", values)
            wanted = expected(op, which, rows)
            agree(found, without_rows(wanted, _all(wanted, True)), (s, which))


@pytest.mark.parametrize(("name", "data", "weight"), [
    ("nn.conv2d", (1, 2, 4, 4), (3, 2, ANY, 2)),
    ("nn.conv2d_transpose", (1, 2, 4, 4), (2, 3, 2, ANY)),
    ("nn.conv2d_backward_weight", (1, 2, ANY, 3), (1, 2, 4, 4)),
])  # fmt: skip
def test_windows_of_unknown_size_have_no_rule(name: str, data: Any, weight: Any) -> None:
    types = [TensorType(data, "float32"), TensorType(weight, "float32")]
    assert batched_function(instance(name, {}), TypeVar("n", Kind.Dim), (), types, (True, True)) is None


def test_sparse_matrices_of_rows_have_no_rule_where_the_size_of_blocks_is_unknown() -> None:
    op, places = instance("nn.sparse_dense", {}), [TensorType((3,), "int32")] * 2
    types = [TensorType((2, 4), "float32"), TensorType((3, ANY, 2), "float32"), *places]
    n = TypeVar("n", Kind.Dim)
    assert batched_function(op, n, (), types, (False, True, False, False)) is None
    assert batched_function(op, n, (), types, (True, False, False, False)) is not None


def without_rows(x: Any, is_batched: Any) -> Any:
    """An operand without its rows, if it has any."""
    if isinstance(is_batched, tuple):
        parts = zip(fields_of(x), fields_of(is_batched), strict=True)
        return tuple([without_rows(f, w) for f, w in parts])
    return x[:0] if is_batched else x


ODD = [
    ("linalg.solve", sample(STACK, "2 float64")),
    ("linalg.solve", sample(STACK[:, None], "1x2x3 float64")),
    ("linalg.triangular_solve", sample(STACK, "2x2x3 float64", lower=True)),
    ("nn.conv1d_transpose", sample("1x3x5 float32", "3x2x1 float32", strides=2, padding=(2, 1))),
    ("nn.conv2d_transpose", sample("1x2x4x4 float32", "2x3x2x2 float32", padding=(2, 1), strides=3,
                                   dilation=2, output_padding=(2, 1))),
    ("nn.conv2d_transpose", sample("1x4x3x3 float32", "4x2x3x3 float32", groups=2, strides=2, padding=1)),
    ("nn.conv2d", sample("2x4x5x6 float32", "4x1x3x2 float32", groups=4, strides=2, dilation=(1, 2))),
    ("nn.conv2d_backward_weight", sample("2x4x3x3 float32", "2x4x5x5 float32", groups=2)),
]  # fmt: skip
"""Calls beside the samples of operators: systems of vectors, less padding than none, and groups."""


@pytest.mark.parametrize(("name", "s"), ODD)
@pytest.mark.parametrize("count", [0, ROWS])
@pytest.mark.parametrize("is_known", [True, False])
def test_rows_and_sizes_may_be_known_or_not(name: str, s: Sample, count: int, is_known: bool) -> None:
    op, rows = instance(name, s.attrs), rows_of(name, s)
    types, sizes = open_types(s, op, rows[0])
    assert sizes
    n = count if is_known else TypeVar("n", Kind.Dim)
    for which in choices(rows[0]):
        f = batched_function(op, n, sizes, types, which)
        assert f is not None
        values = [stacked(w, [r[i] for r in rows]) for i, w in enumerate(which)]
        wanted = expected(op, which, rows)
        if not count:
            values = [without_rows(x, w) for x, w in zip(values, which, strict=True)]
            wanted = without_rows(wanted, True)
        agree(relay.run(relay.infer(IRModule.from_expr(f)), "main", values), wanted, (s, which))


@pytest.mark.parametrize(
    ("choose", "samples"),
    [(only_all, 1), pytest.param(choices, None, marks=pytest.mark.long)],
    ids=["some", "every"],
)
@pytest.mark.parametrize("name", [n for n in NAMES if not registry[n].is_pointwise])
def test_a_batched_call_in_machine_code_is_the_stack_of_rows(
    name: str, choose: Any, samples: int | None
) -> None:
    mod, cases = IRModule(), list[Any]()
    for s in registry[name].samples[:samples]:
        op, rows, n = instance(name, s.attrs), rows_of(name, s), TypeVar("n", Kind.Dim)
        for which in choose(rows[0]):
            f = batched_function(op, n, (), types_of_rows(rows), which)
            if f is not None:
                mod[f"f{len(cases)}"] = f
                cases.append((s, op, rows, which))
    program = NativeProgram(relay.infer(mod), [f"f{i}" for i in range(len(cases))])
    for i, (s, op, rows, which) in enumerate(cases):
        values = [stacked(w, [r[k] for r in rows]) for k, w in enumerate(which)]
        agree(program.evaluate(f"f{i}", *values), expected(op, which, rows), (s, which))


def batched_function(op: Operator, n: Any, sizes: Any, types: Any, which: Any) -> Function | None:
    """A function of `n` rows of all operands, a number or a dimension; None where there is no rule."""
    params = tuple([Var("x", batched_type(t, w, n)) for t, w in zip(types, which, strict=True)])
    b = Block()
    made = batched(op, n, which, tuple(map(value_of, params)), lambda e: bound(e, b))
    free = (n, *sizes) if isinstance(n, TypeVar) else tuple(sizes)
    return None if made is None else Function(params, b.finish(packed(made)), None, free)


def open_types(s: Sample, op: Operator, row: list[Any]) -> tuple[list[Type], tuple[TypeVar, ...]]:
    """The types of the operands with a dimension for each size above 1, but of tensors that the sample gives,
    and the dimensions; the types as they are where the operator demands known sizes.
    """
    sizes: dict[int, TypeVar] = {}
    known = [array_type(unboxed(x)) for x in row]
    types = [t if isinstance(x, np.ndarray) else opened(t, sizes)
             for t, x in zip(known, s.operands, strict=True)]  # fmt: skip
    params = tuple([Var("x", t) for t in types])
    try:
        relay.infer(IRModule.from_expr(Function(params, op(*params), None, tuple(sizes.values()))))
    except relay.RelayError:
        return known, ()
    return types, tuple(sizes.values())


def opened(t: Type, sizes: dict[int, TypeVar]) -> Type:
    """A type with a dimension for each size above 1: equal sizes are one dimension."""
    if isinstance(t, TupleType):
        return TupleType([opened(f, sizes) for f in t.fields])
    assert isinstance(t, TensorType)
    shape = [d if d < 2 else sizes.setdefault(d, TypeVar(f"d{d}", Kind.Dim)) for d in t.concrete_shape]
    return TensorType(tuple(shape), t.dtype)


def bound(e: Expr, b: Block) -> Any:
    """The atom of an expression in a block."""
    if isinstance(e, Var | Constant | TupleGetItem):
        return e
    return value_of(b.bind(e, Types()(e)))


def packed(x: Any) -> Expr:
    """A value as an expression."""
    return Tuple(tuple([packed(f) for f in fields_of(x)])) if isinstance(x, tuple) else x


KEYS = np.stack([random_key(7), random_key(2**200 + 3), random_key(9)])
KEYS[2, 7] = 2**64 - 3  # it has no room for four more words
DRAWS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("random.threefry_generate", (), {"out_shape": (3, 2)}),
    ("random.threefry_split", (), {}),
    ("random.uniform", (np.float32(-1), np.float32(3)), {"out_shape": (5,)}),
    ("random.uniform", (np.float16(-1), np.float16(3)), {"out_shape": (), "out_dtype": "float16"}),
    ("random.normal", (np.float32(1), np.float32(3)), {"out_shape": (2, 3)}),
    ("random.multinomial", (np.asarray([[1, 2, 3], [0, 0, 1]], "float32"),), {"num_samples": 4}),
]


@pytest.mark.parametrize(("name", "others", "attrs"), DRAWS)
def test_a_key_for_each_row_draws_the_numbers_of_the_row(name: str, others: Any, attrs: Any) -> None:
    op, keys, b = instance(name, attrs), Var("keys", array_type(KEYS)), Block()
    xs = (keys, *map(relay.const, others))
    made = batched(op, len(KEYS), (True, *[False for _ in others]), xs, lambda e: bound(e, b))
    program = relay.infer(IRModule.from_expr(Function((keys,), b.finish(packed(made)))))
    native = NativeProgram(program, ["main"]).evaluate("main", KEYS)
    exact = relay.run(program, "main", [KEYS])
    for row, key in enumerate(KEYS):
        for x, y, wanted in zip(exact, native, op.evaluate(key, *others), strict=True):
            np.testing.assert_array_equal(np.asarray(x)[row], wanted)
            np.testing.assert_allclose(np.asarray(y)[row], wanted, 1e-6)
