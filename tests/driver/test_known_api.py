"""What programs written for the original expect of the API in Python, beside names and positions."""

from typing import Any

import numpy as np
import pytest

import relay
from known_runs import same, value, var
from relay import RelayError, transform
from relay.dataflow_pattern import is_if, is_let, is_tuple_get_item, wildcard
from relay.testing import run_infer_type

X = np.arange(6, dtype="float32").reshape(2, 3)


def doubled() -> relay.IRModule:
    x = var("x", 2, 3)
    return relay.IRModule.from_expr(relay.Function([x], x + x))


def test_vm_compiles_a_module() -> None:
    same(relay.vm.compile(doubled(), target="llvm")(X), X + X)
    x, w = var("x", 2, 3), var("w", 3)
    bound = relay.vm.compile(
        relay.IRModule.from_expr(relay.Function([x, w], x * w)), params={"w": np.ones(3, "float32")}
    )
    same(bound(X), X)
    with pytest.raises(RelayError) as caught:
        relay.vm.compile(doubled(), target="cuda")
    assert caught.value.codes == ("unknown-target",)


def test_name_of_a_data_type_is_applied() -> None:
    name = relay.GlobalTypeVar("List")
    assert name(relay.scalar_type("int32")) == relay.TypeCall(name, [relay.scalar_type("int32")])


@pytest.mark.parametrize("functor", [relay.ExprFunctor, relay.TypeFunctor])
def test_functor_without_a_method_for_a_node(functor: Any) -> None:
    class Own(functor):
        pass

    node = var("x", 2) if functor is relay.ExprFunctor else relay.scalar_type("int32")
    with pytest.raises(NotImplementedError, match="Own has no visit_"):
        Own().visit(node)


def test_patterns_have_the_parts_they_are_made_of() -> None:
    a, b, c = wildcard(), wildcard(), wildcard()
    field = is_tuple_get_item(a, 1)
    assert (field.tuple, field.index) == (a, 1)
    choice = is_if(a, b, c)
    assert (choice.cond, choice.true_branch, choice.false_branch) == (a, b, c)
    bound = is_let(a, b, c)
    assert (bound.var, bound.value, bound.body) == (a, b, c)


def test_debug_calls_a_function_with_the_value() -> None:
    seen: list[Any] = []
    e = relay.op.debug(var("x", 2, 3) + relay.const(1.0), debug_func=seen.append)
    same(value(e, X), X + np.float32(1))
    assert len(seen) == 2  # the interpreter, and machine code
    for x in seen:
        same(x, X + np.float32(1))
    same(value(relay.op.debug(var("x", 2, 3)), X), X)


@pytest.mark.parametrize(
    ("name", "dtype"), [("float", "float32"), ("int", "int32"), ("uint", "uint32"), ("uint1", "bool")]
)
def test_dtype_without_a_width(name: str, dtype: str) -> None:
    assert relay.scalar_type(name) == relay.scalar_type(dtype)
    assert relay.var("x", shape=(2,), dtype=name).type_annotation == relay.TensorType((2,), dtype)
    same(value(relay.cast(var("x", 2, 3), name), X), X.astype(dtype))
    strict = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), {name}], %y: {name}) {{ %x }}'
    assert relay.parse(strict)["main"].params[0].type_annotation == relay.TensorType((2,), dtype)
    with pytest.raises(RelayError):
        relay.parse(f"def @main(%x: Tensor[(2,), {name}]) {{ %x }}")


@pytest.mark.parametrize("kind", ["debug", "graph", "vm"])
def test_executor_takes_constants(kind: str) -> None:
    run = relay.create_executor(kind, mod=doubled()).evaluate()
    same(run(relay.const(X)), X + X)
    with pytest.raises(RelayError, match="its dtype is float64"):
        run(relay.const(X.astype("float64")))


def test_required_pass_is_run() -> None:
    x = var("x", 2, 3)
    mod = relay.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    for options, runs in (({"required_pass": ["FastMath"]}, True), ({"opt_level": 4}, True), ({}, False)):
        with transform.PassContext(**options):
            made, _ = relay.optimize(mod, "llvm")
        assert ("fast_exp" in str(made)) is runs


