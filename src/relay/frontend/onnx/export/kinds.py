"""Which dtypes ONNX's operators are defined for, by their schemas."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

from relay.frontend.onnx.export.registry import OPSET
from relay.frontend.onnx.tensors import NAMES, NUMBERS, dtype_of

SPELLED = {"float": "float32", "double": "float64", "float4e2m1": "float4_e2m1fn"} | {
    name.replace("_", ""): name for name in NUMBERS if name.startswith("float8")
}
"""What ONNX's schemas call dtypes that have another name here."""


class NotExportableError(Exception):
    """What a node cannot be written for: an attribute, a dtype, a size that is open."""


def refuse(why: str) -> NoReturn:
    """Say that the operator at hand has no counterpart with this."""
    raise NotExportableError(why)


@cache
def _schema(kind: str) -> tuple[dict[str, frozenset[str]], list[str], list[str], bool]:
    """The dtypes that each type variable may be, the variables of inputs and outputs, and whether the
    last input is any number of them.
    """
    from onnx import defs

    schema = defs.get_schema(kind, OPSET, "")
    allowed = {c.type_param_str: _names(c.allowed_type_strs) for c in schema.type_constraints}
    for x in (*schema.inputs, *schema.outputs):
        if x.type_str not in allowed:
            allowed[x.type_str] = _names([x.type_str])
    variadic = (
        bool(schema.inputs) and schema.inputs[-1].option == defs.OpSchema.FormalParameterOption.Variadic
    )
    return allowed, [x.type_str for x in schema.inputs], [x.type_str for x in schema.outputs], variadic


def _names(types: Sequence[str]) -> frozenset[str]:
    """`tensor(float)` and its like by our names."""
    inside = [t.removeprefix("tensor(").removesuffix(")") for t in types]
    return frozenset([SPELLED.get(t, t) for t in inside])


def result_dtypes(kind: str, given: Sequence[str], outputs: int, attributes: Mapping[str, Any]) -> list[str]:
    """The dtypes of a node's results; refused where the operator is not defined for those given."""
    allowed, inputs, results, variadic = _schema(kind)
    bound: dict[str, str] = {}
    for i, dtype in enumerate(given):
        variable = inputs[min(i, len(inputs) - 1) if variadic else i]
        if dtype and dtype not in allowed[variable]:
            refuse(f"the dtype {dtype}")
        bound.setdefault(variable, dtype)
    found: list[str] = []
    for i in range(outputs):
        variable = results[min(i, len(results) - 1)]
        if variable in bound:
            found.append(bound[variable])
        elif len(allowed[variable]) == 1:
            found += allowed[variable]
        elif kind == "ConstantOfShape":
            found.append(NAMES[attributes["value"].data_type])
        else:
            assert kind == "Cast", kind
            found.append(dtype_of(attributes["to"]))
        if found[-1] and found[-1] not in allowed[variable]:
            refuse(f"the dtype {found[-1]}")
    return found
