"""Parts of a program, looked up by number or by shape."""

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Function, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.walk import post_order


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """A module whose `@main` returns one intermediate result of `mod`'s.

    `expr_id` counts the calls, tuples and projections of `@main`, from 0, in the order in which they are
    evaluated.  The free variables of the part are the parameters of the new `@main`; other definitions stay.
    Raises `index-out-of-range`.
    """
    main = mod["main"]
    body = main.body if isinstance(main, Function) else main
    numbered = [e for e in post_order(body) if isinstance(e, Call | Tuple | TupleGetItem)]
    if not 0 <= expr_id < len(numbered):
        fail(
            "index-out-of-range",
            f"`@main` has no expression {expr_id}",
            getattr(main, "span", None),
            hint=f"it has {len(numbered)}, counted from 0",
        )
    others = {v: e for v, e in mod.items() if v.name_hint != "main"}
    return IRModule.from_expr(numbered[expr_id], others, mod.type_definitions)


def _is_call(e: Expr, name: str) -> bool:
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == name


def search_fc_transpose(expr: Expr) -> list[str]:
    """The names of the weights that are transposed on the way into `nn.dense`: `dense(x, transpose(%w))`."""
    found: dict[str, None] = {}
    for e in post_order(expr):
        match e:
            case Call(args=(_, Call(args=(Var() as weight, *_)) as turned)) if _is_call(e, "nn.dense"):
                if _is_call(turned, "transpose"):
                    found.setdefault(weight.name_hint)
            case _:
                pass
    return list(found)
