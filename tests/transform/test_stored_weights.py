"""Functions and parameters whose weights are stored in another way: sparse in blocks, transposed."""

import numpy as np
import pytest

import relay
from relay.data_dep_optimization import bsr_conv2d, bsr_dense, simplify_fc_transpose
from relay.testing import count_ops
from transform.cases import program

RANDOM = np.random.default_rng(0)


def sparse(*shape, block=(1, 1), share=0.75):
    """A matrix whose blocks are 0 but for a share."""
    kept = RANDOM.random((shape[0] // block[0], shape[1] // block[1])) > share
    return (RANDOM.normal(size=shape) * np.kron(kept, np.ones(block))).astype("float32")


def value(func, params, **data):
    """The value of a function on its parameters and data, by name."""
    return relay.create_executor("debug", relay.IRModule.from_expr(func)).evaluate()(**params, **data)


@pytest.mark.parametrize("block", [(1, 1), (4, 1), (2, 4)])
def test_dense_layers_are_products_with_sparse_matrices(block):
    text = "def @main(%x: Tensor[(3, 8), f32], %w: Tensor[(12, 8), f32], %v: Tensor[(8, 12), f32]) "
    func = program(text + "{ nn.dense(nn.relu(nn.dense(%x, %w)), %v) }")["main"]
    w, v = sparse(12, 8, block=block), RANDOM.normal(size=(8, 12)).astype("float32")
    made, params = bsr_dense.convert(func, {"w": w, "v": v}, block, 0.5)
    assert count_ops(made) == {"nn.sparse_dense": 1, "nn.relu": 1, "nn.dense": 1}
    assert [p.name_hint for p in made.params] == ["x", "w.data", "w.indices", "w.indptr", "v"]
    assert sorted(params) == ["v", "w.data", "w.indices", "w.indptr"]
    rows = [slice(*params["w.indptr"][i : i + 2]) for i in range(12 // block[0])]
    dense = np.zeros_like(w)
    for i, row in enumerate(rows):
        for j, part in zip(params["w.indices"][row], params["w.data"][row], strict=True):
            dense[i * block[0] : (i + 1) * block[0], j * block[1] : (j + 1) * block[1]] = part
    np.testing.assert_array_equal(dense, w)
    x = RANDOM.normal(size=(3, 8)).astype("float32")
    expected = np.maximum(x @ w.T, 0) @ v.T
    np.testing.assert_allclose(value(made, params, x=x), expected, rtol=1e-4, atol=1e-5)


def test_a_matrix_that_blocks_do_not_divide_stays():
    func = program("def @main(%x: Tensor[(3, 8), f32], %w: Tensor[(12, 8), f32]) { nn.dense(%x, %w) }")[
        "main"
    ]
    made, params = bsr_dense.convert(func, {"w": sparse(12, 8)}, (5, 1), 0.1)
    assert count_ops(made) == {"nn.dense": 1}
    assert list(params) == ["w"]


@pytest.mark.parametrize(("layout", "kernel"), [("NHWC", "HWIO"), ("NCHW", "OIHW")])
@pytest.mark.parametrize("size", [1, 3])
def test_convolutions_have_sparse_weights(layout, kernel, size):
    sizes = {"N": 2, "C": 4, "H": 5, "W": 6, "O": 8, "I": 4}
    shape = tuple(sizes[axis] for axis in layout)
    filters = tuple({**sizes, "H": size, "W": size}[axis] for axis in kernel)
    matrix = sparse(8, size * size * 4).reshape(8, size, size, 4)
    w = np.ascontiguousarray(matrix.transpose(["OHWI".index(axis) for axis in kernel]))
    data, weight = relay.var("x", shape=shape), relay.var("w", shape=filters)
    conv = relay.nn.conv2d(
        data, weight, padding=size // 2, channels=8, kernel_size=(size, size), data_layout=layout,
        kernel_layout=kernel,
    )  # fmt: skip
    func = relay.infer(relay.IRModule.from_expr(relay.Function([data, weight], conv)))["main"]
    made, params = bsr_conv2d.convert(func, {"w": w}, (1, 1), 0.5, layout, size)
    assert count_ops(made) == {"nn.sparse_conv2d": 1}
    x = RANDOM.normal(size=shape).astype("float32")
    np.testing.assert_allclose(value(made, params, x=x), value(func, {"w": w}, x=x), rtol=1e-4, atol=1e-5)
    assert bsr_conv2d.convert(func, {"w": w}, (1, 1), 0.5, layout, 4 - size)[0].body is func.body

    made, params = bsr_conv2d.convert2(func, {"w": w, "other": x}, layout, size, (1, 1), 0.5)
    assert count_ops(made) == {"nn.sparse_conv2d": 1}
    assert [p.name_hint for p in made.params] == ["x"]
    assert list(params) == ["other"]
    np.testing.assert_allclose(value(made, {}, x=x), value(func, {"w": w}, x=x), rtol=1e-4, atol=1e-5)
    assert count_ops(bsr_conv2d.convert2(func, {"w": w}, layout, size, (1, 1), 0.99)[0]) == {"nn.conv2d": 1}


def test_weights_are_transposed_before():
    text = "def @main(%x: Tensor[(3, 8), f32], %w: Tensor[(8, 4), f32]) "
    text += "{ nn.dense(%x, transpose(%w)) + sum(%w) }"
    func = program(text)["main"]
    w = RANDOM.normal(size=(8, 4)).astype("float32")
    made, params = simplify_fc_transpose.convert(func, {"w": w})
    assert count_ops(made) == {"nn.dense": 1, "sum": 1, "add": 1}
    assert sorted(params) == ["w", "w.T"]
    x = RANDOM.normal(size=(3, 8)).astype("float32")
    np.testing.assert_allclose(value(made, params, x=x), x @ w + w.sum(), rtol=1e-4)
