"""Sums of products, by the letters of their axes."""

import re
from dataclasses import dataclass
from functools import cache

from relay.ir.type import Dim, TensorType, Type
from relay.op.axes import Checker, attribute_fault
from relay.op.base import NUMERIC, Array, Derivative, Kernel, Numpy, operator, sample
from relay.op.conversion import accumulator
from relay.op.join import same_fields
from relay.op.relation import Typing

REST = "..."


@dataclass(frozen=True)
class Equation:
    """The axes of each operand and of the result; `...` stands for any number of them, which broadcast."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]


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
        found = np.einsum(self.equation.replace(" ", ""), *[accumulator(x) for x in data])
        return np.asarray(found).astype(data[0].dtype)
