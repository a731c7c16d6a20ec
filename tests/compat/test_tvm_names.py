"""Further parts of `tvm` that stand on Relay: passes, analyses, attributes, sizes, refusals."""

import copy
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from relay import RelayError


def typed(tvm: Any, params: Any, body: Any) -> Any:
    return tvm.relay.transform.InferType()(tvm.IRModule.from_expr(tvm.relay.Function(params, body)))


def names(mod: Any) -> list[str]:
    return [p.name_hint for p in mod["main"].params]


def test_weights_of_dense_layers(tvm: Any) -> None:
    relay = tvm.relay
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(8, 6))
    mod = typed(tvm, [x, w], relay.nn.dense(x, relay.transpose(w)))
    assert relay.analysis.search_fc_transpose(mod["main"]) == ["w"]
    turned = relay.transform.SimplifyFCTranspose(["w"])(mod)
    assert names(turned) == ["x", "w.T"]
    a, b = np.random.default_rng(0).random((2, 8, 8), "float32")
    run = relay.create_executor("graph", turned).evaluate()
    np.testing.assert_allclose(run(a[:4], b[:6]).numpy(), a[:4] @ b[:6].T, rtol=1e-5)
    sparse = relay.transform.DenseToSparse(["w.T"], [[(3, 2, 1), (3,), (4,)]])(turned)
    assert names(sparse) == ["x", "w.T.data", "w.T.indices", "w.T.indptr"]
    assert relay.testing.count_ops(sparse) == {"nn.sparse_dense": 1}
    assert relay.transform.ChangeBatch({x: 0}, batch_size=2)(turned)["main"].ret_type.shape == (2, 6)


def test_division_by_constants(tvm: Any) -> None:
    relay = tvm.relay
    x = relay.var("x", shape=(2,))
    mod = relay.transform.DivToMul()(typed(tvm, [x], x / relay.const(4.0) / x))
    assert relay.testing.count_ops(mod) == {"multiply": 1, "divide": 1}
    found = relay.create_executor("debug", mod).evaluate()(np.array([2, 8], "float32"))
    np.testing.assert_array_equal(found.numpy(), [0.25, 0.25])


def test_passes_whose_work_is_done_elsewhere(tvm: Any) -> None:
    x = tvm.relay.var("x", shape=(2,))
    mod = typed(tvm, [x], tvm.relay.exp(x))
    for name in ("ManifestLifetimes",):
        step = getattr(tvm.relay.transform, name)()
        assert step.info.name == name
        assert step(mod) is mod
    assert tvm.relay.transform.BatchingOps()(mod)["main"] is not None
    assert tvm.relay.transform.AnnotateSpans()(mod)["main"].body.span.source_name.name == "GeneratedSource"
    both = tvm.relay.transform.FirstOrderGradient()(mod)["main"].ret_type
    assert str(both) == "(Tensor[(2,), float32], (Tensor[(2,), float32],))"


def test_analyses(tvm: Any) -> None:
    relay = tvm.relay
    a, b = relay.var("a", shape=(2, 2), dtype="int8"), relay.var("b", shape=(2, 2))
    scale, zero = relay.const(0.5), relay.const(0)
    real = relay.qnn.op.dequantize(a, scale, zero)
    inside = relay.qnn.op.quantize(relay.nn.relu(relay.exp(real)), scale, zero)
    outside = relay.qnn.op.quantize(relay.add(real, b), scale, zero)
    mod = typed(tvm, [a, b], relay.Tuple([inside, outside]))
    assert relay.analysis.list_fake_quantized_op_freqs(mod) == {"nn.relu": 1, "exp": 1}
    fused = relay.analysis.extract_fused_functions(typed(tvm, [b], relay.exp(relay.exp(b))))
    assert [f["main"].attrs["Primitive"] for f in fused.values()] == [1]
    assert relay.frontend.common.infer_shape(relay.sum(b, axis=0)) == (2,)
    ids = relay.const(np.array([0, 2, 0], "int32"))
    rows = relay.segment_sum(relay.const(np.arange(6, dtype="float32").reshape(3, 2)), ids, 3)
    found = relay.create_executor("vm").evaluate(rows).numpy()
    np.testing.assert_array_equal(found, [[4, 6], [0, 0], [2, 3]])
    data = relay.const(np.arange(6, dtype="float32").reshape(3, 2))
    for count in (
        relay.const(3, "int64"),
        None,
    ):  # without a number of segments the greatest is that of the last
        found = relay.create_executor("vm").evaluate(relay.segment_sum(data, ids, count)).numpy()
        np.testing.assert_array_equal(found, [[4, 6], [0, 0], [2, 3]])