def primitives(mod: relay.IRModule) -> list[relay.Function]:
    found = relay.post_order(mod["main"])
    return [f for f in found if isinstance(f, relay.Function) and "Primitive" in f.attrs]


def test_known_options_of_fusion() -> None:
    e = var("x", 2, 3)
    for _ in range(4):
        e = relay.exp(e)
    mod = relay.IRModule.from_expr(relay.Function(relay.analysis.free_vars(e), e))
    with transform.PassContext(config={"relay.FuseOps.max_depth": 2}):
        assert len(primitives(transform.FuseOps()(mod))) == 2
    assert len(primitives(transform.FuseOps()(mod))) == 1


@pytest.mark.parametrize("linked", [True, False])
def test_fusion_links_parameters(linked: bool) -> None:
    w = np.arange(3, dtype="float32")
    mod = relay.IRModule.from_expr(relay.exp(var("x", 2, 3) * relay.const(w)))
    with transform.PassContext(config={"relay.FuseOps.link_params": linked}):
        (fn,) = primitives(transform.FuseOps()(mod))
        assert len(fn.params) == (1 if linked else 2)
        np.testing.assert_allclose(relay.build(mod)(X), np.exp(X * w), rtol=1e-6)


def test_instruments_see_the_passes_of_a_build() -> None:
    seen: list[str] = []

    @relay.instrument.pass_instrument
    class Names:
        def run_before_pass(self, mod: relay.IRModule, info: Any) -> None:
            seen.append(info.name)

    with transform.PassContext(opt_level=3, instruments=[Names()]):
        relay.build(doubled(), "llvm")
    assert {"InferType", "SimplifyInference", "FoldConstant", "FuseOps"} <= set(seen)


GRADIENT_CELLS = """
import "core.rly"
import "gradient.rly"
def @main(%x: Tensor[(2,), float32]) {
  let %zero = Zero(fn () { zeros((2,), float32) });
  let %one = One(fn () { ones((2,), float32) });
  let %sum = @AddGradCell(add, @AddGradCell(add, %zero, Raw(%x)), %one);
  let %product = @MultiplyGradCell(multiply, %sum, Raw(%x));
  (@FromGradCell(@MultiplyGradCell(multiply, %one, %product)),
   @FromGradCell(@MultiplyGradCell(multiply, %product, %zero)))
}
"""


def test_standard_modules_by_their_file_names() -> None:
    mod = relay.parse(GRADIENT_CELLS)
    x = np.array([2.0, 3.0], "float32")
    for kind in ("debug", "native"):
        product, zero = relay.create_executor(kind, mod=mod).evaluate()(x)
        same(product, (x + 1) * x)
        same(zero, np.zeros(2, "float32"))
    old = relay.IRModule()
    old.import_from_std("core.rly")
    old.import_from_std("gradient.rly")
    assert old.get_global_type_var("Storage")
    assert [c.name_hint for c in old.get_type("GradCell")[1:]] == ["Raw", "One", "Zero"]
    with pytest.raises(RelayError) as caught:
        relay.parse('import "gradients.rly"\n1')
    assert caught.value.codes == ("import-not-found",)


@pytest.mark.parametrize("build", [relay.annotation.checkpoint, relay.checkpoint])
def test_checkpoint_of_a_tuple(build: Any) -> None:
    x = var("x", 2, 3)
    marked = build(relay.Tuple([relay.exp(x), relay.Tuple([x])]))
    same(value(relay.TupleGetItem(marked, 0), X), np.exp(X))
    halves = build(relay.split(x, 3, axis=1).astuple())
    f = run_infer_type(relay.Function([x], relay.TupleGetItem(halves, 1) * relay.TupleGetItem(marked, 0)))
    g = transform.gradient(relay.Function([x], relay.TupleGetItem(marked, 0)))
    _, (slope,) = relay.create_executor("debug").evaluate(g)(X)
    np.testing.assert_allclose(slope, np.exp(X), rtol=1e-6)
    assert f.ret_type == relay.TensorType((2, 3), "float32")
