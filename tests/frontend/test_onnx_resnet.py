"""ResNet-50, quantised by ONNX Runtime's tools, beside what ONNX Runtime says that the file means.

Nothing is trained.  Weights are random, and batch normalisation keeps signals at one size; classes are
smooth random images, inputs are those with noise, and the last layer finds the nearest class by its
features, so that the first class is a clear one.
"""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the onnx extra")
pytest.importorskip("onnxruntime.quantization", reason="needs ONNX Runtime")

import onnx

import relay
from relay.frontend import to_onnx
from relay.frontend.onnx import backend
from relay.ir.expr import Call
from relay.ir.walk import post_order
from relay.testing import resnet
from relay.testing.statistics import with_batch_statistics

pytestmark = [pytest.mark.onnx, pytest.mark.extras]

CLASSES, SIZE = 100, 64
WAVES = 6
"""How fine images are: as many cosines along each side."""
NOISE = 0.3
"""Deviation of what is added to images of deviation 1."""
BRANCH = 0.3
"""Deviation of what a residual unit adds: at 1, fifty random layers tear close inputs apart."""
MARGIN = 8
"""About by how much the score of the nearest class is greater: chances are neither 1 nor equal."""
CALIBRATED = 20
"""Inputs that say how large numbers get."""

COMPARED = 5
"""Inputs of which each layer is compared."""
GIVEN = ".given"


def images(rng: np.random.Generator) -> Any:
    """One for each class."""
    at = (np.arange(SIZE) + 0.5) * np.pi / SIZE
    waves = np.cos(np.arange(WAVES)[:, None] * at)
    found = np.einsum("ncij,ih,jw->nchw", rng.normal(size=(CLASSES, 3, WAVES, WAVES)), waves, waves)
    return (found / found.std(axis=(1, 2, 3), keepdims=True)).astype("float32")


def noisy(rng: np.random.Generator, x: Any) -> Any:
    """Inputs like `x`."""
    return (x + NOISE * rng.normal(size=x.shape)).astype("float32")


def network(prototypes: Any) -> Any:
    """The network in floats, as an ONNX model of one input a call."""
    shape, kind = (3, SIZE, SIZE), {"num_layers": 50, "num_classes": CLASSES}
    mod, params = resnet.get_workload(CLASSES, image_shape=shape, **kind)
    for name, x in params.items():
        if name.endswith("_conv3_bn_gamma"):
            params[name] = np.full_like(x, BRANCH)
    params = with_batch_statistics(mod, params, {"data": prototypes})
    (features,) = (
        e.args[0] for e in post_order(mod["main"]) if isinstance(e, Call) and e.op == relay.op.get("nn.dense")
    )
    whole = relay.Function(relay.free_vars(features), features)
    given = {"data": prototypes, **params}
    found = np.asarray(relay.build(whole)["main"](*[given[v.name_hint] for v in whole.params]))
    centre = found.mean(axis=0)
    apart = found - centre
    size = (apart**2).sum(axis=1)
    factor = MARGIN / size.mean()
    params["fc1_weight"] = (factor * apart).astype("float32")
    params["fc1_bias"] = (-factor * (apart @ centre + size / 2)).astype("float32")
    mod, _ = resnet.get_workload(1, image_shape=shape, **kind)
    return to_onnx(mod, params)


@pytest.fixture(scope="module")
def quantised(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The network with bytes, calibrated, and an input of each class."""
    from onnxruntime import quantization

    class Samples(quantization.CalibrationDataReader):
        """Inputs that say how large numbers get."""

        def __init__(self) -> None:
            self.left = list(noisy(rng, prototypes[:CALIBRATED]))

        def get_next(self) -> Any:
            return {"data": self.left.pop()[None]} if self.left else None

    rng = np.random.default_rng(0)
    prototypes, folder = images(rng), tmp_path_factory.mktemp("resnet")
    plain, prepared, path = (folder / f"{kind}.onnx" for kind in ("plain", "prepared", "quantised"))
    onnx.save(network(prototypes), plain)
    quantization.shape_inference.quant_pre_process(plain, prepared)
    quantization.quantize_static(
        prepared, path, Samples(), per_channel=True, activation_type=quantization.QuantType.QUInt8
    )
    return onnx.shape_inference.infer_shapes(onnx.load(path)), noisy(rng, prototypes)


def definition(of: Any) -> Any:
    """What a model says: ONNX Runtime, told not to optimise."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(of.SerializeToString(), options, ["CPUExecutionProvider"])


def taken_apart(of: Any) -> tuple[Any, Any, list[str]]:
    """The model with all of its bytes as results; the same whose layers take bytes that are given, instead of
    those of the layer before; and the names of these.
    """
    whole, apart = onnx.ModelProto(), onnx.ModelProto()
    whole.CopyFrom(of)
    known = {v.name: v for v in of.graph.value_info}
    names = [n.output[0] for n in of.graph.node if n.op_type == "QuantizeLinear"]
    del whole.graph.output[:]
    whole.graph.output.extend([known[name] for name in names])
    apart.CopyFrom(whole)
    for n in apart.graph.node:
        if n.op_type == "DequantizeLinear" and n.input[0] in names:
            n.input[0] += GIVEN
    for name in names:
        given = apart.graph.input.add()
        given.CopyFrom(known[name])
        given.name += GIVEN
    return whole, apart, names


def test_first_classes_are_those_that_the_file_says(quantised: tuple[Any, Any]) -> None:
    of, inputs = quantised
    says, built = definition(of), backend.prepare(of, executor="native")
    wanted = np.concatenate([says.run(None, {"data": x[None]})[0] for x in inputs])
    found = np.concatenate([built.run([x[None]])[0] for x in inputs])
    assert (wanted.argmax(axis=1) == np.arange(CLASSES)).mean() > 0.9
    assert wanted.max(axis=1).mean() < 0.95
    np.testing.assert_array_equal(found.argmax(axis=1), wanted.argmax(axis=1))


def test_each_layer_is_within_a_step_of_what_the_file_says(quantised: tuple[Any, Any]) -> None:
    of, inputs = quantised
    whole, apart, names = taken_apart(of)
    says, built = definition(whole), backend.prepare(apart, executor="native")
    assert len(names) > 70
    for x in inputs[:COMPARED]:
        wanted = says.run(None, {"data": x[None]})
        for name, a, b in zip(names, built.run([x[None], *wanted]), wanted, strict=True):
            assert np.abs(a.astype("int32") - b.astype("int32")).max() <= 1, name
            assert (a == b).mean() > 0.99, name
