"""Sums of products, by the letters of their axes."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from string import ascii_letters
from typing import Any

from relay.ir.dtype import dtype_name, is_float
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.axes import SIZES, UNCHECKED, Checker, attribute_fault
from relay.op.base import NUMERIC, Array, Numpy, sample
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import const_like, rank_of, static_shape, total
from relay.op.family import Kernel
from relay.op.join import same_fields
from relay.op.kind import Derivative
from relay.op.native import Index, Loops, View
from relay.op.numeric import apply, precise
from relay.op.registry import operator
from relay.op.relation import Typing

REST = "..."


@dataclass(frozen=True)
class Equation:
    """The axes of each operand and of the result; `...` stands for any number of them, which broadcast."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]

    @property
    def drops_rest(self) -> bool:
        """Whether the axes of `...` are summed over."""
        return REST not in self.result and any(REST in term for term in self.operands)

    def text(self, *, keep_rest: bool = False) -> str:
        """The equation as it is written, if need be with `...` kept in the result."""
        front = REST if keep_rest and self.drops_rest else ""
        return ",".join(["".join(term) for term in self.operands]) + "->" + front + "".join(self.result)


@cache
def equation_of(text: str) -> Equation | None:
    """A parsed equation, or None where it is none; without an arrow the result has the letters that occur
    once.
    """
    sides = text.replace(" ", "").split("->")
    if len(sides) > 2 or not re.fullmatch(r"[A-Za-z.,]*", "".join(sides)) or "," in "".join(sides[1:]):
        return None
    terms = [tuple(re.findall(r"\.\.\.|[A-Za-z.]", term)) for term in sides[0].split(",")]
    letters = [a for term in terms for a in term]
    if len(sides) == 2:
        result = tuple(re.findall(r"\.\.\.|[A-Za-z.]", sides[1]))
    else:
        once = sorted(a for a in set(letters) if a != REST and letters.count(a) == 1)
        result = (*((REST,) if REST in letters else ()), *once)
    good = all(term.count(REST) <= 1 and "." not in term for term in (*terms, result))
    good = good and len(set(result)) == len(result) and set(result) <= set(letters)
    return Equation(tuple(terms), result) if good else None


@operator("einsum")
class Einsum(Kernel):
    """The product of the tensors of a tuple, summed over the letters that the result does not have.

    relay> einsum(([[1, 2], [3, 4]], [5, 6]), equation="ij,j->i")
    [17, 39]
    """

    dtypes = NUMERIC
    derivative = Derivative.RULES
    samples = (
        sample(("2x3 float32", "3x4 float32"), equation="ij,jk->ik"),
        sample(("3x3 int4",), equation="ii"),
        sample(("5x2x3 bfloat16", "3x2 bfloat16"), equation="...ij,ji->..."),
        sample(("2x0 float32",), equation="ij->j"),
        sample(("3 float16", "4 float16"), equation="i,j"),
        sample(("3x3x2 float64", "3 float64"), equation="iij,i->j"),
        sample(("2x5x3 float64", "1x3 float64"), equation="i...j,...j->...i"),
        sample(("2x3 float64",), equation="...i->i"),
    )

    equation: str

    def parsed(self, t: Checker, count: int) -> Equation:
        """The equation, for so many tensors."""
        found = equation_of(self.equation)
        if found is None:
            attribute_fault(t, "equation", self.equation, "an equation is like `ij,jk->ik`")
        if len(found.operands) != count:
            attribute_fault(t, "equation", self.equation, f"there are {count} tensors")
        return found

    def infer(self, t: Typing, data: Type) -> Type:
        fields = same_fields(t, data)
        for f in fields:
            t.dtype_in(f, NUMERIC)
        equation = self.parsed(t, len(fields))
        sizes: dict[str, Dim] = {}
        rests: list[tuple[Dim, ...]] = []
        for f, term in zip(fields, equation.operands, strict=True):
            dims = t.shape(f)
            rest = len(dims) - len([a for a in term if a != REST])
            if rest < 0 or (rest and REST not in term):
                t.fail(
                    "rank-mismatch", f"`{''.join(term)}` describes a tensor of another rank than {len(dims)}"
                )
            at = 0
            for a in term:
                if a == REST:
                    rests.append(dims[at : at + rest])
                    at += rest
                    continue
                if a in sizes:
                    t.equal(dims[at], sizes[a], why=f"`{a}` has one size in {self.equation}")
                sizes.setdefault(a, dims[at])
                at += 1
        shared = t.broadcast(*rests) if rests else ()
        out: list[Dim] = []
        for a in equation.result:
            out += shared if a == REST else (sizes[a],)
        return TensorType(out, t.dtype(fields[0]))

    def reference(self, np: Numpy, data: tuple[Array, ...]) -> Array:
        equation = self.parsed(SIZES, len(data))
        is_whole = not is_float(dtype_name(data[0].dtype))
        operands = [accumulator(x) if is_whole else precise(np, x) for x in data]
        found = np.einsum(equation.text(keep_rest=True), *operands)
        # NumPy refuses to sum over axes that `...` stands for.
        found = (
            np.sum(found, axis=tuple(range(found.ndim - len(equation.result))))
            if equation.drops_rest
            else found
        )
        return np.asarray(found).astype(data[0].dtype)

    def batch(self, n: Dim, which: Sequence[Any], data: tuple[Expr, ...]) -> Expr:
        equation = self.parsed(SIZES, len(data))
        used = {a for term in equation.operands for a in term}
        row = next(a for a in ascii_letters if a not in used)
        terms = [(row, *term) if w else term for term, w in zip(equation.operands, which[0], strict=True)]
        return Einsum(equation=Equation(tuple(terms), (row, *equation.result)).text())(data)

    def vjp(self, g: Expr, y: Expr, data: tuple[Expr, ...]) -> tuple[tuple[Expr, ...]]:
        equation = self.parsed(SIZES, len(data))
        return (tuple([cotangent(equation, i, g, data) for i in range(len(data))]),)

    def jvp(self, dxs: Sequence[Any], y: Expr, data: tuple[Expr, ...]) -> Expr | None:
        rows = [(*data[:i], dx, *data[i + 1 :]) for i, dx in enumerate(dxs[0]) if dx is not None]
        return total([self(row) for row in rows])

    def element(self, b: Loops, index: Sequence[Any], data: Sequence[View]) -> Any:
        """The sum of products over the letters that are left."""
        equation = self.parsed(UNCHECKED, len(data))
        sizes: dict[str, Index] = {}
        rests: list[Sequence[Index]] = []
        for x, term in zip(data, equation.operands, strict=True):
            for a, part in by_letter(term, x.sizes).items():
                if a == REST:
                    rests.append(part)
                else:
                    sizes[a] = part[0]
        given = by_letter(equation.result, index)
        summed = [a for a in sizes if a not in given]
        rest: Sequence[Index] = b.broadcast(rests) if equation.drops_rest else []
        dtype = accumulator_name(data[0].dtype)

        def product_at(place: Sequence[Index]) -> Any:
            known = {**given, **{a: [i] for a, i in zip(summed, place, strict=False)}}
            if equation.drops_rest:
                known[REST] = place[len(summed) :]
            product = b.const(1, dtype)
            for x, letters in zip(data, equation.operands, strict=True):
                at = [
                    i for a in letters for i in (known[a] if a != REST else rest_of(b, known[a], x, letters))
                ]
                product = b.multiply(product, b.cast(x.at(at), dtype))
            return product

        total = b.add_up([*[sizes[a] for a in summed], *rest], b.const(0, dtype), product_at)
        return b.cast(total, data[0].dtype)