def test_dropout_takes_the_rate_second_and_drops_nothing(tvm: Any) -> None:
    relay = tvm.relay
    x = relay.const(np.ones((20, 20), "float32"))
    for call in (relay.nn.dropout(x, 1), relay.op.nn.dropout(x, 0), relay.nn.dropout_raw(x, 0.5)[0]):
        np.testing.assert_array_equal(relay.create_executor("vm").evaluate(call).numpy(), 1)


def test_sizes_and_attributes(tvm: Any) -> None:
    relay = tvm.relay
    shape = relay.TensorType((31, relay.Any(), 37), "float32").shape
    assert (int(shape[0]), shape[2] * 2) == (31, 74)
    assert copy.deepcopy(tvm.tir.IntImm("int64", 31)).value == 31
    assert [isinstance(d, tvm.tir.IntImm) for d in shape] == [True, False, True]
    assert not isinstance(True, tvm.tir.IntImm)
    assert tvm.topi.utils.get_const_tuple(relay.TensorType((2, 3)).shape) == (2, 3)
    call = relay.nn.max_pool2d(relay.var("x", shape=(1, 2, 8, 8)), pool_size=(2, 2))
    attrs = {**call.attrs}
    assert (attrs["pool_size"], attrs["layout"], next(iter(call.attrs.keys()))) == (
        (2, 2),
        "NCHW",
        "pool_size",
    )
    again = relay.Call(call.op, call.args, tvm.ir.make_node("relay.attrs.MaxPool2DAttrs", **attrs))
    assert tvm.ir.structural_equal(call, again, map_free_vars=True)
    assert tvm.ir.make_node("IntImm", dtype="int64", value=5).value == 5
    with pytest.raises(RelayError, match=r"relay\.Call"):
        tvm.ir.make_node("relay.Call")
    n = tvm.tir.SizeVar("n", "int64")
    assert isinstance(n, tvm.tir.Var)
    assert tvm.te.size_var("m").kind is n.kind


REFUSED = (
    "te.compute te.create_schedule tir.PrimFunc autotvm.task auto_scheduler.search meta_schedule.tune"
    " micro.Session rpc.connect script.ir topi.nn relay.op.strategy.generic relay.op.contrib.dnnl"
)


@pytest.mark.parametrize("path", REFUSED.split())
def test_what_is_below_relay_is_refused(tvm: Any, path: str) -> None:
    *modules, name = path.split(".")
    here = tvm
    for module in modules:
        here = getattr(here, module)
    with pytest.raises(RelayError) as caught:
        getattr(here, name)
    assert caught.value.codes == ("tensor-program",)
    assert "hint:" in str(caught.value)


def test_unknown_names_are_as_in_any_module(tvm: Any) -> None:
    with pytest.raises(AttributeError, match=r"module 'tvm\.relay' has no attribute 'frobnicate'"):
        _ = tvm.relay.frobnicate
    assert {"build", "nn", "transform", "Call"} <= set(dir(tvm.relay))


def test_options(tvm: Any) -> None:
    with tvm.transform.PassContext(opt_level=3, config={"tir.disable_vectorize": True}) as context:
        assert tvm.transform.PassContext.current() is context
    with tvm.relay.build_config(opt_level=1):
        assert tvm.transform.PassContext.current().opt_level == 1
    with pytest.raises(RelayError):
        tvm.transform.PassContext(config={"relay.FuseOps.unheard_of": 1})
    executor = tvm.relay.backend.Executor("graph", {"link-params": True})
    assert (executor.name, executor["link-params"]) == ("graph", True)
    assert tvm.relay.backend.Runtime("crt") == tvm.relay.backend.Runtime("crt")
    with pytest.raises(ValueError, match="no executor"):
        tvm.relay.backend.Executor("rocket")
    target = tvm.target.Target({"kind": "llvm", "mcpu": "skylake-avx512"})
    assert (str(target), target.kind.name, target.mcpu) == (
        "llvm -mcpu=skylake-avx512",
        "llvm",
        "skylake-avx512",
    )
    with target:
        assert tvm.target.Target.current() is target
    assert tvm.target.Target.current() is None


