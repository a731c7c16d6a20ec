"""What is asked of a branch before it is run for rows that would not run it."""

from relay.ir.expr import Call, Constant, Constructor, Expr, GlobalVar, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.type import FuncType, Kind, TensorType, TupleType, Type
from relay.ir.walk import post_order, type_post_order

MOST_SELECTED = 16
"""How many operators a branch may have that is run for all rows, whether they need it or not."""


def is_cheap(branch: Expr) -> bool:
    """Whether a branch may as well be run for rows that do not need it: a few pointwise operators on numbers,
    which cannot fail.
    """
    count = 0
    seen: set[Expr] = set()
    stack = [branch]
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        match e:
            case Call(op=Op()):
                count += 1
                if not e.attrs.is_pointwise or e.attrs.impure or count > MOST_SELECTED:
                    return False
            case Let() | Tuple() | TupleGetItem() | Var() | Constant() | Op() | GlobalVar():
                pass
            case _:
                return False
        stack += e.children
    return True


def is_numeric(t: Type) -> bool:
    """Whether values of type `t` are tensors and tuples of these: one of two is selected in place."""
    parts = type_post_order(t)
    return all(isinstance(p, TensorType | TupleType) for p in parts if p.kind is Kind.Type)


def is_total(branch: Expr) -> bool:
    """Whether a branch calls no function, so that it ends for no rows too."""
    return all(not isinstance(e, Call) or isinstance(e.op, Op | Constructor) for e in post_order(branch))


def calling_result(block: Expr, t: FuncType, args: tuple[Var, ...]) -> Expr:
    """A block that calls the function of type `t` that another gives."""
    lets: list[Let] = []
    while isinstance(block, Let):
        lets.append(block)
        block = block.body
    f = Var("f", t, span=block.span)
    made: Expr = Let(f, block, Call(f, args, span=block.span), span=block.span)
    for e in reversed(lets):
        made = Let(e.var, e.value, made, span=e.span)
    return made
