"""Leaves of a program: constants, and names of variables, definitions, operators and constructors."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from relay.diagnostic import Span
from relay.ir import hooks
from relay.ir.dtype import dtype_name, rounded, to_numpy
from relay.ir.node import RelayExpr, keep_listed, listed, node, set_field, several
from relay.ir.type import GlobalTypeVar, TensorType, Type


@node
class Constant(RelayExpr):
    """A tensor that is known.

    `type` is the tensor type, or None for an **open literal**: a number of text without a suffix (or a nest
    of them), whose dtype inference decides; its `value` is then int64, uint64 or float64.  Where the
    dtype was generalised, it is a type parameter.
    """

    value: NDArray[Any]
    type: TensorType | None = None

    @property
    def data(self) -> NDArray[Any]:
        """The value, by the name users know."""
        return hooks.constant_data(self.value)

    @property
    def is_open(self) -> bool:
        """Whether the dtype is still to be decided."""
        return self.type is None

    @property
    def is_scalar(self) -> bool:
        """Whether the rank is 0."""
        return self.value.ndim == 0

    def summary(self) -> str:
        """The value if it is a scalar, else the type."""
        return (
            f"Constant {self.value[()]}"
            if self.is_scalar
            else f"Constant {self.value.dtype}{self.value.shape}"
        )


def constant(value: Any, dtype: str | None = None, *, span: Span | None = None) -> Constant:
    """A closed constant; Python ints are int32 (int64 if too large) and floats float32, unless `dtype` says.

    Raises `ValueError` where the array's dtype or `dtype` is not a dtype, `TypeError` for objects that
    are not numbers, text or dtypes.
    """
    array: NDArray[Any] = np.asarray(value)
    if dtype is None and not isinstance(value, np.ndarray | np.generic):
        if array.dtype == np.float64:
            dtype = "float32"
        elif array.dtype == np.int64 and (
            array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        ):
            dtype = "int32"
        elif array.dtype == object and not all(isinstance(v, str) for v in array.flat):
            raise TypeError(f"{value!r} is neither numbers nor text, so it is not a constant")
    name = dtype_name(array.dtype if dtype is None else dtype)
    wanted = to_numpy(name)
    array = array if array.dtype == wanted else rounded(array, wanted)
    return Constant(array, TensorType(array.shape, name), span=span)


def literal(value: int | float, *, span: Span | None = None) -> Constant:
    """An open literal: an integer or a float whose dtype inference decides."""
    if isinstance(value, float):
        return Constant(np.asarray(value, np.float64), span=span)
    if not -(2**63) <= value < 2**64:
        raise ValueError(f"{value} does not fit in 64 bits")
    return Constant(np.asarray(value, np.int64 if value < 2**63 else np.uint64), span=span)


@node
class Var(RelayExpr):
    """A local variable; the object is the binding site.  `Var(name)` twice is two variables."""

    name_hint: str
    type_annotation: Type | None = None

    @property
    def name(self) -> str:
        """The name as written, without the sigil."""
        return self.name_hint

    @property
    def vid(self) -> "Var":
        """What tells it from other variables: the variable itself."""
        return self

    def summary(self) -> str:
        """The name with its sigil."""
        return f"Var %{self.name_hint}"


@node
class GlobalVar(RelayExpr):
    """The name of a definition in a module."""

    name_hint: str

    @property
    def name(self) -> str:
        """The name as written, without the sigil."""
        return self.name_hint

    def summary(self) -> str:
        """The name with its sigil."""
        return f"GlobalVar @{self.name_hint}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __hash__(self) -> int:
        return hash((GlobalVar, self.name_hint))


@node
class Op(RelayExpr):
    """An operator as a leaf of the program: one object per name, made by `Op.get`."""

    name: str
    interned: ClassVar[dict[str, "Op"]] = {}

    @staticmethod
    def get(name: str) -> "Op":
        """The one leaf of that name."""
        found = Op.interned.get(name)
        if found is None:
            found = Op(name, span=None)
            set_field(found, "span", None)
            found = Op.interned.setdefault(name, found)
        return found

    def get_attr(self, attr_name: str) -> Any:
        """The attribute that the operator has for that key (`relay.register_op_attr`); None without one."""
        return hooks.op_attributes(self.name).get(attr_name)

    def has_attr(self, attr_name: str) -> bool:
        """Whether the operator has an attribute for that key."""
        return attr_name in hooks.op_attributes(self.name)

    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Give the operator an attribute, unless it has one of a higher level (`attribute-value`)."""
        hooks.op_attributes(self.name).set(attr_name, value, plevel)

    def reset_attr(self, attr_name: str) -> None:
        """Take the attribute away that the operator was given."""
        hooks.op_attributes(self.name).reset(attr_name)

    @property
    def num_inputs(self) -> int:
        """How many operands it takes; -1 for any number."""
        return hooks.op_attributes(self.name).num_inputs

    @property
    def arguments(self) -> Any:
        """Its operands, each with `name`, `type_info` and `description`."""
        return hooks.op_attributes(self.name).arguments

    @property
    def description(self) -> str:
        """What it computes."""
        return hooks.op_attributes(self.name).description

    @property
    def support_level(self) -> int:
        """How well it is supported, from 1, as it was registered; else 10."""
        return hooks.op_attributes(self.name).get("support_level", 10)

    def set_num_inputs(self, n: int) -> None:
        """Say how many operands an operator takes that a program registered (`operator-rule` for others)."""
        hooks.op_attributes(self.name).describe("num_inputs", n)

    def add_argument(self, name: str, type_info: str, description: str) -> None:
        """Say what its next operand is, for those who read `get_attr("arguments")`."""
        said = self.get_attr("arguments") or ()
        self.reset_attr("arguments")
        hooks.op_attributes(self.name).describe("arguments", (*said, (name, type_info, description)))

    def set_support_level(self, level: int) -> None:
        """Say how well it is supported, for those who read `get_attr("support_level")`."""
        hooks.op_attributes(self.name).describe("support_level", level)

    def set_attrs_type_key(self, key: str) -> None:
        """Say of which kind its attributes are; those of any names are taken."""
        hooks.op_attributes(self.name).describe("attrs_type_key", key)

    def add_type_rel(self, rel_name: str, type_rel_func: Any = None) -> None:
        """Say of which type calls are: `type_rel_func(arg_types, attrs)` is the type, or without a function
        the relation of that name holds.
        """
        hooks.op_attributes(self.name).describe("type_rel", (rel_name, type_rel_func))

    def summary(self) -> str:
        """The name."""
        return f"Op {self.name}"


