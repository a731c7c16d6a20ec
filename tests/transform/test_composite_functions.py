"""Functions for a compiler that takes over what looks like its patterns."""

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.dataflow_pattern import is_constant, is_op, wildcard
from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from relay.ir.expr import Function
from relay.ir.walk import post_order
from transform.cases import program, verified

TEXT = """
def @scaled(%x: Tensor[(2, 4), f32]) { %x * 2f }
def @main(%x: Tensor[(2, 4), f32], %w: Tensor[(4, 4), f32]) {
  let %y = nn.relu(nn.bias_add(nn.dense(@scaled(%x), %w), [1f, 2f, 3f, 4f]));
  nn.relu(nn.dense(%y, %w)) + nn.relu(%x)
}
"""
DENSE = is_op("nn.dense")(wildcard(), wildcard())
TABLE = [
    ("dense_bias_relu", is_op("nn.relu")(is_op("nn.bias_add")(DENSE, is_constant()))),
    ("dense_relu", is_op("nn.relu")(DENSE)),
    ("relu", is_op("nn.relu")(wildcard())),
]


def composites(mod):
    found = [e for v in mod.functions.values() for e in post_order(v) if isinstance(e, Function)]
    return sorted(e.attrs["Composite"] for e in found if "Composite" in e.attrs)


@pytest.mark.parametrize("form", [lambda m: m, passes.to_anf, passes.to_graph_normal_form])
def test_the_first_pattern_that_fits_makes_the_function(form):
    mod = form(program(TEXT))
    out = verified(passes.MergeComposite(TABLE)(mod))
    assert composites(out) == ["dense_bias_relu", "dense_relu", "relu"]
    random = np.random.default_rng(0)
    args = [random.normal(size=s).astype("float32") for s in ((2, 4), (4, 4))]
    before = Interpreter(mod).evaluate("main", *args)
    for executor in ("debug", "native"):
        after = relay.create_executor(executor, out).evaluate()(*args)
        np.testing.assert_allclose(before, after, rtol=1e-6)


def test_a_condition_decides_too():
    mod = program(TEXT)
    wide = [("dense", DENSE, lambda e: e.checked_type.shape == (2, 5))]
    assert passes.merge_composite(mod, pattern_table=wide) is mod


def test_programs_with_such_functions_go_through_other_passes():
    mod = passes.merge_composite(program(TEXT), pattern_table=TABLE)
    verified(passes.defuse_ops(passes.fuse_ops(mod)))
    again = relay.parse(str(mod))
    assert composites(relay.infer(again)) == composites(mod)


def test_what_is_no_entry_is_refused():
    for entry in ("relu", ("relu", "nn.relu"), ("relu", DENSE, 3)):
        with pytest.raises(RelayError) as error:
            passes.merge_composite(program(TEXT), pattern_table=[entry])
        assert error.value.codes == ("option-type",)
