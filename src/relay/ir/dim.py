"""Arithmetic on dimensions: integer polynomials over atoms, in a normal form that makes equality identity.

An atom is a variable of kind `Dim` or a `DimCall` (floor division, `min`, `max`, `broadcast`).  `?` absorbs:
whatever is computed from an unknown dimension is unknown.
"""

from collections.abc import Iterable
from math import gcd

from relay.ir import hooks
from relay.ir.type import ANY, Dim, DimCall, Dimension, DimExpr, IncompleteType, TypeVar

Monomial = tuple[Dimension, ...]
Terms = dict[Monomial, int]


Token = tuple[int, str, int]
KEY_TOKENS = 64


def _order(atom: Dim) -> tuple[Token, ...]:
    """A total order on atoms: numbers, type parameters and unknowns by age, then calls by what they say."""
    match atom:
        case int():
            return ((0, "", atom),)
        case TypeVar() | IncompleteType():
            return ((1, "", atom.uid),)
        case DimCall():
            return atom.key or _remember_key(atom)
        case _:
            return ((4, "", 0),)


def _remember_key(call: DimCall) -> tuple[Token, ...]:
    """The parts from outside in, as far as the first few; then the age, so that no two calls have one key."""
    tokens: list[Token] = []
    stack: list[Dim] = [call]
    while stack and len(tokens) < KEY_TOKENS:
        d = stack.pop()
        match d:
            case DimCall():
                tokens.append((3, d.op, len(d.args)))
                stack += reversed(d.args)
            case DimExpr():
                tokens.append((2, "", d.constant))
                for monomial, c in reversed(d.terms):
                    stack += (*reversed(monomial), c)
            case _:
                tokens += _order(d)
    object.__setattr__(call, "key", (*tokens, (5, "", call.uid)))
    return call.key


def terms_of(d: Dim) -> tuple[Terms, int]:
    """A dimension as `{monomial: coefficient}` and a constant."""
    if isinstance(d, int):
        return {}, d
    if isinstance(d, DimExpr):
        return dict(d.terms), d.constant
    return {(d,): 1}, 0


def from_terms(terms: Terms, constant: int) -> Dim:
    """The dimension of a polynomial, in normal form."""
    kept = [(monomial, c) for monomial, c in terms.items() if c]
    if not kept:
        return constant
    if len(kept) == 1 and constant == 0 and kept[0][1] == 1 and len(kept[0][0]) == 1:
        return kept[0][0][0]
    kept.sort(key=lambda term: (-len(term[0]), [_order(a) for a in term[0]]))
    return DimExpr(tuple(kept), constant)


def add(a: Dim, b: Dim) -> Dim:
    """`a + b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a is ANY or b is ANY:
        return ANY
    terms, constant = terms_of(a)
    more, offset = terms_of(b)
    for monomial, c in more.items():
        terms[monomial] = terms.get(monomial, 0) + c
    return from_terms(terms, constant + offset)


def negate(a: Dim) -> Dim:
    """`-a`."""
    return multiply(-1, a)


def subtract(a: Dim, b: Dim) -> Dim:
    """`a - b`."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return add(a, negate(b))


