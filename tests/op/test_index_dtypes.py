"""Indices of every integer dtype are read by their value: those of uint64 beyond int64 are out of range."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import relay
from op.operands import operands_of
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule
from relay.op.arrays import array_type
from relay.op.base import Sample
from relay.op.registry import registry

FAR = 2**63 - 1
"""The greatest index of int64, beyond every axis."""
FARTHER = FAR + 232_792_560 * 3
"""An index that int64 cannot hold; the same as `FAR` modulo every size up to 20."""

DATA = frozenset(
    [
        *("cast", "cumprod", "cumsum", "nn.batch_matmul", "nn.contrib_conv2d_gemm_without_weight_transform"),
        *("nn.contrib_dense_pack", "nn.conv2d", "nn.conv2d_backward_weight", "nn.dense", "nn.matmul"),
        "string.from_value",
    ]
)
"""Operators whose integers are data; those of `qnn` are, too."""
SIZES = frozenset(
    ["dyn.broadcast_to", "dyn.full", "dyn.ones", "dyn.random.threefry_generate", "dyn.reshape", "dyn.zeros"]
)
"""Operators that make tensors of given sizes, where the greatest needs memory that no machine has."""
NAMES = [name for name in sorted(registry) if name not in DATA | SIZES and not name.startswith("qnn.")]


def leaves(x: Any) -> list[Any]:
    """The arrays of an operand."""
    return [y for field in x for y in leaves(field)] if isinstance(x, tuple) else [x]


def replaced(x: Any, number: int, new: Any) -> Any:
    """An operand with one of its arrays replaced."""
    if not isinstance(x, tuple):
        return new
    count, fields = 0, []
    for field in x:
        own = len(leaves(field))
        fields.append(replaced(field, number - count, new) if count <= number < count + own else field)
        count += own
    return tuple(fields)


def typed(name: str, s: Sample, operands: list[Any]) -> IRModule | None:
    """The operator on parameters of the operands' types, or None if it refuses these."""
    params = tuple(Var(f"x{i}", array_type(x)) for i, x in enumerate(operands))
    try:
        return relay.infer(IRModule.from_expr(Function(params, Call(Op.get(name), params, dict(s.attrs)))))
    except relay.RelayError:
        return None


def cases(name: str, samples: Sequence[Sample]) -> Iterator[tuple[Any, list[Any], Any, list[Any]]]:
    """Programs and operands, in which an index is `FAR`, as int64, and then `FARTHER`, as uint64.

    An operand of integers holds indices, sizes or counts if its dtype is not that of a result.
    """
    for s in samples:
        operands = operands_of(s)
        for i, x in enumerate(operands):
            for k, leaf in enumerate(leaves(x)):
                array = np.asarray(leaf)
                if array.dtype.kind not in "iu" or array.size == 0:
                    continue
                both: list[Any] = []
                for dtype, last in (("int64", FAR), ("uint64", FARTHER)):
                    new = np.abs(array.astype("int64")).astype(dtype)
                    new.flat[-1] = last
                    changed = [replaced(y, k, new[()]) if i == j else y for j, y in enumerate(operands)]
                    both += [typed(name, s, changed), changed]
                if both[0] and both[2] and both[0]["main"].ret_type == both[2]["main"].ret_type:
                    yield tuple(both)


def outcome(kind: str, mod: IRModule, operands: list[Any]) -> Any:
    """The elements of the result, or the word "refused"."""
    try:
        value = relay.create_executor(kind, mod=mod).evaluate()(*operands)
    except relay.RelayError:
        return "refused"
    return [np.asarray(x).tolist() for x in leaves(value)]


def check_beyond(kind: str, name: str, samples: Sequence[Sample]) -> None:
    for near, a, far, b in cases(name, samples):
        assert outcome(kind, far, b) == outcome(kind, near, a), (name, b)


