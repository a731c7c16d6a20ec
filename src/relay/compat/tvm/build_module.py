"""`relay.build_module.BuildModule`: a module that is built in steps."""

from collections.abc import Mapping
from typing import Any

from relay.compat.tvm.arrays import NDArray
from relay.compat.tvm.programs import Program, build, optimize
from relay.ir.expr import Expr
from relay.ir.module import IRModule

__all__ = ["BuildModule"]


class BuildModule:
    """Builds modules: `build` gives the graph, the program and the parameters, as methods do afterwards."""

    def __init__(self) -> None:
        """Nothing is built yet."""
        self.params: dict[str, Any] = {}
        self.made: Program | None = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Bind parameters of `@main` by name."""
        self.params.update(params)

    def build(
        self,
        mod: IRModule | Expr,
        target: Any = None,
        target_host: Any = None,
        executor: Any = None,
        runtime: Any = None,
        workspace_memory_pools: Any = None,
        constant_memory_pools: Any = None,
        params: Mapping[str, Any] | None = None,
        mod_name: str | None = None,
    ) -> tuple[str, Program, dict[str, NDArray]]:
        """The graph as JSON, the program, and the parameters that are bound.

        Raises what `relay.build` does.
        """
        del executor, runtime, workspace_memory_pools, constant_memory_pools
        self.set_params(params or {})
        self.made = build(mod, target, target_host, params=self.params, mod_name=mod_name or "default")
        return self.get_graph_json(), self.made, self.get_params()

    def optimize(
        self,
        mod: IRModule | Expr,
        target: Any = None,
        target_host: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> tuple[IRModule, dict[str, NDArray]]:
        """A module as it is before machine code is made of it, and parameters that are left: none."""
        del target_host
        self.set_params(params or {})
        return optimize(mod, target, self.params)

    def get_module(self) -> Program:
        """The program."""
        if self.made is None:
            raise ValueError("nothing is built yet: call `build(mod, target, params=params)` first")
        return self.made

    def get_graph_json(self) -> str:
        """The calls of fused operators as JSON."""
        return self.get_module().get_graph_json()

    get_executor_config = get_graph_json

    def get_params(self) -> dict[str, NDArray]:
        """The parameters that are bound."""
        return self.get_module().get_params()

    def get_irmodule(self) -> IRModule | Expr | None:
        """What the program was made of."""
        return self.get_module().ir_mod
