"""ResNet-18 with its convolutions and its dense layer computed by oneDNN.

    pip install onednn-cpu-gomp
    python examples/onednn.py            # half a minute

Calls that oneDNN takes become definitions of their own, by patterns; weights are brought to the layout that
it likes when the program is built.  Prints how far the result is from that of Relay alone, and how long both
take.
"""

import argparse
import ctypes
import sys
import threading
import time
from ctypes import byref, c_float, c_int, c_int64, c_void_p
from pathlib import Path

import numpy as np

import relay
from relay import transform
from relay.dataflow_pattern import is_constant, is_op, wildcard
from relay.ir.expr import Call, Function

F32, ANY_LAYOUT, CPU, IN_ORDER, INFERENCE, DIRECT, RELU = 3, 1, 1, 1, 96, 1, 0x20
SRC, DST, WEIGHTS, BIAS = 1, 17, 33, 41
WEIGHTS_LAYOUT = 131
"""What is asked for the layout of weights."""


class Argument(ctypes.Structure):
    """A memory, and what it is to a primitive."""

    _fields_ = [("place", c_int), ("memory", c_void_p)]


class OneDNN:
    """The library, its engine and its stream."""

    def __init__(self):
        self.library = ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libdnnl.so"))
        self.library.dnnl_primitive_desc_query_md.restype = c_void_p
        self.engine = self.made("engine_create", CPU, ctypes.c_size_t(0))
        self.stream = self.made("stream_create", self.engine, IN_ORDER)

    def done(self, what, *arguments):
        """Call a function that says whether it could."""
        status = getattr(self.library, f"dnnl_{what}")(*arguments)
        if status:
            raise RuntimeError(f"oneDNN's {what} gave status {status}")

    def made(self, what, *arguments):
        """What a function creates."""
        created = c_void_p()
        self.done(what, byref(created), *arguments)
        return created

    def layout(self, shape, order=None):
        """The layout of an array whose axes are those of `shape` in an order; any without one."""
        dims = (c_int64 * 12)(*shape)
        if order is None:
            return self.made("memory_desc_create_with_tag", len(shape), dims, F32, ANY_LAYOUT)
        steps = dict(zip(order, np.cumprod([1, *[shape[i] for i in order[:0:-1]]])[::-1], strict=True))
        strides = (c_int64 * 12)(*[int(steps[i]) for i in range(len(shape))])
        return self.made("memory_desc_create_with_strides", len(shape), dims, F32, strides)

    def memory(self, layout, array=None):
        """Memory of a layout: that of an array, or of its own."""
        place = c_void_p(-1 if array is None else array.ctypes.data)
        return self.made("memory_create", layout, self.engine, place)

    def execute(self, primitive, memories):
        """Compute, and wait for the result."""
        arguments = (Argument * len(memories))(*[Argument(p, m) for p, m in memories.items()])
        self.done("primitive_execute", primitive, self.stream, len(arguments), arguments)
        self.done("stream_wait", self.stream)

    def liked(self, array, layout, how):
        """An array of weights in the layout that a primitive likes."""
        to = c_void_p(self.library.dnnl_primitive_desc_query_md(how, WEIGHTS_LAYOUT, 0))
        result = self.memory(to)
        move = self.made("reorder_primitive_desc_create", layout, self.engine, to, self.engine, None)
        self.execute(self.made("primitive_create", move), {SRC: self.memory(layout, array), DST: result})
        return result

    def after(self, has_relu):
        """What is done to a result before it is written."""
        attributes = self.made("primitive_attr_create")
        if has_relu:
            steps = self.made("post_ops_create")
            self.done("post_ops_append_eltwise", steps, RELU, c_float(0), c_float(0))
            self.done("primitive_attr_set_post_ops", attributes, steps)
        return attributes


def table():
    """A convolution or a dense layer with constant weights; a bias and `nn.relu` may follow."""
    conv = is_op("nn.conv2d")(wildcard(), is_constant())
    dense = is_op("nn.dense")(wildcard(), is_constant())
    whole = (conv | dense).optional(lambda x: is_op("add")(x, is_constant()))
    return [("onednn.layer", whole.optional(lambda x: is_op("nn.relu")(x)), is_taken)]


def is_taken(e):
    """Whether oneDNN has a primitive for what matched: images channels last, a bias for each channel."""
    calls = {c.op.name: c for c in relay.post_order(e) if isinstance(c, Call)}
    product = next(
        c for c in relay.post_order(e) if isinstance(c, Call) and c.op.name in ("nn.conv2d", "nn.dense")
    )
    if product.op.name == "nn.conv2d" and product.attrs.data_layout != "NHWC":
        return False
    bias = calls.get("add")
    return (
        bias is None
        or bias.args[0] is not product
        or bias.args[1].value.size == product.checked_type.shape[-1]
    )


