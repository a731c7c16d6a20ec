"""Regions of a program that other compilers take: which there are, and what becomes of them."""

from functools import partial

import numpy as np
import pytest

import relay
import relay.transform as passes
from relay.analysis import AnnotatedRegionSet
from relay.backend import get_pattern_table, register_pattern_table
from relay.dataflow_pattern import is_op, wildcard
from relay.diagnostic import RelayError
from relay.ir.expr import Function
from relay.ir.walk import post_order
from relay.testing.temp_op_attr import TempOpAttr
from transform.cases import program, verified


def regions(mod, *operators, compiler="other", merge=True, **options):
    """A module whose calls of these operators are the other compiler's, in definitions of their own."""
    taken = [TempOpAttr(name, f"target.{compiler}", lambda call: True) for name in operators]
    for one in taken:
        one.__enter__()
    try:
        out = passes.AnnotateTarget(compiler, **options)(mod)
    finally:
        for one in taken:
            one.__exit__()
    out = passes.MergeCompilerRegions()(out) if merge else out
    return verified(passes.PartitionGraph()(out))


def of_compiler(mod, compiler="other"):
    """For each function of the compiler the operators that it calls, in order."""
    own = [
        f for f in mod.functions.values() if isinstance(f, Function) and f.attrs.get("Compiler") == compiler
    ]
    return [[e.op.name for e in post_order(f.body) if isinstance(e, relay.Call)] for f in own]


def given_back(mod):
    """What the bodies of the functions compute, optimised with the rest."""
    return passes.MarkCompilerFunctionsAsExtern()(mod)


def test_calls_next_to_each_other_are_one_region():
    mod = program("def @main(%x: Tensor[(3,), f32]) { exp(tanh(nn.relu(sin(%x)))) }")
    assert of_compiler(regions(mod, "tanh", "nn.relu")) == [["nn.relu", "tanh"]]
    assert of_compiler(regions(mod, "tanh", "nn.relu", merge=False)) == [["nn.relu"], ["tanh"]]


def test_what_is_read_behind_an_effect_is_not_in_the_region_that_the_effect_waits_for():
    text = """def @main(%x: f32) {
      let %r = ref(0f);
      let %a = exp(%x);
      let %_ = ref_write(%r, %a);
      let %g = ref_read(%r);
      exp(%g + %a)
    }"""
    mod = program(text)
    out = regions(mod, "exp", "add")
    assert of_compiler(out) == [["exp"], ["add", "exp"]]
    assert given_back(out).evaluate("main", 0.5) == mod.evaluate("main", 0.5)


def test_a_value_that_goes_through_another_operator_keeps_regions_apart():
    # What is above the tanh and what is below it would each wait for the other.
    mod = program("def @main(%x: Tensor[(3,), f32]) { let %a = exp(%x); let %b = sin(%a); tanh(%a) + %b }")
    out = regions(mod, "exp", "sin", "add")
    assert of_compiler(out) == [["exp", "sin"], ["add"]]
    assert [len(fn.params) for fn in out.functions.values() if fn.attrs.get("Compiler")] == [1, 2]


def test_regions_of_different_compilers_are_apart():
    mod = program("def @main(%x: Tensor[(3,), f32]) { exp(tanh(exp(%x))) }")
    with TempOpAttr("exp", "target.one", True), TempOpAttr("tanh", "target.two", True):
        out = passes.PartitionGraph()(
            passes.MergeCompilerRegions()(passes.AnnotateTarget(["one", "two"])(mod))
        )
    assert (of_compiler(out, "one"), of_compiler(out, "two")) == ([["exp"], ["exp"]], [["tanh"]])


def test_the_first_compiler_that_takes_a_call_has_it():
    mod = program("def @main(%x: Tensor[(3,), f32]) { exp(%x) }")
    with (
        TempOpAttr("exp", "target.one", lambda e: e.checked_type.shape == (4,)),
        TempOpAttr("exp", "target.two", True),
    ):
        out = passes.PartitionGraph()(passes.AnnotateTarget(["one", "two"])(mod))
    assert (of_compiler(out, "one"), of_compiler(out, "two")) == ([], [["exp"]])


def test_regions_do_not_reach_across_branches():
    mod = program(
        "def @main(%c: bool, %x: Tensor[(3,), f32]) { let %y = exp(%x); if (%c) { tanh(%y) } else { %y } }"
    )
    out = regions(mod, "exp", "tanh")
    assert sorted(of_compiler(out)) == [["exp"], ["tanh"]]
    for c in (True, False):
        x = np.ones(3, "float32")
        expected = np.tanh(np.exp(x)) if c else np.exp(x)
        np.testing.assert_allclose(given_back(out).evaluate("main", c, x), expected, rtol=1e-6)


