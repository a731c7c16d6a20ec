"""`StaticTensorArrayOps`: arrays of tensors as scripts define them, against NumPy."""

from typing import Any

import numpy as np
import pytest

import relay

UNKNOWN = relay.Any()
SHAPES = [(2, 3), (4,), (UNKNOWN, 3), ()]


def text(shape: tuple[Any, ...]) -> str:
    return "_".join(["any" if d is UNKNOWN else str(d) for d in shape]) or "scalar"


class Arrays:
    """The operations for a shape, two tensors of it, and programs of both."""

    def __init__(self, tvm: Any, shape: tuple[Any, ...]) -> None:
        self.tvm, self.shape = tvm, shape
        self.prelude = tvm.relay.prelude.Prelude(tvm.IRModule())
        tvm.relay.prelude.StaticTensorArrayOps(self.prelude, "float32", shape).register()
        rng = np.random.default_rng(0)
        sizes = [d if isinstance(d, int) else 2 for d in shape]
        self.values = [rng.standard_normal(sizes).astype("float32") for _ in range(2)]
        self.params = [tvm.relay.var(n, tvm.relay.TensorType(shape, "float32")) for n in ("v", "w")]

    def op(self, name: str, shape: tuple[Any, ...] | None = None) -> Any:
        return self.prelude.get_global_var_static(name, "float32", self.shape if shape is None else shape)

    def both(self) -> Any:
        const = self.tvm.relay.const
        tensor = self.prelude.get_tensor_ctor_static("tensor_constructor", "float32", self.shape)
        found = self.op("tensor_array")(const(2))
        for i, v in enumerate(self.params):
            found = self.op("tensor_array_write")(found, const(i), tensor(v))
        return found

    def run(self, body: Any, kind: str, *args: Any, params: Any = None) -> Any:
        mod = self.prelude.mod.copy()
        mod["main"] = self.tvm.relay.Function(params or self.params, body)
        executor = self.tvm.relay.create_executor(kind, mod=mod, device=self.tvm.cpu(), target="llvm")
        return executor.evaluate()(*(args or self.values))


def tensors(found: Any) -> list[np.ndarray]:
    """The tensors in a list of them."""
    listed = []
    while found.constructor.name_hint == "Cons":
        head, found = found.fields
        listed.append(np.asarray(head.fields[0].numpy()))
    return listed


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("shape", SHAPES, ids=text)
def test_elements_are_written_read_stacked_and_gathered(tvm: Any, shape: tuple[Any, ...], kind: str) -> None:
    a = Arrays(tvm, shape)
    v, w = a.values
    indices = relay.const(np.array([1, 0, 1], "int32"))
    for body, wanted in (
        (a.op("tensor_array_read")(a.both(), relay.const(1)), w),
        (a.op("tensor_array_stack")(a.both()), np.stack([v, w])),
        (a.op("tensor_array_gather")(a.both(), indices), np.stack([w, v, w])),
    ):
        found = a.run(body, kind)
        assert found.constructor.name_hint.startswith("tensor_constructor_float32_")
        np.testing.assert_array_equal(found.fields[0].numpy(), wanted)
    swapped = a.op("tensor_array_scatter")(a.both(), relay.const(np.array([1, 0], "int32")), a.both())
    np.testing.assert_array_equal(tensors(a.run(swapped, kind)), [w, v])
    t = relay.var("t", relay.TensorType((relay.Any(), *shape), "float32"))
    parts = a.run(a.op("tensor_array_unstack")(t), kind, np.stack([v, w]), params=[t])
    np.testing.assert_array_equal(tensors(parts), [v, w])


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("shape", SHAPES[:3], ids=text)
def test_tensors_are_joined_and_cut_along_the_first_axis(tvm: Any, shape: tuple[Any, ...], kind: str) -> None:
    a = Arrays(tvm, shape)
    v, w = a.values
    tensor = a.prelude.get_tensor_ctor_static("tensor_constructor", "float32", shape)
    first, second = a.params
    for body, wanted in (
        (a.op("tensor_array_concat")(a.both()), np.concatenate([v, w])),
        (a.op("tensor_concatenate")(tensor(first), tensor(second)), np.concatenate([v, w])),
        (a.op("tensor_take")(first, relay.const(1), relay.const(2)), v[1:2]),
        (a.op("tensor_expand_dims")(tensor(second)), w[None]),
    ):
        np.testing.assert_array_equal(a.run(body, kind).fields[0].numpy(), wanted)


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_a_tensor_is_split_into_an_array(tvm: Any, kind: str) -> None:
    a = Arrays(tvm, (UNKNOWN, 3))
    value = np.arange(15, dtype="float32").reshape(5, 3)
    lengths = relay.const(np.array([2, 3], "int32"))
    body = a.op("tensor_array_split")(a.op("tensor_array")(relay.const(2)), a.params[0], lengths)
    found = tensors(a.run(body, kind, value, params=a.params[:1]))
    np.testing.assert_array_equal(found[0], value[:2])
    np.testing.assert_array_equal(found[1], value[2:])


def test_names_say_dtype_and_shape(tvm: Any) -> None:
    p = tvm.relay.prelude.Prelude(tvm.IRModule())
    ops = tvm.relay.prelude.StaticTensorArrayOps(p, "int32", (tvm.relay.Any(), 2))
    ops.register()
    ops.register()
    assert ops.get_name("tensor_t") == "static_tensor_int32_any_2_t"
    assert ops.get_type("tensor_t").name_hint == "static_tensor_int32_any_2_t"
    assert ops.get_ctor("tensor_nil").name_hint == "tensor_nil_int32_any_2"
    assert ops.get_global_var("tensor_array").name_hint == "tensor_array_int32_any_2"
