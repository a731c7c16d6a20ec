"""Programs of version 0.0.5 as users have them load, compute what NumPy says, and come back from print."""

import json

import numpy as np
import pytest

import relay
from relay.transform.passes.monomorphize import monomorphize
from support import ROOT
from text.old_words import survives

DATA = ROOT / "tests" / "data"
PROGRAMS = sorted(DATA.glob("*.relay"))
EXAMPLES = sorted((ROOT / "examples").glob("*.relay")) + sorted((ROOT / "src/relay/std").glob("*.relay"))
BACKENDS = ("debug", "native")


def program(name: str) -> relay.IRModule:
    return relay.parse((DATA / f"{name}.relay").read_text(), name)


def ran(backend: str, mod: relay.IRModule, *args):
    return relay.create_executor(backend, mod).evaluate("main")(*args)


def eighths(*shape: int) -> np.ndarray:
    """The weights in the files, as they were made."""
    return ((np.arange(np.prod(shape)) * 5 % 13 - 6).reshape(shape) / 8).astype("float32")


def uniform(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")


def convolved(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The convolution of images without padding."""
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, weight)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_block_of_a_residual_network(backend):
    x, gamma, beta, mean, bias = uniform(1, 3, 8, 8), *uniform(3, 4), uniform(5)
    variance = np.abs(uniform(4)) + 0.5
    wide = convolved(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), eighths(4, 3, 3, 3))
    column = (slice(None), None, None)
    scaled = (wide - mean[column]) / np.sqrt(variance + 2e-5)[column] * gamma[column] + beta[column]
    first = np.maximum(scaled, 0)
    second = convolved(first, eighths(4, 4, 1, 1)) + first
    pooled = second.reshape(1, 4, 4, 2, 4, 2).max((3, 5)).mean((2, 3))
    scores = np.exp(pooled @ eighths(5, 4).T + bias)
    found = ran(backend, program("resnet_block"), x, gamma, beta, mean, variance, bias)
    np.testing.assert_allclose(found, scores / scores.sum(), rtol=1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_quantised_convolution(backend):
    x = uniform(1, 2, 5, 5) * 4
    weight = (np.arange(54) * 5 % 13 - 6).reshape(3, 2, 3, 3)
    q = np.clip(np.round(x / 0.0625) + 3, 0, 255)
    total = convolved(q - 3, weight) + np.array([7, -11, 200])[:, None, None]
    # Halves are rounded upwards in requantize.
    again = np.clip(np.floor(total * 0.015625 / 0.5 + 0.5) - 7, -128, 127)
    found = ran(backend, program("quantised"), x)
    np.testing.assert_array_equal(found, (again + 7) * 0.5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_fused_functions(backend):
    x, w, b = uniform(2, 3), uniform(4, 3), uniform(4)
    dense = np.tanh(x @ w.T + b)
    found = ran(backend, program("fused"), x, w, b)
    np.testing.assert_allclose(found[0], dense, rtol=1e-5)
    np.testing.assert_allclose(found[1], np.linalg.norm(dense, axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_part_that_was_set_aside_for_another_compiler(backend):
    mod = program("partitioned")
    (part,) = [f for v, f in mod.functions.items() if v.name_hint != "main"]
    assert (part.attrs["Compiler"], part.attrs["Primitive"]) == ("accel", 1)
    a, b = uniform(2, 4), uniform(3, 4)
    expected = np.maximum(-2 * np.concatenate([a, b]), 0) + eighths(4)
    with pytest.raises(relay.RelayError, match="MarkCompilerFunctionsAsExtern"):
        ran(backend, mod, a, b)
    given_back = relay.transform.MarkCompilerFunctionsAsExtern()(mod)
    np.testing.assert_allclose(ran(backend, given_back, a, b), expected, rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_over_a_growing_tensor(backend):
    x = uniform(3, 2)
    state, count = ran(backend, program("loop"), x, np.int64(4))
    np.testing.assert_array_equal(state, [*x, *[x[-1] * 2**i for i in range(1, 5)]])
    assert count == 4


@pytest.mark.parametrize("backend", BACKENDS)
def test_functions_of_the_prelude(backend):
    total, first, moved, truth = ran(backend, program("prelude"), np.int32(5), np.array([2, 4], "float32"))
    assert (total, first, truth) == (55, 25, (False,))
    np.testing.assert_array_equal(moved, [2, 2 + 2 / 32])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_tree_lstm(backend):
    mod = program("tree_lstm")
    rose, cons, nil = (
        mod.get_constructor(*names) for names in (("Tree", "Rose"), ("List", "Cons"), ("List", "Nil"))
    )
    values = uniform(4, 1, 3)
    by_input, by_state = eighths(8, 3), eighths(8, 2)

    def tree(i: int, *children):
        """A tree for the program, and its state by NumPy."""
        cells = relay.ConstructorValue(nil, ())
        for made, _ in reversed(children):
            cells = relay.ConstructorValue(cons, (made, cells))
        h = sum((s[0] for _, s in children), np.zeros((1, 2)))
        gate, out, new, keep = np.split(values[i] @ by_input.T + h @ by_state.T, 4, 1)
        c = sigmoid(gate) * np.tanh(new) + sum(sigmoid(keep + s[0]) * s[1] for _, s in children)
        return relay.ConstructorValue(rose, (values[i], cells)), (sigmoid(out) * np.tanh(c), c)

    made, (expected, _) = tree(0, tree(1, tree(2)), tree(3))
    np.testing.assert_allclose(ran(backend, mod, made), expected, rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_expression_with_free_variables_and_comments_of_types(backend):
    x, w = uniform(1, 3), uniform(2, 3)
    found = ran(backend, program("free_variables"), x, w)
    np.testing.assert_allclose(found, np.maximum(x @ w.T + 1, 0), rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_names_of_variables_that_other_frameworks_gave(backend):
    x, w, b = uniform(1, 3, 4, 4), uniform(2, 3, 1, 1), uniform(2)
    mod = program("dotted_names")
    assert [p.name_hint for p in mod["main"].params] == ["input0", "layer1.0.conv.weight", "aten::bias"]
    wide = np.clip(convolved(x, w) + b[:, None, None], 0, 6)
    found = ran(backend, mod, x, w, b)
    np.testing.assert_allclose(found[0], wide, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], wide.reshape(1, 2, 2, 2, 2, 2).max((3, 5)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_attributes_that_stand_in_the_metadata(backend):
    x, w = uniform(1, 2, 3, 3), uniform(2, 2, 1, 1)
    mod = program("stored_attributes")
    assert "channels=2" in mod.astext()
    np.testing.assert_allclose(ran(backend, mod, x, w), convolved(x, w) + 0.5, rtol=1e-5)


def test_attributes_of_another_operator_are_refused():
    text = (DATA / "stored_attributes.relay").read_text().replace("nn.conv2d(", "nn.dense(")
    with pytest.raises(relay.RelayError, match="attribute"):
        relay.parse(text)


@pytest.mark.parametrize("backend", BACKENDS)
def test_references_trees_and_numbers_of_all_types(backend):
    depth, kept, fields, last, truth, small, empty = ran(
        backend, program("references_and_trees"), np.float32(1), np.int64(3)
    )
    assert (depth, kept, fields, last, truth, small) == (2, np.float32(2.5e-5), (1,), 0, True, -1e-300)
    assert empty.shape == (0,)


@pytest.mark.parametrize("backend", BACKENDS)
def test_where_another_compiler_keeps_values(backend):
    assert 'on_device(%x, virtual_device="cpu(0)", constrain_result=True)' in str(program("devices"))
    x = uniform(5, 7)
    np.testing.assert_allclose(ran(backend, program("devices"), x), np.exp(x), rtol=1e-6)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
@pytest.mark.parametrize("is_annotated", [False, True])
def test_old_programs_come_back_from_their_own_dialect(path, is_annotated):
    mod = program(path.stem)
    assert survives(relay.infer(mod) if is_annotated else mod, path.stem)
    again = relay.parse(mod.astext(dialect="tvm", show_meta_data=True))
    assert [p.name_hint for p in again["main"].params] == [p.name_hint for p in mod["main"].params]


def test_examples_come_back_from_the_old_dialect_or_are_refused():
    """What most of them use, the format has no words for; specialised, half of them can be written."""
    whole = [relay.infer(relay.fromtext(p.read_text(), str(p))) for p in EXAMPLES]
    special = [monomorphize(mod) for mod in whole]
    expressed = [p.stem for p, mod in zip(EXAMPLES * 2, whole + special, strict=True) if survives(mod, p)]
    assert len(expressed) >= 10, expressed


def test_devices_in_json_are_nodes():
    mod = relay.parse('def @main(%x: float32) { on_device(exp(%x), virtual_device="gpu") }')
    graph = json.loads(relay.save_json(mod))
    node = {"type_key": "VirtualDevice", "attrs": {"device_type_int": "2", "virtual_device_id": "1"}}
    for one in graph["nodes"]:
        attrs = one.get("attrs", {})
        if attrs.get("virtual_device") == "gpu":
            attrs["virtual_device"] = str(len(graph["nodes"]))
    found = relay.load_json(json.dumps({**graph, "nodes": [*graph["nodes"], node]}))
    assert 'virtual_device="cuda(1)"' in str(found)
