"""`to_onnx`: a program as a model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from relay.diagnostic import fail
from relay.frontend.onnx.export.graph import Value, number_of, tensor_of
from relay.frontend.onnx.export.program import Program, prepared
from relay.frontend.onnx.export.registry import OPSET, load_families
from relay.frontend.onnx.registry import CONTRIBUTED
from relay.ir.collector import paused
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.ir.type import ANY, Dim
from relay.text.files import write_atomically

IR_VERSION = 10
"""The version of the file format that goes with `OPSET`."""
MAX_EMBEDDED_WEIGHT_BYTES = 2**31 - 2**20
"""Bytes of weights beyond which they go to a file of their own: a protobuf holds less than 2 GiB."""


def to_onnx(
    mod: IRModule | Function,
    params: Mapping[str, Any] | None = None,
    *,
    name: str = "main",
    contributed: bool = False,
) -> Any:
    """The `ModelProto` of `@main`; parameters that `params` gives values are its initialisers.

    Functions that `@main` calls are inlined and derivatives written out; what is left must be operators
    on tensors.  Symbolic sizes are `dim_param`s.  `name` is the graph's.  With `contributed`, products by
    weights in groups are ONNX Runtime's `MatMulNBits`, which other runtimes may not have.

    Raises `onnx-export` for all that ONNX has no counterpart of, `unknown-input`, `argument-type`.
    """
    from relay.driver.arguments import param_values
    from relay.typecheck.infer import infer

    _needs_onnx()
    load_families()
    mod = infer(mod if isinstance(mod, IRModule) else IRModule.from_expr(mod))
    main = mod["main"]
    if not isinstance(main, Function):
        fail("onnx-export", "`@main` is not a function", main.span, hint="export a function of tensors")
    weights = {n: c.value for n, c in param_values(mod, params or {}).items()}
    with paused():
        program = Program(mod := prepared(mod), weights, contributed)
        body = mod["main"]
        assert isinstance(body, Function)
        return _model(program, program.run(body), name)


def save_onnx(model: Any, path: str | Path) -> None:
    """Write a model; weights of 2 GiB and more go to `path` with `.data` at its end (`cannot-write`)."""
    import onnx

    if sum([len(t.raw_data) for t in model.graph.initializer]) < MAX_EMBEDDED_WEIGHT_BYTES:
        write_atomically(str(path), lambda out: out.write(model.SerializeToString()))
        return
    library: Any = onnx
    target, data = Path(path), f"{Path(path).name}.data"
    try:
        with TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as made:
            staged = Path(made, target.name)
            library.save_model(
                model, str(staged), save_as_external_data=True, location=data, size_threshold=1024
            )
            staged.with_name(data).replace(target.with_name(data))
            staged.replace(target)
    except OSError as error:
        fail("cannot-write", f"`{path}` cannot be written: {error.strerror or error}")


def _needs_onnx() -> None:
    try:
        import onnx as onnx
    except ImportError:
        message = "writing ONNX models needs the package `onnx`"
        fail("cannot-write", message, hint="pip install 'relay-ir[onnx]'")


def _model(program: Program, outputs: Sequence[Value], name: str) -> Any:
    """The model around what was written, without what nobody reads."""
    from onnx import helper

    g = program.graph
    needed = {x.name for x in outputs}
    nodes: list[Any] = []
    for node in reversed(g.nodes):
        if not needed.isdisjoint(node.output):
            nodes.append(node)
            needed.update(node.input)
    tensors = [tensor_of(array, n) for n, array in g.constants.items() if n in needed]
    graph = helper.make_graph(
        nodes[::-1], name, [_declared(x) for x in program.inputs], [_declared(x) for x in outputs], tensors
    )
    opsets = [helper.make_opsetid("", OPSET)]
    if any(node.domain == CONTRIBUTED for node in nodes):
        opsets.append(helper.make_opsetid(CONTRIBUTED, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="relay")


def _declared(x: Value) -> Any:
    """The name and type of an input or output."""
    from onnx import helper

    return helper.make_tensor_value_info(x.name, number_of(x.dtype), [_size(d) for d in x.shape])


def _size(d: Dim) -> int | str | None:
    """A size: a number, a name, or not said."""
    return d if isinstance(d, int) else None if d is ANY else str(d)
