"""Mixed precision: narrow where it is cheap, wide where it counts, and nearly the same values."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from relay.testing.temp_op_attr import TempOpAttr
from transform.cases import program, verified

NETWORK = """
def @block(%x: Tensor[(2, 4, 8, 8), f32], %w: Tensor[(4, 4, 3, 3), f32], %b: Tensor[(4,), f32]) {
  %0 = nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=(1, 1)), %b));
  nn.max_pool2d(%0 + %x, pool_size=(2, 2), strides=(2, 2))
}
def @main(%x: Tensor[(2, 4, 8, 8), f32], %w: Tensor[(4, 4, 3, 3), f32], %b: Tensor[(4,), f32],
          %v: Tensor[(6, 64), f32], %n: int32) {
  let %y = @block(%x, %w, %b);
  let %t = split(concatenate((nn.conv2d(%y, %w, padding=(1, 1)), %y), axis=1), indices_or_sections=2, axis=1);
  let %z = nn.dense(nn.batch_flatten(%t.0), %v);
  let %r = ref(%z);
  let %f = fn (%a) { tanh(%a) };
  (nn.softmax(%z), if (%n > 0) { %f(%z) } else { ref_read(%r) }, sum(%t.1))
}
"""


def values():
    random = np.random.default_rng(0)
    shapes = ((2, 4, 8, 8), (4, 4, 3, 3), (4,), (6, 64))
    return [*[(random.normal(size=s) * 0.3).astype("float32") for s in shapes], np.int32(1)]


@pytest.mark.parametrize(("narrow", "tolerance"), [("float16", 2e-3), ("bfloat16", 2e-2)])
@pytest.mark.parametrize("executor", ["debug", "native"])
def test_values_are_those_of_wide_floats_up_to_the_digits_of_narrow_ones(narrow, tolerance, executor):
    mod = program(NETWORK)
    before = Interpreter(mod).evaluate("main", *values())
    for form in (mod, passes.to_anf(mod)):
        out = verified(passes.to_mixed_precision(form, mixed_precision_type=narrow))
        assert f"dtype={narrow}" in str(out)
        after = relay.create_executor(executor, out).evaluate()(*values())
        for one, other in zip(before, after, strict=True):
            assert one.dtype == other.dtype == np.float32
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_every_product_of_floats_is_narrow_and_what_is_named_is_not():
    mod = program(NETWORK)
    out = str(passes.to_mixed_precision(mod))
    assert out.count("out_dtype=float32") == 3
    assert "nn.softmax(%" in out
    kept = passes.to_mixed_precision(mod, never=["nn.conv2d", "nn.dense"])
    assert "float16" not in str(kept)
    few = str(passes.to_mixed_precision(mod, never=["nn.conv2d"], accumulation_type="float16"))
    assert few.count("out_dtype=float16") == 1


def test_operators_follow_narrow_operands_beside_constants_and_parameters():
    head = "def @main(%x: Tensor[(2, 4), f32], %w: Tensor[(4, 4), f32], %b: Tensor[(4,), f32])"
    follows = program(f"{head} {{ nn.dense(%x, %w) * %b + 1f }}")
    out = passes.to_mixed_precision(follows, keep_orig_output_dtype=False)
    assert out["main"].ret_type == relay.TensorType((2, 4), "float16")
    wide = program(f"{head} {{ exp(nn.dense(%x, %w)) }}")
    out = passes.to_mixed_precision(wide, keep_orig_output_dtype=False)
    assert out["main"].ret_type == relay.TensorType((2, 4), "float32")
    alone = program(f"{head} {{ %x * %b + 1f }}")
    assert passes.to_mixed_precision(alone) is alone


def test_results_that_others_use_keep_their_type():
    mod = program("""
    def @f(%x: Tensor[(2, 4), f32], %w: Tensor[(4, 4), f32]) { nn.dense(%x, %w) }
    def @main(%x: Tensor[(2, 4), f32], %w: Tensor[(4, 4), f32]) { @f(@f(%x, %w), %w) }
    """)
    out = verified(passes.to_mixed_precision(mod, keep_orig_output_dtype=False))
    assert out["f"].ret_type == relay.TensorType((2, 4), "float32")


def test_the_choice_of_an_operator_of_ones_own_can_be_entered():
    from relay.op.family import Elementwise
    from relay.op.kind import Derivative, Precision
    from relay.op.registry import operator

    @operator("test.twice")
    class Twice(Elementwise):
        """Twice the data."""

        derivative = Derivative.ZERO

        def reference(self, np, data):
            return data + data

    mod = program(
        "def @main(%x: Tensor[(2, 4), f32], %w: Tensor[(4, 4), f32]) { test.twice(nn.dense(%x, %w)) }"
    )
    out = passes.to_mixed_precision(mod, keep_orig_output_dtype=False)
    assert out["main"].ret_type == relay.TensorType((2, 4), "float32")
    Twice.precision = Precision.STORED
    out = passes.to_mixed_precision(mod, keep_orig_output_dtype=False)
    assert out["main"].ret_type == relay.TensorType((2, 4), "float16")


def test_what_is_wrong_is_said():
    mod = program(NETWORK)
    for options, code in [
        ({"mixed_precision_type": "int8"}, "option-type"),
        ({"accumulation_type": "float64"}, "option-type"),
        ({"always": ["nn.convolution"]}, "unknown-operator"),
    ]:
        with pytest.raises(RelayError) as error:
            passes.to_mixed_precision(mod, **options)
        assert error.value.codes == (code,)


def test_a_list_of_operators_is_no_text():
    with pytest.raises(RelayError) as error:
        passes.ToMixedPrecision(always="exp")
    assert error.value.codes == ("option-type",)


def test_layers_are_recast_by_number_and_cast_back():
    f = relay.parse_expr("""
    fn (%x: Tensor[(1, 3, 8, 8), f32], %w: Tensor[(4, 3, 3, 3), f32], %v: Tensor[(4, 4, 1, 1), f32]) {
      concatenate((nn.conv2d(nn.relu(nn.conv2d(%x, %w)), %v), nn.conv2d(%x, %w)), axis=1)
    }""")
    out = passes.recast(f, "int8", "int32", skip_layers=[-1, 0])
    assert str(out).count("out_dtype=int32") == 1
    assert out.ret_type == relay.infer_expr(f).ret_type
    shapes = (((1, 3, 8, 8), 2), ((4, 3, 3, 3), 2), ((4, 4, 1, 1), 2.5))
    x = [np.full(shape, value, "float32") for shape, value in shapes]
    one, other = (
        relay.create_executor("debug", relay.IRModule.from_expr(e)).evaluate()(*x) for e in (f, out)
    )
    assert one[0, 0, 0, 0] == 4 * 108 * 2.5
    assert other[0, 0, 0, 0] == 4 * 108 * 2
    joined = passes.recast(f, "float16", "float16", ops=["concatenate"])
    assert "cast(concatenate((%0, cast(" in str(joined)
    with pytest.raises(RelayError) as error:
        passes.recast(f, "int8", "int32", skip_layers=[3])
    assert error.value.codes == ("option-type",)


TWO = """
def @main(%x: Tensor[(9, 4), f32], %w: Tensor[(4, 4), f32]) { nn.dense(nn.dense(%x, %w), nn.relu(%w)) }
"""
BY_CALL = "FTVMMixedPrecisionConversionType"


def test_a_function_of_a_user_says_it_call_by_call():
    seen = []

    def convert(call, narrow):
        seen.append((call.op.name, narrow))
        is_first = isinstance(call.args[1], relay.Var)
        return [2, "float32", "float32"] if is_first else [0, narrow, narrow]

    with TempOpAttr("nn.dense", BY_CALL, convert):
        out = verified(passes.to_mixed_precision(program(TWO), mixed_precision_type="bfloat16"))
        always = passes.to_mixed_precision(program(TWO), always=["nn.dense"])
    text = str(out)
    assert set(seen) == {("nn.dense", "bfloat16")}
    assert "nn.dense(%x, %w)" in text
    assert text.count("out_dtype=bfloat16") == 1
    assert str(always).count("out_dtype=float32") == 2


@pytest.mark.parametrize(
    "said", [None, [0], [3, "float32", "float16"], [0, "int8", "int8"], [[], "float32", ""]]
)
def test_what_a_function_of_a_user_must_say(said):
    with (
        TempOpAttr("nn.dense", BY_CALL, lambda call, narrow: said),
        pytest.raises(RelayError, match=r"the mixed precision of `nn\.dense` cannot be"),
    ):
        passes.to_mixed_precision(program(TWO))