def test_rounding_of_requantisations_built_inside(tvm: Any) -> None:
    relay = tvm.relay
    x = relay.var("x", shape=(4,), dtype="int32")
    parts = (x, relay.const(0.5), relay.const(0), relay.const(1.0), relay.const(0))
    assert relay.qnn.op.requantize(*parts).attrs.rounding == "None"
    with relay.qnn.op.requantize_config(rounding="TONEAREST", compute_dtype="float32"):
        assert relay.qnn.op.current_requantize_config().rounding == "TONEAREST"
        inside = relay.qnn.op.requantize(*parts)
        said = relay.qnn.op.requantize(*parts, rounding="UPWARD")
    assert [(e.attrs.rounding, e.attrs.compute_dtype) for e in (inside, said)] == [
        ("TONEAREST", "float32"), ("UPWARD", "float32"),
    ]  # fmt: skip


def test_layouts_are_followed_as_functions_say(tvm: Any) -> None:
    relay = tvm.relay
    from relay.compat.tvm.relay.transform.infer_layout_utils import InferCorrectLayoutOutput

    blocks = tvm.tir.layout("NCHW16c")
    assert (blocks.name, blocks.index_of("c"), blocks.index_of("d")) == ("NCHW16c", 4, -1)
    assert (blocks.factor_of("C"), blocks.factor_of("N")) == (16, -1)
    asked = []

    @relay.op.op.register_infer_correct_layout("nn.relu", level=11)
    def infer(attrs: Any, new_in_layouts: Any, old_in_layouts: Any, old_in_types: Any) -> Any:
        asked.append((new_in_layouts[0], old_in_layouts[0]))
        found = tvm.tir.layout(new_in_layouts[0])
        return InferCorrectLayoutOutput([found], [found], attrs)

    x, w = relay.var("x", shape=(1, 56, 56, 64)), relay.var("w", shape=(3, 3, 64, 64))
    y = relay.nn.relu(relay.nn.conv2d(x, w, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO"))
    try:
        out = relay.transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]})(typed(tvm, [x, w], y))
    finally:
        relay.op.get("nn.relu").reset_attr("FInferCorrectLayout")
    assert asked == [("NCHW", "NHWC")]
    assert str(out["main"].body.op.name) == "transpose"


def test_sparse_convolutions_and_open_batches(tvm: Any) -> None:
    relay = tvm.relay
    x, w = relay.var("x", shape=(1, 4, 4, 3)), relay.var("w", shape=(1, 1, 3, 6))
    conv = relay.nn.conv2d(x, w, kernel_size=(1, 1), data_layout="NHWC", kernel_layout="HWIO")
    mod = typed(tvm, [x, w], conv)
    sparse = relay.transform.Conv2dToSparse(["w"], [[(2, 2, 1), (2,), (4,)]], "NHWC", 1)(mod)
    assert relay.testing.count_ops(sparse) == {"nn.sparse_conv2d": 1}
    frozen = typed(tvm, [x], relay.bind(conv, {w: relay.const(np.eye(3, 6, dtype="float32")[None, None])}))
    sparse = relay.transform.Conv2dToSparse2("NHWC", 1, [1, 1], 0.5)(frozen)
    assert relay.testing.count_ops(sparse) == {"nn.sparse_conv2d": 1}
    images = np.arange(48, dtype="float32").reshape(1, 4, 4, 3)
    found = relay.create_executor("graph", sparse).evaluate()(images).numpy()
    np.testing.assert_array_equal(found, images @ np.eye(3, 6))
    y = relay.var("y", shape=(2, 3))
    any_batch = relay.transform.FlexibleShapeDispatch(buckets=[1, 2], axis=0)(typed(tvm, [y], relay.exp(y)))
    run = relay.create_executor("vm", any_batch).evaluate()
    for rows in (1, 5):
        assert run(np.zeros((rows, 3), "float32")).numpy().tolist() == [[1, 1, 1]] * rows


def test_calibration_data_of_functions_for_compilers(tvm: Any) -> None:
    relay = tvm.relay
    mod = tvm.IRModule()
    p = relay.var("p", shape=(2,))
    mod["other"] = relay.Function([p], p + p).with_attr("Compiler", "other")
    x = relay.var("x", shape=(2,))
    mod["main"] = relay.Function([x], mod.get_global_var("other")(relay.exp(x)))
    value = np.array([0, 1], "float32")
    data = relay.analysis.get_calibration_data(mod, {"x": value})[mod.get_global_var("other")]
    np.testing.assert_allclose(data["inputs"][0].numpy(), np.exp(value), rtol=1e-6)
    np.testing.assert_allclose(data["outputs"][0].numpy(), 2 * np.exp(value), rtol=1e-6)


