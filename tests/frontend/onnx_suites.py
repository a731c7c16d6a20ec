"""The tests of models that come with the package `onnx`: what they are, and what goes wrong with one."""

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted", "real")


@cache
def cases(kind: str) -> list[Any]:
    """The tests of a kind."""
    loader = pytest.importorskip("onnx.backend.test.loader")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(loader.load_model_tests(kind=kind))


def outcome(case: Any, executor: str = "debug") -> str:
    """What went wrong with a test, in a line; nothing if it passes."""
    from onnx import TensorProto, numpy_helper
    from onnx.backend.test.runner import Runner

    from relay.frontend.onnx.backend import prepare

    def plain(x: Any) -> Any:
        return numpy_helper.to_array(x) if isinstance(x, TensorProto) else x

    try:
        model, data_sets = (case.model, case.data_sets) if case.model is not None else read(case)
        ready = prepare(model, "CPU", executor)
        for inputs, expected in data_sets:
            found = ready.run([plain(x) for x in inputs])
            Runner.assert_similar_outputs([plain(x) for x in expected], list(found), case.rtol, case.atol)
    except Exception as error:  # whatever it is, the test has failed
        return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
    return ""


def read(case: Any) -> tuple[Any, list[Any]]:
    """A model in a file, with the inputs and outputs in files beside it."""
    import onnx
    from onnx.backend.test.runner import Runner

    if case.model_dir is None:  # a light model: its weights are one number, its input is a ramp
        file = Path(onnx.__file__).parents[1] / case.url
        model = onnx.load(file)
        initial = {i.name for i in model.graph.initializer}
        inputs = [Runner.generate_dummy_data(i) for i in model.graph.input if i.name not in initial]
        outputs = [
            held(file.with_name(f"{file.stem}_output_{k}.pb"), o) for k, o in enumerate(model.graph.output)
        ]
        return model, [(inputs, outputs)]
    folder = Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    return model, [
        (files(data, "input", model.graph.input), files(data, "output", model.graph.output))
        for data in sorted(folder.glob("test_data_set*"))
    ]


def files(folder: Path, what: str, declared: Any) -> list[Any]:
    """The inputs or outputs of a test, in order."""
    count = len(list(folder.glob(f"{what}_*.pb")))
    return [held(folder / f"{what}_{k}.pb", declared[k]) for k in range(count)]


def held(file: Path, declared: Any) -> Any:
    """The value in a file, of the kind that the model declares."""
    import onnx
    from onnx import numpy_helper

    kinds = {
        "tensor_type": (onnx.TensorProto, numpy_helper.to_array),
        "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
        "optional_type": (onnx.OptionalProto, numpy_helper.to_optional),
    }
    proto, value = kinds[declared.type.WhichOneof("value")]
    found = proto()
    found.ParseFromString(file.read_bytes())
    return value(found)
