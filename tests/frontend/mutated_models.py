"""ONNX models with something wrong: bytes changed, files cut, attributes, sizes, types and names swapped."""

import math
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

ABSURD = (-1, 0, 1, 2, 7, -2, 1 << 20, 1 << 33, -(1 << 62), (1 << 63) - 1)
SLOW = 10.0
"""Seconds beyond which an import hangs."""
LARGE = 1 << 22
"""Elements of an input beyond which a model is not run."""


@cache
def originals() -> list[Any]:
    """Small models: those of ONNX's tests of operators."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [c.model for c in load_model_tests(kind="node")]
    return [m for m in models if m.ByteSize() < 6000]


def mutated(seed: int) -> bytes:
    """A model with something wrong."""
    r = random.Random(seed)
    model = r.choice(originals())
    if r.random() < 0.3:
        return damaged(r, bytearray(model.SerializeToString()))
    copy = type(model)()
    copy.CopyFrom(model)
    for _ in range(r.choice((1, 1, 2, 4))):
        r.choice((attribute, size, dtype, wiring, kind, initialiser))(r, copy)
    return copy.SerializeToString()


def damaged(r: random.Random, data: bytearray) -> bytes:
    """Bits flipped, bytes replaced, or the end cut off."""
    if r.random() < 0.3:
        return bytes(data[: r.randrange(len(data))])
    for _ in range(r.choice((1, 2, 8))):
        i = r.randrange(len(data))
        data[i] = r.choice((data[i] ^ (1 << r.randrange(8)), r.randrange(256)))
    return bytes(data)


def attribute(r: random.Random, model: Any) -> None:
    """An attribute changed or left out."""
    nodes = [n for n in model.graph.node if n.attribute]
    if not nodes:
        return
    node = r.choice(nodes)
    a = r.choice(node.attribute)
    match r.randrange(5):
        case 0:
            node.attribute.remove(a)
        case 1:
            a.i = r.choice(ABSURD)
        case 2:
            if a.ints:
                a.ints[r.randrange(len(a.ints))] = r.choice(ABSURD)
            else:
                a.ints.append(r.choice(ABSURD))
        case 3:
            a.s = r.choice((b"", b"SAME_UPPER", b"cubic", b"\xff"))
        case _:
            a.f = r.choice((float("nan"), float("inf"), -1.0, 0.0))


def size(r: random.Random, model: Any) -> None:
    """A size of an input changed."""
    tensors = [i.type.tensor_type for i in model.graph.input if i.type.tensor_type.shape.dim]
    if tensors:
        dim = r.choice(r.choice(tensors).shape.dim)
        if r.random() < 0.3:
            dim.dim_param = r.choice(("n", "", "a b", "int32", "?"))
        else:
            dim.dim_value = r.choice(ABSURD)


def dtype(r: random.Random, model: Any) -> None:
    """Another dtype of an input."""
    if model.graph.input:
        r.choice(model.graph.input).type.tensor_type.elem_type = r.randrange(-1, 32)


def wiring(r: random.Random, model: Any) -> None:
    """An operand exchanged, left out, or added; or a result of another name."""
    node = r.choice(model.graph.node)
    names = [n for m in model.graph.node for n in (*m.input, *m.output)] + ["", "nothing"]
    match r.randrange(4):
        case 0 if node.input:
            node.input[r.randrange(len(node.input))] = r.choice(names)
        case 1 if node.input:
            node.input.pop()
        case 2 if node.output:
            node.output[r.randrange(len(node.output))] = r.choice(names)
        case _:
            node.input.append(r.choice(names))


def kind(r: random.Random, model: Any) -> None:
    """Another operator, or another version of all of them."""
    if r.random() < 0.3:
        model.opset_import[0].version = r.choice((*ABSURD, 6, 11, 13))
    else:
        other = r.choice(r.choice(originals()).graph.node)
        r.choice(model.graph.node).op_type = other.op_type


def initialiser(r: random.Random, model: Any) -> None:
    """An initialiser of another shape, dtype or place, or an input made one."""
    if model.graph.initializer and r.random() < 0.5:
        t = r.choice(model.graph.initializer)
        if r.random() < 0.5:
            t.dims.append(r.choice(ABSURD))
        else:
            t.data_type = r.randrange(32)
    elif model.graph.input:
        i = r.choice(model.graph.input)
        t = model.graph.initializer.add(name=i.name, data_type=i.type.tensor_type.elem_type)
        t.dims.extend([r.choice((0, 1, 2))])
        t.raw_data = bytes(r.randrange(256) for _ in range(r.choice((0, 4, 8, 16))))


def outcome(seed: int) -> str:
    """The code of the diagnostic, or that the model was imported; anything else is raised."""
    return imported(seed)[0]


def imported(seed: int) -> tuple[str, Any]:
    """What became of a model, and the module if there is one."""
    from relay.diagnostic import RelayError
    from relay.frontend import from_onnx

    data = mutated(seed)
    begin = time.perf_counter()
    mod: Any = None
    try:
        mod, _ = from_onnx(data)
        found = "imported"
    except RelayError as error:
        str(error)
        found = error.codes[0]
    assert time.perf_counter() - begin < SLOW, f"seed {seed} hangs"
    return found, mod


def run(seed: int) -> str:
    """As `outcome`; a model that was imported runs on both executors, which agree."""
    import relay

    found, mod = imported(seed)
    args = None if mod is None else arguments(mod, seed)
    if args is None:
        return found
    kinds = [
        attempt(lambda e=e: relay.create_executor(e, mod).evaluate("main")(*args))
        for e in ("debug", "native")
    ]
    (first, value), (second, other) = kinds
    assert first == second, f"seed {seed}: {first} and {second}"
    assert first != "value" or is_near(value, other), f"seed {seed}: other values"
    return first


def arguments(mod: Any, seed: int) -> list[Any] | None:
    """Tensors for the parameters, unless they are large or no tensors of numbers."""
    from relay.ir.dtype import to_numpy
    from relay.ir.type import TensorType

    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for p in mod["main"].params:
        t = p.type_annotation
        if not isinstance(t, TensorType) or t.dtype == "string":
            return None
        shape = [d if isinstance(d, int) else 2 for d in t.shape]
        if math.prod(shape) > LARGE:
            return None
        is_whole = "int" in t.dtype or t.dtype == "bool"
        some = rng.integers(0, 2, shape) if is_whole else rng.normal(size=shape)
        found.append(np.asarray(some).astype(to_numpy(t.dtype)))
    return found


def attempt(call: Callable[[], Any]) -> tuple[str, Any]:
    """That there is a value, with it, or the code of the diagnostic."""
    from relay.diagnostic import RelayError

    try:
        return "value", call()
    except RelayError as error:
        return error.codes[0], None


def is_near(a: Any, b: Any) -> bool:
    """Whether two results are the same up to rounding."""
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(is_near(x, y) for x, y in zip(a, b, strict=True))
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype == object:
        return True
    wide = "complex128" if a.dtype.kind == "c" else "float64"
    near = {"rtol": 1e-3, "atol": 1e-4, "equal_nan": True}
    return a.shape == b.shape and np.allclose(a.astype(wide), b.astype(wide), **near)


def outcomes(seeds: range, what: Callable[[int], str] = outcome) -> Iterator[str]:
    """What became of each."""
    for seed in seeds:
        try:
            yield what(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


if __name__ == "__main__":
    print(Counter(outcomes(range(int(sys.argv[1])), run)).most_common())