def check_field_names(c: "Constructor") -> None:
    """Demand a plain name of its own for each field of a constructor (`ValueError`)."""
    names = tuple(c.field_names)
    set_field(c, "field_names", names)
    if len(names) != len(c.inputs) or len(set(names)) != len(names):
        raise ValueError(f"{len(set(names))} names for {len(c.inputs)} fields of `{c.name_hint}`")
    for name in names:
        if not name.isascii() or not name.isidentifier():
            raise ValueError(f"the name of a field is letters, digits and `_`, not {name!r}")


@node
class Constructor(RelayExpr):
    """A constructor of a data type: `inputs` are the types of its fields, `tag` its position.

    That of a record has `field_names`, a plain name for each field; raises `ValueError` where they are not.
    """

    name_hint: str
    inputs: tuple[Type, ...] = several(converter=listed)
    belong_to: GlobalTypeVar
    tag: int = 0
    field_names: tuple[str, ...] = ()
    written: tuple[Type, ...] = several(converter=listed, default=())
    """The types of the fields as they print, where an alias is in them."""

    def __post_init__(self) -> None:
        keep_listed(self, "inputs")
        if self.field_names:
            check_field_names(self)

    @property
    def name(self) -> str:
        """The name as written."""
        return self.name_hint

    def summary(self) -> str:
        """The name and the number of fields."""
        return f"Constructor {self.name_hint}/{len(self.inputs)}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Constructor)
            and other.name_hint == self.name_hint
            and other.belong_to is self.belong_to
        )

    def __hash__(self) -> int:
        return hash((Constructor, self.name_hint))
