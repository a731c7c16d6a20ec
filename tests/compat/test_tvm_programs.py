"""Programs that are built and run by the names of `tvm`; expected values are NumPy's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay import RelayError

X = np.arange(6, dtype="float32").reshape(2, 3)
W = np.array([[1.0, -1.0, 2.0], [0.5, 0.0, -2.0]], "float32")


def dense(tvm: Any) -> Any:
    """`relu(x @ w.T)` and its sum."""
    relay = tvm.relay
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(2, 3))
    y = relay.nn.relu(relay.nn.dense(x, w))
    return tvm.IRModule.from_expr(relay.Function([x, w], relay.Tuple([y, relay.sum(y)])))


def expected(x: Any = X, w: Any = W) -> tuple[Any, Any]:
    y = np.maximum(x @ w.T, 0)
    return y, y.sum()


def agree(found: Any, wanted: Any = None) -> None:
    for a, b in zip(found, wanted or expected(), strict=True):
        assert a.dtype == "float32"
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-6)


def test_graph_module(tvm: Any) -> None:
    lib = tvm.relay.build(dense(tvm), target="llvm", params={"w": tvm.nd.array(W), "unknown": W})
    graph = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    graph.set_input("x", tvm.nd.array(X))
    graph.run()
    assert (graph.get_num_inputs(), graph.get_num_outputs()) == (1, 2)
    agree([graph.get_output(0), graph.get_output(1)])
    out = tvm.nd.empty((2, 2))
    graph.get_output(0, out)
    np.testing.assert_allclose(out.numpy(), expected()[0], rtol=1e-6)
    np.testing.assert_array_equal(graph.get_input("x").numpy(), X)
    graph.run(x=-X)
    agree([graph.get_output(0), graph.get_output(1)], expected(-X))
    graph.set_input(**lib.get_params())
    graph.set_input(w=2 * W)
    graph.run()
    agree([graph.get_output(0), graph.get_output(1)], expected(-X, 2 * W))
    assert graph.benchmark(tvm.cpu(), repeat=2, number=1).mean > 0
    assert len(graph.module.time_evaluator("run", tvm.cpu(), number=1, repeat=3)().results) == 3
    with pytest.raises(tvm.TVMError) as caught:
        graph.set_input("y", X)
    assert caught.value.codes == ("unknown-input",)


def test_program_in_a_file(tvm: Any, tmp_path: Path) -> None:
    graph, lib, params = tvm.relay.build(dense(tvm), "llvm", params={"w": W})
    path = tmp_path / "deployed.so"
    lib.export_library(path)
    saved = tvm.relay.save_param_dict(params)
    loaded = tvm.contrib.graph_executor.create(graph, tvm.runtime.load_module(path), tvm.cpu())
    loaded.load_params(bytearray(saved))
    loaded.set_input("x", X)
    loaded.run()
    agree([loaded.get_output(0), loaded.get_output(1)])
    machine = tvm.runtime.vm.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())
    agree(machine.invoke("main", X))


def test_graph_as_json(tvm: Any) -> None:
    said = json.loads(tvm.relay.build(dense(tvm), "llvm", params={"w": W}).get_graph_json())
    nodes = said["nodes"]
    assert [node["op"] for node in nodes] == ["null", "null", "tvm_op", "tvm_op"]
    assert [node["name"] for node in nodes[2:]] == [
        "tvmgen_default_fused_nn_dense_nn_relu", "tvmgen_default_fused_sum",
    ]  # fmt: skip
    assert nodes[2]["inputs"] == [[0, 0, 0], [1, 0, 0]]
    assert (said["arg_nodes"], said["heads"]) == ([0, 1], [[2, 0, 0], [3, 0, 0]])
    assert said["node_row_ptr"] == [0, 1, 2, 3, 4]
    assert said["attrs"]["shape"][1] == [[2, 3], [2, 3], [2, 2], []]


@pytest.mark.parametrize("kind", ["graph", "vm", "debug", "interpreter", "aot"])
def test_executors(tvm: Any, kind: str) -> None:
    ex = tvm.relay.create_executor(kind, mod=dense(tvm), device=tvm.cpu(0), target="llvm")
    agree(ex.evaluate()(X, W))
    agree(ex.evaluate()(tvm.nd.array(X), w=tvm.nd.array(W)))
    x = tvm.relay.var("x", shape=(2, 3))
    assert ex.evaluate(tvm.relay.Function([x], tvm.relay.sum(x)))(X).numpy().item() == X.sum()
    assert ex.evaluate(tvm.relay.const(3) + tvm.relay.const(4)).numpy().item() == 7


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_values_are_taken_apart(tvm: Any, kind: str) -> None:
    relay = tvm.relay
    prelude = relay.prelude.Prelude()
    _, cons, nil = prelude.mod.get_type("List")
    ex = relay.create_executor(kind, mod=prelude.mod)
    items = ex.evaluate(cons(relay.const(1), cons(relay.const(2), nil())))
    assert isinstance(items, tvm.runtime.container.ADT)
    assert isinstance(items, relay.backend.interpreter.ConstructorValue)
    assert (items.tag, items.constructor, len(items)) == (cons.tag, cons, 2)
    assert [items[0].numpy().item(), items.fields[1][0].numpy().item(), len(items[1][1])] == [1, 2, 0]
    xs = relay.var("xs", prelude.l(relay.scalar_type("int32")))
    length = relay.Function([xs], prelude.length(xs))
    assert ex.evaluate(length)(items).numpy().item() == 2
    pair = ex.evaluate(relay.Tuple([relay.const(1.5), relay.Tuple([])]))
    assert (len(pair), pair[0].numpy().item(), len(pair[1])) == (2, 1.5, 0)
    x = relay.var("x", "float32")
    add = ex.evaluate(relay.Function([x], relay.Function([(y := relay.var("y", "float32"))], x + y)))
    assert add(np.float32(1))(np.float32(2)).numpy().item() == 3


def test_virtual_machine(tvm: Any) -> None:
    exe = tvm.relay.vm.compile(dense(tvm), target="llvm", params={"w": W})
    assert exe.get_function_params("main") == ["x"]
    machine = tvm.runtime.vm.VirtualMachine(exe, tvm.cpu())
    agree(machine.invoke("main", X))
    agree(machine.run(x=X))
    machine.set_input("main", -X)
    machine.invoke_stateful("main")
    agree(machine.get_outputs(), expected(-X))
    machine.set_one_input("main", "x", X)
    agree(machine.invoke("main"))
    outs = [tvm.nd.empty((2, 2)), tvm.nd.empty(())]
    machine.invoke_with_outputs("main", {"x": X}, outs)
    agree(outs)
    assert (machine.get_input_index("x"), machine.get_input_index("y")) == (0, -1)
    assert machine.benchmark(tvm.cpu(), X, repeat=2, number=1).mean > 0
    code, lib = exe.save()
    agree(tvm.runtime.vm.VirtualMachine(tvm.runtime.vm.Executable.load_exec(code, lib), tvm.cpu()).run(X))
    compiler = tvm.relay.vm.VMCompiler()
    compiler.set_params({"w": W})
    compiler.lower(dense(tvm), "llvm")
    compiler.codegen()
    agree(tvm.runtime.vm.VirtualMachine(compiler.get_exec(), tvm.cpu()).run(X))


def test_options_of_benchmarks(tvm: Any) -> None:
    lib = tvm.relay.build(dense(tvm), "llvm", params={"w": W})
    module = tvm.contrib.graph_executor.GraphModule(lib["default"](tvm.cpu()))
    assert len(module.benchmark(tvm.cpu(), "run", 3, 1, x=X).results) == 3
    assert len(module.benchmark(tvm.cpu(), repeat=2, min_repeat_ms=1, end_to_end=True).results) == 2
    agree([module.get_output(0), module.get_output(1)])
    machine = tvm.runtime.vm.VirtualMachine(lib, tvm.cpu())
    assert len(machine.benchmark(tvm.cpu(), x=X, repeat=4, number=1, cooldown_interval_ms=0).results) == 4
    with pytest.raises(TypeError, match="takes 7 options"):
        module.benchmark(tvm.cpu(), "run", *range(8))


def test_a_damaged_file_of_parameters_is_named(tvm: Any, tmp_path: Path) -> None:
    path = tmp_path / "net.params"
    path.write_bytes(tvm.runtime.save_param_dict({"w": W})[:-2])
    with pytest.raises(tvm.TVMError, match=r"the array `w` of `.*net\.params` of shape"):
        tvm.runtime.load_param_dict_from_file(path)
    with pytest.raises(tvm.TVMError, match="there is no file"):
        tvm.runtime.load_param_dict_from_file(tmp_path / "other.params")


def test_functions_of_modules_by_name(tvm: Any) -> None:
    exe = tvm.relay.vm.compile(dense(tvm), "llvm", params={"w": W})
    machine = tvm.runtime.vm.VirtualMachine(exe, tvm.cpu())
    machine.module["set_input"]("main", X)
    agree(machine.module["invoke"]("main"))
    agree(machine["invoke"]("main", X))
    agree(machine["main"](X))
    machine.module["invoke_stateful"]("main")
    agree(machine.get_outputs())


def test_a_module_that_is_built_in_steps(tvm: Any) -> None:
    builder = tvm.relay.build_module.BuildModule()
    with pytest.raises(ValueError, match="nothing is built yet"):
        builder.get_module()
    graph, lib, params = builder.build(dense(tvm), target="llvm", params={"w": W})
    assert json.loads(graph) == json.loads(builder.get_graph_json())
    assert lib is builder.get_module()
    np.testing.assert_array_equal(params["w"].numpy(), W)
    assert builder.get_params().keys() == {"w"}
    module = tvm.contrib.graph_executor.create(graph, lib, tvm.cpu())
    module.set_input("x", X)
    module.run()
    agree([module.get_output(0), module.get_output(1)])
    mod, left = builder.optimize(dense(tvm), tvm.target.Target("llvm"), params={"w": W})
    assert (left, [p.name_hint for p in mod["main"].params]) == ({}, ["x"])


def test_targets_of_a_program(tvm: Any) -> None:
    target = tvm.target.Target("llvm", host="c")
    config = tvm.target.make_compilation_config(tvm.transform.PassContext(), target)
    assert (str(config.host_target), config.primitive_targets) == ("c", (tvm.target.Target("llvm"),))
    assert config.optional_homogeneous_target == "llvm"
    several = tvm.target.make_compilation_config(None, {tvm.cpu(): "llvm", tvm.cuda(): "cuda"}, "c")
    assert [str(t) for t in several.primitive_targets] == ["llvm", "cuda"]
    assert (several.host_target, several.optional_homogeneous_target) == ("c", None)
    x = tvm.relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(tvm.relay.Function([x], tvm.relay.exp(tvm.relay.reshape(x, (1, 2)))))
    typed = tvm.relay.transform.InferType()(mod)
    for make in (tvm.relay.transform.PlanDevices, lambda _: tvm.relay.transform.RemoveStandaloneReshapes()):
        assert tvm.ir.structural_equal(tvm.relay.transform.InferType()(make(config)(mod)), typed)
    assert tvm.relay.testing.ctx_list() == tvm.relay.testing.enabled_targets()


@pytest.mark.parametrize(
    ("name", "code", "bits", "lanes"),
    [
        ("int8", "INT", 8, 1), ("uint16x4", "UINT", 16, 4), ("float32", "FLOAT", 32, 1),
        ("bool", "UINT", 1, 1), ("bfloat16", "BFLOAT", 16, 1), ("float", "FLOAT", 32, 1),
        ("handle", "HANDLE", 64, 1), ("e4m3_float8", "E4M3Float", 8, 1),
    ],
)  # fmt: skip
def test_dtypes_have_parts(tvm: Any, name: str, code: str, bits: int, lanes: int) -> None:
    dtype = tvm.DataType(name)
    assert dtype == name
    assert dtype.type_code == getattr(tvm.DataTypeCode, code)
    assert (dtype.bits, dtype.lanes, dtype.itemsize()) == (bits, lanes, -(-bits * lanes // 8))
    assert tvm.runtime.DataType(name).with_lanes(2).lanes == 2
    with pytest.raises(ValueError, match="`flot32` is not a dtype"):
        tvm.DataType("flot32")


def test_what_is_not_here_is_refused_by_name(tvm: Any) -> None:
    assert tvm.cpu().exist
    assert not tvm.cuda().exist
    for run in (
        lambda: tvm.relay.build(dense(tvm), target="cuda"),
        lambda: tvm.relay.build(dense(tvm), target=tvm.target.Target("vulkan", host="llvm")),
        lambda: tvm.relay.create_executor("graph", dense(tvm), tvm.cuda(0), "cuda"),
        lambda: tvm.relay.build(dense(tvm), target="llvm")["default"](tvm.cuda(0)),
        lambda: tvm.nd.array(X, tvm.device("cuda", 0)),
        lambda: tvm.device("abacus"),
    ):
        with pytest.raises(RelayError) as caught:
            run()
        assert caught.value.codes == ("unknown-target",)
    with pytest.raises(RelayError) as caught, tvm.target.Target("rocm"):
        tvm.relay.build(dense(tvm))
    assert "rocm" in str(caught.value)


def test_arrays(tvm: Any) -> None:
    a = tvm.nd.array(X, tvm.cpu())
    assert isinstance(a, tvm.nd.NDArray)
    assert (a.shape, a.dtype, str(a.device)) == ((2, 3), "float32", "cpu(0)")
    b = a.copyto(tvm.nd.empty((2, 3), "float32"))
    c = a.copyto(tvm.cpu())
    a[:] = 0
    for copy in (b.asnumpy(), c.numpy()):
        assert type(copy) is np.ndarray
        np.testing.assert_array_equal(copy, X)
    assert tvm.relay.const(X).data.numpy().dtype == np.float32


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_lists_of_any_length(tvm: Any, kind: str) -> None:
    relay = tvm.relay
    prelude = relay.prelude.Prelude(tvm.IRModule())
    mod = prelude.mod
    _, cons, nil = mod.get_type("List")
    n, before = relay.var("n", "int32"), relay.var("before", prelude.l(relay.scalar_type("int32")))
    count = relay.GlobalVar("count")
    longer = count(n - relay.const(1), cons(n, before))
    body = relay.If(relay.equal(n, relay.const(0)), before, longer)
    mod[count] = relay.Function([n, before], body, before.type_annotation)
    m = relay.var("m", "int32")
    mod["main"] = relay.Function([m], count(m, nil()))
    found = relay.create_executor(kind, mod=mod).evaluate()(100_000)
    length = 0
    while len(found) == 2:
        length, found = length + 1, found[1]
    assert length == 100_000


def test_text_of_what_version_0_0_5_cannot_write(tvm: Any) -> None:
    relay = tvm.relay
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.grad(relay.Function([x], relay.exp(x))))
    with pytest.raises(RelayError) as caught:
        mod.astext()
    assert caught.value.codes == ("dialect-cannot-express",)
    assert "grad(fn" in str(mod)
    plain = tvm.IRModule.from_expr(relay.Function([x], x + relay.const(np.ones(100, "float32"))))
    assert plain.astext().startswith('#[version = "0.0.5"]')
    assert "#[metadata]" in plain.astext()
    assert "#[metadata]" not in str(plain)
    assert tvm.ir.structural_equal(relay.fromtext(plain.astext()), plain)


def test_sums_keep_the_dtype_of_booleans_and_means_that_of_integers(tvm: Any) -> None:
    x = tvm.relay.var("x", shape=(3,), dtype="bool")
    for build in (tvm.relay.sum, tvm.relay.op.sum, tvm.relay.prod, tvm.relay.cumsum, tvm.relay.op.reduce.sum):
        mod = tvm.relay.transform.InferType()(tvm.IRModule.from_expr(tvm.relay.Function([x], build(x))))
        assert mod["main"].ret_type.dtype == "bool"
    whole = tvm.relay.var("x", shape=(3,), dtype="int32")
    for param, e in ((x, tvm.relay.cumsum(x, 0, "int32")), (whole, tvm.relay.mean(whole))):
        mod = tvm.relay.transform.InferType()(tvm.IRModule.from_expr(tvm.relay.Function([param], e)))
        assert mod["main"].ret_type.dtype == "int32"
