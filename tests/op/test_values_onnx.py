"""Values of elementwise, shape and index operators against ONNX's reference evaluator."""

from typing import Any

import numpy as np
import pytest

from op.concrete import run
from op.onnx_node import onnx_node

pytestmark = pytest.mark.onnx
rng = np.random.default_rng(5)


def floats(*shape: int, dtype: str = "float32") -> Any:
    return rng.standard_normal(shape).astype(dtype)[()]


def ints(*shape: int, low: int = -9, high: int = 9, dtype: str = "int64") -> Any:
    return np.asarray(rng.integers(low, high, shape)).astype(dtype)[()]


def agree(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    expected = np.asarray(expected)
    assert np.asarray(found).dtype == expected.dtype
    assert np.asarray(found).shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


UNARY = {
    "abs": "Abs", "negative": "Neg", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos",
    "tan": "Tan",
    "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "atan": "Atan", "asinh": "Asinh", "erf": "Erf",
    "sigmoid": "Sigmoid",
    "floor": "Floor", "ceil": "Ceil", "round": "Round", "sign": "Sign", "copy": "Identity", "isnan": "IsNaN",
    "isinf": "IsInf",
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name: str) -> None:
    for x in (floats(), floats(0, 3), floats(3, 5), floats(2, 1, 4, dtype="float64")):
        y = np.abs(x) if name in ("log", "sqrt") else x
        agree(run(name, y), onnx_node(UNARY[name], [y])[0])


BINARY = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "maximum": "Max", "minimum": "Min",
    "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
}  # fmt: skip
SHAPES = (((), ()), ((3, 5), (5,)), ((2, 1, 4), (3, 1)), ((0, 3), (1,)))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name: str) -> None:
    for left, right in SHAPES:
        x, y = floats(*left), floats(*right)
        agree(run(name, x, y), onnx_node(BINARY[name], [x, y])[0])
        if name != "divide":
            m, n = ints(*left), ints(*right)
            agree(run(name, m, n), onnx_node(BINARY[name], [m, n])[0])


def test_powers_and_remainders() -> None:
    x, y = np.abs(floats(3, 4)), floats(4)
    agree(run("power", x, y), onnx_node("Pow", [x, y])[0])
    m, n = ints(3, 4), ints(4, low=1)
    agree(run("floor_mod", m, n), onnx_node("Mod", [m, n])[0])
    agree(run("mod", m, -n), onnx_node("Mod", [m, -n], fmod=1)[0])
    agree(run("mod", x, y), onnx_node("Mod", [x, y], fmod=1)[0])


@pytest.mark.parametrize(
    ("name", "kind"), [("logical_and", "And"), ("logical_or", "Or"), ("logical_xor", "Xor")]
)
def test_logic(name: str, kind: str) -> None:
    x, y = ints(3, 1, low=0, high=2, dtype="bool"), ints(4, low=0, high=2, dtype="bool")
    agree(run(name, x, y), onnx_node(kind, [x, y])[0])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("bitwise_and", "BitwiseAnd"), ("bitwise_or", "BitwiseOr"), ("bitwise_xor", "BitwiseXor")],
)
def test_bits(name: str, kind: str) -> None:
    for dtype in ("int32", "uint8"):
        x, y = ints(3, 1, low=0, dtype=dtype), ints(4, low=0, dtype=dtype)
        agree(run(name, x, y), onnx_node(kind, [x, y])[0])
    x, y = ints(5, low=0, high=99, dtype="uint32"), ints(5, low=0, high=7, dtype="uint32")
    agree(run("left_shift", x, y), onnx_node("BitShift", [x, y], direction="LEFT")[0])
    agree(run("right_shift", x, y), onnx_node("BitShift", [x, y], direction="RIGHT")[0])
    agree(run("bitwise_not", x), onnx_node("BitwiseNot", [x])[0])


def test_clip_where_and_cast() -> None:
    x = floats(3, 4)
    agree(
        run("clip", x, a_min=-0.5, a_max=0.25), onnx_node("Clip", [x, np.float32(-0.5), np.float32(0.25)])[0]
    )
    c = ints(3, 1, low=0, high=2, dtype="bool")
    agree(run("where", c, x, x[0]), onnx_node("Where", [c, x, x[0]])[0])
    for dtype, code in (("int32", 6), ("float64", 11), ("bool", 9), ("float16", 10)):
        agree(run("cast", x * 3, dtype=dtype), onnx_node("Cast", [x * 3], to=code)[0])