def test_numbers_of_nodes_as_their_places(tvm: Any) -> None:
    relay = tvm.relay
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    mod = relay.transform.CapturePostDfsIndexInSpans()(typed(tvm, [x], relay.add(y, relay.nn.relu(y))))
    add = mod["main"].body
    exp, relu = add.args
    assert [e.span.source_name.name.partition(":")[0] for e in (add, exp, relu)] == ["index"] * 3
    number = {e: int(e.span.source_name.name.split(":")[1]) for e in (exp, relu, add)}
    assert number[exp] < number[relu] < number[add]
    assert exp.span.source_name.name.endswith(f":{number[add]}")


def test_nodes_take_spans_by_position(tvm: Any) -> None:
    relay = tvm.relay
    span = relay.Span(relay.SourceName("model.txt"), 3, 3, 1, 9)
    x = relay.Var("x", relay.TensorType((2,)), span)
    call = relay.Call(relay.op.get("exp"), [x], None, None, span)
    fn = relay.Function([x], relay.Let(relay.Var("y"), call, call, span), None, None, None, span)
    nodes = (x, call, fn, fn.body, relay.Tuple([x], span), relay.TupleGetItem(relay.Tuple([x]), 0, span))
    for node in (*nodes, relay.If(relay.const(True), x, x, span), relay.RefCreate(x, span)):
        assert str(node.span) == "model.txt:3:1"
    assert isinstance(call, relay.Call)
    assert isinstance(call, relay.expr.Call)
    assert not isinstance(call, relay.Function)
    match call:
        case relay.Call(_, (operand,)):
            assert operand is x
    assert relay.Constant(tvm.nd.array(np.array([1, 2], "int64"))).checked_type.dtype == "int64"
    assert isinstance(relay.Let(variable=relay.Var("z"), value=x, body=x), relay.Let)
    mutated = relay.ExprMutator().visit(fn)
    assert tvm.ir.structural_equal(mutated, fn)


@pytest.mark.parametrize("name", ["from_keras", "from_tflite", "from_mxnet", "from_caffe2"])
def test_models_that_are_read_by_way_of_onnx(tvm: Any, name: str) -> None:
    with pytest.raises(RelayError, match="ONNX") as caught:
        getattr(tvm.relay.frontend, name)(object(), {"x": (1, 3)})
    assert caught.value.codes == ("no-importer",)


def test_no_operator_is_hidden_by_the_module_that_has_it(tvm: Any) -> None:
    relay = tvm.relay
    x = relay.var("x", shape=(2,), dtype="float32")
    for name in ("where", "exp", "zeros"):
        assert callable(getattr(relay, name))
    assert relay.where(relay.greater(x, x), x, x).op.name == "where"


def test_names_are_imported_by_a_star(tvm: Any) -> None:
    found: dict[str, Any] = {}
    exec(f"from {tvm.__name__}.relay.analysis import *", found)
    assert found["free_vars"] is tvm.relay.analysis.free_vars
    assert not [name for name in found if name.startswith("_") and name != "__builtins__"]


def test_instruments_print_around_passes(tvm: Any, capsys: pytest.CaptureFixture[str]) -> None:
    x = tvm.relay.var("x", shape=(2,), dtype="float32")
    mod = tvm.IRModule.from_expr(tvm.relay.Function([x], tvm.relay.exp(x)))
    named = tvm.ir.instrument.PassPrintingInstrument(["InferType"], ["FoldConstant"])
    passes = tvm.transform.Sequential([tvm.relay.transform.InferType(), tvm.relay.transform.FoldConstant()])
    with tvm.transform.PassContext(opt_level=3, instruments=[named]):
        passes(mod)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("// ")]
    assert [line.split()[1] for line in lines] == ["before", "after"]
    with tvm.transform.PassContext(
        instruments=[tvm.instrument.PrintAfterAll(), tvm.instrument.PrintBeforeAll()]
    ):
        tvm.relay.transform.InferType()(mod)
    assert capsys.readouterr().out.count("def @main") == 2


