"""The table of derivatives in the manual, written from the registry."""

from relay.op.base import Derivative, Operator, registry

HEAD = """# Derivatives of operators

Every operator says how it is differentiated. `vjp` is reverse mode, `jvp` forward mode; rules are written in
Relay operators, so what they give is differentiated again by the same rules, to any order.

- *partials*: the derivative of each element by the operand's element, for both modes;
- *transpose*: the operator is linear (in all operands together, or in each alone), so `jvp` is itself;
- *rule*: one for each mode;
- *decomposition*: it is composed of other operators, and differentiated as those;
- —: its result does not vary, or not smoothly (integers, booleans, steps), so its derivative is zero.

`tests/op/test_derivatives.py` holds each row against differences. The page is written from the registry, by
`pytest tests/op/test_derivative_table.py --bless`.

| operator | vjp | jvp | second order |
|---|---|---|---|
"""

MODES = {
    Derivative.PARTIALS: ("partials", "partials"),
    Derivative.TRANSPOSE: ("transpose", "itself"),
    Derivative.MULTILINEAR: ("transpose", "itself, by operand"),
    Derivative.RULES: ("rule", "rule"),
    Derivative.DECOMPOSITION: ("decomposition", "decomposition"),
    Derivative.ZERO: ("—", "—"),
}


def page() -> str:
    """The page `docs/derivatives.md`."""
    return HEAD + "".join([row(registry[name]) for name in sorted(registry)])


def row(cls: type[Operator]) -> str:
    """The row of one operator."""
    assert cls.derivative is not None
    vjp, jvp = MODES[cls.derivative]
    again = "—" if cls.derivative is Derivative.ZERO else "yes"
    return f"| `{cls.name}` | {vjp} | {jvp} | {again} |\n"
