"""Right values and derivatives of operators, from outside: what a truth is, and how to add one.

Every operator of the registry has a truth in a module of this folder, which `test_outside_values.py` compares
with the interpreter and with machine code.  A truth shares no code with the operator: it is a formula in
mpmath, or in NumPy on arrays of mpmath's numbers (`dtype=object`), and never calls `reference`.

- A function of one number or of several, on all elements (`truths.elementwise.pointwise`):

      pointwise("sqrt", mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), ulps=1)

  with its derivative by each operand.  The points are the ends of the range of each dtype (`truths.points`),
  and what `at=` adds; infinities are limits unless `at_infinity=` says otherwise.
- Anything else is a generator of cases under the operator's name:

      @truth("nn.softmax")
      def softmax(long: bool) -> Iterator[Case]:
          for row in ROWS:
              yield computed(lambda x: shares(x), numpy.asarray(row, "float32"), axis=-1, ulps=4)

  `computed` calls the formula on operands of mpmath's numbers, takes its derivatives by differences
  at 600 bits, and weighs results by different powers of two.  Integers stay integers, and are compared
  exactly.  A formula of one's own for the derivative goes into a `Case`.
- Where the right answer is a convention (the derivative at a kink), it is PyTorch's.  An entry that is None
  is not compared.

Values may be `ulps` units in the last place of their dtype away, derivatives `slope_ulps`; a unit is at least
the least subnormal number.  What needs more than the default says why.  `scale` states sizes that rounding is
relative to where results cancel: a sum's unit is that of the sum of absolute values.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

ULPS = 4.0
"""Units in the last place that values and derivatives may be away."""


@dataclass(frozen=True)
class Tangents:
    """The right changes of results along a direction, in tuples as the operands and the results are."""

    directions: tuple[Any, ...]
    """The direction of each operand."""
    right: Any
    """The derivative of results along the directions; None for integers."""
    scale: Any
    """Sizes that its rounding is relative to: the sums of absolute values."""


@dataclass(frozen=True)
class Case:
    """One call of an operator: its operands and attributes, and the right results.

    Right numbers are arrays of mpmath's numbers, of long doubles or of integers, in tuples as the results and
    the operands are.
    """

    operands: tuple[Any, ...]
    """Arrays in the dtypes of the call; a tuple operand is a tuple."""
    value: Any
    """The right result, or the results; None if only derivatives are compared."""
    slopes: tuple[Any, ...] | None = None
    """The right derivatives of the sum of `weights` times the results, by each operand; None for those that
    have none."""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    weights: Any = None
    """Factors of the results, of their shapes, in tuples as they are; ones if None."""
    ulps: float = ULPS
    slope_ulps: float = ULPS
    scale: Any = None
    """Sizes that the rounding of results is relative to, if they are larger; in tuples as the results."""
    slope_scales: tuple[Any, ...] | None = None
    """The same of derivatives, by each operand."""
    fixed: tuple[int, ...] = ()
    """The operands that are constants of the program, by number: sizes, say."""
    threads: tuple[int, ...] = (1,)
    """Numbers of threads that machine code computes it on."""
    tangents: Tangents | None = None
    """The right results of forward mode, whose rounding `slope_ulps` bounds; if None, their weighed sum
    follows from `slopes`."""


Cases = Callable[[bool], Iterable[Case]]
"""The cases of a truth; more of them if True."""

TRUTHS: dict[str, list[Cases]] = {}
"""The truths of operators by name."""


def truth(name: str) -> Callable[[Cases], Cases]:
    """Declare the cases of an operator, besides those that it has already."""

    def declare(cases: Cases) -> Cases:
        TRUTHS.setdefault(name, []).append(cases)
        return cases

    return declare
