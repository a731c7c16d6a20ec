"""`relay.testing.byoc`: marks for another compiler, and what is said of the regions that follow."""

from typing import Any

import numpy as np


def marked(tvm: Any, body: Any, *params: Any) -> Any:
    return tvm.relay.transform.InferType()(tvm.IRModule.from_expr(tvm.relay.Function(params, body)))


def named(tvm: Any, *names: str) -> list[Any]:
    return [tvm.relay.var(name, shape=(2, 3)) for name in names]


def test_calls_of_a_list_of_operators(tvm: Any) -> None:
    relay, (x, y) = tvm.relay, named(tvm, "x", "y")
    mod = marked(tvm, relay.tanh(relay.add(relay.exp(x), y)), x, y)
    found = relay.testing.byoc.WhiteListAnnotator(["add", "tanh"], "other")(mod)
    begin, end = relay.annotation.compiler_begin, relay.annotation.compiler_end
    total = end(relay.add(begin(relay.exp(x), "other"), begin(y, "other")), "other")
    expected = relay.Function([x, y], end(relay.tanh(begin(total, "other")), "other"))
    assert tvm.ir.structural_equal(relay.transform.InferType()(found), marked(tvm, expected.body, x, y))
    parted = relay.transform.PartitionGraph()(found)
    assert sorted(str(f.attrs["Compiler"]) for f in parted.functions.values() if "Compiler" in f.attrs) == [
        "other", "other",
    ]  # fmt: skip


def test_whole_functions(tvm: Any) -> None:
    relay, (x, y) = tvm.relay, named(tvm, "x", "y")
    mod = marked(tvm, relay.add(relay.exp(x), y), x, y)
    found = relay.testing.byoc.WholeGraphAnnotator("other")(mod)
    begin, end = relay.annotation.compiler_begin, relay.annotation.compiler_end
    expected = end(relay.add(relay.exp(begin(x, "other")), begin(y, "other")), "other")
    assert tvm.ir.structural_equal(relay.transform.InferType()(found), marked(tvm, expected, x, y))


def test_products_of_differences_of_sums(tvm: Any) -> None:
    relay, (x, a, b, c) = tvm.relay, named(tvm, "x", "a", "b", "c")
    body = relay.multiply(relay.subtract(relay.add(relay.exp(x), a), b), c)
    mod = marked(tvm, relay.multiply(body, relay.tanh(x)), x, a, b, c)
    made = relay.testing.byoc.CcompilerAnnotator().visit(mod["main"])
    begin, end = (
        lambda e: relay.annotation.compiler_begin(e, "ccompiler"),
        lambda e: relay.annotation.compiler_end(e, "ccompiler"),
    )
    total = relay.add(begin(relay.exp(x)), begin(a))
    region = end(relay.multiply(relay.subtract(total, begin(b)), begin(c)))
    expected = marked(tvm, relay.multiply(region, relay.tanh(x)), x, a, b, c)
    assert tvm.ir.structural_equal(marked(tvm, made.body, *made.params), expected)
    parted = relay.transform.InferType()(relay.transform.PartitionGraph()(expected))
    assert len(parted.functions) == 2
    values = [np.full((2, 3), n, "float32") for n in (0.5, 1, 2, 3)]
    want = ((np.exp(values[0]) + 1 - 2) * 3) * np.tanh(values[0])
    back = relay.transform.InlineCompilerFunctionsBoundTo(
        [v for v, f in parted.functions.items() if "Compiler" in f.attrs]
    )(parted)
    np.testing.assert_allclose(
        relay.create_executor("debug", back).evaluate()(*values).numpy(), want, rtol=1e-5
    )


def test_what_takes_which_calls(tvm: Any) -> None:
    relay, (x, y) = tvm.relay, named(tvm, "x", "y")
    exp = relay.exp(x)
    total = relay.add(exp, y)
    relu = relay.nn.relu(total)
    out = relay.tanh(relu)
    mod = marked(tvm, out, x, y)
    is_op, wildcard = relay.dataflow_pattern.is_op, relay.dataflow_pattern.wildcard
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
    steps = [
        relay.transform.MergeComposite([("other.add_relu", pattern)]),
        relay.transform.AnnotateTarget("other"),
        relay.transform.PartitionGraph(),
    ]
    mod = tvm.transform.Sequential(steps)(mod)
    found = relay.analysis.analyze_operations_distribution(mod)
    places = [str(e.span) for e in (exp, total, relu, out)]
    assert len(set(places)) == 4
    assert {p: found[p][:2] for p in places} == {
        places[0]: ["generic", "generic"],
        places[1]: ["other", "other.add_relu"],
        places[2]: ["other", "other.add_relu"],
        places[3]: ["generic", "generic"],
    }
    numbers = [found[p][2] for p in places]
    assert numbers[1] == numbers[2]
    assert sorted({*numbers}) == [1, 2, 3]
