"""What a type relation may say: the protocol that inference implements, and relations by name.

A relation runs whenever one of its types becomes better known.  What it needs and does not know yet it asks
for (`t.shape(x)`, `t.dtype(x)`): the solver then parks the relation and runs it again later.  Relations are
functional: the same inputs give the same output.
"""

from collections.abc import Callable, Collection
from typing import Any, Literal, NoReturn, Protocol

from relay.ir.dtype import FLOATS, INTEGERS
from relay.ir.type import Dim, DType, Shape, TensorType, Type

Comparison = Literal["==", "!=", "<=", "<", "divides"]


def refutation(a: object, comparison: Comparison, b: object) -> str:
    """The message for a comparison that is false: `4 does not divide 6`."""
    match comparison:
        case "==":
            return f"{a} is not {b}"
        case "!=":
            return f"{a} is {b}"
        case "<=":
            return f"{a} is more than {b}"
        case "<":
            return f"{a} is not less than {b}"
        case "divides":
            return f"{a} does not divide {b}"


class Typing(Protocol):
    """The solver, as an operator's `infer` or `relate` sees it."""

    def resolve(self, t: Type) -> Type:
        """`t` with everything that is known so far filled in at its head (and in a tensor's shape and
        dtype).
        """
        ...

    def tensor(self, t: Type) -> TensorType:
        """`t` as a tensor type; an unknown `t` becomes a tensor of unknown shape and dtype.

        `expected-tensor` if it is something else.
        """
        ...

    def shape(self, t: Type, rank: int | None = None, what: str = "") -> tuple[Dim, ...]:
        """The dimensions of tensor `t`; waits for its rank unless `rank` gives it (`rank-mismatch` if it
        differs).
        """
        ...

    def dtype(self, t: Type) -> DType:
        """The dtype of tensor `t`, possibly a variable."""
        ...

    def known_dtype(self, t: Type) -> str:
        """The dtype of tensor `t` as a name; waits while it is a variable."""
        ...

    def fields(self, t: Type) -> tuple[Type, ...]:
        """The fields of tuple type `t`; waits while `t` is unknown; `expected-tuple` if it is something
        else.
        """
        ...

    def field(self, t: Type, name: str) -> Type:
        """The field of that name of record type `t`; waits while `t` is unknown.

        `expected-record` if it is something else, `unknown-field` if it has no such field.
        """
        ...

    def static(self, d: Dim) -> int | None:
        """The dimension as a number, or None where it is symbolic or unknown."""
        ...

    def settled(self, d: Dim) -> Dim:
        """The dimension, once inference knows what it is: a number, symbolic, or `?`; waits until then."""
        ...

    def equal(self, a: Any, b: Any, why: str = "") -> None:
        """Make two types, shapes, dimensions or dtypes the same; `type-mismatch` if they cannot be.

        Dimensions that may or may not be equal are left to run time.
        """
        ...

    def require(
        self, a: Dim, comparison: Comparison, b: Dim, why: str, code: str = "shape-constraint"
    ) -> None:
        """Demand a comparison of dimensions: an error where it is false, a run-time check where it is
        open.
        """
        ...

    def broadcast(self, *shapes: Shape) -> tuple[Dim, ...]:
        """The shape these broadcast to (`broadcast-mismatch`); waits for ranks that matter (one of () does
        not).
        """
        ...

    def dtype_in(self, t: Type, allowed: Collection[str], what: str = "") -> None:
        """Demand that tensor `t`'s dtype is one of `allowed` (`dtype-not-supported`); open ones are
        remembered.

        `t` may be a dtype itself.
        """
        ...

    def decided_dtype_in(self, t: Type, allowed: Collection[str], what: str = "") -> None:
        """Demand what `dtype_in` does, without deciding what an open literal becomes: waits until it is."""
        ...

    def fresh(self, like: Literal["type", "tensor", "shape", "dim", "dtype"] = "type") -> Any:
        """A new unknown."""
        ...

    def fail(self, code: str, message: str, label: str = "", hint: str = "") -> NoReturn:
        """Report a diagnostic at the call."""
        ...


RelationFn = Callable[..., None]
"""`(t, *types, **attrs)`: relate the types of the parameters and, last, of the result."""

relations: dict[str, RelationFn] = {}


def relation(name: str) -> Callable[[RelationFn], RelationFn]:
    """Register a type relation that `where` clauses may name: `@relation("Broadcast") def broadcast(t, x, y,
    out)`.
    """

    def register(rule: RelationFn) -> RelationFn:
        relations[name] = rule
        return rule

    return register


@relation("Broadcast")
def broadcast(t: Typing, x: Type, y: Type, out: Type) -> None:
    """Tensors of one dtype whose shapes broadcast to that of `out`, as in NumPy."""
    t.equal(t.dtype(y), t.dtype(x), why="both operands have one dtype")
    t.equal(t.dtype(out), t.dtype(x))
    t.equal(t.tensor(out).shape, t.broadcast(t.tensor(x).shape, t.tensor(y).shape))


@relation("BroadcastCompare")
def broadcast_compare(t: Typing, x: Type, y: Type, out: Type) -> None:
    """As `Broadcast`, and `out` is of booleans."""
    t.equal(t.dtype(y), t.dtype(x), why="both operands have one dtype")
    t.equal(t.dtype(out), "bool")
    t.equal(t.tensor(out).shape, t.broadcast(t.tensor(x).shape, t.tensor(y).shape))


@relation("Identity")
def identity(t: Typing, x: Type, out: Type) -> None:
    """Tensors of one type."""
    t.equal(out, x)
    t.tensor(x)


NUMBERS = frozenset((*INTEGERS, *FLOATS))
"""What an integer literal may become."""


@relation("Number")
def number_literal(t: Typing, dtype: Any) -> None:
    """A dtype of integers or floats: what an integer literal may become."""
    t.dtype_in(dtype, NUMBERS)


@relation("Floating")
def floating(t: Typing, dtype: Any) -> None:
    """A floating-point dtype: what a literal with a point may become."""
    t.dtype_in(dtype, frozenset(FLOATS))


@relation("Integral")
def integral(t: Typing, dtype: Any) -> None:
    """A dtype of integers."""
    t.dtype_in(dtype, frozenset(INTEGERS))


@relation("BaseTypeIn")
def dtype_among(t: Typing, dtype: Any, *, allowed: Collection[str]) -> None:
    """One of the dtypes listed."""
    t.dtype_in(dtype, frozenset(allowed))


@relation("Field")
def tuple_field(t: Typing, whole: Type, out: Type, *, index: int) -> None:
    """`out` is the type of field `index` of tuple `whole`."""
    fields = t.fields(whole)
    if index >= len(fields):
        t.fail(
            "projection-out-of-range",
            f"a tuple of {len(fields)} has no field {index}",
            hint=f"fields are numbered from 0; the last is .{len(fields) - 1}"
            if fields
            else "it has no fields",
        )
    t.equal(out, fields[index])
