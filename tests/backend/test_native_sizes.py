"""Operators on tensors whose sizes are known at run time alone: results, and what is refused."""

from typing import Any

import numpy as np
import pytest

import relay
from backend.test_native_operators import check
from op.operands import operands_of, samples_of
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.llvm.builder import Value
from relay.backend.native.loops.index_arithmetic import aligned_axes
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule
from relay.ir.type import ANY, TensorType, TupleType, Type
from relay.op.arrays import array_type
from relay.op.registry import instance, registry

NAMES = (
    "reshape", "expand_dims", "strided_slice", "sliding_window", "nn.pad", "nn.mirror_pad", "concatenate",
    "stack", "split", "tile", "repeat", "meshgrid", "reverse_sequence", "matrix_set_diag",
    "broadcast_to_like",
    "collapse_sum_like", "layout_transform", "nn.space_to_batch_nd", "take", "gather", "adv_index",
    "scatter_elements", "strided_set", "dyn.strided_slice", "sort", "topk", "dyn.topk", "searchsorted",
    "unique", "argwhere", "einsum", "one_hot", "add", "where", "sum", "nn.dense", "nn.matmul",
    "nn.conv2d", "nn.conv2d_transpose", "nn.avg_pool2d", "nn.max_pool2d_grad", "nn.adaptive_avg_pool2d",
    "nn.upsampling", "nn.bias_add", "nn.dilate",
)  # fmt: skip


def opened(t: Type) -> Type:
    """A type with no size said."""
    if isinstance(t, TupleType):
        return TupleType([opened(f) for f in t.fields])
    assert isinstance(t, TensorType)
    return TensorType((ANY,) * len(t.concrete_shape), t.dtype)


