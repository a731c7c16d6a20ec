"""Values that may be absent."""

from typing import Any

from relay.frontend.onnx.containers import Items, Nothing, is_option, matched
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.tensors import type_of
from relay.frontend.value import Value, constant
from relay.ir.expr import Expr
from relay.ir.type import GlobalTypeVar, TypeCall


@converts("Optional")
def optional(node: Node, x: Value | None = None) -> Value:
    """A value that is there, or one that is not."""
    if x is not None:
        return x
    element = type_of(node.attributes["type"].tp, node.scope.importer.dims)
    return Nothing(node.mod, TypeCall(GlobalTypeVar("Option"), [element]))


@converts("OptionalHasElement")
def optional_has_element(node: Node, x: Value | None = None) -> Value:
    """Whether it is there."""
    if x is None or isinstance(x, Nothing):
        return constant(False)
    if isinstance(x, Items) or not is_option(x):
        return constant(True)
    some, none = (node.mod.get_constructor("Option", n) for n in ("Some", "None"))
    return matched(node.mod, x, [(some, _yes), (none, _no)])


@converts("OptionalGetElement")
def optional_get_element(node: Node, x: Value) -> Any:
    """The value, which must be there."""
    if isinstance(x, Nothing):
        return node.fail("there is nothing in it")
    if isinstance(x, Items) or not is_option(x):
        return x
    some = node.mod.get_constructor("Option", "Some")
    return matched(node.mod, x, [(some, _itself)], complete=False)


def _yes(_: Expr) -> Expr:
    return constant(True).expr


def _no() -> Expr:
    return constant(False).expr


def _itself(x: Expr) -> Expr:
    return x
