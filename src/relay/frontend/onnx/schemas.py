"""What ONNX demands of a node: how many operands and results, of which kinds, and the types of attributes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from relay.diagnostic import fail
from relay.frontend.onnx.containers import Items
from relay.frontend.onnx.node import Node
from relay.frontend.value import Value
from relay.ir.type import GlobalTypeVar, TypeCall


@dataclass(frozen=True)
class Demands:
    """Those of one operator in one version."""

    least: int
    most: int
    results: int
    required: tuple[bool, ...]
    kinds: tuple[frozenset[str], ...]
    """For each operand tensors ("tensor"), sequences ("seq"), options ("optional"); the last goes on.

    Anything may stand for an option: one that is known to hold something is what it holds.
    """
    attributes: dict[str, int]
    """The numbers of the attributes' types in `AttributeProto`."""


def schema_of(domain: str, name: str, version: int | None) -> Any:
    """What ONNX says of an operator, in the newest version up to one or of all, if it knows it."""
    import onnx

    try:
        if version is None:
            return onnx.defs.get_schema(name, domain)
        return onnx.defs.get_schema(name, version, domain)
    except onnx.defs.SchemaError:
        return None


@cache
def demands_of(domain: str, name: str, version: int) -> Demands | None:
    """What ONNX demands of an operator's nodes, if it knows it (`onnx-model` for one that is newer)."""
    import onnx

    schema = schema_of(domain, name, version)
    if schema is None:
        newest = schema_of(domain, name, None)
        if newest is not None and not domain:
            fail(
                "onnx-model",
                f"`{name}` is not among version {version} of ONNX's operators",
                hint=f"where the model means a newer one: from_onnx(model, opset={newest.since_version})",
            )
        return None
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    return Demands(
        least=schema.min_input,
        most=schema.max_input,
        results=schema.max_output,
        required=tuple([i.option != optional for i in schema.inputs]),
        kinds=tuple([frozenset([t.partition("(")[0] for t in i.types]) for i in schema.inputs]),
        attributes={name: int(a.type.value) for name, a in schema.attributes.items()},
    )


def kind_of(value: Value) -> str:
    """What ONNX calls the kind of a value."""
    t = value.type
    if isinstance(value, Items):
        return "seq"
    if isinstance(t, TypeCall) and isinstance(t.func, GlobalTypeVar):
        return "seq" if t.func.name_hint == "List" else "optional"
    return "tensor"


def check(node: Node, domain: str, operands: Sequence[Value | None]) -> None:
    """Refuse a node that is not as ONNX demands (`onnx-model`)."""
    demands = demands_of(domain, node.proto.op_type, node.version)
    if demands is None:
        return
    name, count = node.proto.op_type, len(operands)
    if not demands.least <= count <= demands.most:
        wanted = f"{demands.least}" if demands.least == demands.most else f"{demands.least} to {demands.most}"
        fail("onnx-model", f"`{name}` takes {wanted} operands, not {count}", node.span)
    if node.outputs > demands.results:
        fail("onnx-model", f"`{name}` gives {demands.results} results, not {node.outputs}", node.span)
    for k, value in enumerate(operands):
        place = min(k, len(demands.kinds) - 1)
        if value is None and demands.required[place]:
            fail("onnx-model", f"`{name}` needs its operand {k + 1}", node.span)
        kinds = demands.kinds[place]
        if value is not None and kind_of(value) not in kinds and "optional" not in kinds:
            fail("onnx-model", f"operand {k + 1} of `{name}` cannot be {value.type}", node.span)
    for key, a in node.attributes.items():
        wanted = demands.attributes.get(key, a.type)
        if a.type and a.type != wanted:
            fail("onnx-model", f"the attribute `{key}` of `{name}` is of another type", node.span)
