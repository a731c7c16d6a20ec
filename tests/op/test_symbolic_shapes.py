"""Result types over symbolic dimensions: exact where arithmetic can say it, and what is left to run time."""

from typing import Any

import numpy as np
import pytest

import relay
from op.concrete import infer, symbolic
from relay.diagnostic import RelayError
from relay.ir.dim import broadcast, minimum
from relay.ir.type import ANY, Kind, TensorType, TupleType, TypeVar

N = TypeVar("n", Kind.Dim)
M = TypeVar("m", Kind.Dim)
F = "float32"


def t(*dims: Any, dtype: str = F) -> TensorType:
    return TensorType(dims, dtype)


CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], Any, list[Any]]] = [
    ("concatenate", (TupleType([t(N, 3), t(M, 3), t(2, 3)]),), {}, t(N + M + 2, 3), []),
    ("concatenate", (TupleType([t(N), t(ANY)]),), {}, t(ANY), []),
    ("stack", (TupleType([t(N), t(N)]),), {}, t(2, N), []),
    ("reshape", (t(N, 4),), {"newshape": (-1,)}, t(N * 4), []),
    ("reshape", (t(N, M, 4),), {"newshape": (0, -1)}, t(N, M * 4), []),
    ("reshape", (t(N, M, 4),), {"newshape": (-3, 0)}, t(N * M, 4), []),
    ("reshape", (t(ANY, 6, 4),), {"newshape": (0, 3, -1)}, t(ANY, 3, 8), []),
    ("reshape", (t(N, 6),), {"newshape": (-1, 3)}, t(N * 2, 3), []),
    ("reshape", (t(N),), {"newshape": (4, -1)}, t(4, N // 4), [(4, "divides", N)]),
    ("reshape", (t(N),), {"newshape": (2, 3)}, t(2, 3), [(N, "==", 6)]),
    ("reshape", (t(N, M),), {"newshape": (-2,)}, t(N, M), []),
    ("reshape", (t(N * 2),), {"newshape": (-4, -1, 2)}, t(N, 2), []),
    ("contrib_reverse_reshape", (t(N, 5, M),), {"newshape": (-1, 0)}, t(N * 5, M), []),
    ("nn.batch_flatten", (t(N, M, 3),), {}, t(N, M * 3), []),
    ("transpose", (t(N, M),), {}, t(M, N), []),
    ("squeeze", (t(N, 1),), {}, t(N), [(N, "!=", 1)]),
    ("squeeze", (t(N, M),), {"axis": 0}, t(M), [(N, "==", 1)]),
    ("split", (t(N * 2, 3),), {"indices_or_sections": 2}, TupleType([t(N, 3)] * 2), []),
    ("split", (t(N),), {"indices_or_sections": (1,)}, TupleType([t(1), t(N - 1)]), [(1, "<=", N)]),
    ("tile", (t(N, 3),), {"reps": (2, 2)}, t(N * 2, 6), []),
    ("repeat", (t(N, 3),), {"repeats": 2}, t(N * 6), []),
    ("strided_slice", (t(N, 3),), {"begin": (1,), "end": (2147483647,)}, t(N - 1, 3), [(1, "<=", N)]),
    ("strided_slice", (t(N),), {"begin": (0,), "end": (-1,)}, t(N - 1), [(0, "<=", N - 1)]),
    ("strided_slice", (t(N),), {"begin": (0,), "end": (2,)}, t(minimum(N, 2)), []),
    ("strided_slice", (t(N),), {"begin": (-1,), "end": (2147483647,)}, t(1), [(1, "<=", N)]),
    ("strided_slice", (t(N * 2),), {"begin": (0,), "end": (2147483647,), "strides": (2,)},
    t((N * 2 + 1) // 2), []),
    ("strided_slice", (t(N),), {"begin": (-1,), "end": (-2147483648,), "strides": (-1,)}, t(N), []),
    ("strided_slice", (t(N),), {"begin": (2,), "end": (3,), "slice_mode": "exact"}, t(3), [(5, "<=", N)]),
    ("slice_like", (t(N, 4), t(M, 2)), {}, t(M, 2), [(M, "<=", N)]),
    ("nn.pad", (t(N, 3),), {"pad_width": ((1, 1), (0, 0))}, t(N + 2, 3), []),
    ("nn.mirror_pad", (t(N),), {"pad_width": ((2, 1),)}, t(N + 3), [(2, "<=", N)]),
    ("take", (t(N, M), t(3, dtype="int64")), {"axis": 0}, t(3, M), []),
    ("gather", (t(N, M), t(N, 2, dtype="int64")), {"axis": 1}, t(N, 2), None),
    ("gather_nd", (t(N, M), t(1, 7, dtype="int64")), {}, t(7, M), []),
    ("where", (t(N, 1, dtype="bool"), t(M), t()), {}, t(N, M), []),
    ("where", (t(N, dtype="bool"), t(M), t()), {}, t(broadcast(N, M)), []),
    ("one_hot", (t(N, dtype="int32"), t(), t()), {"depth": 3}, t(N, 3), []),
    ("shape_of", (t(N, ANY),), {}, t(2, dtype="int32"), []),
    ("layout_transform", (t(N, 8, M),), {"src_layout": "NCW", "dst_layout": "NCW4c"}, t(N, 2, M, 4), []),
    ("nn.space_to_depth", (t(N, 3, M * 2, 4),), {"block_size": 2}, t(N, 12, M, 2), None),
    ("nn.depth_to_space", (t(N, 8, M, 4),), {"block_size": 2}, t(N, 2, M * 2, 8), []),
    ("nn.batch_to_space_nd", (t(N * 4, M, 3, 5),), {"block_shape": (2, 2), "crops": ((0, 1), (0, 0))},
     t(N, M * 2 - 1, 6, 5), None),
    ("sliding_window", (t(N),), {"axis": 0, "window_shape": (3,), "strides": (1,)}, t(N - 2, 3), [(3, "<=",
    N)]),
    ("einsum", (TupleType([t(N, 3), t(3, M)]),), {"equation": "ij,jk->ik"}, t(N, M), []),
    ("meshgrid", (TupleType([t(N), t(M)]),), {}, TupleType([t(N, M)] * 2), []),
    ("matrix_set_diag", (t(N, N), t(N)), {}, t(N, N), []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "types", "attrs", "expected", "checks"), CASES)
def test_symbolic_result(
    name: str, types: Any, attrs: dict[str, Any], expected: Any, checks: list[Any] | None
) -> None:
    found, left_open = symbolic(name, *types, **attrs)
    assert found is expected
    if checks is not None:
        undecided = [c for c in left_open if not (isinstance(c[0], int) and isinstance(c[2], int))]
        assert [c for c in undecided if not trivially_true(*c)] == checks


def trivially_true(a: Any, comparison: str, b: Any) -> bool:
    """What a solver decides at a glance: equal polynomials, and a number that divides every coefficient."""
    return a is b if comparison == "==" else comparison == "divides" and (b // a) * a is b


def test_sizes_that_can_never_be_equal_are_an_error() -> None:
    with pytest.raises(RelayError):
        infer("concatenate", TupleType([t(2, N), t(2, N + 1)]))
    with pytest.raises(RelayError):
        infer("stack", TupleType([t(N), t(N + 2)]))


def test_squeeze_waits_for_sizes_and_keeps_to_its_type_at_run_time() -> None:
    late = relay.parse("def @f(%x) { squeeze(%x) } def @main() { @f([[1.0], [2.0]]) }")
    assert relay.run(late, "main", []).tolist() == [1.0, 2.0]
    mod = relay.parse("def @main(%x: Tensor[(n, 1), float32]) { squeeze(%x) }")
    assert relay.run(mod, "main", [np.ones((3, 1), "float32")]).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RelayError, match="drops every axis of size 1"):
        relay.run(mod, "main", [np.ones((1, 1), "float32")])


def test_run_time_checks_of_sizes_that_were_open() -> None:
    x = np.arange(6, dtype="float32")
    mod = relay.parse("def @main(%x: Tensor[(n,), float32]) { reshape(%x, newshape=(3, -1)) }")
    assert relay.run(mod, "main", [x]).shape == (3, 2)
    with pytest.raises(RelayError, match="3 does not divide 5"):
        relay.run(mod, "main", [x[:5]])
    mod = relay.parse("def @main(%x: Tensor[(n,), float32]) { strided_slice(%x, begin=(2,), end=(-1,)) }")
    assert relay.run(mod, "main", [x]).tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(RelayError, match="lies within the axis"):
        relay.run(mod, "main", [x[:1]])
