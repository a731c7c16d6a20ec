"""`from_onnx`: a model as a module."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from relay.diagnostic import derived_nodes, did_you_mean, fail
from relay.frontend.named_nodes import MAX_NAMED, first_of
from relay.frontend.onnx.containers import Items, Nothing
from relay.frontend.onnx.graph import Importer, Scope
from relay.frontend.onnx.model import check_supported, opsets_of, read_model
from relay.frontend.onnx.scales import FLOAT8E8M0, scales_of
from relay.frontend.onnx.tensors import array_of, type_of
from relay.frontend.support import definition
from relay.frontend.value import NeedsValueError, Value, constant
from relay.ir.collector import paused
from relay.ir.dtype import dtype_name
from relay.ir.expr import Expr, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.type import UNIT, GlobalTypeVar, TensorType, TypeCall


def from_onnx(
    model: Any,
    shape: Mapping[str, Sequence[Any]] | None = None,
    dtype: str | Mapping[str, str] | None = None,
    opset: int | None = None,
    freeze_params: bool = True,
    static: Mapping[str, Any] | None = None,
) -> tuple[IRModule, dict[str, np.ndarray[Any, Any]]]:
    """An ONNX model as a module with a `@main`, and the parameters that are not part of it.

    `model` is a path, bytes, or a `ModelProto`.  `shape` and `dtype` replace what the model says of its
    inputs, by name; `static` gives inputs values, which become part of the program (a shape, an axis).
    Weights are constants, or with `freeze_params=False` parameters of `@main` by the model's names: all
    floats but scalars, and but those that decide types (the factors of a `Resize`).

    Raises `onnx-model`, `onnx-unsupported`, `onnx-type`, `onnx-needs-value`, `onnx-external-data`,
    `unknown-input`, `cannot-read`, and what is wrong with the types.
    """
    try:
        return import_model(model, shape or {}, dtype, opset, freeze_params, static or {})
    except NeedsValueError as found:
        inputs = first_of(sorted(found.sources)) or "what is computed"
        fail(
            "onnx-needs-value",
            f"{found.what} must be known to import the model, and comes from {inputs}",
            found.span,
            hint=_how_to_say(found) if found.sources else "",
        )


def _how_to_say(missing: NeedsValueError) -> str:
    """How a value or a size that is missing is given."""
    names = sorted(missing.sources)[:MAX_NAMED]
    if missing.of_shape:
        flags = " ".join([f"--shape {n}=…" for n in names])
        return (
            f"say the sizes: from_onnx(model, shape={{{', '.join([f'{n!r}: …' for n in names])}}}), {flags}"
        )
    return f"give it: from_onnx(model, static={{{', '.join([f'{n!r}: array' for n in names])}}})"


def import_model(
    model: Any,
    shape: Mapping[str, Sequence[Any]],
    dtype: str | Mapping[str, str] | None,
    opset: int | None,
    freeze_params: bool,
    static: Mapping[str, Any],
    examples: Mapping[str, Any] | None = None,
) -> tuple[IRModule, dict[str, np.ndarray[Any, Any]]]:
    """As `from_onnx`; a value that is missing is a `NeedsValueError`.

    `examples` gives values of inputs that are sequences or options.  Their elements become parameters of
    their own, `x.0`, `x.1`, and whether an option holds something is part of the program.
    """
    proto, name, folder = read_model(model)
    free: set[str] = set() if freeze_params else {t.name for t in proto.graph.initializer if t.dims}
    while True:
        importer = Importer(name, opsets_of(proto, opset), folder)
        for f in proto.functions:
            importer.functions["" if f.domain == "ai.onnx" else f.domain, f.name] = f
        check_supported(proto, importer)
        try:
            with paused(), derived_nodes():
                return _imported(proto, importer, shape, dtype, free, static, examples or {})
        except NeedsValueError as missing:
            if not free & missing.sources:
                raise
            free -= missing.sources


def _imported(
    proto: Any,
    importer: Importer,
    shape: Mapping[str, Sequence[Any]],
    dtype: str | Mapping[str, str] | None,
    free: set[str],
    static: Mapping[str, Any],
    examples: Mapping[str, Any],
) -> tuple[IRModule, dict[str, np.ndarray[Any, Any]]]:
    graph, scope = proto.graph, Scope(importer)
    check_inputs(graph, [*shape, *static, *(dtype if isinstance(dtype, Mapping) else ())])
    params: list[Var] = []
    weights: dict[str, np.ndarray[Any, Any]] = {}
    initial = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    for i in graph.input:
        if i.name in static:
            scope.values[i.name] = constant(_as_declared(static[i.name], i, importer))
        elif i.name in examples:
            scope.values[i.name] = _known_structure(i, examples[i.name], importer, params)
        elif i.name not in initial:
            param = Var(i.name, _input_type(i, importer, shape, dtype))
            params.append(param)
            assert param.type_annotation is not None
            bound = Value(param, param.type_annotation, sources=frozenset({i.name}))
            is_scale = i.type.tensor_type.elem_type == FLOAT8E8M0
            scope.values[i.name] = scales_of(bound) if is_scale else bound
            _library_for(param.type_annotation, importer)
    for t in graph.initializer if free else ():
        array = array_of(t, importer.folder)
        if t.name in free and array.dtype.kind in "fV":
            weight = constant(array)
            param = Var(t.name, weight.type)
            params.append(param)
            weights[t.name] = array
            scope.values[t.name] = Value(param, weight.type, sources=frozenset({t.name}))
    results = scope.run(graph, importer.name)
    body: Expr = results[0].expr if len(results) == 1 else Tuple(tuple([r.expr for r in results]))
    importer.mod["main"] = definition(params, scope.bindings.around(body))
    from relay.typecheck.infer import infer

    return infer(importer.mod), weights


def check_inputs(graph: Any, given: Sequence[str]) -> None:
    """Refuse what is said of inputs that the model does not have (`unknown-input`)."""
    inputs: list[str] = [i.name for i in graph.input]
    for name in given:
        if name not in inputs:
            near = did_you_mean(name, inputs) or f"its inputs are {first_of(inputs) or 'none'}"
            fail("unknown-input", f"the model has no input `{name}`", hint=near)


def _input_type(
    i: Any, importer: Importer, shape: Mapping[str, Sequence[Any]], dtype: str | Mapping[str, str] | None
) -> Any:
    """The type of an input: what the caller says, else what the model says."""
    base = dtype if isinstance(dtype, str) or dtype is None else dtype.get(i.name)
    if i.name in shape and i.type.WhichOneof("value") in (None, "tensor_type"):
        from relay.frontend.onnx.tensors import dtype_of

        number = i.type.tensor_type.elem_type
        return TensorType(tuple(shape[i.name]), base or (dtype_of(number) if number else "float32"))
    found = type_of(i.type, importer.dims)
    return TensorType(found.shape, base) if isinstance(found, TensorType) and base else found


def _known_structure(i: Any, example: Any, importer: Importer, params: list[Var]) -> Value:
    """A sequence or an option by its elements, each a parameter."""

    def parameter(name: str, x: Any) -> Value:
        array = np.asarray(x)
        params.append(Var(name, TensorType(array.shape, dtype_name(array.dtype))))
        return Value(params[-1], params[-1].type_annotation or UNIT, sources=frozenset({i.name}))

    if example is None:
        return Nothing(importer.mod, TypeCall(GlobalTypeVar("Option"), [UNIT]))
    if isinstance(example, list):
        parts = cast("list[Any]", example)
        return Items(importer.mod, [parameter(f"{i.name}.{k}", x) for k, x in enumerate(parts)])
    return parameter(i.name, example)


def _library_for(t: Any, importer: Importer) -> None:
    """The data types that a type mentions."""
    text = str(t)
    if "List[" in text:
        importer.library("list")
    if "Option[" in text:
        importer.library("option")


def _as_declared(x: Any, i: Any, importer: Importer) -> np.ndarray[Any, Any]:
    """A value given for an input, in its dtype."""
    from relay.frontend.onnx.tensors import dtype_of
    from relay.ir.dtype import to_numpy

    number = i.type.tensor_type.elem_type
    return np.asarray(x, to_numpy(dtype_of(number)) if number else None)
