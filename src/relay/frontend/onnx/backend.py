"""A standard ONNX backend: models prepared once, run on arrays by the interpreter or as machine code.

Inputs that decide types (shapes, axes) are made part of the program when they are first seen.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from onnx import TensorProto, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from relay.driver.executor import create_executor
from relay.frontend.onnx.api import import_model
from relay.frontend.onnx.scales import FLOAT8E8M0, bytes_of
from relay.frontend.onnx.tensors import array_of
from relay.frontend.value import NeedsValueError
from relay.interpreter.value import ConstructorValue
from relay.ir.module import IRModule

Static = dict[str, np.ndarray[Any, Any]]


class RelayRep(BackendRep):
    """A model, ready to run."""

    def __init__(self, model: Any, executor: str = "debug") -> None:
        """Import what can be imported without values of inputs; `executor` is as `create_executor` has it."""
        self.model = model
        self.executor = executor
        self.inputs = [i.name for i in model.graph.input]
        self.outputs = [o.name for o in model.graph.output]
        initial = {t.name for t in model.graph.initializer}
        self.scales = [
            k for k, o in enumerate(model.graph.output) if o.type.tensor_type.elem_type == FLOAT8E8M0
        ]
        self.containers = {
            i.name
            for i in model.graph.input
            if i.type.WhichOneof("value") in ("sequence_type", "optional_type")
        }
        self.required = [n for n in self.inputs if n not in initial]
        self.static: frozenset[str] = frozenset()
        self.programs: dict[Any, Any] = {}

    def run(self, inputs: Any, **_: Any) -> Any:
        """The outputs for inputs, given in order or by name."""
        given = self.named(inputs)
        held = {n: x for n, x in given.items() if n in self.containers}
        while True:
            try:
                call = self.program({n: np.asarray(given[n]) for n in self.static if n in given}, held)
                break
            except NeedsValueError as missing:
                more = missing.sources - self.static
                if not more:
                    raise
                self.static |= more
        args: dict[str, Any] = {}
        for n, x in given.items():
            if isinstance(x, list):
                args.update({f"{n}.{k}": to_relay(v) for k, v in enumerate(cast("list[Any]", x))})
            elif n not in self.static and x is not None:
                args[n] = to_relay(x)
        found = call(**args) if callable(call) else call
        results: Any = found if len(self.outputs) != 1 else (found,)
        arrays = [from_relay(r) for r in results]
        for k in self.scales:
            arrays[k] = arrays[k].view("float8_e8m0fnu")
        return namedtupledict("Outputs", self.outputs)(*arrays)

    def named(self, inputs: Any) -> dict[str, Any]:
        """Inputs by name."""
        if isinstance(inputs, Mapping):
            return dict(cast("Mapping[str, Any]", inputs))
        if isinstance(inputs, Sequence):
            several = list(cast("Sequence[Any]", inputs))
            names = self.inputs if len(several) == len(self.inputs) else self.required
            return dict(zip(names, several, strict=False))
        return {self.required[0]: inputs}

    def program(self, static: Static, held: dict[str, Any]) -> Any:
        """What runs the model with those inputs made part of it."""
        key = (*[(n, a.shape, a.tobytes()) for n, a in sorted(static.items())], structure(held))
        if key not in self.programs:
            mod, _ = import_model(self.model, {}, None, None, True, static, held)
            self.programs[key] = ready(mod, self.executor)
        return self.programs[key]


def structure(held: dict[str, Any]) -> Any:
    """What the program depends on of sequences and options."""

    def of(x: Any) -> Any:
        if isinstance(x, list):
            return tuple([of(v) for v in cast("list[Any]", x)])
        return None if x is None else np.shape(x)

    return tuple([(n, of(x)) for n, x in sorted(held.items())])


def ready(mod: IRModule, executor: str) -> Any:
    """The executor's function for `@main`."""
    return create_executor(executor, mod=mod).evaluate()


def to_relay(x: Any) -> Any:
    """An input as the interpreter takes it: an array, a list, or an option."""
    return array_of(x, None) if isinstance(x, TensorProto) else bytes_of(x)


def from_relay(x: Any) -> Any:
    """A result as ONNX's tests compare it: arrays, lists of them, or None."""
    if isinstance(x, ConstructorValue):
        match x.constructor.name_hint:
            case "None":
                return None
            case "Some":
                return from_relay(x.fields[0])
            case _:
                return from_list(x)
    if isinstance(x, tuple):
        return [from_relay(v) for v in cast("tuple[Any, ...]", x)]
    return x if isinstance(x, str) else np.asarray(x)


def from_list(x: ConstructorValue) -> list[Any]:
    """The elements of a list."""
    found: list[Any] = []
    while x.constructor.name_hint == "Cons":
        found.append(from_relay(x.fields[0]))
        x = x.fields[1]
    return found


class RelayBackend(Backend):
    """The backend that ONNX's tests drive."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", executor: str = "debug", **kwargs: Any) -> RelayRep:
        """A model, ready to run by the interpreter, or with `executor="native"` as machine code."""
        super().prepare(model, device, **kwargs)
        return RelayRep(model, executor)

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> Any:
        """The outputs of a model."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: Any,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Any = None,
        executor: str = "debug",
        **_: Any,
    ) -> Any:
        """The outputs of one node, with the newest operators; operands that are left out have no input."""
        names = [n for n in node.input if n]
        arrays = {n: np.asarray(x) for n, x in zip(names, inputs, strict=True)}
        declared = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in arrays.items()
        ]
        results = [helper.make_empty_tensor_value_info(n) for n in node.output]
        graph = helper.make_graph([node], "node", declared, results)
        return RelayRep(helper.make_model(graph), executor).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on a device."""
        return device.split(":")[0] == "CPU"


prepare = RelayBackend.prepare
run_model = RelayBackend.run_model
run_node = RelayBackend.run_node
supports_device = RelayBackend.supports_device
