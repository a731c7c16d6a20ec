"""Attributes by position, and the order that they have."""

import inspect

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError
from relay.op.attribute import attribute_types
from relay.op.places import attribute_order
from relay.op.registry import builders, registry
from relay.text.json_format import load_json, save_json

X = "%x: Tensor[(2, 3), float32]"
BY_POSITION = {
    "reshape(%x, (3, 2))": "reshape(%x, newshape=(3, 2))",
    "reshape(%x, [-1])": "reshape(%x, newshape=(-1,))",
    "reshape(%x, -1)": "reshape(%x, newshape=(-1,))",
    "reshape(%x, (1, 2 * 3))": "reshape(%x, newshape=(1, 6))",
    "reshape(%x, newshape=[(1 + 1) * 3, max(1, 0)])": "reshape(%x, newshape=(6, 1))",
    "reshape(%x, 12 / 2)": "reshape(%x, newshape=(6,))",
    "take(%x, 0, 1)": "take(%x, 0, axis=1)",
    'take(%x, 0, 1, 0, "wrap")': 'take(%x, 0, axis=1, mode="wrap")',
    "sum(%x, 1, true)": "sum(%x, axis=1, keepdims=True)",
    "sum(%x, None, True)": "sum(%x, keepdims=True)",
    "sum(%x, 1, exclude=True)": "sum(%x, axis=1, exclude=True)",
    "nn.softmax(%x, -1)": "nn.softmax(%x)",
    "cast(%x, float16)": "cast(%x, dtype=float16)",
    'cast(%x, "float16")': "cast(%x, dtype=float16)",
    "zeros((2, 3), float32)": "zeros(shape=(2, 3), dtype=float32)",
    "clip(%x, 0, inf)": "clip(%x, a_min=0.0, a_max=inff64)",
    "strided_slice(%x, (0,), (2,), (1,))": "strided_slice(%x, begin=(0,), end=(2,), strides=(1,))",
    'topk(%x, 2, -1, "values")': 'topk(%x, ret_type="values", k=2)',
    "arange(0, 6, 2, int32)": "arange(0, 6, 2, dtype=int32)",
    "transpose(%x, (1, 0),)": "transpose(%x, axes=(1, 0))",
}
STRICT = '#[version = "0.0.5"]\n'


def parsed(call: str, version: str = "") -> relay.IRModule:
    return relay.parse(f"{version}def @f({X}) {{ {call} }}")


@pytest.mark.parametrize("call", BY_POSITION)
def test_attributes_are_given_by_position_and_print_by_name(call: str) -> None:
    mod = parsed(call)
    assert BY_POSITION[call] in str(mod)
    assert relay.ir.structural_equal(mod, parsed(BY_POSITION[call]))
    assert relay.ir.structural_equal(mod, relay.parse(str(mod)))
    assert relay.ir.structural_equal(mod, load_json(save_json(mod)))


@pytest.mark.parametrize(
    ("call", "code", "says"),
    [
        ("reshape(%x, %x)", "missing-attribute", "`dyn.reshape(data, newshape)` takes what is computed"),
        ("reshape(%x, (2 * 3.0,))", "kind-mismatch", "`3.0` is not a dimension"),
        ("reshape(%x, (2 - 3,))", "dimension-out-of-range", "a dimension is from 0"),
        ("topk(%x, shape_of(%x))", "arity", "`dyn.topk(data, k)` takes what is computed"),
        ("sum(%x, 1 + 1)", "arity", "attributes such as `axis` are known when the program is written"),
        ("sum(%x, 1, true, false, true, 5)", "arity", "`sum` takes 1 operand, found 2"),
        ("random.uniform(%x, (2,), float32)", "unknown-name", "`dtype=float32`"),
        ("nn.dropout(%x, 0.5)", "rank-mismatch", "`rate=0.5`"),
        ("nn.relu(%x, 1)", "arity", "its operands are data"),
        ("sum(%x, 1, axis=2)", "duplicate-attribute", "attribute `axis` is given twice"),
        ("sum(%x, axis=2, 1)", "duplicate-attribute", "attribute `axis` is given twice"),
        ('sum(%x, "a")', "attribute-type", "attribute `axis` of `sum` cannot be 'a'"),
        ("cast(%x, flaot32)", "attribute-value", "did you mean `float32`?"),
        ("cast(%x, abs)", "missing-attribute", "`cast` needs the attribute `dtype`"),
    ],
)
def test_what_is_not_an_attribute_is_an_error(call: str, code: str, says: str) -> None:
    with pytest.raises(RelayError) as error:
        relay.transform.InferType()(parsed(call))
    assert tuple(error.value.codes) == (code,)
    assert says in str(error.value)


