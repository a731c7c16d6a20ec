"""`GraphModule`: a program with inputs that are set, a run, and outputs that are asked for."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay.backend.native.host.timing import BenchmarkResult
from relay.compat.tvm.arrays import NDArray
from relay.compat.tvm.benchmarks import parted, timed
from relay.compat.tvm.executors import outputs
from relay.compat.tvm.programs import Program
from relay.compat.tvm.values import given
from relay.diagnostic import did_you_mean, fail
from relay.ir.dtype import to_numpy
from relay.ir.expr import Var
from relay.ir.type import TensorType
from relay.text.param_dict import load_param_dict

__all__ = ["GraphModule", "create"]


class GraphModule:
    """A built program: `set_input("data", x)`, `run()`, `get_output(0)`."""

    def __init__(self, module: Program) -> None:
        """`module` is what `lib["default"](device)` gives."""
        self.program = module
        self.values: dict[str, Any] = {}
        """The inputs that are set, by name."""
        self.results: Sequence[Any] | None = None
        self.module = self

    @property
    def params(self) -> tuple[Var, ...]:
        """The inputs."""
        return self.program.header().params

    def set_input(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """Set an input by its name or number, and others by name, of which those without one are left out.

        A weight that was bound when the program was built has another value from then on: the program is
        built again.  Raises `unknown-input`.
        """
        if key is not None:
            self._set(key if isinstance(key, str) else self.params[int(key)].name_hint, value)
        for name, x in params.items():
            if self.get_input_index(name) >= 0 or name in self.program.params:
                self._set(name, x)

    def _set(self, name: str, value: Any) -> None:
        x = given(value)
        if self.get_input_index(name) >= 0:
            self.values[name] = np.array(x)
        elif name not in self.program.params:
            known = [p.name_hint for p in self.params]
            hint = did_you_mean(name, known) or f"its inputs are {', '.join([f'`{n}`' for n in known])}"
            fail("unknown-input", f"the program has no input `{name}`", hint=hint)
        elif not np.array_equal(self.program.params[name], x):
            self.program = self.program.with_param(name, x)

    def set_input_zero_copy(self, key: Any = None, value: Any = None, **params: Any) -> None:
        """As `set_input`, but that what is written to the arrays later is seen."""
        named = (
            {} if key is None else {key if isinstance(key, str) else self.params[int(key)].name_hint: value}
        )
        for name, x in {**named, **params}.items():
            self.set_input(name, x)
            self.values[name] = given(x)

    def load_params(self, params_bytes: Any) -> None:
        """Set inputs to what `relay.save_param_dict` made bytes of; names that it has not are left out."""
        self.set_input(None, None, **load_param_dict(bytes(params_bytes)))

    def run(self, **input_dict: Any) -> None:
        """Compute the outputs of the inputs that are set; of numbers that are not, zeros."""
        self.set_input(None, None, **input_dict)
        self.results = outputs(self.program.call("main", *self.arguments()))

    def arguments(self) -> list[Any]:
        """The inputs, in order."""
        return [
            self.values[p.name_hint] if p.name_hint in self.values else self._zeros(p) for p in self.params
        ]

    def _zeros(self, p: Var) -> Any:
        t = p.type_annotation
        try:
            assert isinstance(t, TensorType)
            return self.values.setdefault(p.name_hint, np.zeros(t.concrete_shape, to_numpy(str(t.dtype))))
        except (AssertionError, ValueError):
            fail(
                "argument-count",
                f"the input `{p.name_hint}` is not set",
                hint=f'`set_input("{p.name_hint}", …)`',
            )

    def get_output(self, index: int, out: Any = None) -> Any:
        """The output of that number, or `out` with its elements; `run` computes them, and else this does."""
        if self.results is None:
            self.run()
        assert self.results is not None
        return self.results[index] if out is None else self.results[index].copyto(out)

    def get_input(self, index: int | str, out: Any = None) -> NDArray:
        """The input of that number or name, whose elements may be written."""
        p = self.params[self.get_input_index(index) if isinstance(index, str) else index]
        value = self.values[p.name_hint] if p.name_hint in self.values else self._zeros(p)
        found = np.asarray(value).view(NDArray)
        return found if out is None else found.copyto(out)

    def get_input_index(self, name: str) -> int:
        """The number of the input of that name; -1 if there is none."""
        return next((i for i, p in enumerate(self.params) if p.name_hint == name), -1)

    def get_input_info(self) -> tuple[dict[str, Any], dict[str, str]]:
        """The shapes of the inputs by name, and their dtypes."""
        types = {p.name_hint: p.type_annotation for p in self.params}
        tensors = {name: t for name, t in types.items() if isinstance(t, TensorType)}
        return {n: t.shape for n, t in tensors.items()}, {n: str(t.dtype) for n, t in tensors.items()}

    def get_num_inputs(self) -> int:
        """How many inputs there are."""
        return len(self.params)

    def get_num_outputs(self) -> int:
        """How many outputs there are."""
        if self.results is None:
            self.run()
        return len(self.results or ())

    @property
    def num_outputs(self) -> int:
        """How many outputs there are."""
        return self.get_num_outputs()

    def debug_get_output(self, node: int | str, out: Any = None) -> Any:
        """The output of that number."""
        return self.get_output(int(node), out)

    def share_params(self, other: "GraphModule", params_bytes: Any) -> None:
        """Take over weights that another program has loaded."""
        names = load_param_dict(bytes(params_bytes))
        self.set_input(None, None, **{n: x for n, x in other.values.items() if n in names})

    def benchmark(
        self, device: Any = None, func_name: str = "run", *options: Any, **kwargs: Any
    ) -> BenchmarkResult:
        """Seconds that a run takes, `repeat` times the mean of `number` runs.

        The options are those of `relay.compat.tvm.benchmarks.OPTIONS`; others in `kwargs` are inputs.
        """
        del device, func_name
        chosen, inputs = parted(options, kwargs)
        self.set_input(None, None, **inputs)
        values = self.arguments()
        call = self.program.entry("main")
        return timed(lambda: call(*values), chosen)

    def time_evaluator(
        self,
        func_name: str = "run",
        dev: Any = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        **_: Any,
    ) -> Callable[..., BenchmarkResult]:
        """What measures runs when it is called."""
        return lambda *_: self.benchmark(dev, func_name, repeat, number, min_repeat_ms)

    def __getitem__(self, key: str) -> Any:
        """A method by its name, as scripts ask modules for functions."""
        return getattr(self, key)


def create(graph_json_str: Any, libmod: Program, device: Any = None) -> GraphModule:
    """A built program to be run; its graph is in it, so the JSON adds nothing."""
    del graph_json_str
    return GraphModule(libmod.on(device))
