"""ONNX models with something wrong: bytes changed, files cut, attributes, sizes, types and names swapped."""

import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

ABSURD = (-1, 0, 1, 2, 7, -2, 1 << 20, 1 << 33, -(1 << 62), (1 << 63) - 1)
SLOW = 10.0
"""Seconds beyond which an import hangs."""


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
        r.choice((attribute, size, base_type, wiring, kind, initialiser))(r, copy)
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


def base_type(r: random.Random, model: Any) -> None:
    """Another base type of an input."""
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
    """An initialiser of another shape, base type or place, or an input made one."""
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
    from relay.diagnostic import RelayError
    from relay.frontend import from_onnx

    data = mutated(seed)
    begin = time.perf_counter()
    try:
        from_onnx(data)
        found = "imported"
    except RelayError as error:
        str(error)
        found = error.codes[0]
    assert time.perf_counter() - begin < SLOW, f"seed {seed} hangs"
    return found


def outcomes(seeds: range) -> Iterator[str]:
    """What became of each."""
    for seed in seeds:
        try:
            yield outcome(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


if __name__ == "__main__":
    print(Counter(outcomes(range(int(sys.argv[1])))).most_common())