@pytest.mark.parametrize("samples", [1, pytest.param(6, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", NAMES)
def test_sizes_may_be_known_at_run_time_alone(name: str, samples: int) -> None:
    mod = IRModule()
    cases: list[tuple[str, list[Any], Any]] = []
    for i, s in enumerate(list(samples_of(registry[name]))[:samples]):
        operands = operands_of(s)
        params = tuple([Var(f"x{k}", opened(array_type(x))) for k, x in enumerate(operands)])
        mod[f"f{i}"] = Function(params, Call(Op.get(name), params, dict(s.attrs)))
        cases.append((f"f{i}", operands, instance(name, s.attrs).evaluate(*operands)))
    program = NativeProgram(mod, [entry for entry, _, _ in cases])
    for entry, operands, wanted in cases:
        check(program.evaluate(entry, *operands), wanted, f"{entry} {mod[entry]}")


V = "%x: Tensor[(?,), float32]"
REFUSED = {
    "take": (f"def @main({V}) {{ take(%x, 9, axis=0, mode=\"fast\") }}", "index-out-of-range"),
    "gather": (f"def @main({V}) {{ gather(%x, [-5], axis=0) }}", "index-out-of-range"),
    "scatter_elements": (f"def @main({V}) {{ scatter_elements(%x, [4], [1f]) }}", "index-out-of-range"),
    "unravel_index": (f"def @main({V}) {{ (unravel_index([6], [2, 3]), %x) }}", "index-out-of-range"),
    "reshape": (f"def @main({V}) {{ reshape(%x, newshape=(3, 2)) }}", "shape-check"),
    "split": (f"def @main({V}) {{ split(%x, indices_or_sections=3) }}", "shape-check"),
    "strided_slice": (f"def @main({V}) {{ strided_slice(%x, begin=(5,), end=(6,)) }}", "shape-check"),
    "dyn.strided_slice": (f"def @main({V}) {{ dyn.strided_slice(%x, [5], [6], [1]) }}", "slice-out-of-range"),
    "arange": (f"def @main({V}) {{ arange(0f, 1f, sum(%x) * 0f) }}", "divide-by-zero"),
    "arange to NaN": (f"def @main({V}) {{ arange(0f, sum(%x) * nanf, 1f) }}", "dimension-out-of-range"),
    "arange to infinity": (f"def @main({V}) {{ arange(0f, sum(%x) * inff, 1f) }}", "dimension-out-of-range"),
    "arange to -infinity": (f"def @main({V}) {{ arange(0f, sum(%x) / -0f, 1f) }}", "dimension-out-of-range"),
    "arange from NaN": (f"def @main({V}) {{ arange(sum(%x) * nanf, 1f, 1f) }}", "dimension-out-of-range"),
    "arange by NaN": (f"def @main({V}) {{ arange(0f, 1f, sum(%x) * nanf) }}", "dimension-out-of-range"),
    "arange to 1e30": (f"def @main({V}) {{ arange(0f, sum(%x) * 1e30f, 1f) }}", "dimension-out-of-range"),
    "arange by little": (f"def @main({V}) {{ arange(0f, 1f, sum(%x) * 1e-30f) }}", "dimension-out-of-range"),
    "arange of int64": (
        f"def @main({V}) {{ arange(-8000000000000000000, cast(sum(%x), dtype=\"int64\") * 800000000000000000,"
        " 1, dtype=\"int64\") }", "dimension-out-of-range"
    ),
    "add": (f"def @main({V}) {{ %x + [1f, 2f, 3f] }}", "shape-check"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_interpreter_refuses_is_refused(name: str) -> None:
    text, code = REFUSED[name]
    mod = relay.infer(relay.parse(text))
    x = np.asarray([1, 2, 3, 4], "float32")
    for run in (NativeProgram(mod), lambda x: mod.evaluate("main", x)):
        with pytest.raises(relay.RelayError) as found:
            run(x)
        assert found.value.codes == (code,)


def test_a_reduction_over_sizes_that_may_broadcast() -> None:
    text = (
        "def @main(%a: Tensor[(?,), float32], %b: Tensor[(?,), float32]) { let %g = %a - %b; sum(%g * %g) }"
    )
    mod = relay.parse(text)
    program = NativeProgram(mod)
    for n, m in ((5, 5), (1, 40), (33, 1), (0, 0)):
        args = np.arange(n, dtype="float32"), np.ones(m, "float32")
        np.testing.assert_allclose(program(*args), mod.evaluate("main", *args), rtol=1e-6)


ATTENTION = """
def @main(
  %x: Tensor[(b, n, 24), float32], %w: Tensor[(24, 24), float32], %seen: Tensor[(b, 1, n, n), bool]
) {
  let %heads = transpose(reshape(%x, newshape=(0, 0, 3, 8)), axes=(0, 2, 1, 3));
  let %joined = reshape(%heads, newshape=(-3, 0, 0));
  let %turned = reshape(transpose(%joined, axes=(0, 2, 1)), newshape=(-4, -1, 3, -2));
  let %scores = where(%seen, nn.matmul(%heads, %turned) * 0.25, -1e9);
  let %mixed = nn.matmul(nn.softmax(%scores, axis=-1), %heads);
  nn.matmul(reshape(transpose(%mixed, axes=(0, 2, 1, 3)), newshape=(0, 0, 24)), %w) + %x
}
"""


def test_sizes_that_several_operands_have_are_one() -> None:
    mod = relay.parse(ATTENTION)
    rng = np.random.default_rng(0)
    w = rng.normal(size=(24, 24)).astype("float32")
    for program in (NativeProgram(mod), relay.build(mod, params={"w": w})):
        for b, n in ((1, 1), (2, 7), (1, 40), (3, 16), (0, 5), (2, 0)):
            x = rng.normal(size=(b, n, 24)).astype("float32")
            seen = rng.integers(0, 2, (b, 1, n, n)).astype(bool)
            given = (x, w, seen) if isinstance(program, NativeProgram) else (x, seen)
            wanted = mod.evaluate("main", x, w, seen)
            np.testing.assert_allclose(program(*given), wanted, rtol=1e-5, atol=1e-5)


def test_shapes_are_cut_where_products_are_equal() -> None:
    n, m, nm = (Value("i64", f"%{name}") for name in ("n", "m", "nm"))
    assert aligned_axes((6, n), (2, 3, n)) == [(0, 1, 0, 2), (1, 2, 2, 3)]
    assert aligned_axes((n, 4, 6), (n, 24)) == [(0, 1, 0, 1), (1, 3, 1, 2)]
    assert aligned_axes((nm, 5, m), (n, m, 5, m)) == [(0, 1, 0, 2), (1, 2, 2, 3), (2, 3, 3, 4)]
    assert aligned_axes((n, m), (m, n)) == [(0, 2, 0, 2)]
    assert aligned_axes((2, 0), (0, 3)) == [(0, 2, 0, 2)]


def test_more_elements_than_64_bits_count_are_out_of_memory() -> None:
    known = relay.parse('def @main() { zeros(shape=(4294967296, 4294967296, 4), dtype="int8") }')
    with pytest.raises(relay.RelayError, match="out-of-memory"):
        NativeProgram(relay.infer(known))()
    params = "%x: Tensor[(1,), float32], %shape: Tensor[(2,), int64]"
    found = relay.parse(f"def @main({params}) {{ exp(dyn.broadcast_to(%x, %shape)) }}")
    program = NativeProgram(relay.infer(found))
    assert program(np.zeros(1, "float32"), np.array([2, 3])).shape == (2, 3)
    with pytest.raises(relay.RelayError, match="out-of-memory"):
        program(np.zeros(1, "float32"), np.array([2**31, 2**31 + 1]))


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("reshape(%x, newshape=(n, 3, 0), allowzero=True)", "n, 0, 3"),
        ("where(less(%x, 0.0), sum(ones_like(%x), axis=1, keepdims=True), exp(%x) + 1.0)", "n, 0"),
    ],
)
def test_axes_without_elements_beside_an_axis_of_open_size(body: str, shape: str) -> None:
    mod = relay.infer(relay.parse(f"def @main(%x: Tensor[({shape}), float32]) {{ {body} }}"))
    x = np.zeros([5 if d == "n" else int(d) for d in shape.split(", ")], "float32")
    found = NativeProgram(mod, ["main"]).evaluate("main", x)
    assert found.shape == relay.run(mod, "main", [x]).shape