def test_a_fault_is_at_the_argument() -> None:
    with pytest.raises(RelayError) as error:
        parsed('sum(%x, 1, "a")')
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.span is not None
    assert diagnostic.span.source.text[diagnostic.span.start : diagnostic.span.end] == '"a"'


def test_a_local_without_sigil_is_an_operand() -> None:
    with pytest.raises(RelayError, match=r"dyn\.reshape"):
        relay.parse("def @f(%x: Tensor[(2,), float32], s: int32) { reshape(%x, s) }")


@pytest.mark.parametrize("call", ["reshape(%x, (3, 2))", "take(%x, 0, 1)", "mul(%x, %x)"])
def test_the_strict_dialect_has_none_of_it(call: str) -> None:
    with pytest.raises(RelayError):
        relay.transform.InferType()(parsed(call, STRICT))


def test_the_strict_dialect_casts() -> None:
    assert "dtype=float16" in str(parsed("cast(%x, float16)", STRICT))


@pytest.mark.parametrize(
    "extra", [2, -1, True, (1, 2), [1, 2], "text", np.zeros(70, "float32"), "relu", "x + x"]
)
@pytest.mark.parametrize("op", ["sum", "nn.relu", "zeros_like"])
def test_an_operand_too_many_reads_back_as_one(op: str, extra: object) -> None:
    x = relay.var("x", shape=(2,))
    more = {"relu": relay.op.get("nn.relu"), "x + x": x + x, "text": relay.const("text")}
    one = more[extra] if isinstance(extra, str) else relay.ir.expr.as_expr(extra)
    mod = relay.IRModule.from_expr(relay.Function([x], relay.Call(relay.op.get(op), (x, one))))
    again = relay.parse(str(mod))
    assert relay.ir.structural_equal(mod, again)
    assert str(again) == str(mod)


@pytest.mark.parametrize(("name", "other"), [("mul", "multiply"), ("sub", "subtract"), ("div", "divide")])
def test_short_names(name: str, other: str) -> None:
    assert relay.ir.structural_equal(parsed(f"{name}(%x, %x)"), parsed(f"{other}(%x, %x)"))
    mod = relay.parse(f"def @f(%{name}: int32) {{ let {name} = 2; {name} + %{name} }}")
    assert f"%{name}" in str(mod)


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("take", "data indices axis batch_dims mode"),
        ("stft", "data n_fft hop_length win_length window normalized onesided"),
        (
            "nn.max_pool2d_grad",
            "out_grad data pool_size strides padding layout out_layout ceil_mode",
        ),
        (
            "nn.conv1d_transpose",
            "data weight strides padding dilation groups channels kernel_size",
        ),
        (
            "nn.conv3d_transpose",
            "data weight strides padding dilation groups channels kernel_size",
        ),
        (
            "qnn.avg_pool2d",
            "data input_scale input_zero_point output_scale output_zero_point pool_size strides padding"
            " dilation ceil_mode count_include_pad layout out_layout",
        ),
        (
            "qnn.dense",
            "data weight input_zero_point kernel_zero_point input_scale kernel_scale units",
        ),
    ],
)
def test_the_order_is_the_one_people_know(name: str, order: str) -> None:
    assert " ".join(inspect.signature(builders[name]).parameters).startswith(order)


def test_all_attributes_have_a_place() -> None:
    for cls in registry.values():
        assert sorted(attribute_order(cls)) == sorted(attribute_types(cls))
