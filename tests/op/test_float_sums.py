"""Float reductions of a million elements, in every order of loops, and softmax at the ends of its range."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import relay
from relay.op.family import Reduction
from relay.op.registry import registry

TENTH = np.float32(0.1)
MILLION = 1 << 20
WITHIN = 1e-6
"""Of a sum, relative: NumPy and PyTorch are as near along the last axis."""


def results(text: str, *args: Any) -> Mapping[str, Any]:
    """Return what the executors compute, by their names."""
    mod = relay.parse(text)
    found = {"debug": relay.create_executor("debug", mod).evaluate()(*args)}
    for threads in (1, 2):
        found[f"native, {threads}"] = relay.build(mod, threads=threads)(*args)
    return found


SUMS = [
    ("%x: Tensor[(1048576,), float32]", "sum(%x)", (MILLION,)),
    ("%x: Tensor[(n,), float32]", "sum(%x)", (MILLION,)),
    ("%x: Tensor[(1048576, 2), float32]", "sum(%x, axis=0)", (MILLION, 2)),
    ("%x: Tensor[(n, m), float32]", "sum(%x, axis=0)", (MILLION, 2)),
    ("%x: Tensor[(n, 100), float32]", "sum(%x, axis=0)", (MILLION // 16, 100)),
    ("%x: Tensor[(2, n), float32]", "sum(%x, axis=1)", (2, MILLION)),
    ("%x: Tensor[(512, 3, 2048), float32]", "sum(%x, axis=(0, 2))", (512, 3, 2048)),
    ("%x: Tensor[(n, 3, m), float32]", "sum(%x, axis=(0, 2))", (MILLION // 16, 3, 16)),
    ("%x: Tensor[(n, 3), float32]", "sum(transpose(%x))", (MILLION, 3)),
    (
        "%x: Tensor[(n,), float32]",
        "sum(strided_slice(%x, begin=(0,), end=(None,), strides=(3,)))",
        (MILLION,),
    ),
    ("%x: Tensor[(n, 2), float64]", "sum(%x, axis=0)", (MILLION, 2)),
]


@pytest.mark.parametrize(("parameter", "body", "shape"), SUMS)
def test_a_sum_of_equal_numbers_is_near_in_every_order_of_loops(
    parameter: str, body: str, shape: tuple[int, ...]
) -> None:
    dtype = "float64" if "float64" in parameter else "float32"
    x = np.full(shape, TENTH, dtype)
    found = results(f"def @main({parameter}) {{ {body} }}", x)
    right = np.sum(x.astype(np.longdouble)) / np.size(found["debug"])
    right = right if "strided" not in body else np.sum(x[::3].astype(np.longdouble))
    for name, y in found.items():
        np.testing.assert_allclose(
            y, right.astype(float), WITHIN if dtype == "float32" else 1e-14, 0, err_msg=name
        )
    np.testing.assert_array_equal(found["native, 1"], found["native, 2"])


@pytest.mark.parametrize("body", ["mean(%x)", "sum(%x) / 1048576f", "sum(sqrt(%x * %x)) / 1048576f"])
def test_what_is_made_of_a_sum_is_as_near(body: str) -> None:
    x = np.full(MILLION, TENTH)
    for name, y in results(f"def @main(%x: Tensor[(n,), float32]) {{ {body} }}", x).items():
        np.testing.assert_allclose(y, float(TENTH), WITHIN, 0, err_msg=name)


def test_reductions_that_add_are_said_to() -> None:
    names = {name for name, op in registry.items() if issubclass(op, Reduction) and op.adds_up}
    assert names == {"sum"}


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
def test_the_gradient_of_logsumexp_adds_up_to_one(offset: float) -> None:
    text = """
    def @f(%x: Tensor[(3,), float32]) { logsumexp(%x) }
    def @main(%x: Tensor[(3,), float32]) { grad(@f)(%x).1 }
    """
    for name, y in results(text, np.full(3, offset, "float32")).items():
        np.testing.assert_allclose(y[0], [1 / 3] * 3, 1e-6, 0, err_msg=name)


@pytest.mark.parametrize("name", ["nn.softmax", "nn.fast_softmax", "nn.safe_softmax"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_a_share_below_the_least_normal_number_is_zero(name: str, dtype: str) -> None:
    kind = relay.ir.dtype.to_numpy(dtype)
    least = relay.op.nn.activation.least_normal(dtype)
    ends = np.log(least) + np.array([-3.0, -1.0, -0.25, 0.25, 1.0])
    x = np.array([0.0, *ends, -1e4]).astype(kind)
    shares = np.exp(x.astype(np.longdouble))
    shares /= np.sum(shares)
    wanted = np.where(shares < least, 0, shares)
    for executor, y in results(f"def @main(%x: Tensor[(n,), {dtype}]) {{ {name}(%x) }}", x).items():
        y = np.asarray(y).astype("float64")
        np.testing.assert_array_equal(y == 0, wanted == 0, err_msg=executor)
        np.testing.assert_allclose(y, wanted.astype("float64"), 0.2, 0, err_msg=executor)


@pytest.mark.parametrize(
    "body",
    ["nn.avg_pool2d(%x, pool_size=(1024, 1024))", 'einsum((%x, %x), equation="abcd,abcd->ab")'],
    ids=["avg_pool2d", "einsum"],
)
def test_sums_over_windows_and_letters_are_in_blocks(body: str) -> None:
    x = np.full((1, 1, 1024, 1024), 0.1, "float32")
    wide = np.float64(np.float32(0.1))
    wanted = wide if "pool" in body else wide * wide * x.size
    mod = relay.parse(f"def @main(%x: Tensor[(1, 1, 1024, 1024), float32]) {{ {body} }}")
    for y in (relay.create_executor("debug", mod).evaluate()(x), relay.build(mod)(x)):
        np.testing.assert_allclose(np.ravel(y), wanted, 1e-6)