@pytest.mark.parametrize("name", NAMES)
def test_an_index_beyond_int64_does_what_the_greatest_of_int64_does(name: str) -> None:
    check_beyond("debug", name, registry[name].samples)


@pytest.mark.parametrize("name", [n for n in NAMES if any(cases(n, registry[n].samples[:1]))])
def test_machine_code_agrees_about_indices_beyond_int64(name: str) -> None:
    check_beyond("native", name, registry[name].samples[:1])


OUTSIDE = "18446744073709551615u64"
REFUSED = [
    "let %b: Tensor[(1,), uint64] = [#]; [1f, 2f, 3f][%b]",
    "[1f, 2f, 3f][#]",
    'take([1f, 2f, 3f], [#], axis=0, mode="fast")',
    "gather([1f, 2f, 3f], [#], axis=0)",
    "gather_nd([1f, 2f, 3f], [[#]])",
    "adv_index(([1f, 2f, 3f], [#]))",
    "scatter_elements([1f, 2f, 3f], [#], [9f], axis=0)",
    "scatter_nd([1f, 2f, 3f], [[#]], [9f])",
    "nn.embedding([#], [[1f], [2f]])",
    "unravel_index([#], [2u64, 3u64])",
    "invert_permutation([0u64, #])",
    "grad(fn (%x: Tensor[(3,), float32]) { sum(%x[[#]]) })([1f, 2f, 3f]).1.0",
    "vmap(fn (%x, %i) { %x[%i] })([[1f, 2f], [3f, 4f]], [0u64, #])",
]


@pytest.mark.parametrize("kind", ["debug", "native"])
@pytest.mark.parametrize("program", REFUSED)
def test_the_greatest_of_uint64_is_out_of_range_where_minus_1_is_the_last(program: str, kind: str) -> None:
    mod = relay.parse(program.replace("#", OUTSIDE))
    with pytest.raises(relay.RelayError) as caught:
        relay.create_executor(kind, mod=mod).evaluate()()
    assert caught.value.codes == ("index-out-of-range",)


def test_the_message_names_no_number_that_was_not_given() -> None:
    with pytest.raises(relay.RelayError, match=r"an index of 2\*\*63 - 1 or more is out of range"):
        relay.run(relay.parse(f"[1f, 2f, 3f][{OUTSIDE}]"), "main", [])


VALUES = [
    # 2**64 - 1 is 0 modulo 3 and 5 modulo 10.
    ("take([1f, 2f, 3f], [#], axis=0, mode=\"wrap\")", [1]),
    ("take(arange(10f), [#], axis=0, mode=\"wrap\")", [5]),
    ("take([1f, 2f, 3f], [#], axis=0)", [3]),
    ("one_hot([#, 1u64], 1f, 0f, depth=3)", [[0, 0, 0], [0, 1, 0]]),
    ("sequence_mask([[1f], [2f]], [#])", [[1], [2]]),
    ("reverse_sequence([[1f, 2f]], [#])", [[2, 1]]),
    ("[1f, 2f, 3f][1:#]", [2, 3]),
    ("[1f, 2f, 3f][#:]", []),
    ("dyn.topk([1f, 2f], #, ret_type=\"values\")", [2, 1]),
    ("grad(fn (%x: Tensor[(3,), float32]) { sum(take(%x, [#], mode=\"wrap\", axis=0)) })([1f, 2f, 3f]).1.0",
     [1, 0, 0]),
    ("grad(fn (%x: Tensor[(3,), float32]) { sum(take(%x, [#], axis=0)) })([1f, 2f, 3f]).1.0", [0, 0, 1]),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["debug", "native"])
@pytest.mark.parametrize(("program", "wanted"), VALUES)
def test_the_greatest_of_uint64_counts_as_it_is(program: str, wanted: list[Any], kind: str) -> None:
    value = relay.create_executor(kind, mod=relay.parse(program.replace("#", OUTSIDE))).evaluate()()
    np.testing.assert_array_equal(np.asarray(value), wanted)