def test_tuples_between_calls_are_inside():
    text = "def @main(%x: Tensor[(4,), f32]) { let %s = split(exp(%x), indices_or_sections=2); "
    text += "concatenate((%s.1, %s.0)) }"
    out = regions(program(text), "exp", "split", "concatenate")
    assert of_compiler(out) == [["exp", "split", "concatenate"]]
    x = np.arange(4, dtype="float32")
    np.testing.assert_allclose(given_back(out).evaluate("main", x), np.exp(x)[[2, 3, 0, 1]], rtol=1e-6)


def test_several_results_are_fields_of_one():
    out = regions(
        program(
            "def @main(%x: Tensor[(4,), f32]) { let %a = exp(%x); let %b = tanh(%a); sin(%a) + sin(%b) }"
        ),
        "exp",
        "tanh",
    )
    (fn,) = [f for f in out.functions.values() if f.attrs.get("Compiler")]
    assert str(fn.ret_type) == "(Tensor[(4,), float32], Tensor[(4,), float32])"
    x = np.linspace(0, 1, 4, dtype="float32")
    expected = np.sin(np.exp(x)) + np.sin(np.tanh(np.exp(x)))
    np.testing.assert_allclose(given_back(out).evaluate("main", x), expected, rtol=1e-6)


def test_a_region_says_whose_it_is_and_what_it_is_called():
    (fn,) = [
        f for f in regions(program("def @f(%x: f32) { exp(%x) * 2f }"), "exp").functions.values() if f.attrs
    ]
    assert dict(fn.attrs) == {
        "Compiler": "other",
        "global_symbol": "default_other_f_0",
        "Primitive": 1,
        "Inline": 1,
    }


@pytest.mark.parametrize(("bind", "params"), [(True, 1), (False, 2)])
def test_constants_are_part_of_a_region_or_given_to_it(bind, params):
    mod = program("def @main(%x: Tensor[(2,), f32]) { %x + [1f, 2f] }")
    with TempOpAttr("add", "target.other", True):
        out = passes.PartitionGraph(bind_constants=bind)(passes.AnnotateTarget("other")(mod))
    (fn,) = [f for f in out.functions.values() if f.attrs.get("Compiler")]
    assert len(fn.params) == params


def test_sizes_with_names_stay_open():
    out = regions(program("def @main(%x: Tensor[(n, 3), f32]) { exp(%x) + sum(%x) }"), "exp")
    x = np.ones((2, 3), "float32")
    np.testing.assert_allclose(given_back(out).evaluate("main", x), np.exp(x) + 6, rtol=1e-6)


def test_a_table_of_patterns_says_what_is_taken_as_a_whole():
    @register_pattern_table("example")
    def table():
        return [("example.dense_relu", is_op("nn.relu")(is_op("nn.dense")(wildcard(), wildcard())))]

    mod = program(
        "def @main(%x: Tensor[(2, 4), f32], %w: Tensor[(3, 4), f32]) { exp(nn.relu(nn.dense(%x, %w))) }"
    )
    out = passes.AnnotateTarget("example")(passes.MergeComposite(get_pattern_table("example"))(mod))
    out = passes.PartitionGraph()(out)
    (fn,) = [f for f in out.functions.values() if f.attrs.get("Compiler")]
    assert fn.body.op.attrs["Composite"] == "example.dense_relu"
    with pytest.raises(RelayError, match="no table of patterns"):
        get_pattern_table("exampel")


def test_passes_leave_regions_as_they_are():
    mod = regions(program("def @main(%x: Tensor[(2,), f32]) { add(%x, [0f, 0f]) + 0f }"), "add")
    (name,) = [v for v, f in mod.functions.items() if f.attrs.get("Compiler")]
    for step in (
        passes.SimplifyExpr,
        passes.FoldConstant,
        passes.ToANormalForm,
        passes.FuseOps,
        passes.ToGraphNormalForm,
    ):
        out = verified(step()(mod))
        assert out[name] is mod[name]


def test_regions_of_an_expression_can_be_looked_at():
    begin = partial(relay.annotation.compiler_begin, compiler="other")
    end = partial(relay.annotation.compiler_end, compiler="other")
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    inner = relay.add(begin(x), begin(y))
    first = end(inner)
    second = end(relay.exp(begin(first)))
    found = AnnotatedRegionSet(relay.Function([x, y], second))
    assert [r.target for r in found] == ["other", "other"]
    assert [(len(r.ins), len(r.outs)) for r in found] == [(2, 1), (1, 1)]
    assert found.get_region(inner) is found.get_region(first) is not found.get_region(second)
    assert found.get_region(x) is None


