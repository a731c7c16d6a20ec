"""A node of an exported program, as converters see it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from relay.diagnostic import Span, fail
from relay.frontend.torch.registry import name_of
from relay.frontend.torch.symbols import dtype_of
from relay.ir.module import IRModule
from relay.ir.type import Dim

if TYPE_CHECKING:
    from relay.frontend.torch.graph import Scope


class Node:
    """An `fx.Node`, what PyTorch traced of its result, and what surrounds it."""

    def __init__(self, fx: Any, scope: "Scope", options: dict[str, Any]) -> None:
        """`options` are the arguments that are given by name only, defaults included."""
        self.fx = fx
        self.scope = scope
        self.options = options

    @property
    def name(self) -> str:
        """What messages call it."""
        return str(self.fx.name)

    @property
    def operator(self) -> str:
        """The operator: `aten.add.Tensor`."""
        return name_of(self.fx.target)

    @property
    def mod(self) -> IRModule:
        """The module that is being made."""
        return self.scope.importer.mod

    @property
    def span(self) -> Span | None:
        """Its place."""
        return self.scope.span

    @property
    def traced(self) -> Any:
        """What PyTorch traced: a fake tensor, a symbolic number, or several in a list."""
        return self.fx.meta.get("val")

    def result(self, index: int = 0) -> Any:
        """What PyTorch traced of one of its results."""
        found: Any = self.traced
        return found[index] if isinstance(found, tuple | list) else found  # pyright: ignore[reportUnknownVariableType]

    @property
    def dtype(self) -> str:
        """The dtype of its (first) result."""
        return dtype_of(self.result().dtype)

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of its (first) result: numbers, symbolic sizes, and `?`."""
        return self.scope.importer.symbols.shape(self.result().shape)

    def option(self, name: str, default: Any = None) -> Any:
        """An argument that is given by name only."""
        found = self.options.get(name)
        return default if found is None else found

    def wants(self, index: int) -> bool:
        """Whether the program uses one of several results."""
        for user in self.fx.users:
            if name_of(user.target) != "operator.getitem" or (user.args[1] == index and user.users):
                return True
        return False

    def fail(self, message: str, hint: str = "") -> Any:
        """Refuse the node (`torch-unsupported`)."""
        fail("torch-unsupported", f"`{self.operator}`: {message}", self.span, hint=hint)


def all_nodes(module: Any) -> Iterator[Any]:
    """Every node that calls something, those of graphs within the graph included."""
    stack = [module]
    while stack:
        current = stack.pop()
        for fx in current.graph.nodes:
            if fx.op == "call_function":
                yield fx
            elif fx.op == "get_attr":
                found = current
                for part in fx.target.split("."):
                    found = getattr(found, part)
                stack += [found] if hasattr(found, "graph") else []
