"""Equations and comparisons of symbolic dimensions: integer polynomials over unknowns and type parameters."""

from dataclasses import dataclass

from relay.ir import dim as arithmetic
from relay.ir.type import ANY, HAS_INCOMPLETE, Dim, Type
from relay.typecheck.unknown import Unknown

EQUAL, NEVER, OPEN, LATER = "equal", "never", "open", "later"
"""What an equation comes to: it holds, it cannot, run time decides, or it waits for its unknowns."""


@dataclass(frozen=True, slots=True)
class Solution:
    """What an equation determines: an unknown and its value."""

    unknown: Unknown
    value: Dim


def solve(a: Dim, b: Dim) -> str | Solution:
    """What `a == b` (fully resolved) says: one of the words above, or a solution."""
    if a is ANY or b is ANY or a == b:
        return EQUAL
    difference = arithmetic.subtract(a, b)
    if isinstance(difference, int):
        return NEVER if difference else EQUAL
    if not difference.flags & HAS_INCOMPLETE:
        return NEVER if arithmetic.is_never(a, b) else OPEN
    found = _linear(difference)
    if found is not None:
        return found
    return NEVER if arithmetic.is_never(a, b) else LATER


def _linear(difference: Dim) -> str | Solution | None:
    """The innermost unknown that occurs once, alone in its term, with the value that makes the sum zero."""
    terms, constant = arithmetic.terms_of(difference)
    best: Solution | None = None
    for monomial, c in terms.items():
        atom = monomial[0]
        if len(monomial) > 1 or not isinstance(atom, Unknown):
            continue
        rest = {m: k for m, k in terms.items() if m is not monomial}
        if any(_mentions(m, atom) for m in rest) or constant % c or any(k % c for k in rest.values()):
            continue
        value = arithmetic.from_terms({m: -k // c for m, k in rest.items()}, -constant // c)
        if isinstance(value, int) and value < 0:
            return NEVER
        if best is None or atom.level > best.unknown.level:
            best = Solution(atom, value)
    if best is None and len(terms) == 1 and all(len(m) == 1 for m in terms):
        ((c,),) = (terms.values(),)
        return NEVER if constant % c else None
    return best


def _mentions(monomial: tuple[Type, ...], atom: Type) -> bool:
    stack = list(monomial)
    while stack:
        t = stack.pop()
        if t is atom:
            return True
        stack += t.children
    return False


def holds(a: Dim, comparison: str, b: Dim) -> bool | None:
    """Whether a comparison is true for all values of the variables, false for all, or open (None)."""
    if a is ANY or b is ANY:
        return None
    match comparison:
        case "==":
            return True if a == b else False if arithmetic.is_never(a, b) else None
        case "!=":
            known = holds(a, "==", b)
            return None if known is None else not known
        case "<=":
            return _at_most(a, b, 0)
        case "<":
            return _at_most(a, b, 1)
        case _:
            return _divides(a, b)


def _at_most(a: Dim, b: Dim, gap: int) -> bool | None:
    """Whether `a + gap <= b`."""
    if arithmetic.least(arithmetic.subtract(b, a)) >= gap:
        return True
    return False if arithmetic.least(arithmetic.subtract(a, b)) > -gap else None


def _divides(k: Dim, d: Dim) -> bool | None:
    if isinstance(k, int) and k:
        terms, constant = arithmetic.terms_of(d)
        if any(c % k for c in terms.values()):
            return None
        return constant % k == 0
    return True if k == d or d == 0 else None
