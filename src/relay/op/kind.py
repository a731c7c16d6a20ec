"""What kind of operator one is: to fusion, differentiation, mixed precision and machine code."""

from enum import Enum


class Fusion(Enum):
    """How an operator combines with its neighbours in one loop."""

    ELEMENTWISE = "elementwise"
    BROADCAST = "broadcast"
    INJECTIVE = "injective"
    REDUCTION = "reduction"
    KERNEL = "kernel"
    OPAQUE = "opaque"


class Derivative(Enum):
    """Which rule gives an operator its derivative."""

    PARTIALS = "partials"
    """`partials(y, *xs)`: elementwise; gives both modes."""
    TRANSPOSE = "transpose"
    """`transpose(g, *xs)`: linear in its floating operands together; gives both modes."""
    MULTILINEAR = "transpose of each operand"
    """`transpose(g, *xs)`: linear in each floating operand alone; gives both modes."""
    RULES = "vjp and jvp"
    """`vjp` and `jvp`, one each."""
    DECOMPOSITION = "decomposition"
    """From its decomposition into other operators."""
    PASSED_ON = "that of the first operand"
    """The first operand is passed on, of whatever type it is, with its derivative."""
    ZERO = "not differentiable"
    """Its result does not vary smoothly (integers, comparisons): cotangents are zero."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The rules that an operator of this kind has."""
        match self:
            case Derivative.PARTIALS:
                return ("partials",)
            case Derivative.TRANSPOSE | Derivative.MULTILINEAR:
                return ("transpose",)
            case Derivative.RULES:
                return ("vjp", "jvp")
            case Derivative.DECOMPOSITION:
                return ("decompose",)
            case Derivative.PASSED_ON | Derivative.ZERO:
                return ()


class Batching(Enum):
    """How one call computes the rows of many."""

    POINTWISE = "pointwise"
    """It reads its operands at the index of the element: they broadcast row by row."""
    SAME = "the same attributes"
    """It takes tensors with more axes in front."""
    SHIFTED = "axes shifted"
    """The axes among its attributes are one further behind."""
    FOLDED = "folded"
    """The rows are one behind the other along an axis that it treats place by place."""
    RULE = "rule"
    """By a rule of its own."""
    PARTS = "parts"
    """By the rules of the operators that it is made of."""


class Precision(Enum):
    """What becomes of a call in mixed precision."""

    ALWAYS = "always"
    """Computed on narrow floats: what takes the time, and adds up in wide ones."""
    FOLLOW = "follow"
    """Computed on narrow floats where its operands are such already: it moves or chooses numbers."""
    STORED = "stored"
    """Computed on wide floats, rounded once to narrow ones where a product or what follows one reads it."""
    NEVER = "never"
    """Computed on wide floats: what loses digits in narrow ones, or leaves their range."""


class Wide(Enum):
    """Why an operator is computed on wide floats in mixed precision."""

    SUM = "adds up many numbers"
    EXPONENTIAL = "exponentials and logarithms leave the range of narrow floats"
    NORMALIZATION = "normalises by sums of squares or of exponentials"
    LOSS = "a loss is a small difference"
    STATE = "updates a tensor in place, whose digits count"
    ARITHMETIC = "arithmetic on numbers in registers costs the same"
    UNKNOWN = "has no kernel on narrow floats"


class NativeRule(Enum):
    """Which rule of an operator says how machine code computes it; `relay.op.native` has their forms."""

    ELEMENT = "element"
    """`element(b, index, *views)`, or `native(b, *numbers)` where the family has that by it."""
    REDUCTION = "combine"
    """`start`, `combine` and `finish`."""
    WHOLE = "compute"
    """`compute(b, out, *views)`."""
    DECOMPOSITION = "decompose"
    """The composite is expanded."""
    LIBRARY = "routines"
    """`compute(b, out, *views)` by routines of LAPACK; where there is none, compiled programs call the
    reference in Python."""
    EFFECT = "effect"
    """It is done by Python, or is a test that fails; the value, if there is one, is the first operand."""
    REFERENCE = "reference"
    """None: compiled programs call the reference in Python."""
