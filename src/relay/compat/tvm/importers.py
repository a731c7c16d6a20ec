"""Importers by known names: of TorchScript, and of formats that are read by way of ONNX."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

from relay.diagnostic import caller_span, fail
from relay.frontend.torch.api import from_pytorch as from_exported
from relay.frontend.torch.exporting import installed_pytorch
from relay.ir.bind import substitute
from relay.ir.expr import Expr, Function, Var, replace
from relay.ir.module import IRModule
from relay.transform.rewriting.definitions import with_definitions

__all__ = [
    "from_caffe", "from_caffe2", "from_coreml", "from_darknet", "from_keras", "from_mxnet", "from_oneflow",
    "from_paddle", "from_pytorch", "from_tensorflow", "from_tflite",
]  # fmt: skip


def _by_onnx(system: str, converter: str) -> Callable[..., NoReturn]:
    """An importer that says what to do."""

    def read(*_: Any, **__: Any) -> NoReturn:
        hint = f"{converter} writes them as ONNX, which `relay.frontend.from_onnx` reads"
        fail("no-importer", f"models of {system} are not read here", caller_span(), hint=hint)

    read.__doc__ = f"Models of {system} are read by way of ONNX."
    return read


from_tensorflow = _by_onnx("TensorFlow", "`python -m tf2onnx.convert --saved-model`")
from_keras = _by_onnx("Keras", "`python -m tf2onnx.convert --keras`")
from_tflite = _by_onnx("TensorFlow Lite", "`python -m tf2onnx.convert --tflite`")
from_paddle = _by_onnx("Paddle", "`paddle2onnx`")
from_mxnet = _by_onnx("MXNet", "`mxnet.onnx.export_model`")
from_coreml = _by_onnx("Core ML", "`onnxmltools`")
from_oneflow = _by_onnx("OneFlow", "`oneflow_onnx`")
from_caffe = from_caffe2 = _by_onnx("Caffe", "`caffe2onnx`")
from_darknet = _by_onnx("Darknet", "an exporter such as that of YOLO's authors")


def from_pytorch(
    script_module: Any, input_infos: Any = None, custom_convert_map: Any = None, *args: Any, **options: Any
) -> tuple[IRModule, Mapping[str, Any]]:
    """A module of PyTorch, of TorchScript too, as `mod, params`.

    `input_infos` has `(name, shape)` or `(name, (shape, dtype))` for each input; weights are parameters of
    `@main` behind them, with their values in `params`.  Without names it has example inputs, and `options`
    are those of Relay's `from_pytorch`.  Raises what that does, and `argument-type`.
    """
    if not are_infos(input_infos):
        return from_exported(script_module, input_infos, custom_convert_map, *args, **options)
    if custom_convert_map:
        hint = "`relay.frontend.torch.converts` registers a function for an operator"
        fail("argument-type", "conversions are not given call by call", caller_span(), hint=hint)
    given = [name for name, _ in input_infos]
    if len(set(given)) < len(given):
        fail("argument-type", f"two inputs have one name: {', '.join(given)}", caller_span())
    examples = tuple([example(name, said) for name, said in input_infos])
    found = from_exported(script_module, examples, freeze_params=False)
    names = dict(zip([n for n in found.signature.inputs if n], given, strict=True))
    return with_inputs_named(found.mod, names), found.params


def are_infos(given: Any) -> bool:
    """Whether inputs are described by names and shapes."""
    several = cast("Sequence[Any]", given) if isinstance(given, list | tuple) else ()
    return bool(several) and all(map(is_info, several))


def is_info(given: Any) -> bool:
    """Whether an input is described by its name and its shape."""
    pair = cast("Sequence[Any]", given) if isinstance(given, list | tuple) else ()
    return len(pair) == 2 and type(pair[0]) is str


def example(name: str, said: Any) -> Any:
    """A tensor of what is said of an input: a shape, and a dtype, else float32 (`argument-type`)."""
    match said:
        case ((*shape,), str() as dtype):
            pass
        case (*shape,):
            dtype = "float32"
        case _:
            shape, dtype = [None], ""
    torch = installed_pytorch()
    kind = getattr(torch, dtype, None)
    if not all(type(d) is int for d in shape) or not isinstance(kind, torch.dtype):
        hint = '(name, (1, 3, 224, 224)) or (name, ((1, 3, 224, 224), "float32"))'
        fail("argument-type", f"the input `{name}` cannot be {said!r:.80}", caller_span(), hint=hint)
    return torch.zeros(shape, dtype=kind)


def with_inputs_named(mod: IRModule, names: Mapping[str, str]) -> IRModule:
    """A module whose `@main` has other names of parameters."""
    main = mod["main"]
    assert isinstance(main, Function)
    new: dict[Var, Expr] = {
        p: Var(names[p.name_hint], p.type_annotation, span=p.span)
        for p in main.params
        if p.name_hint in names
    }
    params = [new.get(p, p) for p in main.params]
    made = replace(main, params=params, body=substitute(main.body, new))
    return with_definitions(mod, {mod.get_global_var("main"): made})
