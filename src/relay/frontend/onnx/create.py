"""Tensors from nothing, or next to nothing."""

from math import ceil
from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.tensors import dtype_of
from relay.frontend.support import ascribed, cast, filled, scalar
from relay.frontend.value import Value, call, constant, sizes_of
from relay.ir.dim import least, subtract


@converts("Constant")
def convert_constant(node: Node) -> Value:
    """A tensor that the model holds."""
    if node.has("sparse_value"):
        from relay.frontend.onnx.graph import dense_of

        return constant(dense_of(node.attributes["sparse_value"].sparse_tensor, node.folder))
    readers: dict[str, Any] = {
        "value": node.tensor, "value_float": node.float, "value_floats": node.floats, "value_int": node.int,
        "value_ints": node.ints, "value_string": node.text, "value_strings": node.texts,
    }  # fmt: skip
    name = next((n for n in readers if node.has(n)), "value")
    kind = {"float": "float32", "int": "int64"}
    word = name.removeprefix("value").strip("_").rstrip("s")
    found = readers[name](name)
    if word == "string":
        return constant(np.asarray(found, object))
    return constant(found, kind.get(word))


@converts("ConstantOfShape")
def constant_of_shape(node: Node, sizes: Value) -> Value:
    """A tensor of one number."""
    value = node.tensor("value", np.zeros(1, "float32")).reshape(())
    found = sizes_of(sizes)
    dims = None if found is None else list(found.reshape(-1))
    if dims is not None and all(isinstance(d, int) for d in dims):
        return filled(dims, value, constant(value).dtype)
    made = call("dyn.broadcast_to", constant(value), cast(sizes, "int64"))
    return made if dims is None else ascribed(made, dims)


@converts("EyeLike")
def eye_like(node: Node, x: Value) -> Value:
    """Ones on a diagonal, zeros elsewhere."""
    dtype = dtype_of(node.int("dtype")) if node.has("dtype") else x.dtype
    rows, columns = x.sizes()
    return constant(np.eye(rows, columns, node.int("k", 0)), dtype)


@converts("Range")
def convert_range(node: Node, start: Value, limit: Value, delta: Value) -> Value:
    """Numbers at equal distances."""
    start, limit, delta = (scalar(v) for v in (start, limit, delta))
    if all(v.array is not None for v in (start, limit, delta)):
        first, last, step = (v.array[()] for v in (start, limit, delta) if v.array is not None)
        if step == 0:
            return node.fail("`delta` cannot be 0")
        count = max(ceil((float(last) - float(first)) / float(step)), 0)
        if count > 1 << 26:
            return node.fail(f"a range of {count} numbers is too long")
        numbers = (
            np.asarray(first)
            + np.arange(count).astype(start.array.dtype if start.array is not None else None) * step
        )
        return constant(numbers, start.dtype)
    made = call("arange", start, limit, delta, dtype=start.dtype)
    first, last, step = (sizes_of(v) for v in (start, limit, delta))
    if first is None or last is None or step is None or step.item() != 1:
        return made
    count = subtract(last.item(), first.item())
    return ascribed(made, (count,)) if least(count) >= 0 else made


@converts("RandomUniformLike", "RandomNormalLike", "RandomUniform", "RandomNormal")
def random_like(node: Node, x: Value | None = None) -> Value:
    """Random numbers; the seed is the node's, or 0."""
    shape = x.sizes() if x is not None else tuple(node.ints("shape"))
    dtype = dtype_of(node.int("dtype", 0)) if node.has("dtype") else ("float32" if x is None else x.dtype)
    key = call("random.threefry_key", seed=int(abs(node.float("seed", 0.0)) * 1000))
    made = "float64" if dtype == "float64" else "float32"
    if "Uniform" in node.proto.op_type:
        low, high = node.float("low", 0.0), node.float("high", 1.0)
        found = call(
            "random.uniform", key, constant(low, made), constant(high, made), out_shape=shape, out_dtype=made
        )
    else:
        mean, scale = node.float("mean", 0.0), node.float("scale", 1.0)
        found = call(
            "random.normal", key, constant(mean, made), constant(scale, made), out_shape=shape, out_dtype=made
        )
    return cast(found[1], dtype)


@converts("Bernoulli")
def bernoulli(node: Node, x: Value) -> Value:
    """1 with a probability, else 0."""
    key = call("random.threefry_key", seed=int(abs(node.float("seed", 0.0)) * 1000))
    drawn = call(
        "random.uniform",
        key,
        constant(0.0, "float32"),
        constant(1.0, "float32"),
        out_shape=x.sizes(),
        out_dtype="float32",
    )
    dtype = dtype_of(node.int("dtype")) if node.has("dtype") else x.dtype
    return cast(call("less", drawn[1], cast(x, "float32")), dtype)


@converts("Multinomial")
def multinomial(node: Node, x: Value) -> Value:
    """Indices drawn with the probabilities whose logarithms are given."""
    key = call("random.threefry_key", seed=int(abs(node.float("seed", 0.0)) * 1000))
    drawn = call(
        "random.multinomial", key, call("nn.softmax", x, axis=-1), num_samples=node.int("sample_size", 1)
    )
    return cast(drawn[1], dtype_of(node.int("dtype", 6)))