def cotangent(equation: Equation, i: int, g: Expr, xs: Sequence[Expr]) -> Expr:
    """The cotangent of operand `i`: the product of `g` with the other operands, by the same letters."""
    x, term = xs[i], equation.operands[i]
    terms = [equation.result, *equation.operands[:i], *equation.operands[i + 1 :]]
    operands = [g, *xs[:i], *xs[i + 1 :]]
    target = term
    if len(set(term)) < len(term) or not set(term) <= {a for t in terms for a in t}:
        # A letter that stands twice takes a diagonal; one that nothing else has was summed alone.
        target = distinct(term, {a for t in equation.operands for a in t})
        terms, operands = [*terms, target], [*operands, diagonal(x, term)]
    letters = tuple([a for a in target if a != REST])
    front = ((REST,) if REST in term else ()) + letters
    product = apply("einsum", operands, equation=Equation(tuple(terms), front).text())
    rank, at = rank_of(x), term.index(REST) if REST in term else 0
    rest = rank - len(letters)
    order = [*range(at, at + rest), *range(at), *range(at + rest, rank)]
    if REST in term or static_shape(x) is None:
        like = apply("transpose", x, axes=order) if order != sorted(order) else x
        product = apply("collapse_sum_like", product, like)
    back = [order.index(a) for a in range(rank)]
    return product if back == sorted(back) else apply("transpose", product, axes=back)


def distinct(term: Sequence[str], used: Collection[str]) -> tuple[str, ...]:
    """A term with new letters for those that occur again."""
    spare = iter([a for a in ascii_letters if a not in used])
    return tuple([next(spare) if a in term[:i] else a for i, a in enumerate(term)])


def diagonal(x: Expr, term: Sequence[str]) -> Expr:
    """1 in the shape of `x` where axes of one letter have one place, else 0."""
    found = apply("ones_like", x)
    axes = [a - len(term) if REST in term[:a] else a for a in range(len(term))]
    for i, a in enumerate(term):
        first = term.index(a)
        if first < i:
            there, here = (apply("cumsum", apply("ones_like", x), axis=axes[j]) for j in (first, i))
            found = apply("where", apply("equal", there, here), found, const_like(0, x))
    return found


def by_letter(term: Sequence[str], axes: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """What belongs to each letter of a term; all that is left to `...`."""
    rest = len(axes) - sum(a != REST for a in term)
    found: dict[str, Sequence[Any]] = {}
    at = 0
    for a in term:
        count = rest if a == REST else 1
        found[a] = axes[at : at + count]
        at += count
    return found


def rest_of(b: Loops, index: Sequence[Any], x: View, term: Sequence[str]) -> list[Any]:
    """The index for the axes of an operand that `...` stands for, some of which may be stretched."""
    return [*b.stretched(index, by_letter(term, x.sizes)[REST])]
