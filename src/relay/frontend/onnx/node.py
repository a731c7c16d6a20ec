"""A node of a model, as converters see it."""

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relay.diagnostic import Span, fail
from relay.frontend.onnx.tensors import array_of
from relay.ir.module import IRModule

if TYPE_CHECKING:
    from relay.frontend.onnx.graph import Scope
    from relay.frontend.value import Value

_ABSENT: Any = object()


class Node:
    """Attributes of a node, and what surrounds it."""

    def __init__(self, proto: Any, attributes: dict[str, Any], scope: "Scope", version: int) -> None:
        """`version` is that of the operator set; `attributes` are `AttributeProto`s by name."""
        self.proto = proto
        self.attributes = attributes
        self.scope = scope
        self.version = version

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.proto.name or next((o for o in self.proto.output if o), self.proto.op_type)

    @property
    def mod(self) -> IRModule:
        """The module that is being made."""
        return self.scope.importer.mod

    @property
    def folder(self) -> Path | None:
        """Where the model is."""
        return self.scope.importer.folder

    @property
    def span(self) -> Span | None:
        """Its place."""
        return self.scope.span

    @property
    def outputs(self) -> int:
        """How many results it names."""
        return len(self.proto.output)

    def wants(self, index: int) -> bool:
        """Whether the model uses a result."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def has(self, name: str) -> bool:
        """Whether an attribute is given."""
        return name in self.attributes

    def _get(self, name: str, default: Any, read: Callable[[Any], Any]) -> Any:
        found = self.attributes.get(name)
        if found is not None:
            return read(found)
        if default is _ABSENT:
            fail("onnx-model", f"`{self.proto.op_type}` needs the attribute `{name}`")
        return default

    def int(self, name: str, default: Any = _ABSENT) -> Any:
        """A whole number."""
        return self._get(name, default, lambda a: int(a.i))

    def float(self, name: str, default: Any = _ABSENT) -> Any:
        """A number."""
        return self._get(name, default, lambda a: float(a.f))

    def text(self, name: str, default: Any = _ABSENT) -> Any:
        """A text."""
        return self._get(name, default, lambda a: a.s.decode("utf-8", "replace"))

    def ints(self, name: str, default: Any = _ABSENT) -> Any:
        """A list of whole numbers."""
        return self._get(name, default, lambda a: [int(i) for i in a.ints])

    def floats(self, name: str, default: Any = _ABSENT) -> Any:
        """A list of numbers."""
        return self._get(name, default, lambda a: [float(x) for x in a.floats])

    def texts(self, name: str, default: Any = _ABSENT) -> Any:
        """A list of texts."""
        return self._get(name, default, lambda a: [s.decode("utf-8", "replace") for s in a.strings])

    def tensor(self, name: str, default: Any = _ABSENT) -> Any:
        """An array."""
        return self._get(name, default, lambda a: array_of(a.t, self.folder))

    def axes(self, operand: "Value | None", since: builtins.int) -> list[builtins.int] | None:
        """The axes of an operator: an operand from a version on, an attribute before."""
        if self.version >= since:
            return None if operand is None else operand.numbers("the axes")
        return self.ints("axes", None)

    def graph(self, name: str) -> Any:
        """A graph."""
        return self._get(name, _ABSENT, lambda a: a.g)

    def fail(self, message: str, hint: str = "") -> Any:
        """Refuse the node (`onnx-unsupported`)."""
        fail("onnx-unsupported", f"`{self.proto.op_type}`: {message}", self.span, hint=hint)
