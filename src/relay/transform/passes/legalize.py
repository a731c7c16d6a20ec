"""Calls that users' functions replace, by attributes of operators."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Op, RelayExpr
from relay.ir.module import IRModule
from relay.ir.type import Type
from relay.ir.walk import post_order
from relay.op.op_attributes import OpAttributes, columns
from relay.op.op_attributes import register_op_attr as register_op_attr
from relay.transform.rewriting.definitions import annotated, with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types, type_of

Replace: TypeAlias = Callable[[Call, Sequence[Expr]], Expr | None]
"""What a call becomes, whose operands have become these; None if it stays."""


@module_pass("legalize", public="Legalize")
def legalize(mod: IRModule, *, legalize_map_attr_name: str = "FTVMLegalize") -> IRModule:
    """Replace calls of operators as functions say that are registered for them.

    `relay.register_op_attr(name, legalize_map_attr_name, f)` registers one: `f(attrs, inputs, types)` is
    given the operator with its attributes, the operands, and their types with that of the result behind them.
    It returns an expression of the same type, or None to leave the call alone.  Each call of the program is
    asked about once.  Raises `type-mismatch`.

    >>> twice = lambda attrs, inputs, types: inputs[0] + inputs[0]
    >>> _ = register_op_attr("copy", "FTVMExample", twice)
    >>> show(legalize, "def @main(%x: float32) { tanh(copy(%x)) }", legalize_map_attr_name="FTVMExample")
    def @main(%x: float32) -> float32 {
      tanh(%x + %x)
    }
    """
    types = Types(mod)

    def replaced(e: Call, args: Sequence[Expr]) -> Expr | None:
        given = [*[types(a) for a in e.args], types(e)]
        return of_same_type(
            user_function(e, legalize_map_attr_name)(e.attrs, list(args), given), e, given[-1]
        )

    return with_calls_replaced(mod, legalize_map_attr_name, replaced)


def with_calls_replaced(mod: IRModule, key: str, replace: Replace) -> IRModule:
    """A module in which calls of operators that have an attribute have become something else."""
    if key not in columns:
        return mod

    def rewritten(root: Expr) -> Expr:
        new: dict[Expr, Expr] = {}
        for e in post_order(root):
            children = tuple([new[c] for c in e.children])
            new[e] = e if children == e.children else e.rebuild(children)
            if isinstance(e, Call) and isinstance(e.op, Op) and user_function(e, key) is not None:
                made = replace(e, children[1:])
                new[e] = new[e] if made is None else made
        return new[root]

    return annotated(with_definitions(mod, {v: rewritten(e) for v, e in mod.functions.items()}))


def user_function(e: Call, key: str) -> Any:
    """The function that is registered for the operator of a call; None without one."""
    assert isinstance(e.op, Op)
    return OpAttributes(e.op.name).get(key)


def is_expression(made: Any) -> bool:
    """Whether a user's function has returned an expression."""
    return isinstance(made, RelayExpr)


def of_same_type(made: Any, e: Call, t: Type) -> Any:
    """The expression that a user's function has returned for a call of a type, or None (`type-mismatch`)."""
    if made is None:
        return None
    found = type_of(made) if is_expression(made) else type(made).__name__
    if found != t:
        name = e.op.name if isinstance(e.op, Op) else ""
        hint = "return an expression of that type, or None to leave the call as it is"
        fail(
            "type-mismatch", f"what a call of `{name}` is replaced by is {found}, not {t}", e.span, hint=hint
        )
    return made