def test_a_copy_names_devices(tvm: Any) -> None:
    x = tvm.relay.var("x", shape=(2,), dtype="float32")
    copied = tvm.relay.device_copy(x, tvm.cpu(0), tvm.device("cpu", 1))
    assert (copied.attrs.src_device, copied.attrs.dst_device) == ("cpu(0)", "cpu(1)")


def test_a_program_without_layers_to_quantise_stays(tvm: Any) -> None:
    mod, params = tvm.relay.testing.mlp.get_workload(batch_size=1)
    with tvm.relay.quantize.qconfig(skip_dense_layer=True):
        found = tvm.relay.quantize.quantize(mod, params)
    assert len(found["main"].params) == 1
    assert "qnn" not in str(found)


MODULES = (
    "relay.op.nn relay.op.tensor relay.op.annotation relay.qnn.op.qnn relay.transform.mixed_precision"
    " relay.ty relay.analysis.call_graph relay.testing.layers relay.frontend.onnx relay.adt relay.loops"
    " relay.param_dict relay.expr_functor relay.scope_builder relay.backend.executor_factory ir.supply"
    " ir.container ir.tensor_type runtime.vm runtime.ndarray runtime.packed_func _ffi.base autotvm.tuner"
    " contrib.debugger.debug_executor"
)


@pytest.mark.parametrize("name", MODULES.split())
def test_modules_are_imported_by_their_names(tvm: Any, name: str) -> None:
    module = import_module(f"relay.compat.tvm.{name}")
    parent, _, last = name.rpartition(".")
    if not name.startswith("autotvm"):
        assert getattr(import_module(f"relay.compat.tvm.{parent}".rstrip(".")), last) is module


def test_devices_are_planned(tvm: Any) -> None:
    relay = tvm.relay
    x = relay.var("x", shape=(2,), dtype="float32")
    body = relay.tanh(relay.op.annotation.on_device(relay.exp(x), tvm.device("cpu", 1)))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    planned = relay.transform.PlanDevices(None)(mod)
    (copied,) = planned["main"].body.args
    assert (copied.op.name, copied.attrs.src_device, copied.attrs.dst_device) == (
        "device_copy", "cpu(1)", "cpu(0)",
    )  # fmt: skip
    found = relay.create_executor("debug", mod=planned).evaluate()(np.ones(2, "float32"))
    np.testing.assert_allclose(found.numpy(), np.tanh(np.exp([1, 1])), rtol=1e-6)


def test_targets_that_are_known_to_fail_run_as_such(tvm: Any) -> None:
    def test(target: Any) -> None: ...

    for failing, marks in (("llvm", ["xfail"]), ("cuda", [])):
        (mark,) = tvm.testing.known_failing_targets(failing)(test).pytestmark[-1:]
        (row,) = mark.args[1]
        assert row.values == ("llvm",)
        assert [m.name for m in row.marks] == marks


def test_nodes_answer_what_passes_ask(tvm: Any) -> None:
    relay = tvm.relay
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    conv = relay.nn.conv2d(x, w, strides=(2, 1), padding=(1, 1), groups=1, kernel_size=(3, 3))
    assert conv.attrs.get_int("groups") == 1
    assert conv.attrs.get_int_tuple("strides") == (2, 1)
    assert conv.attrs.get_str("data_layout") == "NCHW"
    assert str(conv._checked_type_) == "Tensor[(1, 4, 4, 8), float32]"
    assert relay.exp(relay.var("y"))._checked_type_ is None
    assert x.vid.name_hint == "x"
    assert x.vid == x.vid
    assert x.vid != w.vid
    op = conv.op
    assert [a.name for a in op.arguments] == ["data", "weight"]
    assert "onvol" in op.description
    assert op.support_level == 10
    f = relay.Function([x, w], conv)
    assert isinstance(f, tvm.ir.BaseFunc)
    assert not isinstance(conv, tvm.ir.BaseFunc)
    assert isinstance(conv, relay.expr.ExprWithOp)


def test_operators_by_name_say_what_they_were_described_as(tvm: Any) -> None:
    op = tvm.relay.op
    op.register("demo.described", "Twice its operand.")
    made = op.get("demo.described")
    made.set_num_inputs(1)
    made.add_argument("data", "Tensor", "The operand.")
    made.set_support_level(3)
    assert made.description == "Twice its operand."
    assert [(a.name, a.type_info, a.description) for a in made.arguments] == [
        ("data", "Tensor", "The operand.")
    ]
    assert made.support_level == 3
