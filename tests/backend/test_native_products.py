"""Products of matrices by kernels, against NumPy."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.host.native_program import NativeProgram
from relay.ir.dtype import to_numpy

SIZES = [
    (1, 1, 1),
    (1, 784, 10),
    (3, 5, 70),
    (14, 257, 32),
    (15, 300, 33),
    (64, 17, 16),
    (171, 40, 513),
    (200, 523, 37),
    (2, 0, 3),
]
TOLERANCE = {"float32": 2e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}
rng = np.random.default_rng(0)


def numbers(*shape: int, dtype: str = "float32") -> Any:
    """Random numbers of a dtype."""
    return rng.standard_normal(shape).astype(to_numpy(dtype))


def exact(a: Any, b: Any, transposed: tuple[bool, bool]) -> Any:
    """The product in float64."""
    x, y = (v.astype("float64") for v in (a, b))
    return np.matmul(x.swapaxes(-1, -2) if transposed[0] else x, y.swapaxes(-1, -2) if transposed[1] else y)


def check(found: Any, wanted: Any, dtype: str, depth: int) -> None:
    """Equal up to the rounding of sums of `depth` numbers."""
    size = np.abs(wanted).max(initial=1.0)
    limit = TOLERANCE[dtype] * size * max(1.0, depth**0.5 / 4)
    np.testing.assert_allclose(found.astype("float64"), wanted, rtol=0, atol=limit)


def shape(rows: int, columns: int, is_turned: bool) -> tuple[int, int]:
    """How a matrix lies in memory."""
    return (columns, rows) if is_turned else (rows, columns)


def flags(transposed: tuple[bool, bool]) -> str:
    """Attributes of `nn.matmul`."""
    return f"transpose_a={str(transposed[0]).lower()}, transpose_b={str(transposed[1]).lower()}"


@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_products_of_all_sizes(dtype: str, transposed: tuple[bool, bool]) -> None:
    text = [
        f"def @f{i}(%x: Tensor[{shape(m, k, transposed[0])}, {dtype}], "
        f"%y: Tensor[{shape(k, n, transposed[1])}, {dtype}]) {{ nn.matmul(%x, %y, {flags(transposed)}) }}"
        for i, (m, k, n) in enumerate(SIZES)
    ]
    text.append(
        f"def @open(%x: Tensor[(m, k), {dtype}], %y: Tensor[(l, n), {dtype}]) "
        f"{{ nn.matmul(%x, %y, {flags(transposed)}) }}"
    )
    mod = relay.parse("\n".join(text))
    program = NativeProgram(mod, [f"f{i}" for i in range(len(SIZES))] + ["open"])
    for i, (m, k, n) in enumerate(SIZES):
        x = numbers(*shape(m, k, transposed[0]), dtype=dtype)
        y = numbers(*shape(k, n, transposed[1]), dtype=dtype)
        for name in (f"f{i}", "open"):
            check(program.evaluate(name, x, y), exact(x, y, transposed), dtype, k)


GROUPS = {
    "bias and activation": "nn.relu(nn.bias_add(nn.dense(%x, %w), %b))",
    "what follows reads the product twice": "let %y = nn.dense(%x, %w) + %b; %y * sigmoid(%y)",
    "the product is a result too": "let %y = nn.dense(%x, %w); (nn.relu(%y), %y, %y + %b)",
    "two products": "nn.relu(nn.dense(%x, %w) + nn.dense(%x * 0.5f, %w)) + %b",
    "a sum over the product": "let %y = nn.dense(%x, %w) + %b; %y - sum(%y, axis=1, keepdims=True)",
    "the product, turned": "transpose(tanh(nn.dense(%x, %w)))",
    "a shorter type after": 'cast(nn.dense(%x, %w) + %b, dtype="float16")',
    "sums in a longer type": 'nn.dense(%x, %w, out_dtype="float64") + cast(%b, dtype="float64")',
}


@pytest.mark.parametrize(("rows", "depth"), [(1, 40), (9, 40), (200, 40), (200, 600)])
@pytest.mark.parametrize("name", list(GROUPS))
def test_what_follows_a_product(name: str, rows: int, depth: int) -> None:
    x, w = f"%x: Tensor[({rows}, {depth}), float32]", f"%w: Tensor[(70, {depth}), float32]"
    mod = relay.parse(f"def @main({x}, {w}, %b: Tensor[(70,), float32]) {{ {GROUPS[name]} }}")
    args = [numbers(rows, depth), numbers(70, depth) * np.float32((40 / depth) ** 0.5), numbers(70)]
    wanted, found = relay.infer(mod).evaluate("main", *args), NativeProgram(mod)(*args)
    for x, y in zip(fields(found), fields(wanted), strict=True):
        assert x.dtype == y.dtype
        check(x, y.astype("float64"), "float16" if x.dtype == "float16" else "float32", depth)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("rows", [1, 9, 200])
def test_weights_are_packed_before_the_program_runs(rows: int, dtype: str) -> None:
    weight = numbers(70, 40, dtype=dtype)
    x = relay.var("x", shape=(rows, 40), dtype=dtype)
    fn = relay.Function([x], relay.nn.relu(relay.nn.dense(x, relay.const(weight, dtype))))
    mod = relay.IRModule.from_expr(fn)
    program = NativeProgram(mod)
    value = numbers(rows, 40, dtype=dtype)
    wanted = np.maximum(exact(value, weight, (False, True)), 0)
    check(program(value), wanted, dtype, 40)
    pieces = "".join([p.text for p in Compiler(mod).program.pieces])
    assert "@relay.pack" not in pieces or rows > 1 or dtype == "bfloat16"


def test_stacks_of_matrices_broadcast() -> None:
    text = """def @first(%x: Tensor[(2, 1, 30, 20), float32], %y: Tensor[(3, 20, 40), float32]) {
        nn.relu(nn.matmul(%x, %y))
    }
    def @open(%x: Tensor[(a, b, m, k), float32], %y: Tensor[(c, k, n), float32]) { nn.matmul(%x, %y) * 2f }
    def @stacks(%x: Tensor[(1, 30, 20), float32], %y: Tensor[(3, 40, 20), float32]) {
        nn.batch_matmul(%x, %y)
    }
    """
    program = NativeProgram(relay.parse(text), ["first", "open", "stacks"])
    x, y = numbers(2, 1, 30, 20), numbers(3, 20, 40)
    wanted = exact(x, y, (False, False))
    check(program.evaluate("first", x, y), np.maximum(wanted, 0), "float32", 20)
    check(program.evaluate("open", x, y), 2 * wanted, "float32", 20)
    z = numbers(3, 40, 20)
    check(program.evaluate("stacks", x[0], z), exact(x[0], z, (False, True)), "float32", 20)


@pytest.mark.parametrize("sizes", [(6, 40, 257, 33), (7, 1, 30, 5), (5, 130, 20, 100), (1, 0, 3, 4)])
@pytest.mark.parametrize("transposed", [(False, True), (True, False)])
def test_threads_share_the_matrices_of_stacks(
    sizes: tuple[int, int, int, int], transposed: tuple[bool, bool]
) -> None:
    stack, m, k, n = sizes
    a, b = transposed
    text = f"""def @main(%x: Tensor[(s, 4, {"k, m" if a else "m, k"}), float32],
                         %y: Tensor[(s, 4, {"n, k" if b else "k, n"}), float32]) {{
        nn.relu(nn.matmul(%x, %y, transpose_a={a}, transpose_b={b}) + 1f)
    }}"""
    x, y = numbers(stack, 4, *((k, m) if a else (m, k))), numbers(stack, 4, *((n, k) if b else (k, n)))
    built: list[Any] = [relay.build(relay.parse(text), threads=threads) for threads in (1, 2)]
    one, two = (f(x, y) for f in built)
    check(one, np.maximum(exact(x, y, transposed) + 1, 0), "float32", k)
    np.testing.assert_array_equal(one, two)


def fields(x: Any) -> list[Any]:
    """The arrays of a result."""
    return list(x) if isinstance(x, tuple) else [x]


def test_the_last_group_gets_all_operands_of_many() -> None:
    rows = "".join([f"let %h{i} = sort(nn.dense(%x, %w), axis=1);" for i in range(12)])
    fields = ", ".join([f"tanh(%h{i})" for i in range(12)])
    operands = "%x: Tensor[(8, 64), float32], %w: Tensor[(64, 64), float32]"
    program = NativeProgram(relay.parse(f"def @main({operands}) {{ {rows} stack(({fields})) }}"))
    x = np.linspace(-1, 1, 512, dtype="float32").reshape(8, 64)
    found = program.function("main")(x, np.eye(64, dtype="float32"))
    np.testing.assert_allclose(found, np.broadcast_to(np.tanh(np.sort(x, 1)), (12, 8, 64)), rtol=1e-5)


@pytest.mark.parametrize("sizes", [(3, 4, 0), (0, 4, 5), (3, 0, 5), (0, 0, 0)])
def test_sizes_that_turn_out_to_be_0(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    mod = relay.parse(
        "def @main(%x: Tensor[(?, ?), float32], %y: Tensor[(?, ?), float32]) { nn.matmul(%x, %y) }"
    )
    found = relay.build(mod)(np.ones((m, k), "float32"), np.ones((k, n), "float32"))
    np.testing.assert_array_equal(found, np.zeros((m, n), "float32"))


def test_rows_times_large_weights_are_the_same_forwards_and_backwards() -> None:
    v, w = numbers(520, 512), numbers(512, 512)
    text = """
    def @main(%x: Tensor[(1, 512), float32], %v: Tensor[(520, 512), float32],
              %w: Tensor[(512, 512), float32]) {
      (nn.dense(%x, %v), nn.dense(%x, %w))
    }
    """
    x, seen = numbers(1, 512), set[bytes]()
    for threads in (1, 2, 3):
        built: Any = relay.build(relay.parse(text), params={"v": v, "w": w}, threads=threads)
        for _ in range(3):
            first, second = built(x)
            check(first, exact(x, v, (False, True)), "float32", 512)
            check(second, exact(x, w, (False, True)), "float32", 512)
            seen.add(first.tobytes() + second.tobytes())
    assert len(seen) == 1


def test_what_follows_reads_sums_after_the_kernel_has_written_them() -> None:
    """Sums of several blocks along the summed dimension: one element, which no loop may read before."""
    text = (
        "def @main(%a: Tensor[(1, 5000), f32], %b: Tensor[(5000, 1), f32], %z: Tensor[(1, 1), f32])"
        '{ cast(nn.matmul(%a, %b) + %z, dtype="float64") }'
    )
    a, b, z = numbers(1, 5000), numbers(5000, 1), numbers(1, 1)
    found = NativeProgram(relay.parse(text))(a, b, z)
    check(found, exact(a, b, (False, False)) + z, "float32", 5000)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("columns", [33, 41, 1000])
def test_columns_that_are_alike_have_sums_that_are_alike(rows: int, columns: int) -> None:
    """ONNX's real models have one number for all weights, and a softmax of sums of 1e12."""
    kind = f"Tensor[({rows}, 515), float32]", f"Tensor[({columns}, 515), float32]"
    program: Any = relay.build(relay.parse(f"def @main(%x: {kind[0]}, %w: {kind[1]}) {{ nn.dense(%x, %w) }}"))
    rng = np.random.default_rng(0)
    x, w = rng.random((rows, 515), "float32"), rng.random((1, 515), "float32")
    found = program(x, np.repeat(w, columns, 0))
    assert all(len(np.unique(row)) == 1 for row in found)
