"""The table of batching rules in the manual, written from the registry."""

from relay.op.base import Operator
from relay.op.batching import batching_of
from relay.op.composite import Composite
from relay.op.kind import Batching
from relay.op.registry import registry

OWN_SHAPE = "each row has a shape of its own, which must be that of the others"

BY_ROWS: dict[str, str] = {
    "arange": f"limits: {OWN_SHAPE}",
    "argwhere": f"the condition: {OWN_SHAPE}",
    "check_nan": "what is checked is the row, and a NaN of one row does not excuse another",
    "dyn.broadcast_to": f"the shape: {OWN_SHAPE}",
    "dyn.random.threefry_generate": f"the shape: {OWN_SHAPE}",
    "dyn.reshape": f"the shape: {OWN_SHAPE}",
    "dyn.strided_slice": f"the places: {OWN_SHAPE}",
    "dyn.topk": f"`k`: {OWN_SHAPE}",
    "strided_set": "the places: the part of each row begins and ends elsewhere",
    "tap": "each row is shown by itself",
    "trace": "it writes a line for each row",
    "unique": f"the data: {OWN_SHAPE}",
    "unravel_index": "the shape: the places of each row are counted in another tensor",
}
"""The operators that `vmap` computes row by row where certain operands are batched: these, and why."""

HEAD = """# Batching rules of operators

`vmap` makes a call for one row a call for many, by the rule of its operator. Operands that are the same for
all rows are not copied where the rule can do without, and those of which the type alone counts (`shape_of`)
give one value for all.

- *pointwise*: it reads its operands at the index of the element, so the rows broadcast;
- *the same attributes*: it takes tensors with more axes in front;
- *axes shifted*: the axes among its attributes are one further behind;
- *folded*: the rows are one behind the other along an axis that it treats place by place;
- *rule*: one of its own;
- *parts*: by the rules of the operators that it is made of;
- *one for all*: its value does not depend on a row;
- *row by row*: it has no rule.

The last column says with which operands batched it is computed row by row, and why; so are operators made of
such ones, where they pass these operands on.

`tests/op/test_batching.py` holds each row to the calls of single rows. `pytest
tests/op/test_batching_table.py --bless` generates this page from the registry.

| operator | rule | row by row |
|---|---|---|
"""


def batching_page() -> str:
    """The page `docs/batching-rules.md`."""
    return HEAD + "".join([batching_row(registry[name]) for name in sorted(registry)])


def batching_row(cls: type[Operator]) -> str:
    """The row of one operator."""
    return f"| `{cls.name}` | {rule_of(cls)} | {BY_ROWS.get(cls.name, '')} |\n"


def rule_of(cls: type[Operator]) -> str:
    """What the table says of the rule of an operator."""
    if set(cls.operands) <= set(cls.carried):
        return "one for all"
    if cls.batch is not Operator.batch:
        return batching_of(cls.batch).value
    if cls.is_pointwise:
        return Batching.POINTWISE.value
    return Batching.PARTS.value if issubclass(cls, Composite) else "row by row"