def multiply(a: Dim, b: Dim) -> Dim:
    """`a * b`; zero times an unknown is zero."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 0 or b == 0:
        return 0
    if a is ANY or b is ANY:
        return ANY
    left, right = _with_constant(a), _with_constant(b)
    product: Terms = {}
    for m, c in left.items():
        for n, d in right.items():
            monomial = tuple(sorted((*m, *n), key=_order))
            product[monomial] = product.get(monomial, 0) + c * d
    constant = product.pop((), 0)
    return from_terms(product, constant)


def _with_constant(d: Dim) -> Terms:
    terms, constant = terms_of(d)
    return {**terms, (): constant} if constant else terms


def product(dims: Iterable[Dim]) -> Dim:
    """The product of all."""
    result: Dim = 1
    for d in dims:
        result = multiply(result, d)
    return result


def floor_divide(a: Dim, b: Dim) -> Dim:
    """`a / b`, rounded towards minus infinity; `b` is taken to be positive where it is symbolic."""
    if b == 0:
        return ANY
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 1 or a == 0:
        return a
    if a is ANY or b is ANY:
        return ANY
    if a is b:
        return 1
    if isinstance(b, int) and b > 0:
        return _divide_by(a, b)
    exact = _exact_quotient(a, b)
    return DimCall("/", (a, b)) if exact is None else exact


def _divide_by(a: Dim, k: int) -> Dim:
    """`a / k`: terms that `k` divides come out, a common factor of the rest cancels."""
    if isinstance(a, DimCall) and a.op == "/" and isinstance(a.args[1], int):
        return floor_divide(a.args[0], a.args[1] * k)
    terms, constant = terms_of(a)
    out = {m: c // k for m, c in terms.items() if c % k == 0}
    rest = {m: c for m, c in terms.items() if c % k}
    if not rest:
        return from_terms(out, constant // k)
    whole, part = divmod(constant, k)
    common = gcd(k, part, *rest.values())
    inner = from_terms({m: c // common for m, c in rest.items()}, part // common)
    divided = inner if k == common else DimCall("/", (inner, k // common))
    return add(from_terms(out, whole), divided)


def _exact_quotient(a: Dim, b: Dim) -> Dim | None:
    """`a / b` where the single monomial `b` divides every term of `a`."""
    terms, constant = terms_of(a)
    divisor, offset = terms_of(b)
    if constant or offset or len(divisor) != 1:
        return None
    monomial, k = next(iter(divisor.items()))
    out: Terms = {}
    for m, c in terms.items():
        left = list(m)
        for atom in monomial:
            if atom not in left:
                return None
            left.remove(atom)
        if c % k:
            return None
        out[tuple(left)] = c // k
    rest = out.pop((), 0)
    return from_terms(out, rest)


def minimum(a: Dim, b: Dim) -> Dim:
    """`min(a, b)`, decided where the difference is a number."""
    return _extremum("min", a, b)


def maximum(a: Dim, b: Dim) -> Dim:
    """`max(a, b)`, decided where the difference is a number."""
    return _extremum("max", a, b)


def _extremum(op: str, a: Dim, b: Dim) -> Dim:
    if a is ANY or b is ANY:
        return ANY
    difference = subtract(a, b)
    if isinstance(difference, int):
        return (a if difference <= 0 else b) if op == "min" else (a if difference >= 0 else b)
    sign = 1 if op == "min" else -1
    left, right = _operands(op, a), _operands(op, b)
    kept = [x for x in left if not any(_is_behind(x, y, sign) for y in right)]
    kept += [y for y in right if y not in left and not any(_is_behind(y, x, sign) for x in left)]
    return kept[0] if len(kept) == 1 else DimCall(op, tuple(sorted(kept, key=_order)))


def _operands(op: str, d: Dim) -> tuple[Dim, ...]:
    """The operands of a call of an associative `op`; anything else is one."""
    return d.args if isinstance(d, DimCall) and d.op == op else (d,)


def _is_behind(a: Dim, b: Dim, sign: int) -> bool:
    """Whether `sign * a` is larger than `sign * b` whatever the variables are."""
    difference = subtract(a, b)
    return isinstance(difference, int) and sign * difference > 0


def broadcast(a: Dim, b: Dim) -> Dim | None:
    """The size two sizes broadcast to, or None where they cannot.

    A number other than 1 decides: `broadcast(n, 3)` is 3, and that `n` is 1 or 3 is for run time to see.
    `broadcast(min(n, 3), n)` is `n`, since they do not broadcast where `n` is more than 3.
    """
    if a is b or a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        return None
    if isinstance(a, int):
        return a
    if isinstance(b, int):
        return b
    if a is ANY or b is ANY:
        return ANY
    left, right = _operands("broadcast", a), _operands("broadcast", b)
    if any(_clash(x, y) for x in left for y in right):
        return None
    both = [*left, *[y for y in right if y not in left]]
    atoms = [x for x in both if not any(_is_at_most(x, y) for y in both)]
    return atoms[0] if len(atoms) == 1 else DimCall("broadcast", tuple(sorted(atoms, key=_order)))


def _is_at_most(a: Dim, b: Dim) -> bool:
    """Whether `a` is the smaller of `b` and a number that is not 0."""
    return (
        isinstance(a, DimCall)
        and a.op == "min"
        and b in a.args
        and all(x == b or (isinstance(x, int) and x > 0) for x in a.args)
    )


def _clash(a: Dim, b: Dim) -> bool:
    """Whether two sizes differ for certain, and neither can be 1."""
    difference = subtract(a, b)
    return isinstance(difference, int) and difference != 0 and not _may_be_one(a) and not _may_be_one(b)


def _may_be_one(d: Dim) -> bool:
    return least(d) <= 1


def least(d: Dim) -> int:
    """A lower bound, given that every variable is at least 0."""
    if isinstance(d, int):
        return d
    if isinstance(d, DimExpr):
        return d.constant if all(c >= 0 for _, c in d.terms) else -(2**62)
    return 0


def is_never(a: Dim, b: Dim) -> bool:
    """Whether `a == b` is impossible for any values of the variables."""
    if a is ANY or b is ANY:
        return False
    difference = subtract(a, b)
    if isinstance(difference, int):
        return difference != 0
    terms, constant = terms_of(difference)
    if constant and constant % gcd(*terms.values()) and all(len(m) for m in terms):
        return True
    return least(difference) > 0 or least(negate(difference)) > 0


OPERATIONS = {"+": add, "-": subtract, "*": multiply, "/": floor_divide, "min": minimum, "max": maximum}


def arithmetic(op: str, a: Dim, b: Dim) -> Dim:
    """`a op b` for an operation by its sign or name; a `broadcast` that cannot be is 0."""
    if op == "broadcast":
        both = broadcast(a, b)
        return 0 if both is None else both
    return OPERATIONS[op](a, b)


def rebuild(d: DimExpr | DimCall, children: tuple[Dim, ...]) -> Dim:
    """`d` with its atoms (in the order of `children`) replaced, in normal form."""
    replaced = iter(children)
    if isinstance(d, DimExpr):
        total: Dim = d.constant
        for monomial, c in d.terms:
            total = add(total, multiply(c, product([next(replaced) for _ in monomial])))
        return total
    args = [a if isinstance(a, int) else next(replaced) for a in d.args]
    result = args[0]
    for a in args[1:]:
        result = arithmetic(d.op, result, a)
    return result


hooks.dim_arithmetic = arithmetic
hooks.dim_rebuild = rebuild
