"""Arrays of PyTorch and JAX in give such arrays back, of the same memory; NumPy's give NumPy's."""

import numpy as np
import pytest

import relay

SQUARE = "def @main(%x: Tensor[(n, m), float32]) { (%x * %x, sum(%x)) }"
LARGE = np.full((64, 64), 2.0, "float32")


@relay.function
def squared(x):
    return {"square": x * x, "sum": [relay.sum(x)]}


def parts(found):
    """The two tensors of a result."""
    return (found["square"], found["sum"][0]) if isinstance(found, dict) else found


WAYS = {
    "build": lambda: relay.build(relay.parse(SQUARE)),
    "entry": lambda: relay.build(relay.parse(SQUARE))["main"],
    "native": lambda: relay.create_executor("native", relay.parse(SQUARE)).evaluate(),
    "debug": lambda: relay.create_executor("debug", relay.parse(SQUARE)).evaluate(),
    "function": lambda: squared,
    "compiled function": lambda: relay.build(squared),
    "executor of a function": lambda: relay.create_executor("native", squared).evaluate(),
}


@pytest.mark.parametrize("way", WAYS)
def test_numpy_gives_numpy(way):
    square, total = parts(WAYS[way]()(LARGE))
    assert type(square) is np.ndarray
    assert square[0, 0] == 4
    assert float(total) == 2 * 64 * 64


@pytest.mark.torch
@pytest.mark.parametrize("way", WAYS)
def test_torch_gives_torch(way):
    torch = pytest.importorskip("torch")
    square, total = parts(WAYS[way]()(torch.from_numpy(LARGE)))
    assert type(square) is type(total) is torch.Tensor
    assert total.shape == ()
    assert bool((square == 4).all())
    square += 1  # it is memory of its own


@pytest.mark.torch
@pytest.mark.parametrize("way", WAYS)
def test_jax_gives_jax(way):
    jax = pytest.importorskip("jax")
    square, total = parts(WAYS[way]()(jax.numpy.asarray(LARGE)))
    assert isinstance(square, jax.Array)
    assert isinstance(total, jax.Array)
    assert bool((square == 4).all())


@pytest.mark.torch
def test_nothing_is_copied(monkeypatch):
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    from relay.backend.native.host import native_program, values

    read: list[int] = []
    made: list[int] = []

    def reading(x, elements_of=values.elements_of):
        read.append(x.ctypes.data)
        return elements_of(x)

    def giving(x, library, in_kind=native_program.in_kind):
        made.append(x.ctypes.data)
        return in_kind(x, library)

    monkeypatch.setattr(values, "elements_of", reading)
    monkeypatch.setattr(native_program, "in_kind", giving)
    run = relay.build(relay.parse("def @main(%x: Tensor[(64, 64), float32]) { %x * %x }"))
    tensor, array = torch.ones(64, 64), jax.numpy.ones((64, 64))
    found = run(tensor)
    assert tensor.data_ptr() in read
    assert found.data_ptr() == made[-1]
    found = run(array)
    assert array.unsafe_buffer_pointer() in read
    assert found.unsafe_buffer_pointer() == made[-1]


ADD = "def @main(%x: Tensor[(2,), float32], %y: Tensor[(2,), float32]) { %x + %y }"


@pytest.mark.torch
def test_the_first_array_of_another_library_decides():
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    run, ones = relay.build(relay.parse(ADD)), np.ones(2, "float32")
    assert isinstance(run(ones, torch.ones(2)), torch.Tensor)
    assert isinstance(run(torch.ones(2), jax.numpy.ones(2)), torch.Tensor)
    assert isinstance(run(jax.numpy.ones(2), torch.ones(2)), jax.Array)
    assert isinstance(run({"y": ones, "x": torch.ones(2)}), torch.Tensor)
    assert isinstance(run([1.0, 2.0], ones), np.ndarray)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "bool", "uint8", "int64"])
def test_every_dtype_comes_back(dtype):
    torch = pytest.importorskip("torch")
    run = relay.build(
        relay.parse(f"def @main(%x: Tensor[(n,), {dtype}]) {{ concatenate((%x, %x), axis=0) }}")
    )
    x = torch.ones(3000).to(getattr(torch, dtype))
    found = run(x)
    assert found.dtype == x.dtype
    assert torch.equal(found, torch.cat((x, x)))


@pytest.mark.torch
def test_instances_of_data_types_have_such_arrays():
    torch = pytest.importorskip("torch")
    text = """
    import "std/list"
    def @main(%x: Tensor[(2,), float32]) { (Cons(%x, Cons(%x + 1f, Nil)), "text") }
    """
    found, text = relay.build(relay.parse(text))(torch.zeros(2))
    assert isinstance(found.fields[0], torch.Tensor)
    assert isinstance(found.fields[1].fields[0], torch.Tensor)
    assert text == "text"


@pytest.mark.torch
def test_arrays_that_lie_apart_or_may_not_be_written():
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    run = relay.build(relay.parse("def @main(%x: Tensor[(n, m), float32]) { %x + 1f }"))
    x = torch.arange(6.0).reshape(2, 3).T
    assert torch.equal(run(x), x + 1)
    assert jax.numpy.array_equal(run(jax.numpy.arange(6.0).reshape(2, 3).T), x.numpy() + 1)
    frozen = np.ones((2, 2), "float32")
    frozen.flags.writeable = False
    assert run(frozen).tolist() == [[2, 2], [2, 2]]


@pytest.mark.torch
def test_results_outlive_the_program():
    torch = pytest.importorskip("torch")
    run = relay.build(relay.parse("def @main(%x: Tensor[(n, m), float32]) { %x + 1f }"))
    kept = [run(torch.full((64, 64), float(i))) for i in range(20)]
    del run
    assert all(bool((t == i + 1).all()) for i, t in enumerate(kept))


@pytest.mark.torch
def test_what_needs_a_gradient_is_refused():
    torch = pytest.importorskip("torch")
    run = relay.build(relay.parse("def @main(%x: Tensor[(2,), float32]) { %x }"))
    with pytest.raises(relay.RelayError, match="argument-type"):
        run(torch.ones(2, requires_grad=True))
