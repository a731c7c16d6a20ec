"""Defusion: the bodies of fused functions where they are called."""

from collections.abc import Mapping, Sequence

from relay.analysis.normal_form import ATOMS
from relay.analysis.uses import recursive_lets
from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.transform.rewriting.copying import Copy
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.forms import TYPED
from relay.transform.rewriting.purity import Purity
from relay.typecheck.types import Types

PLAIN = frozenset({Call, Constant, Op, Tuple, TupleGetItem, Var})
"""Nodes that are evaluated once, in the order of their first use."""


def defused(mod: IRModule) -> IRModule:
    """An annotated module with the bodies of fused functions where they are called."""
    types, purity = Types(mod), Purity(mod)
    out = with_definitions(mod, {v: defused_definition(e, types, purity) for v, e in mod.functions.items()})
    TYPED.note(out)
    return out


def is_fused(e: Expr) -> bool:
    """Whether `e` is a function that fusion made."""
    return type(e) is Function and bool(e.attrs.get("Primitive")) and not e.attrs.get("Compiler")


def defused_definition(root: Expr, types: Types, purity: Purity) -> Expr:
    """One definition without fused functions that are called where they are known."""
    order = list(post_order(root))
    if not any(is_fused(e) for e in order if e is not root):
        return root
    functions = called(root, order)
    gone = {v for v in functions if type(v) is Var} - {c for e in order for c in values_of(e)}
    new: dict[Expr, Expr] = {}
    for e in order:
        children = tuple([new[c] for c in e.children])
        if type(e) is Call and e.op in functions:
            before = functions[e.op]
            now = new[before]
            assert isinstance(now, Function)
            new[e] = Unfolding(e, before, types, purity).run(now, children[1:])
        elif type(e) is Let and e.var in gone:
            new[e] = children[1]
        else:
            new[e] = e if children == e.children else e.rebuild(children)
    return new[root]


def called(root: Expr, order: list[Expr]) -> dict[Expr, Function]:
    """The fused functions by what calls of them mention: the function, or a variable bound to it."""
    found: dict[Expr, Function] = {}
    recursive = set(recursive_lets(root))
    for e in order:
        if type(e) is Function and e is not root and is_fused(e):
            found[e] = e
        elif type(e) is Let and type(e.value) is Function and is_fused(e.value) and e not in recursive:
            found[e.var] = e.value
    return found


def values_of(e: Expr) -> tuple[Expr, ...]:
    """What `e` uses other than by calling it."""
    return e.args if type(e) is Call else e.children


class Unfolding:
    """One call of a fused function, which becomes its body."""

    def __init__(self, call: Call, fn: Function, types: Types, purity: Purity) -> None:
        """Looks at the call and the function as they were."""
        self.call = call
        self.fn = fn
        self.types = types
        self.purity = purity

    def run(self, fn: Function, args: Sequence[Expr]) -> Expr:
        """The body of `fn`, which the function has become, with what has become of the arguments."""
        bound: list[tuple[Var, Expr]] = []
        result = fn.ret_type
        if fn.type_params or not is_plain(self.fn.body):
            copy = Copy(dict(zip(fn.type_params, self.call.written_type_args, strict=True)))
            params, body, result = copy.function(fn)
            bound += zip(params, args, strict=True)
        else:
            inside: dict[Expr, Expr] = {}
            for p, a, may in zip(fn.params, args, self.put_in(), strict=True):
                inside[p] = a
                if not may:
                    inside[p] = v = Var(p.name_hint, p.type_annotation, span=p.span)
                    bound.append((v, a))
            body = copied(fn.body, inside)
        if self.types(self.fn.body) != self.fn.ret_type:
            v = Var("result", result, span=fn.span)
            body = Let(v, body, v, span=fn.span)
        for v, a in reversed(bound):
            body = Let(v, a, body, span=a.span)
        return body

    def put_in(self) -> list[bool]:
        """Which arguments may stand in the place of their parameters."""
        params, args = self.fn.params, self.call.args
        fits = [self.types(a) == p.type_annotation for p, a in zip(params, args, strict=True)]
        if all(self.purity.is_pure(a) for a in args):
            return fits
        in_order = all(fits) and first_uses(self.fn.body) == list(params)
        return [fit and (in_order or type(a) in ATOMS) for fit, a in zip(fits, args, strict=True)]


def is_plain(body: Expr) -> bool:
    """Whether a body evaluates each of its parts once."""
    return all(type(e) in PLAIN for e in post_order(body))


def first_uses(body: Expr) -> list[Expr]:
    """The variables in the order in which a plain body comes to them."""
    found: dict[Expr, None] = {}
    seen: set[Expr] = set()
    pending = [body]
    while pending:
        e = pending.pop()
        if type(e) is Var:
            found.setdefault(e)
        elif e not in seen:
            seen.add(e)
            pending += reversed(e.children)
    return list(found)


def copied(body: Expr, inside: Mapping[Expr, Expr]) -> Expr:
    """A plain body made of new nodes, with others for its parameters."""
    made = dict(inside)
    for e in post_order(body):
        if e.children:
            made[e] = e.rebuild(tuple([made.get(c, c) for c in e.children]))
    return made.get(body, body)
