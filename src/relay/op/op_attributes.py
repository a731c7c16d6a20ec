"""Attributes that users give to operators by name: what a pass of theirs knows of each.

Every key is a `Column`.  A few keys stand for what the class of an operator says itself.
"""

from collections.abc import Callable, Iterator, Mapping
from inspect import cleandoc
from types import MappingProxyType
from typing import Any, NamedTuple

from relay.diagnostic import fail
from relay.ir import hooks
from relay.op.column import Column
from relay.op.kind import Fusion
from relay.op.registry import get, registry

DEFAULT_LEVEL = 10


class OpPattern:
    """How an operator combines with its neighbours in one loop, as numbers that people know."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


PATTERNS: Mapping[Fusion, int] = MappingProxyType(
    {
        Fusion.ELEMENTWISE: OpPattern.ELEMWISE,
        Fusion.BROADCAST: OpPattern.BROADCAST,
        Fusion.INJECTIVE: OpPattern.INJECTIVE,
        Fusion.REDUCTION: OpPattern.COMM_REDUCE,
        Fusion.KERNEL: OpPattern.OUT_ELEMWISE_FUSABLE,
        Fusion.OPAQUE: OpPattern.OPAQUE,
    }
)


class Entry(NamedTuple):
    """The value of an attribute, and the level at which it was given: a higher one goes before."""

    value: Any
    level: int


class ArgumentInfo(NamedTuple):
    """What an operand of an operator is."""

    name: str
    type_info: str
    description: str


columns: dict[str, Column[Entry | None]] = {}
"""The attributes that users have given to operators, by key."""
OF_CLASS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "TOpPattern": lambda cls: PATTERNS[cls.fusion],
        "TOpIsStateful": lambda cls: cls.impure,
        "TNonComputational": lambda cls: not cls.computes,
    }
)
"""What the class of an operator says, by the keys that people know; attributes of that key go before."""


class OpAttributes(Mapping[str, Any]):
    """The attributes of one operator, by key."""

    def __init__(self, name: str) -> None:
        """Raises `unknown-operator`."""
        self.name = get(name).name
        self.cls = registry[self.name]

    def __getitem__(self, key: str) -> Any:
        entry = columns[key][self.cls] if key in columns else None
        if entry is not None:
            return entry.value
        return OF_CLASS[key](self.cls)

    def __iter__(self) -> Iterator[str]:
        yield from [k for k, column in columns.items() if column[self.cls] is not None and k not in OF_CLASS]
        yield from OF_CLASS

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def set(self, key: str, value: Any, level: int = DEFAULT_LEVEL) -> None:
        """Give an attribute: it stays what it is if that was given at a higher level, and two values at one
        level are an error (`attribute-value`).
        """
        column = columns.setdefault(key, Column[Entry | None](default=None))
        known = column.entries.get(self.cls)
        if known is not None and known.level == level and known.value is not value:
            hint = "give one of them a higher level, or take the other away by `reset_attr`"
            fail(
                "attribute-value",
                f"`{self.name}` has the attribute {key!r} at level {level} already",
                hint=hint,
            )
        if known is None or known.level <= level:
            column[self.cls] = Entry(value, level)

    @property
    def num_inputs(self) -> int:
        """How many operands it takes; -1 for any number."""
        said = self.get("num_inputs")
        return said if said is not None else -1 if self.cls.variadic else len(self.cls.operands)

    @property
    def arguments(self) -> list[ArgumentInfo]:
        """The operands: as they were described, else by their names."""
        names = [(name, "", "") for name in self.cls.operands]
        return [ArgumentInfo(*said) for said in self.get("arguments", names)]

    @property
    def description(self) -> str:
        """What the operator computes."""
        return cleandoc(self.cls.__doc__ or "")

    def describe(self, key: str, value: Any) -> None:
        """Say what an operator is that was registered by name; of others their class says it
        (`operator-rule`).
        """
        if not self.cls.is_described:
            hint = "`relay.op.op.register` of `relay.compat.tvm` registers another"
            fail("operator-rule", f"`{self.name}` is an operator of Relay, and stays what it is", hint=hint)
        self.set(key, value)

    def reset(self, key: str) -> None:
        """Take away what the operator itself was given; what its class says stays."""
        if key in columns:
            columns[key].entries.pop(self.cls, None)


hooks.op_attributes = OpAttributes


def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = DEFAULT_LEVEL) -> Any:
    """Give the operator of that name an attribute; without a value, the function that is decorated is it.

    `relay.op.get(op_name).get_attr(attr_key)` is the value.  One given at a higher `level` goes before.
    Raises `unknown-operator`, `attribute-value`.
    """

    def register(v: Any) -> Any:
        OpAttributes(op_name).set(attr_key, v, level)
        return v

    return register if value is None else register(value)


def register_pattern(op_name: str, pattern: int, level: int = DEFAULT_LEVEL) -> Any:
    """Say how an operator combines with its neighbours, as an `OpPattern`, to those who ask for the attribute
    `TOpPattern`; fusion for machine code goes by the operator's class.
    """
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_stateful(op_name: str, stateful: bool, level: int = DEFAULT_LEVEL) -> Any:
    """Say whether an operator has an effect, to those who ask for the attribute `TOpIsStateful`; passes go by
    the operator's class.
    """
    return register_op_attr(op_name, "TOpIsStateful", stateful, level)


class TempOpAttr:
    """An operator has an attribute inside of the block, and is what it was afterwards."""

    def __init__(self, op_name: str, attr_key: str, attr_value: Any) -> None:
        """Raises `unknown-operator`."""
        self.attributes = OpAttributes(op_name)
        self.key = attr_key
        self.value = attr_value

    def __enter__(self) -> "TempOpAttr":
        column = columns.get(self.key)
        self.before = None if column is None else column.entries.get(self.attributes.cls)
        self.attributes.reset(self.key)
        self.attributes.set(self.key, self.value)
        return self

    def __exit__(self, *_: object) -> None:
        self.attributes.reset(self.key)
        if self.before is not None:
            self.attributes.set(self.key, *self.before)
