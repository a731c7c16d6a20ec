"""Models of other formats where a program is expected."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.cli.inputs import Input
from relay.ir.module import IRModule

SUFFIX = ".onnx"
EXPORTED = ".pt2"
"""What `torch.export.save` writes."""


def input_names(file: str) -> list[str]:
    """What the inputs of a model are called."""
    from relay.frontend.onnx.model import read_model

    graph = read_model(file)[0].graph
    initial = {t.name for t in graph.initializer}
    return [i.name for i in graph.input if i.name not in initial]


def read_with(file: str, names: Sequence[str], inputs: Sequence[Input]) -> tuple[IRModule, list[Input]]:
    """A model as a program, and the inputs that are left: those that decide types are part of the program."""
    from relay.frontend.onnx.api import from_onnx, import_model
    from relay.frontend.value import NeedsValueError

    given = dict(zip(names, inputs, strict=True))
    static: dict[str, Any] = {}
    while True:
        try:
            mod, _ = import_model(file, {}, None, None, True, static)
            break
        except NeedsValueError as missing:
            more = [n for n in missing.sources if n in given and n not in static]
            if not more:
                mod, _ = from_onnx(file, static=static)
                break
            static.update({n: value_of(given[n]) for n in more})
    return mod, [x for n, x in given.items() if n not in static]


def read_exported(file: str) -> tuple[IRModule, dict[str, Input]]:
    """An exported program of PyTorch, and the values of buffers that it changes."""
    from relay.frontend.torch.api import from_pytorch

    mod, state = from_pytorch(file)
    return mod, {name: Input(f"{file}:{name}", array) for name, array in state.items()}


def imported(
    model: str, shapes: Mapping[str, tuple[object, ...]] | None = None, opset: int | None = None
) -> IRModule:
    """A model as a module; its parameters are constants unless they are inputs, too."""
    if model.endswith(EXPORTED):
        return read_exported(model)[0]
    from relay.frontend.onnx.api import from_onnx

    return from_onnx(model, shape=shapes, opset=opset)[0]


def value_of(x: Input) -> Any:
    """The value of an input."""
    array = x.array
    if array is not None:
        return array
    from relay.interpreter.machine import evaluate
    from relay.text.parser import parse_expression

    return evaluate(IRModule(), parse_expression(x.text, "<input>"))
