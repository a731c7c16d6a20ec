"""Operators: a class with its attributes as fields and its rules as methods."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from math import inf
from typing import Any, ClassVar

import numpy

from relay.diagnostic import Span
from relay.ir.dtype import DTYPES, FLOATS, INTEGERS
from relay.ir.expr import Call, Expr, Op, as_expr
from relay.ir.module import IRModule
from relay.ir.type import Dimension, TensorType, TupleType, Type
from relay.op.arrays import (
    may_have_strings,
    numpy_function,
    strings_boxed,
    strings_unboxed,
    unboxed,
)
from relay.op.attribute import attribute_parts, freeze, size_attributes
from relay.op.conversion import NUMPY_ARITHMETIC
from relay.op.kind import Derivative, Fusion, NativeRule, Precision, Wide
from relay.op.native import Product, WeightProduct, WindowProduct
from relay.op.relation import Typing
from relay.op.signature import Signature

Array = Any
Numpy = Any
Interval = tuple[float, float]
Domain = Interval | Mapping[str, Interval]

FLOATING = frozenset(FLOATS)
INTEGRAL = frozenset(INTEGERS)
NUMERIC = FLOATING | INTEGRAL
BOOLEAN = frozenset({"bool"})
ORDERED = NUMERIC | BOOLEAN
"""Dtypes whose elements are in order; False is less than True."""
ANY_DTYPE = frozenset(DTYPES)
ANY_NUMBER = ANY_DTYPE - {"string"}
"""Dtypes that have a zero and a one."""


@dataclass(frozen=True)
class Sample:
    """Operands and attributes that an operator is tested on.

    An operand is a text such as `"3x4 float32"` (random values; `"float32"` is a scalar, `"0x3 int64"` has no
    elements), an array, or a tuple of these for a tuple operand.
    """

    operands: tuple[Any, ...]
    attrs: Mapping[str, Any]


def sample(*operands: Any, **attrs: Any) -> Sample:
    """A `Sample`: `sample("3x4 float32", "5x4 float32", units=5)`."""
    return Sample(operands, attrs)


@dataclass(frozen=True, repr=False, eq=False)
class Operator:
    """The base of all operators.  Fields are attributes; instances compare by value.

    Rules (each may be supplied by the family):

    - `infer(t, *types) -> Type`: the result type from the operands' types, or `signature`, or `relate`;
    - `reference(np, *arrays)`: the value, in the inferred dtype; its parameters name the operands, those
      with a default are optional, `*xs` is any number, a tuple operand arrives as a Python tuple;
    - `ufunc`: for a family that computes by one NumPy function, its name instead of `reference`;
    - `derivative`: which kind of derivative rule it has;
    - `builder`: a static method in place of the generated builder, where custom wants another form.

    An evaluator asks once per call site for `compile_reference(types)` and calls what it gets, inside one
    `numpy.errstate(all="ignore")` for the whole run: the language defines what wraps and what is infinite.
    """

    name: ClassVar[str] = ""
    fusion: ClassVar[Fusion] = Fusion.OPAQUE
    derivative: ClassVar[Derivative | None] = None
    precision: ClassVar[Precision] = Precision.NEVER
    """What becomes of it in mixed precision."""
    wide: ClassVar[Wide] = Wide.UNKNOWN
    """Why it is computed on wide floats there, if it is."""
    commutative: ClassVar[bool] = False
    """Whether its two operands may change places: patterns match both orders, and equal calls are one."""
    computes: ClassVar[bool] = True
    """Whether each element takes arithmetic: not where elements are only moved, filled or converted."""
    keeps_order: ClassVar[bool] = False
    """Whether the result has the elements of the first operand in their order in memory."""
    decodes: ClassVar[bool] = False
    """Whether constants stay as they are, which have fewer bytes: it is computed where it is read."""
    rereads: ClassVar[bool] = False
    """Whether it may read one element of an operand for several of the result."""
    element_cost: ClassVar[int] = 1
    """Instructions that compute an element of the result, about."""
    native_rule: ClassVar[NativeRule] = NativeRule.REFERENCE
    """How machine code computes it, by the rules that the class has."""
    routines: ClassVar[tuple[str, ...]] = ()
    """The routines of LAPACK that `compute` calls."""
    is_pointwise: ClassVar[bool] = False
    """Whether its rule `element` reads operands, as they broadcast, at the index of the element alone."""
    computes_in_float64: ClassVar[bool] = False
    """Whether machine code computes float32 in float64."""
    dtypes: ClassVar[frozenset[str]] = ANY_DTYPE
    signature: ClassVar[str | None] = None
    """`"(..., n, k) t, (m, k) t -> (..., n, m) t"`, in the language of `relay.op.signature`."""
    ufunc: ClassVar[str] = ""
    """The NumPy function that is all there is to `reference` on NumPy's own numbers."""
    relation_name: ClassVar[str] = ""
    """The relation of `where` clauses that this operator satisfies; its own name unless the family has
    one."""
    operands: ClassVar[tuple[str, ...]] = ()
    """Names of the operands, from the parameters of `reference` (or `decompose`)."""
    optional: ClassVar[int] = 0
    """How many operands at the end may be left out."""
    builder_order: ClassVar[tuple[str, ...]] = ()
    """Operands and attributes as the builder takes them, where attributes are not in the order of the fields
    behind the operands."""
    variadic: ClassVar[bool] = False
    more_means: ClassVar[str] = ""
    """What people mean who give it one operand more: a hint."""
    is_described: ClassVar[bool] = False
    """Whether operands and types are what methods of its leaf have said, as of `Op.set_num_inputs`."""
    takes_no_zeros: ClassVar[bool] = False
    """Whether `vjp` is given None for a result without a cotangent, and not zeros: what would multiply them
    may be infinite."""
    carried: ClassVar[tuple[str, ...]] = ()
    """Operands of which the shape or dtype alone counts: the result does not vary with their values."""
    domain: ClassVar[Domain] = (-inf, inf)
    """The open interval of operands within which it is smooth, where need be by operand."""
    samples: ClassVar[tuple[Sample, ...]] = ()
    tolerance: ClassVar[float] = 1.0
    """Factor on the tolerance that tests allow against values from outside."""
    aliases: ClassVar[tuple[str, ...]] = ()
    impure: ClassVar[bool] = False
    dynamic_form: ClassVar[str] = ""
    """The operator that takes some of the attributes as operands: what a builder calls where one of them is
    an expression."""
    default_operands: ClassVar[Mapping[str, Any]] = {}
    """Operands of such an operator that its builder's callers may leave out."""
    tvm_attributes: ClassVar[Mapping[str, Any]] = {}
    """Attributes that calls in texts, files and scripts of TVM have, and that these do not mention."""
    attributes_first: ClassVar[int] = 0
    """How many attributes stand before the operands where calls give them by position."""
    has_dimensions: ClassVar[bool] = False
    """Whether there are dimensions among the attributes; instances that have some say so."""
    is_resolved: ClassVar[bool] = False
    """Whether inference may replace a call: by what its operands' types say it is, by `resolved`, or, of an
    instance that `has_dimensions`, by one that computes these.
    """
    settled_dtypes: ClassVar[frozenset[str]] = frozenset()
    """The dtypes of the result at which a call stays what it is: `resolved` is not asked."""
    results: ClassVar[int | None] = None
    """How many fields a tuple result has, where that is fixed; None for a result that is not a tuple."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        owner = next((c for c in cls.__mro__ if "element" in c.__dict__), Operator)
        cls.is_pointwise = owner.__dict__.get("is_pointwise", False)
        if cls.routines:
            cls.native_rule = NativeRule.LIBRARY
        elif hasattr(cls, "failure"):
            cls.native_rule = NativeRule.EFFECT
        elif hasattr(cls, "compute"):
            cls.native_rule = NativeRule.WHOLE
        elif hasattr(cls, "combine"):
            cls.native_rule = NativeRule.REDUCTION
        elif hasattr(cls, "native" if cls.is_pointwise else "element"):
            cls.native_rule = NativeRule.ELEMENT
        elif hasattr(cls, "decompose"):
            cls.native_rule = NativeRule.DECOMPOSITION
        else:
            cls.native_rule = NativeRule.REFERENCE

    def __post_init__(self) -> None:
        for f in fields(self):  # pyright: ignore[reportArgumentType]
            value: Any = getattr(self, f.name)
            if isinstance(value, list):
                value = freeze(value)
                object.__setattr__(self, f.name, value)
            if isinstance(value, tuple | Dimension) and has_dimension(value):
                object.__setattr__(self, "has_dimensions", True)
                object.__setattr__(self, "is_resolved", True)

    @classmethod
    def accepted(cls, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the fields are for attributes that are given by name: by default these."""
        return attrs

    def infer(self, t: Typing, *types: Any, **_: Any) -> Type:
        """The type of the result; by default from `signature`."""
        assert self.signature is not None, f"{type(self).__name__} needs `signature`, `infer` or `relate`"
        out = t.fresh("type")
        self.relate(t, types, out)
        return out

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        """Relate operand types and result type; by default by `signature`, or `out` is what `infer` says."""
        if self.signature is not None:
            Signature.of(self.signature).relate(self, t, args, out)
            return
        for a in args:
            self.check_dtype(t, a)
        self.check_made(t, args)
        t.equal(out, self.infer(t, *args))

    def result_count(self, operands: Sequence[Any]) -> int | None:
        """How many fields the tuple result has, from attributes and operands alone; what `a, b = call` goes
        by.
        """
        return self.results

    def multiplications(self, out: Sequence[int], *operands: Sequence[int]) -> int:
        """How many multiply-accumulates a call takes, by the shapes of result and operands: what profiles
        count for products of matrices and convolutions.
        """
        return 0

    def product(self) -> Product | None:
        """What it is to the kernels for products of matrices, if it is one."""
        return None

    def is_decoding(self, dtype: str) -> bool:
        """Whether kernels of products read an operand of a dtype where it lies, in place of the result, and
        compute that as they go: it takes more memory.
        """
        return False

    def window_product(self) -> WindowProduct | None:
        """What it is to the kernels for convolutions, if it is one."""
        return None

    def weight_product(self) -> WeightProduct | None:
        """What it is to the kernels for the derivatives of convolutions by their weights, if it is one."""
        return None

    def resolved(
        self, types: Sequence[Type], args: Sequence[Expr], mod: IRModule, span: Span | None
    ) -> Expr | None:
        """What a call on operands of these types is in a module, if it is not one of this operator after
        all.
        """
        return None

    def batch(self, *args: Any, **_: Any) -> Any:
        """`batch(n, which, *xs)`: one expression for the calls of `n` rows, as `relay.op.batching` says; None
        where rows are computed one by one.
        """
        return None

    def extent(self, *args: Any, **_: Any) -> Any:
        """The shape of the result in the code that is made, of several results their shapes; None where the
        rule of types says it.
        """
        return None

    def of_lane(self, *args: Any, **_: Any) -> list[Any] | None:
        """The totals of a lane of a reduction in terms of all elements; None if they cannot be said."""
        return None

    def merge(self, *args: Any, **_: Any) -> list[Any]:
        """Return the totals of two parts of a reduction that has several."""
        raise AssertionError(f"{self.name} has no totals to merge")

    def check_dtype(self, t: Typing, operand: Type) -> None:
        """Demand `dtypes` of a tensor operand."""
        if self.dtypes is not ANY_DTYPE and not isinstance(t.resolve(operand), TupleType):
            t.dtype_in(operand, self.dtypes)

    def check_made(self, t: Typing, args: Sequence[Type]) -> None:
        """Demand that an attribute `dtype` names numbers: no operator makes strings of anything else."""
        if getattr(self, "dtype", None) == "string":
            t.fail("dtype-not-supported", f"`{self.name}` makes numbers, not strings")

    def reference(self, *args: Any, **_: Any) -> Any:
        """The value, on NumPy or whatever array module is given first."""
        raise AssertionError(f"{self.name} has no reference")

    def traced(self, *args: Any, **_: Any) -> Any:
        """The value where arrays are traced, as `relay.op.traced` says: by default the reference's."""
        return self.reference(*args)

    def evaluate(self, *arrays: Any) -> Any:
        """The value on NumPy arrays and scalars, without NumPy's warnings; rank 0 is a NumPy scalar."""
        with numpy.errstate(all="ignore"):
            return self._reference_of_strings(*arrays)

    def compile_reference(self, types: Sequence[Type]) -> Callable[..., Any]:
        """A callable for operands of these types, as cheap as they allow; rank 0 is a NumPy scalar.

        Types may be open (`Tensor[s, bt]`).  The caller holds `numpy.errstate(all="ignore")`.
        """
        if self.ufunc and all(isinstance(a, TensorType) and a.dtype in NUMPY_ARITHMETIC for a in types):
            return numpy_function(self.ufunc, types)
        return self._reference_of_strings if any(map(may_have_strings, types)) else self._unboxed_reference

    def _unboxed_reference(self, *arrays: Any) -> Any:
        return unboxed(self.reference(numpy, *arrays))

    def _reference_of_strings(self, *arrays: Any) -> Any:
        return strings_unboxed(self.reference(numpy, *map(strings_boxed, arrays)))

    @property
    def spelled(self) -> str:
        """What messages call it: its name, or the form that it has in text."""
        return self.name

    def attributes(self) -> dict[str, Any]:
        """Every attribute with its value, defaults included."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # pyright: ignore[reportArgumentType]

    def dimensions(self) -> list[Dimension]:
        """The dimensions among its attributes, in order: sizes that are not numbers."""
        names = size_attributes(type(self)) if self.has_dimensions else ()
        return [d for name in names for d in attribute_parts(getattr(self, name)) if isinstance(d, Dimension)]

    def changed_attributes(self) -> dict[str, Any]:
        """The attributes that differ from their defaults, in order: what the text shows."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)  # pyright: ignore[reportArgumentType]
            if f.default is MISSING or not _same(getattr(self, f.name), f.default)
        }

    def keys(self) -> list[str]:
        """The names of its attributes, so that `dict(op)` has them with their values."""
        return [f.name for f in fields(self)]  # pyright: ignore[reportArgumentType]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def get_int(self, key: str) -> int:
        """The attribute `key` as an integer."""
        return int(self[key])

    def get_int_tuple(self, key: str) -> tuple[int, ...]:
        """The attribute `key` as integers."""
        return tuple([int(n) for n in self[key]])

    def get_str(self, key: str) -> str:
        """The attribute `key` as text."""
        return str(self[key])

    def __eq__(self, other: object) -> bool:
        """Whether it is the same operator with the same attributes."""
        return self is other or (type(self) is type(other) and self.__dict__ == other.__dict__)

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        said = ", ".join([f"{name}={value!r}" for name, value in self.attributes().items()])
        return f"{type(self).__qualname__}({said})"

    def __call__(self, *operands: Any) -> Call:
        """A call of this operator: `LeakyRelu(alpha=0.1)(x)`."""
        return Call(Op.get(self.name), tuple([as_expr(x) for x in operands]), self)


def has_dimension(value: Any) -> bool:
    """Whether an attribute has a symbolic dimension in it."""
    return any(isinstance(d, Dimension) for d in attribute_parts(value))


def _refused(self: Operator, name: str, *_: Any) -> None:
    raise FrozenInstanceError(f"operators are immutable: cannot set {name}")


Operator.__setattr__ = Operator.__delattr__ = _refused


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b
