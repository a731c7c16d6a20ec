"""The table of derivatives in the manual, written from the registry."""

from relay.op.base import Operator
from relay.op.kind import Derivative
from relay.op.registry import registry

HEAD = """# Derivatives of operators

Every operator declares how it is differentiated. `vjp` is reverse mode, `jvp` forward mode. Rules are
written in Relay operators, so derivatives can be differentiated again, to any order.

- *partials*: the derivative of each element by the operand's element, for both modes;
- *transpose*: the operator is linear (in all operands together, or in each alone), so `jvp` is itself;
- *rule*: one for each mode;
- *decomposition*: it is composed of other operators, and its derivative of theirs;
- —: its result is constant or piecewise constant (integers, booleans, steps), so its derivative is zero.

`tests/op/test_derivatives.py` checks each row against finite differences. `pytest
tests/op/test_derivative_table.py --bless` generates this page from the registry.

| operator | vjp | jvp | second order |
|---|---|---|---|
"""

MODES = {
    Derivative.PARTIALS: ("partials", "partials"),
    Derivative.TRANSPOSE: ("transpose", "itself"),
    Derivative.MULTILINEAR: ("transpose", "itself, by operand"),
    Derivative.RULES: ("rule", "rule"),
    Derivative.DECOMPOSITION: ("decomposition", "decomposition"),
    Derivative.PASSED_ON: ("passed on", "passed on"),
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
