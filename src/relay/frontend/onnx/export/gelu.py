"""`gelu`, recognised in the nodes that were written for it, so that other systems see it whole."""

from math import sqrt
from typing import Any

from relay.frontend.onnx.export.graph import Graph

NEAR = 1e-6
"""How far a constant may be from what it stands for: the rounding of float32."""


def gelu_of(g: Graph, a: str, b: str) -> str | None:
    """What `a * b` is the gelu of, if it is.

    That is written `x * (erf(y) / 2 + 1 / 2)` or `x / 2 * (erf(y) + 1)`, where `y` is `x / sqrt(2)`.
    """
    for x, chance in ((a, b), (b, a)):
        half = _other(g, chance, "Add", 0.5)
        if half is not None and _is_erf_of(g, _other(g, half, "Mul", 0.5), x):
            return x
        whole, source = _other(g, chance, "Add", 1.0), _other(g, x, "Mul", 0.5)
        if whole is not None and source is not None and _is_erf_of(g, whole, source):
            return source
    return None


def _is_erf_of(g: Graph, name: str | None, x: str) -> bool:
    """Whether a name is `erf(x / sqrt(2))`."""
    made = _made_by(g, name, "Erf")
    if made is None:
        return False
    return x in (_other(g, made.input[0], "Mul", sqrt(0.5)), _other(g, made.input[0], "Div", sqrt(2)))


def _other(g: Graph, name: str | None, kind: str, constant: float) -> str | None:
    """The operand of a node of that kind whose other operand is a constant."""
    made = _made_by(g, name, kind)
    if made is None:
        return None
    x, y = made.input
    if _is_near(g, y, constant):
        return x
    return y if kind != "Div" and _is_near(g, x, constant) else None


def _made_by(g: Graph, name: str | None, kind: str) -> Any:
    made = None if name is None else g.producers.get(name)
    return made if made is not None and made.op_type == kind else None


def _is_near(g: Graph, name: str, wanted: float) -> bool:
    array = g.known(name)
    return array is not None and array.size == 1 and abs(float(array.reshape(())) - wanted) <= NEAR * wanted
