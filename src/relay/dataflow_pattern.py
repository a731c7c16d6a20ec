"""The pattern language by the names people know: match, rewrite and partition programs by their form."""

from relay.pattern.matcher import match
from relay.pattern.nodes import (
    ConstantPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    TupleGetItemPattern,
    TuplePattern,
    VarPattern,
    is_constant,
    is_if,
    is_let,
    is_tuple,
    is_tuple_get_item,
    is_var,
)
from relay.pattern.partition import partition
from relay.pattern.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    ShapePattern,
    TypePattern,
    WildcardPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_expr,
    is_op,
    wildcard,
)
from relay.pattern.rewriter import DFPatternCallback, rewrite

__all__ = [
    "AltPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFPattern", "DFPatternCallback",
    "DataTypePattern", "DominatorPattern", "ExprPattern", "FunctionPattern", "IfPattern", "LetPattern",
    "ShapePattern", "TupleGetItemPattern", "TuplePattern", "TypePattern", "VarPattern", "WildcardPattern",
    "dominates", "has_attr", "has_dtype", "has_shape", "has_type", "is_constant", "is_expr", "is_if",
    "is_let", "is_op", "is_tuple", "is_tuple_get_item", "is_var", "match", "partition", "rewrite", "wildcard",
]  # fmt: skip
