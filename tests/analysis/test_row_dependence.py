"""Which programs may be computed for many requests at once: what is accepted gives the same for each."""

import numpy as np
import pytest

import relay
from relay.analysis.row_dependence import row_dependence
from relay.testing import mlp, resnet
from relay.transform.passes.expand_composites import expand_composites
from relay.transform.passes.partial_evaluation import partial_evaluate

ONE = "%x: Tensor[(n, 4), float32]"
IMAGES = "%x: Tensor[(n, 2, 6, 6), float32]"
TOKENS = "%x: Tensor[(n, 3), int32]"
TWO = "%x: Tensor[(n, 4), float32], %y: Tensor[(n, 1), float32]"
V = "[1.0, 2.0, 3.0, 4.0]"

INDEPENDENT = [
    (ONE, f"nn.relu(%x) * {V}"),
    (ONE, "(%x, nn.softmax(%x), sum(%x, axis=1), argmax(%x, axis=-1, keepdims=True))"),
    (ONE, f"nn.layer_norm(%x, {V}, {V})"),
    (ONE, f"nn.batch_norm(%x, {V}, {V}, {V}, {V}).0"),
    (ONE, f"nn.dense(%x, [{V}, {V}, {V}])"),
    (ONE, f"nn.bias_add(%x, {V})"),
    (ONE, "let %m = reshape(%x, newshape=(-1, 2, 2)); nn.batch_matmul(%m, transpose(%m, axes=(0, 2, 1)))"),
    (ONE, "let %m = reshape(%x, newshape=(-1, 2, 2)); nn.matmul(%m, %m, transpose_b=True)"),
    (IMAGES, "nn.matmul(nn.softmax(nn.matmul(%x, %x, transpose_b=True)), %x)"),
    (ONE, "reshape(reshape(%x, newshape=(-1, 2)) * 2.0, newshape=(-1, 4))"),
    (ONE, "let %m = transpose(reshape(%x, newshape=(-1, 2, 2)), axes=(1, 0, 2)); sum(%m, axis=0)"),
    (ONE, "concatenate((%x, %x, 2.0 * %x), axis=1)"),
    (ONE, "let %p = split(%x, indices_or_sections=2, axis=1); %p.0 * %p.1"),
    (ONE, "stack((%x, -%x), axis=1)"),
    (ONE, "strided_slice(%x, begin=(1,), end=(3,), axes=(1,))"),
    (ONE, "squeeze(expand_dims(%x, axis=1), axis=[1])"),
    (ONE, "take(%x, [3, 0], axis=1)"),
    (ONE, "nn.pad(%x, pad_width=((0, 0), (1, 2)))"),
    (ONE, "%x + zeros_like(%x)"),
    (TWO, "where(%y > 0.0, %x, -%x) / (1.0 + abs(%y))"),
    (IMAGES, "nn.max_pool2d(%x, pool_size=(2, 2))"),
    (IMAGES, "nn.global_avg_pool2d(nn.conv2d(%x, ones(shape=(3, 2, 3, 3), dtype=\"float32\")))"),
    (TOKENS, "take([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], %x, axis=0)"),
]  # fmt: skip

DEPENDENT = [
    (ONE, "%x - mean(%x, axis=0)"),
    (ONE, "%x / sum(%x)"),
    (ONE, "nn.softmax(%x, axis=0)"),
    (ONE, "reverse(%x, axis=0)"),
    (ONE, "cumsum(%x, axis=0)"),
    (ONE, "sort(%x, axis=0)"),
    (ONE, "nn.dense(%x, %x)"),
    (ONE, "nn.matmul(%x, %x, transpose_b=True)"),
    (IMAGES, "let %m = transpose(%x, axes=(1, 2, 0, 3)); nn.matmul(%m, %m, transpose_b=True)"),
    (IMAGES, "nn.matmul(transpose(%x, axes=(1, 0, 2, 3)), %x)"),
    (ONE, "concatenate((%x, %x), axis=0)"),
    (ONE, "nn.pad(%x, pad_width=((1, 0), (0, 0)))"),
    (ONE, "reshape(%x, newshape=(4, -1))"),
    (ONE, "transpose(%x)"),
    (ONE, "expand_dims(%x, axis=0)"),
    (ONE, "sum(%x, axis=1, keepdims=True) + ones(shape=(3, 1), dtype=\"float32\")"),
    (ONE, "if (sum(%x) > 0.0) { %x } else { -%x }"),
    (ONE, "reshape(transpose(reshape(%x, newshape=(-1, 2, 2)), axes=(1, 0, 2)), newshape=(-1, 4))"),
    ("%x: Tensor[(n, 1), float32]", "%x + transpose(%x)"),
    ("%x: Tensor[(n, 4), float32], %w: Tensor[(4,), float32]", "%x * %w"),
    ("%x: Tensor[(4,), float32]", "%x + 1.0"),
]  # fmt: skip


def program(params: str, body: str) -> relay.IRModule:
    return relay.infer(relay.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}'))


def why_dependent(mod: relay.IRModule) -> str:
    return row_dependence(expand_composites(partial_evaluate(mod)), "main")


def leaves(value: object) -> list[np.ndarray]:
    return [y for x in value for y in leaves(x)] if isinstance(value, tuple) else [np.asarray(value)]


@pytest.mark.parametrize(("params", "body"), INDEPENDENT)
def test_independent_rows_are_computed_together_as_alone(params: str, body: str) -> None:
    mod = program(params, body)
    assert why_dependent(mod) == ""
    rng = np.random.default_rng(0)
    shapes = [p.type_annotation for p in mod["main"].params]
    joined = [rng.integers(0, 3, (5, *t.shape[1:])).astype(t.dtype) for t in shapes]
    run = relay.create_executor("debug", mod).evaluate()
    whole = leaves(run(*joined))
    for i in range(5):
        alone = leaves(run(*[x[i : i + 1] for x in joined]))
        for one, many in zip(alone, whole, strict=True):
            np.testing.assert_array_equal(one, many[i : i + 1])


@pytest.mark.parametrize(("params", "body"), DEPENDENT)
def test_what_is_not_shown_to_be_independent_is_refused(params: str, body: str) -> None:
    assert why_dependent(program(params, body))


def test_the_reason_names_the_operator_and_its_place() -> None:
    assert why_dependent(program(ONE, "%x / sum(%x)")) == "`sum` (<string>:2:47) may mix rows"


@pytest.mark.parametrize("net", [mlp, resnet])
def test_networks_have_independent_rows(net: object) -> None:
    n = relay.TypeVar("n", relay.ir.type.Kind.Dim)
    mod, params = net.get_workload(n)
    assert why_dependent(relay.infer(relay.driver.arguments.with_params(mod, params))) == ""


def test_a_deep_program_is_read_without_recursion() -> None:
    body = "".join(f"let %x{i + 1} = nn.relu(%x{i}); " for i in range(20_000)) + "%x20000"
    assert row_dependence(program("%x0: Tensor[(n, 2), float32]", body), "main") == ""