def generate(onednn):
    """What makes code of regions."""
    lock = threading.Lock()

    def make(function):
        composite = next(e for e in relay.post_order(function.body) if isinstance(e, Function))
        calls = [e for e in relay.post_order(composite.body) if isinstance(e, Call)]
        product, names = calls[0], [e.op.name for e in calls]
        weight, out = product.args[1].value, tuple(product.checked_type.shape)
        x = tuple(product.args[0].checked_type.shape)
        bias = np.ravel(calls[1].args[1].value).copy() if "add" in names else np.zeros(out[-1], "float32")
        after = onednn.after("nn.relu" in names)
        if len(x) == 4:  # axes N, C, H, W for oneDNN, whatever their order in memory
            src, dst = ((n, c, h, w) for n, h, w, c in (x, out))
            layouts = [onednn.layout(src, (0, 2, 3, 1)), onednn.layout(dst, (0, 2, 3, 1))]
            attrs = product.attrs
            axes = [attrs.kernel_layout.index(axis) for axis in "OIHW"]
            filters, order = [weight.shape[i] for i in axes], [axes.index(i) for i in range(4)]
            pads = attrs.padding if len(attrs.padding) == 4 else attrs.padding * (4 // len(attrs.padding))
            windows = [attrs.strides, [d - 1 for d in attrs.dilation], pads[:2], pads[2:]]
            how = onednn.made(
                "convolution_forward_primitive_desc_create", onednn.engine, INFERENCE, DIRECT, layouts[0],
                onednn.layout(filters), onednn.layout(bias.shape, (0,)), layouts[1],
                *[(c_int64 * 2)(*row) for row in windows], after,
            )  # fmt: skip
        else:
            layouts = [onednn.layout(x, (0, 1)), onednn.layout(out, (0, 1))]
            filters, order = weight.shape, (0, 1)
            how = onednn.made(
                "inner_product_forward_primitive_desc_create", onednn.engine, INFERENCE, layouts[0],
                onednn.layout(filters), onednn.layout(bias.shape, (0,)), layouts[1], after,
            )  # fmt: skip
        primitive = onednn.made("primitive_create", how)
        weight = np.ascontiguousarray(weight)
        weights = onednn.liked(weight, onednn.layout(filters, order), how)
        memories = {SRC: onednn.memory(layouts[0]), DST: onednn.memory(layouts[1]), WEIGHTS: weights,
                    BIAS: onednn.memory(onednn.layout(bias.shape, (0,)), bias)}  # fmt: skip

        def run(*given):
            data, result = np.ascontiguousarray(given[0]), np.empty(out, "float32")
            with lock:
                for place, array in ((SRC, data), (DST, result)):
                    onednn.done("memory_set_data_handle", memories[place], c_void_p(array.ctypes.data))
                onednn.execute(primitive, memories)
            return result

        run.bias = bias  # lives as long as what reads it
        return run

    return make


def partitioned(mod):
    """A module whose weights are constants, with the parts for oneDNN in definitions of their own."""
    relay.backend.register_pattern_table("onednn", table)
    relay.backend.register_compiler("onednn", generate(OneDNN()))
    prepared = transform.ConvertLayout()(transform.optimize(relay.infer(mod)))
    steps = [
        transform.FoldConstant(), transform.MergeComposite(relay.backend.get_pattern_table("onednn")),
        transform.AnnotateTarget("onednn"), transform.PartitionGraph(),
    ]  # fmt: skip
    return transform.Sequential(steps)(prepared)


def resnet(side):
    """ResNet-18 for an image of so many pixels a side, its weights constants."""
    mod, params = relay.testing.resnet.get_workload(num_layers=18, batch_size=1, image_shape=(3, side, side))
    mod["main"] = relay.bind_params_by_name(mod["main"], params)
    return mod


def milliseconds(run, *args, rounds=20):
    """The median time of a call."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run(*args)
        times.append(time.perf_counter() - start)
    return 1000 * float(np.median(times))


def main():
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=224, help="pixels of a side of the image")
    side = parser.parse_args().side
    mod = resnet(side)
    parted = partitioned(mod)
    x = np.random.default_rng(0).normal(size=(1, 3, side, side)).astype("float32")
    alone, with_onednn = relay.build(mod), relay.build(parted)
    expected, found = alone(x), with_onednn(x)
    count = sum(isinstance(f, Function) and "Compiler" in f.attrs for f in parted.functions.values())
    print(f"{count} regions; largest difference {np.abs(found - expected).max():.2g} of {expected.max():.2g}")
    print(f"Relay alone {milliseconds(alone, x):.1f} ms, with oneDNN {milliseconds(with_onednn, x):.1f} ms")


if __name__ == "__main__":
    main()