def test_shapes() -> None:
    x = floats(2, 3, 4)
    agree(run("reshape", x, newshape=(0, -1)), onnx_node("Reshape", [x, np.array([0, -1])])[0])
    agree(run("transpose", x, axes=(2, 0, 1)), onnx_node("Transpose", [x], perm=[2, 0, 1])[0])
    agree(run("expand_dims", x, axis=1), onnx_node("Unsqueeze", [x, np.array([1])])[0])
    agree(run("squeeze", x[:, :1], axis=1), onnx_node("Squeeze", [x[:, :1], np.array([1])])[0])
    agree(
        run("broadcast_to", x[:, :1], shape=(2, 3, 4)),
        onnx_node("Expand", [x[:, :1], np.array([2, 3, 4])])[0],
    )
    agree(run("tile", x, reps=(1, 2, 3)), onnx_node("Tile", [x, np.array([1, 2, 3])])[0])
    agree(run("shape_of", x, dtype="int64"), onnx_node("Shape", [x])[0])
    agree(run("ndarray_size", x, dtype="int64"), onnx_node("Size", [x])[0])
    agree(run("concatenate", (x, x[:, :1]), axis=1), onnx_node("Concat", [x, x[:, :1]], axis=1)[0])
    for a, b in zip(
        run("split", x, indices_or_sections=(1, 3), axis=2),
        onnx_node("Split", [x, np.array([1, 2, 1])], outputs=3, axis=2),
        strict=True,
    ):
        agree(a, b)
    agree(
        run("arange", start=3, stop=12, step=4, dtype="int64"),
        onnx_node("Range", [np.int64(3), np.int64(12), np.int64(4)])[0],
    )


@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [
        ((1, 0), (2, 3), (1, 1)),
        ((0, -2), (9, 9), (1, 1)),
        ((-1, 2), (-9, 0), (-1, -1)),
        ((0, 0), (4, 4), (2, 3)),
    ],
)
def test_slices(begin: Any, end: Any, strides: Any) -> None:
    x = floats(4, 5)
    expected = onnx_node("Slice", [x, *[np.array(v) for v in (begin, end, (0, 1), strides)]])[0]
    agree(run("strided_slice", x, begin=begin, end=end, strides=strides), expected)


def test_indices() -> None:
    x, places = floats(4, 5), ints(2, 3, low=0, high=4)
    agree(run("take", x, places, axis=0), onnx_node("Gather", [x, places], axis=0)[0])
    along = ints(4, 2, low=-5, high=5)
    agree(run("gather", x, along, axis=1), onnx_node("GatherElements", [x, along], axis=1)[0])
    points = np.stack([ints(6, low=0, high=4), ints(6, low=0, high=5)])
    agree(run("gather_nd", x, points), onnx_node("GatherND", [x, points.T])[0])
    y, batched = floats(2, 4, 3), ints(2, 1, low=0, high=4)
    agree(run("gather_nd", y, batched.T, batch_dims=1), onnx_node("GatherND", [y, batched], batch_dims=1)[0])
    mask = ints(3, 4, low=0, high=2, dtype="bool")
    agree(run("argwhere", mask), onnx_node("NonZero", [mask])[0].T.astype("int32"))


@pytest.mark.parametrize(
    ("ours", "theirs"), [("update", "none"), ("add", "add"), ("mul", "mul"), ("min", "min"), ("max", "max")]
)
def test_scatters(ours: str, theirs: str) -> None:
    x, updates = floats(4, 5), floats(2, 5)
    places = np.stack([rng.permutation(4)[:2] for _ in range(5)], 1)
    expected = onnx_node("ScatterElements", [x, places, updates], axis=0, reduction=theirs)[0]
    agree(run("scatter_elements", x, places, updates, axis=0, reduction=ours), expected)
    rows = np.array([[3], [1]])
    expected = onnx_node("ScatterND", [x, rows, updates], reduction=theirs)[0]
    agree(run("scatter_nd", x, rows.T, updates, mode=ours), expected)


def test_one_hot() -> None:
    places = ints(2, 3, low=0, high=4)
    for axis in (-1, 0, 1):
        expected = onnx_node("OneHot", [places, np.array(4), np.array([0.5, 2.0], "float32")], axis=axis)[0]
        agree(run("one_hot", places, np.float32(2), np.float32(0.5), depth=4, axis=axis), expected)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pads(mode: str) -> None:
    x = floats(3, 4)
    expected = onnx_node(
        "Pad", [x, np.array([1, 0, 2, 3]), np.float32(7) if mode == "constant" else None], mode=mode
    )[0]
    extra = (np.float32(7),) if mode == "constant" else ()
    agree(run("nn.pad", x, *extra, pad_width=((1, 2), (0, 3)), pad_mode=mode), expected)


def test_depth_and_space() -> None:
    x = floats(2, 8, 3, 5)
    for mode in ("DCR", "CRD"):
        agree(
            run("nn.depth_to_space", x, block_size=2, mode=mode),
            onnx_node("DepthToSpace", [x], blocksize=2, mode=mode)[0],
        )
    y = floats(2, 3, 4, 6)
    agree(run("nn.space_to_depth", y, block_size=2), onnx_node("SpaceToDepth", [y], blocksize=2)[0])
    agree(run("nn.batch_flatten", x), onnx_node("Flatten", [x])[0])


def test_triangles_sequences_and_sums_of_products() -> None:
    x = floats(2, 4, 5)
    for upper in (True, False):
        agree(
            run("trilu", x, np.int64(-1), upper=upper),
            onnx_node("Trilu", [x, np.int64(-1)], upper=int(upper))[0],
        )
    lengths = np.array([2, 4])
    agree(
        run("reverse_sequence", x, lengths, seq_axis=1, batch_axis=0),
        onnx_node("ReverseSequence", [x, lengths], time_axis=1, batch_axis=0)[0],
    )
    w = floats(5, 3)
    agree(
        run("einsum", (x, w), equation="bij,jk->bik"),
        onnx_node("Einsum", [x, w], equation="bij,jk->bik")[0],
        1e-5,
    )
