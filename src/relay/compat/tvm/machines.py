"""`relay.vm.compile` and `VirtualMachine`: whole programs, with recursion, data types and dynamic shapes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from relay.backend.native.host.timing import BenchmarkResult
from relay.compat.tvm.arrays import NDArray
from relay.compat.tvm.benchmarks import parted, timed
from relay.compat.tvm.devices import checked
from relay.compat.tvm.executors import bound_module, outputs
from relay.compat.tvm.programs import Program, build, optimize
from relay.compat.tvm.targets import target_for
from relay.compat.tvm.values import given, shown
from relay.diagnostic import did_you_mean, fail
from relay.ir.expr import Constant, Expr
from relay.ir.module import IRModule
from relay.ir.walk import post_order

__all__ = ["Executable", "VMCompiler", "VirtualMachine", "compile"]


class Executable:
    """A compiled program, which a `VirtualMachine` runs."""

    def __init__(self, lib: Any) -> None:
        """`lib` is a compiled program, or what `tvm.runtime.load_module` gives."""
        self.lib: Program = lib.lib if isinstance(lib, Executable) else lib
        self.mod = self

    def export_library(self, file_name: Any, **_: Any) -> None:
        """Write a file that `tvm.runtime.load_module` reads."""
        self.lib.export_library(file_name)

    def save(self) -> tuple[bytes, Program]:
        """The text of the program as it is compiled, and its machine code; the latter alone is run."""
        return self.bytecode.encode(), self.lib

    @staticmethod
    def load_exec(bytecode: Any, lib: Any) -> "Executable":
        """The program that `save` gave; its text adds nothing to the machine code."""
        del bytecode
        return Executable(lib)

    @property
    def optimized(self) -> IRModule | None:
        """The module that machine code is made of; None where it was read from a file."""
        source = self.lib.source
        return None if source is None else optimize(source, self.lib.target, self.lib.params)[0]

    @property
    def bytecode(self) -> str:
        """The text of the program as it is compiled; there are no codes of a machine."""
        return str(self.optimized or "")

    @property
    def globals(self) -> list[str]:
        """The names of the functions of the program."""
        mod = self.optimized
        return list(self.lib.built.entries) if mod is None else [v.name_hint for v in mod.functions]

    @property
    def constants(self) -> list[NDArray]:
        """The constants of the program."""
        mod = self.optimized
        roots: Sequence[Expr] = () if mod is None else list(mod.functions.values())
        found = {e: None for root in roots for e in post_order(root) if isinstance(e, Constant)}
        return [np.asarray(c.value).view(NDArray) for c in found]

    @property
    def stats(self) -> str:
        """How much there is of it."""
        return f"Relay program: {len(self.globals)} functions, {len(self.constants)} constants"

    def get_function_params(self, func_name: str) -> list[str]:
        """The names of the parameters of a function."""
        return [p.name_hint for p in self.lib.header(func_name).params]


def compile(
    mod: IRModule | Expr, target: Any = None, target_host: Any = None, params: Mapping[str, Any] | None = None
) -> Executable:
    """A module with `@main` as machine code, whatever it contains; `params` binds parameters by name."""
    return Executable(build(mod, target, target_host, params=params))


class VMCompiler:
    """Compiles a module in steps: `lower`, `codegen`, `get_exec`."""

    def __init__(self) -> None:
        """Nothing is compiled yet."""
        self.params: dict[str, Any] = {}
        self.made: Executable | None = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Bind parameters of `@main` by name."""
        self.params.update(params)

    def get_params(self) -> dict[str, Any]:
        """The parameters that are bound."""
        return self.params

    def lower(self, mod: IRModule | Expr, target: Any = None, target_host: Any = None) -> None:
        """Compile a module."""
        self.made = compile(mod, target, target_host, self.params)

    def codegen(self) -> None:
        """Nothing more: `lower` has compiled the module."""

    def optimize(
        self, mod: IRModule | Expr, target: Any = None, target_host: Any = None, params: Any = None
    ) -> tuple[IRModule, dict[str, Any]]:
        """The module as it is before machine code is made of it, and the parameters that are left: none."""
        del target_host
        return optimize(bound_module(mod, params), target_for(target))

    def get_exec(self) -> Executable:
        """The compiled program."""
        if self.made is None:
            raise ValueError("nothing is compiled yet: call `lower(mod, target)` first")
        return self.made


