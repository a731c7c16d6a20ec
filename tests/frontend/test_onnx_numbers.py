"""Numbers that single ONNX operators give, on both executors."""

from typing import Any

import numpy as np
import pytest

import relay
from frontend.onnx_models import model, node

pytestmark = pytest.mark.onnx


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


def both(proto: Any, *arrays: Any) -> list[Any]:
    """What a model gives on each executor."""
    mod, _ = relay.frontend.from_onnx(proto)
    return [relay.create_executor(e, mod=mod).evaluate()(*arrays) for e in ("debug", "native")]


EXACT: dict[str, Any] = {
    "ReduceL2": lambda x, how: np.sqrt(np.sum(x * x, **how)),  # pyright: ignore
    "ReduceLogSum": lambda x, how: np.log(np.sum(x, **how)),  # pyright: ignore
    "ReduceLogSumExp": lambda x, how: np.log(np.sum(np.exp(x), **how)),  # pyright: ignore
}


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize("along", [[1], []])
def test_norms_and_logarithms_of_whole_numbers_have_no_fraction(kind: str, along: list[int]) -> None:
    x = np.array([[3, 4, 1], [7, 2, 9]], "int32")
    how = {"axis": tuple(along), "keepdims": True}
    wanted = EXACT[kind](x.astype("float64"), how).astype("int32") if along or kind == "ReduceLogSum" else x
    reduced = node(kind, ["x", "axes"], ["y"], noop_with_empty_axes=1)
    for found in both(model([reduced], {"x": x}, ["y"], {"axes": np.array(along, "int64")}, 18), x):
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("scales", "zeros"), [(3, 1), (1, 3), (2, 1)])
def test_a_quantised_convolution_has_one_scale_or_one_for_each_channel(scales: int, zeros: int) -> None:
    names = ["x", "s", "z", "w", "ws", "wz", "s", "z"]
    weights = {
        "s": np.float32(0.5),
        "z": np.uint8(1),
        "w": np.ones((1, 1, 1, 1), "uint8"),
        "ws": np.ones(scales, "float32"),
        "wz": np.ones(zeros, "uint8"),
    }
    proto = model([node("QLinearConv", names, ["y"])], {"x": ("uint8", [1, 1, 2, 2])}, ["y"], weights)
    with pytest.raises(relay.RelayError, match="scales or zero points for 1 places") as error:
        relay.frontend.from_onnx(proto)
    assert error.value.codes == ("onnx-model",)
