"""The groups that `fuse_ops` has made, as definitions."""

from collections.abc import Mapping, Sequence

from relay.backend.native.memory.representation import is_scalar
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Var, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.walk import post_order, rewrite
from relay.transform.rewriting.definitions import annotated, with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass


@module_pass("outline_fused_groups", opt_level=0)
def outline_fused_groups(mod: IRModule) -> IRModule:
    """Turn each group made by `fuse_ops` into a definition, called where the group was.

    The definition contains the constant tensors that the group was called with.  Single operators on
    scalars stay in place.

    >>> group = "fn(%a: Tensor[(2,), float32], Primitive=1) { tanh(%a) + %a }"
    >>> show(outline_fused_groups, f"def @main(%x: Tensor[(2,), float32]) {{ {group}(%x) }}")
    def @main(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
      @fused(%x)
    }
    <BLANKLINE>
    def @fused(%a: Tensor[(2,), float32], Primitive=1) -> Tensor[(2,), float32] {
      tanh(%a) + %a
    }
    """
    supply = GlobalVarSupply(mod)
    made: dict[GlobalVar, Expr] = {}

    def apart(root: Expr) -> Expr:
        bound = {e.var: e.value for e in post_order(root) if isinstance(e, Let)}

        def rule(e: Expr) -> Expr | None:
            match e:
                case Call(op=Function() as fn) if fn.attrs.get("Primitive"):
                    if is_of_numbers(fn):
                        given: dict[Expr, Expr] = dict(zip(fn.params, e.args, strict=True))
                        return rewrite(fn.body, given.get)
                    v = supply.fresh_global("fused")
                    made[v], args = with_constants(fn, e.args, bound)
                    return replace(e, op=v, args=args)
                case _:
                    return None

        return rewrite(root, rule)

    new: dict[GlobalVar, Expr] = {v: apart(e) for v, e in mod.functions.items()}
    out = with_definitions(mod, {**new, **made})
    # Sizes with names become type parameters, which inference adds.
    return out if all(is_closed(fn) for fn in made.values()) else annotated(out)


def is_closed(group: Expr) -> bool:
    """Whether the type of a group says all sizes."""
    assert isinstance(group, Function)
    types = [group.ret_type, *[p.type_annotation for p in group.params]]
    return all(t is not None and t.is_closed for t in types)


def is_of_numbers(fn: Function) -> bool:
    """Whether a group is one operator on numbers, which is better computed where it is needed."""
    body = fn.body
    if not isinstance(body, Call):
        return False
    types = [
        a.type_annotation if isinstance(a, Var) else a.type if isinstance(a, Constant) else None
        for a in body.args
    ]
    return all(map(is_scalar, (fn.ret_type, *types)))


def with_constants(
    fn: Function, args: Sequence[Expr], bound: Mapping[Var, Expr]
) -> tuple[Function, tuple[Expr, ...]]:
    """Return a function with its constant tensors inside, and the arguments that are left.  Numbers that
    `fuse_ops` made arguments stay arguments, so that groups which differ in them have one code.
    """
    values = [bound.get(a, a) if isinstance(a, Var) else a for a in args]
    pairs = zip(fn.params, values, strict=True)
    inside = {p: v for p, v in pairs if isinstance(v, Constant) and not is_scalar(v.type)}
    if not inside:
        return fn, tuple(args)
    body = rewrite(fn.body, lambda e: inside.get(e) if isinstance(e, Var) else None)
    left = tuple([a for p, a in zip(fn.params, args, strict=True) if p not in inside])
    return replace(fn, params=tuple([p for p in fn.params if p not in inside]), body=body), left
