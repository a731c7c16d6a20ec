"""Programs that are built: what `relay.build` and `relay.vm.compile` give, and files of them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from relay.backend.native.host.compiled_module import CompiledModule
from relay.compat.tvm.arrays import NDArray, arrays
from relay.compat.tvm.devices import checked, device
from relay.compat.tvm.executors import bound_module
from relay.compat.tvm.targets import target_for
from relay.diagnostic import fail
from relay.driver.compilation import build as compile_module
from relay.driver.compilation import load_module as load_compiled
from relay.driver.compilation import optimize as optimize_module
from relay.ir.expr import Expr, Function
from relay.ir.module import IRModule
from relay.typecheck.infer import infer

__all__ = ["Module", "Program", "build", "enabled", "load_module", "optimize"]


class Program:
    """A program that was built, or read from a file; `lib["default"](device)` is what `GraphModule` takes."""

    def __init__(
        self,
        built: Any,
        source: IRModule | Expr | None = None,
        target: Any = "native",
        params: Mapping[str, Any] | None = None,
        mod_name: str = "default",
    ) -> None:
        """`built` is called with arrays; `source` is what it was made of, with `params` bound."""
        self.built = built
        self.source = source
        self.target = target
        self.params = arrays(params or {})
        self.libmod_name = mod_name

    def with_param(self, name: str, value: Any) -> "Program":
        """The program with another value of a parameter that is bound."""
        assert self.source is not None
        return build(self.source, self.target, params={**self.params, name: value}, mod_name=self.libmod_name)

    def __getitem__(self, name: str) -> Any:
        """`lib["default"]`, which a device is given; another name is an entry."""
        return self.on if name in (self.libmod_name, "default") else self.entry(name)

    def on(self, *devices: Any) -> "Program":
        """The program itself, if the devices are here (`unknown-target`)."""
        checked(devices)
        return self

    def header(self, entry: str = "main") -> Function:
        """The parameters of an entry, with their types."""
        if isinstance(self.built, CompiledModule):
            return self.built.header(entry)
        assert isinstance(self.source, IRModule)
        found = infer(bound_module(self.source, self.params))[entry]
        assert isinstance(found, Function)
        return found

    def entry(self, name: str) -> Callable[..., Any]:
        """An entry as a function, which gives NumPy's arrays and numbers (`unknown-global`)."""
        return self.built[name]

    def call(self, name: str, *args: Any) -> Any:
        """The value of an entry on arguments, whose numbers have the dtypes that the program says."""
        compiled = isinstance(self.built, CompiledModule)
        return self.built.evaluate(name, *args) if compiled else self.entry(name)(*args)

    def get_params(self) -> dict[str, NDArray]:
        """The parameters that are bound."""
        return self.params

    def get_lib(self) -> "Program":
        """The compiled program: itself."""
        return self

    @property
    def lib(self) -> "Program":
        """The compiled program: itself."""
        return self

    module = lib

    def get_graph_json(self) -> str:
        """The calls of fused operators as JSON, by the known keys `nodes`, `arg_nodes` and `heads`."""
        from relay.compat.tvm.graph_json import graph_json

        if self.source is None:
            hint = "keep what `get_graph_json` gives when the program is built"
            fail("dialect-cannot-express", "a compiled file does not have its graph", hint=hint)
        return graph_json(optimize(self.source, self.target, self.params)[0])

    @property
    def graph_json(self) -> str:
        """As `get_graph_json`."""
        return self.get_graph_json()

    def get_executor_config(self) -> str:
        """The graph as JSON."""
        return self.get_graph_json()

    @property
    def ir_mod(self) -> IRModule | Expr | None:
        """What the program was made of; None for one that was read from a file."""
        return self.source

    def export_library(self, file_name: Any, **_: Any) -> None:
        """Write a file that `tvm.runtime.load_module` reads, whatever its suffix is (`cannot-write`)."""
        self.built.export_library(file_name)

    save = export_library

    def __iter__(self) -> Iterator[Any]:
        """`graph, lib, params`, as programs of earlier versions unpack it."""
        return iter((self.get_graph_json(), self, self.get_params()))


Module = Program


def enabled(target: str) -> bool:
    """Whether programs can be built for a target."""
    return device(target).exist


def build(
    ir_mod: IRModule | Expr,
    target: Any = None,
    target_host: Any = None,
    executor: Any = None,
    runtime: Any = None,
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> Program:
    """A module, or a function, as machine code; `params` binds parameters of `@main` by name.

    Which executor and runtime programs of TVM need, and where they put memory, makes no difference here.
    Raises what `relay.build` does.
    """
    del target_host, executor, runtime, workspace_memory_pools, constant_memory_pools
    where = target_for(target)
    return Program(
        compile_module(bound_module(ir_mod, params), where), ir_mod, where, params, mod_name or "default"
    )


def optimize(
    mod: IRModule | Expr, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, NDArray]]:
    """A module as it is before machine code is made of it, and parameters that are left: none, since they
    are bound.
    """
    made, _ = optimize_module(bound_module(mod, params), target_for(target))
    return made, {}


def load_module(path: Any, fmt: str = "") -> Program:
    """A program that `export_library` has written (`cannot-read`, `bad-artefact`, `other-machine`)."""
    del fmt
    return Program(load_compiled(path))
