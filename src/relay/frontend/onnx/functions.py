"""Functions: those that a model brings along, and the definitions that ONNX gives of its own operators."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relay.diagnostic import fail
from relay.frontend.onnx.schemas import schema_of
from relay.frontend.onnx.tensors import NUMBERS
from relay.frontend.value import Value
from relay.ir.type import GlobalTypeVar, TensorType, Type, TypeCall

if TYPE_CHECKING:
    from relay.frontend.onnx.node import Node


def inline_local(node: "Node", operands: Sequence[Value | None]) -> list[Value | None]:
    """The results of a function of the model."""
    domain = "" if node.proto.domain == "ai.onnx" else node.proto.domain
    body = node.scope.importer.functions[domain, node.proto.op_type]
    given = {a.name: a for a in body.attribute_proto}
    return inline(node, body, operands, {**given, **node.attributes})


def inline_standard(node: "Node", domain: str, operands: Sequence[Value | None]) -> list[Value | None]:
    """The results of an operator that ONNX defines by others (`onnx-unsupported`)."""
    import onnx

    schema = schema_of(domain, node.proto.op_type, node.version)
    body = None if schema is None else body_of(schema, node, operands)
    if schema is None or body is None:
        fail(
            "onnx-unsupported",
            f"unsupported operator `{node.proto.op_type}`{f' of {domain}' if domain else ''}",
            hint="add one: a function under @relay.frontend.onnx.registry.converts(name)",
        )
    given: dict[str, Any] = {}
    for name, a in schema.attributes.items():
        if a.default_value.type != onnx.AttributeProto.UNDEFINED:
            given[name] = a.default_value
    return inline(node, body, operands, {**given, **node.attributes})


def has_body(schema: Any) -> bool:
    """Whether ONNX defines an operator by others."""
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def body_of(schema: Any, node: "Node", operands: Sequence[Value | None]) -> Any:
    """The definition of an operator as a function, if there is one."""
    import onnx

    if schema.has_function:
        best = [v for v in schema.function_opset_versions if v <= node.version]
        data = schema.get_function_with_opset_version(max(best or schema.function_opset_versions))
    elif schema.has_context_dependent_function:
        versions = schema.context_dependent_function_opset_versions
        best = [v for v in versions if v <= node.version]
        types = [b"" if o is None else type_proto(o.type).SerializeToString() for o in operands]
        plain = plain_node(node)
        data = schema.get_context_dependent_function_with_opset_version(
            max(best or versions), plain.SerializeToString(), types
        )
    else:
        return None
    if not data:
        return None
    function = onnx.FunctionProto()
    function.ParseFromString(data)
    return function


def plain_node(node: "Node") -> Any:
    """The node, with the attributes of the function around put in place."""
    import onnx

    plain = onnx.NodeProto()
    plain.CopyFrom(node.proto)
    del plain.attribute[:]
    for name, a in node.attributes.items():
        new = plain.attribute.add()
        new.CopyFrom(a)
        new.name = name
    return plain


def type_proto(t: Type) -> Any:
    """A type as ONNX writes it."""
    import onnx

    proto = onnx.TypeProto()
    match t:
        case TensorType():
            proto.tensor_type.elem_type = NUMBERS[str(t.dtype)]
            proto.tensor_type.shape.SetInParent()
            for d in t.shape if isinstance(t.shape, tuple) else ():
                dim = proto.tensor_type.shape.dim.add()
                if isinstance(d, int):
                    dim.dim_value = d
        case TypeCall(func=GlobalTypeVar() as head, args=(inner,)) if head.name_hint == "List":
            proto.sequence_type.elem_type.CopyFrom(type_proto(inner))
        case TypeCall(args=(inner,)):
            proto.optional_type.elem_type.CopyFrom(type_proto(inner))
        case _:
            fail("onnx-type", f"ONNX has no type for {t}")
    return proto


def inline(
    node: "Node", body: Any, operands: Sequence[Value | None], attributes: dict[str, Any]
) -> list[Value | None]:
    """The results of a function's body: its bindings join those around, under longer names."""
    outer = node.scope
    opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in body.opset_import}
    scope = outer.of_function(opsets, attributes)
    if len(operands) > len(body.input):
        fail("onnx-model", f"`{body.name}` takes {len(body.input)} operands, not {len(operands)}")
    for name, value in zip(body.input, [*operands, *[None] * len(body.input)], strict=False):
        scope.absent.add(name) if value is None else scope.values.update({name: value})
    prefix = node.name
    scope.prefix = f"{prefix}/"
    scope.bindings = outer.bindings
    return scope.convert_all(body.node, f"{outer.importer.name}:{body.name}", body.output)