class VirtualMachine:
    """Runs a compiled program: `vm.invoke("main", x)`."""

    NAIVE_ALLOCATOR, POOLED_ALLOCATOR = 1, 2

    def __init__(self, exe: Any, device: Any = None, memory_cfg: Any = None) -> None:
        """`exe` is what `relay.vm.compile` or `tvm.runtime.load_module` gives (`unknown-target`)."""
        del memory_cfg
        checked(device)
        self.program = Executable(exe).lib
        self.set: dict[str, list[Any]] = {}
        """The arguments that are set, by the function."""
        self.results: Any = None
        self.module = self

    def invoke(self, func_name: str, *args: Any, **kwargs: Any) -> Any:
        """The value of a function on arguments, those that are set where none are given."""
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        values = self.set.get(func_name, [])
        self.results = self.program.call(func_name, *values)
        return shown(self.results)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """The value of `@main` on arguments."""
        return self.invoke("main", *args, **kwargs)

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set the arguments of a function, by position and by name."""
        values = [given(x) for x in args]
        names = [p.name_hint for p in self.program.header(func_name).params]
        values += [given(kwargs[name]) for name in names[len(values) :] if name in kwargs]
        self._check_names(func_name, kwargs, names)
        self.set[func_name] = values

    def set_one_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set one argument of a function: by its number or name and its value, or `name=value`."""
        names = [p.name_hint for p in self.program.header(func_name).params]
        key, value = args or next(iter(kwargs.items()))
        if isinstance(key, str):
            self._check_names(func_name, {key: value}, names)
        values = self.set.setdefault(func_name, [None] * len(names))
        values[names.index(key) if isinstance(key, str) else key] = given(value)

    @staticmethod
    def _check_names(func_name: str, given_names: Mapping[str, Any], names: Sequence[str]) -> None:
        for name in given_names:
            if name not in names:
                hint = did_you_mean(name, names) or f"its parameters are {', '.join(names)}"
                fail("unknown-input", f"`@{func_name}` has no parameter `{name}`", hint=hint)

    def invoke_stateful(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Call a function; `get_outputs` has its results."""
        self.invoke(func_name, *args, **kwargs)

    def invoke_with_outputs(
        self, func_name: str, input_args: Mapping[str, Any], output_args: Sequence[Any]
    ) -> None:
        """Call a function with arguments by name; its results are written to `output_args`."""
        self.invoke(func_name, **input_args)
        for made, out in zip(outputs(self.results), output_args, strict=True):
            made.copyto(out)

    def get_outputs(self) -> list[Any]:
        """The results of the last call."""
        return list(outputs(self.results))

    def get_input_index(self, input_name: str, func_name: str = "main") -> int:
        """The number of the parameter of that name; -1 if there is none."""
        names = [p.name_hint for p in self.program.header(func_name).params]
        return names.index(input_name) if input_name in names else -1

    def benchmark(self, device: Any, *args: Any, func_name: str = "main", **kwargs: Any) -> BenchmarkResult:
        """Seconds that a call takes, `repeat` times the mean of `number` calls.

        The options are those of `relay.compat.tvm.benchmarks.OPTIONS`; others in `kwargs` are arguments.
        """
        del device
        options, named = parted((), kwargs)
        if args or named:
            self.set_input(func_name, *args, **named)
        call, values = self.program.entry(func_name), self.set.get(func_name, [])
        return timed(lambda: call(*values), options)

    def __getitem__(self, key: str) -> Any:
        """A method, or a function of the program, by its name."""
        return getattr(self, key) if hasattr(type(self), key) else partial(self.invoke, key)