def test_functions_inside_become_definitions():
    region = 'fn(%y: f32, Compiler="other", global_symbol="twice") { %y + %y }'
    mod = program(f"def @main(%x: f32) {{ {region}(%x) * {region.replace('other', 'another')}(%x) }}")
    out = passes.OutlineCompilerFunctionsWithExistingGlobalSymbols("other")(mod)
    assert [v.name_hint for v in out.functions] == ["main", "twice"]
    assert given_back(verified(out))["main"].body.args[0].op.name_hint == "twice"


def test_functions_are_inlined_and_those_without_calls_removed():
    mod = regions(program("def @main(%x: f32) { exp(tanh(%x)) + tanh(%x * 2f) }"), "tanh", "exp")
    names = [v for v in mod.functions if mod[v].attrs.get("Compiler")]
    assert len(names) == 2
    out = verified(passes.InlineCompilerFunctionsBoundTo(names)(mod))
    assert [v.name_hint for v in out.functions] == ["main"]
    assert out.evaluate("main", 0.5) == pytest.approx(np.exp(np.tanh(0.5)) + np.tanh(1.0))


def test_many_regions_take_no_time():
    body = "%x"
    for i in range(1500):
        body = f"{'exp' if i % 2 else 'tanh'}({body})"
    mod = program(f"def @main(%x: f32) {{ {body} }}")
    assert len(of_compiler(regions(mod, "exp"))) == 750
    assert len(of_compiler(regions(mod, "exp", "tanh"))) == 1


PAIR = "def @main(%x: Tensor[(3,), f32], %y: Tensor[(3,), f32]) { (exp(%x), tanh(%y)) }"


@pytest.mark.parametrize(("through", "expected"), [(True, [["exp", "tanh"]]), (False, [["exp"], ["tanh"]])])
def test_a_tuple_of_what_one_compiler_makes_is_made_there(through, expected):
    out = regions(program(PAIR), "exp", "tanh", include_non_call_ops=through)
    assert of_compiler(out) == expected
    assert isinstance(out["main"].body, relay.Call if through else relay.Tuple)
    x, y = np.ones(3, "float32"), np.zeros(3, "float32")
    for made, wanted in zip(given_back(out).evaluate("main", x, y), (np.exp(x), np.tanh(y)), strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-6)


def test_a_tuple_with_a_value_from_outside_is_outside():
    text = "def @main(%x: Tensor[(3,), f32], %y: Tensor[(3,), f32]) { (exp(%x), tanh(%x), %y) }"
    assert of_compiler(regions(program(text), "exp", "tanh")) == [["exp"], ["tanh"]]


def test_regions_end_at_tuples_without_them():
    text = "def @main(%x: Tensor[(4,), f32]) { let %s = split(exp(%x), indices_or_sections=2); "
    text += "concatenate((%s.1, tanh(%s.0))) }"
    operators = "exp", "split", "tanh", "concatenate"
    assert of_compiler(regions(program(text), *operators)) == [list(operators)]
    out = regions(program(text), *operators, include_non_call_ops=False)
    assert of_compiler(out) == [["exp", "split"], ["tanh"], ["concatenate"]]
    x = np.linspace(0, 1, 4, dtype="float32")
    y = np.exp(x)
    expected = np.concatenate([y[2:], np.tanh(y[:2])])
    np.testing.assert_allclose(given_back(out).evaluate("main", x), expected, rtol=1e-6)


def test_a_tuple_does_not_make_regions_wait_for_each_other():
    # The sum waits for the first value, and the second for the sum.
    mod = program("def @main(%x: Tensor[(3,), f32]) { let %a = exp(%x); (%a, tanh(sum(%a))) }")
    out = regions(mod, "exp", "tanh")
    assert of_compiler(out) == [["exp"], ["tanh"]]
    a = np.exp(np.ones(3, "float32"))
    first, second = given_back(out).evaluate("main", np.ones(3, "float32"))
    np.testing.assert_allclose(first, a, rtol=1e-6)
    np.testing.assert_allclose(second, np.tanh(a.sum()), rtol=1e-6)


def test_a_tuple_of_regions_that_are_not_merged_is_no_region():
    mod = program(PAIR)
    assert of_compiler(regions(mod, "exp", "tanh", merge=False)) == [["exp"], ["tanh"]]
    assert "annotation" not in str(regions(mod, "exp", "tanh", merge=False))
