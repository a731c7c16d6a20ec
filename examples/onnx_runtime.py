"""ResNet-18 in ONNX Runtime but for its softmax: one region, exported as a model of ONNX.

    pip install onnx onnxruntime
    python examples/onnx_runtime.py            # half a minute

Prints how far the result is from that of Relay alone, and how long both take.
"""

import argparse

import numpy as np
import onnxruntime
from onednn import milliseconds, resnet

import relay
from relay import transform
from relay.ir.expr import Function

OPERATORS = (
    "add", "multiply", "nn.batch_flatten", "nn.bias_add", "nn.conv2d", "nn.dense", "nn.global_avg_pool2d",
    "nn.max_pool2d", "nn.relu", "reshape", "squeeze",
)  # fmt: skip


def generate(function):
    """A region as a session of ONNX Runtime."""
    model = relay.frontend.to_onnx(Function(function.params, function.body, function.ret_type))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    has_several = isinstance(function.ret_type, relay.TupleType)

    def run(*args):
        found = session.run(None, dict(zip(names, args, strict=True)))
        return tuple(found) if has_several else found[0]

    return run


def partitioned(mod):
    """A module with what ONNX Runtime takes in definitions of their own."""
    for name in OPERATORS:
        relay.register_op_attr(name, "target.onnxruntime", True)
    relay.backend.register_compiler("onnxruntime", generate)
    steps = [
        transform.AnnotateTarget("onnxruntime"),
        transform.MergeCompilerRegions(),
        transform.PartitionGraph(),
    ]
    return transform.Sequential(steps)(transform.optimize(relay.infer(mod)))


def main():
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=224, help="pixels of a side of the image")
    side = parser.parse_args().side
    mod = resnet(side)
    parted = partitioned(mod)
    x = np.random.default_rng(0).normal(size=(1, 3, side, side)).astype("float32")
    alone, with_runtime = relay.build(mod), relay.build(parted)
    expected, found = alone(x), with_runtime(x)
    count = sum("Compiler" in f.attrs for f in parted.functions.values())
    print(f"{count} region; largest difference {np.abs(found - expected).max():.2g} of {expected.max():.2g}")
    times = milliseconds(alone, x), milliseconds(with_runtime, x)
    print("Relay alone {:.1f} ms, with ONNX Runtime {:.1f} ms".format(*times))


if __name__ == "__main__":
    main()
