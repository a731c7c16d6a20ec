"""Structural equality: the same program up to the names of what it binds.

What counts: the shape of expressions, annotations, attributes, constants, and **sharing** - a node that two places
share is not equal to two copies of it, because it is evaluated once.  Leaves (variables, names, constants, the
empty tuple) may be shared or copied freely.  What does not count: spans, names of bound variables and type
parameters, the order of definitions in a module.  Two unknown types (`_`) of one kind are equal.

Free variables are equal only to themselves, unless `map_free_vars` pairs them in the order of first mention.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from relay.diagnostic import fail
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Function,
    GlobalVar,
    Grad,
    If,
    Let,
    LetRec,
    Match,
    Op,
    Pattern,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.hashing import structural_hash
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar
from relay.ir.same import constant_type, same_constant, same_value
from relay.ir.subst import map_type
from relay.ir.type import (
    HAS_INCOMPLETE,
    HAS_VAR,
    DimCall,
    DimExpr,
    FuncType,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)

__all__ = ["Mismatch", "assert_structural_equal", "first_mismatch", "structural_equal", "structural_hash"]

Trail = tuple[Any, str] | None
OPEN_TYPE = HAS_VAR | HAS_INCOMPLETE


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where two programs first differ: `path` from the root (`@main.body.args[1]`), what stands there, and why."""

    path: str
    lhs: Any
    rhs: Any
    reason: str

    def __str__(self) -> str:
        return f"at {self.path or 'the root'}: {self.reason}"


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two expressions, functions, types, patterns or modules are the same program."""
    return first_mismatch(lhs, rhs, map_free_vars) is None


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise `not-equal`, which names the first difference, unless the two are structurally equal."""
    found = first_mismatch(lhs, rhs, map_free_vars)
    if found is not None:
        fail(
            "not-equal",
            f"the programs differ {found}",
            getattr(found.lhs, "span", None),
            label="the first difference",
        )


def first_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> Mismatch | None:
    """The first difference in the order of the text, or None where the two are structurally equal."""
    try:
        if isinstance(lhs, IRModule) and isinstance(rhs, IRModule):
            _modules(lhs, rhs, map_free_vars)
        else:
            _Comparison(map_free_vars).run(lhs, rhs, None)
    except _DifferError as found:
        return Mismatch(_path(found.trail), found.lhs, found.rhs, found.reason)
    return None


class _DifferError(Exception):
    """Ends a comparison at the first difference."""

    def __init__(self, lhs: Any, rhs: Any, trail: Trail, reason: str) -> None:
        super().__init__(reason)
        self.lhs, self.rhs, self.trail, self.reason = lhs, rhs, trail, reason


def _path(trail: Trail) -> str:
    steps: list[str] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    steps.reverse()
    if len(steps) > 40:
        steps[20:-20] = [f"….<{len(steps) - 40} steps>…"]
    return "".join(steps).lstrip(".")


def _modules(a: IRModule, b: IRModule, map_free_vars: bool) -> None:
    if a is b:
        return
    for what, mine, theirs in (
        (
            "@",
            {v.name_hint: f for v, f in a.functions.items()},
            {v.name_hint: f for v, f in b.functions.items()},
        ),
        (
            "type ",
            {v.name_hint: d for v, d in a.type_definitions.items()},
            {v.name_hint: d for v, d in b.type_definitions.items()},
        ),
    ):
        for name in [*mine, *(n for n in theirs if n not in mine)]:
            at = (None, f"{what}{name}")
            if name not in theirs or name not in mine:
                raise _DifferError(mine.get(name), theirs.get(name), at, "only one module defines it")
            if mine[name] is not theirs[name]:
                _Comparison(map_free_vars).run(mine[name], theirs[name], at)
    for what, mine, theirs in (("attrs", a.attrs, b.attrs), ("options", a.options, b.options)):
        if not same_value(mine, theirs):
            raise _DifferError(mine, theirs, (None, what), f"{what} differ")
    for var in {**a.constant_types, **b.constant_types}:
        _Comparison(map_free_vars).types(
            a.constant_types.get(var), b.constant_types.get(var), (None, f"@{var.name_hint}.type")
        )


def _show(x: Any) -> str:
    if isinstance(x, Type):
        return f"`{x!r}`"
    text = x.summary() if hasattr(x, "summary") else repr(x)
    return text if len(text) < 80 else f"{text[:77]}…"


class _Comparison:
    """One comparison: which variable, type parameter and node stands for which."""

    def __init__(self, map_free_vars: bool) -> None:
        self.map_free = map_free_vars
        self.there: dict[Any, Any] = {}
        """Variables and shared nodes of the left side with their partners."""
        self.back: dict[Any, Any] = {}
        self.type_vars: dict[Type, Type] = {}
        self.type_vars_back: dict[Type, Type] = {}
        self.equal_types: set[tuple[Any, Any]] = set()
        self.stack: list[tuple[Any, Any, Trail]] = []

    def run(self, a: Any, b: Any, at: Trail) -> None:
        """Compare two of anything; raises at the first difference."""
        if isinstance(a, TypeData) and isinstance(b, TypeData):
            return self._type_data(a, b, at)
        if isinstance(a, Pattern) and isinstance(b, Pattern):
            return self._pattern(a, b, at)
        if isinstance(a, Clause) and isinstance(b, Clause):
            self._pattern(a.lhs, b.lhs, (at, ".lhs"))
            return self.run(a.rhs, b.rhs, (at, ".rhs"))
        if not hasattr(a, "children") or isinstance(a, Type):
            return self._plain(a, b, at)
        stack, there, back = self.stack, self.there, self.back
        stack.append((a, b, at))
        while stack:
            a, b, at = stack.pop()
            kind = type(a)
            if kind is Var:
                if there.get(a) is not b:
                    self._free_var(a, b, at)
                continue
            if kind is not type(b):
                raise _DifferError(a, b, at, f"{_show(a)} and {_show(b)}")
            leaf = _LEAVES.get(kind)
            if leaf is not None:
                leaf(self, a, b, at)
                continue
            if kind is Tuple and not a.fields and not b.fields:
                continue
            partner = there.get(a)
            if partner is not None:
                if partner is not b:
                    raise _DifferError(a, b, at, f"{_show(a)} is shared on the left and copied on the right")
                continue
            if b in back:
                raise _DifferError(a, b, at, f"{_show(a)} is copied on the left and shared on the right")
            there[a] = b
            back[b] = a
            node = _NODES.get(kind)
            if node is None:
                raise _DifferError(a, b, at, f"{_show(a)} cannot be compared")
            node(self, a, b, at)
        return None

    def _plain(self, a: Any, b: Any, at: Trail) -> None:
        if isinstance(a, Type) or isinstance(b, Type):
            self.types(a, b, at)
        elif not same_value(a, b):
            raise _DifferError(a, b, at, f"{_show(a)} and {_show(b)}")

    # --- variables ---------------------------------------------------------------------------------------------

    def bind(self, a: Var, b: Var, at: Trail) -> None:
        """From here on `a` stands for `b`."""
        t, u = a.type_annotation, b.type_annotation
        if t is not u or (t is not None and t.flags & OPEN_TYPE):
            self.types(t, u, (at, f".%{a.name_hint}.type"))
        self.there[a] = b
        self.back[b] = a

    def _free_var(self, a: Var, b: Any, at: Trail) -> None:
        if type(b) is not Var:
            raise _DifferError(a, b, at, f"{_show(a)} and {_show(b)}")
        if a in self.there or b in self.back:
            raise _DifferError(
                a, b, at, f"`%{a.name_hint}` and `%{b.name_hint}` are bound at different places"
            )
        if a is not b and not self.map_free:
            raise _DifferError(
                a, b, at, f"`%{a.name_hint}` and `%{b.name_hint}` are different free variables"
            )
        self.bind(a, b, at)

    # --- leaves ------------------------------------------------------------------------------------------------

    def _global(self, a: GlobalVar, b: GlobalVar, at: Trail) -> None:
        if a.name_hint != b.name_hint:
            raise _DifferError(a, b, at, f"`@{a.name_hint}` and `@{b.name_hint}`")

    def _op(self, a: Op, b: Op, at: Trail) -> None:
        if a is not b and a.name != b.name:
            raise _DifferError(a, b, at, f"operators `{a.name}` and `{b.name}`")

    def _constructor(self, a: Constructor, b: Constructor, at: Trail) -> None:
        if a is not b and (a.name_hint != b.name_hint or a.belong_to is not b.belong_to):
            raise _DifferError(a, b, at, f"constructors `{a.name_hint}` and `{b.name_hint}`")

    def _constant(self, a: Constant, b: Constant, at: Trail) -> None:
        t, u = constant_type(a), constant_type(b)
        if t is not u or (t is not None and t.flags & OPEN_TYPE):
            self.types(t, u, (at, ".type"))
        if not same_constant(a, b):
            raise _DifferError(a, b, at, f"{_show(a)} and {_show(b)} have different values")

    # --- nodes: each compares its own fields and pushes its children, the first to visit last ---------------------

    def _call(self, a: Call, b: Call, at: Trail) -> None:
        xs, ys = a.args, b.args
        if len(xs) != len(ys):
            raise _DifferError(a, b, at, f"{len(xs)} and {len(ys)} arguments")
        f, g, p, q = a.op, b.op, a.attrs, b.attrs
        if p is not q and (type(f) is not Op or f is g):
            self._attrs(p, q, (at, ".attrs"))
        if a.type_args or b.type_args:
            self._values(a.type_args, b.type_args, (at, ".type_args"))
        push, there = self.stack.append, self.there
        if len(xs) == 2:
            x, y = xs
            v, w = ys
            if type(y) is not Var or there.get(y) is not w:
                push((y, w, (at, ".args[1]")))
            if type(x) is not Var or there.get(x) is not v:
                push((x, v, (at, ".args[0]")))
        else:
            for i in range(len(xs) - 1, -1, -1):
                push((xs[i], ys[i], (at, f".args[{i}]")))
        if f is not g or type(f) is not Op:
            push((f, g, (at, ".op")))

    def _let(self, a: Let, b: Let, at: Trail) -> None:
        self.bind(a.var, b.var, at)
        self.stack.append((a.body, b.body, (at, ".body")))
        self.stack.append((a.value, b.value, (at, ".value")))

    def _let_rec(self, a: LetRec, b: LetRec, at: Trail) -> None:
        if len(a.vars) != len(b.vars):
            raise _DifferError(a, b, at, f"{len(a.vars)} and {len(b.vars)} bindings")
        for v, w in zip(a.vars, b.vars, strict=True):
            self.bind(v, w, at)
        self._push(a.children, b.children, at, "children")

    def _function(self, a: Function, b: Function, at: Trail) -> None:
        if len(a.params) != len(b.params):
            raise _DifferError(a, b, at, f"{len(a.params)} and {len(b.params)} parameters")
        self._bind_type_params(a, b, a.type_params, b.type_params, at)
        for p, q in zip(a.params, b.params, strict=True):
            self.bind(p, q, at)
        if a.ret_type is not None or b.ret_type is not None:
            self.types(a.ret_type, b.ret_type, (at, ".ret_type"))
        if a.constraints or b.constraints:
            self._values(a.constraints, b.constraints, (at, ".constraints"))
        if a.attrs or b.attrs:
            self._attrs(a.attrs, b.attrs, (at, ".attrs"))
        self.stack.append((a.body, b.body, (at, ".body")))

    def _match(self, a: Match, b: Match, at: Trail) -> None:
        if len(a.clauses) != len(b.clauses):
            raise _DifferError(a, b, at, f"{len(a.clauses)} and {len(b.clauses)} clauses")
        if a.complete is not b.complete:
            raise _DifferError(a, b, at, "`match` and `match?`")
        for i, (c, d) in enumerate(zip(a.clauses, b.clauses, strict=True)):
            self._pattern(c.lhs, d.lhs, (at, f".clauses[{i}].lhs"))
        for i in range(len(a.clauses) - 1, -1, -1):
            self.stack.append((a.clauses[i].rhs, b.clauses[i].rhs, (at, f".clauses[{i}].rhs")))
        self.stack.append((a.data, b.data, (at, ".data")))

    def _item(self, a: TupleGetItem, b: TupleGetItem, at: Trail) -> None:
        if a.index != b.index:
            raise _DifferError(a, b, at, f"fields .{a.index} and .{b.index}")
        self.stack.append((a.tuple_value, b.tuple_value, (at, ".tuple_value")))

    def _grad(self, a: Grad, b: Grad, at: Trail) -> None:
        if a.kind != b.kind:
            raise _DifferError(a, b, at, f"`{a.kind}` and `{b.kind}`")
        self.stack.append((a.function, b.function, (at, ".function")))

    def _children(self, a: Any, b: Any, at: Trail) -> None:
        self._push(a.children, b.children, at, "fields" if type(a) is Tuple else "children")

    def _push(self, xs: tuple[Any, ...], ys: tuple[Any, ...], at: Trail, name: str) -> None:
        if len(xs) != len(ys):
            raise _DifferError(xs, ys, at, f"{len(xs)} and {len(ys)} {name}")
        for i in range(len(xs) - 1, -1, -1):
            self.stack.append((xs[i], ys[i], (at, f".{name}[{i}]")))

    def _attrs(self, p: Any, q: Any, at: Trail) -> None:
        if isinstance(p, Mapping) and isinstance(q, Mapping):
            p, q = dict(p), dict(q)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        elif type(p) is type(q):
            p, q = p.attributes(), q.attributes()
        if not same_value(p, q):
            for key in p:
                if key not in q or not same_value(p[key], q[key]):
                    at = (at, f"[{key!r}]")
                    break
            raise _DifferError(p, q, at, f"attributes {_show(p)} and {_show(q)}")

    # --- patterns ----------------------------------------------------------------------------------------------

    def _pattern(self, p: Pattern, q: Pattern, at: Trail) -> None:
        stack: list[tuple[Pattern, Pattern, Trail]] = [(p, q, at)]
        while stack:
            p, q, at = stack.pop()
            if type(p) is not type(q):
                raise _DifferError(p, q, at, f"{_show(p)} and {_show(q)}")
            if isinstance(p, PatternVar) and isinstance(q, PatternVar):
                self.bind(p.var, q.var, at)
            elif isinstance(p, PatternConstructor) and isinstance(q, PatternConstructor):
                self._constructor(p.constructor, q.constructor, at)
            if isinstance(p, PatternConstructor | PatternTuple):
                xs, ys = p.children, q.children
                if len(xs) != len(ys):
                    raise _DifferError(p, q, at, f"{len(xs)} and {len(ys)} patterns")
                stack += reversed(
                    [(x, y, (at, f".patterns[{i}]")) for i, (x, y) in enumerate(zip(xs, ys, strict=True))]
                )

    # --- types -------------------------------------------------------------------------------------------------

    def _type_data(self, a: TypeData, b: TypeData, at: Trail) -> None:
        if a.header is not b.header or a.is_extern is not b.is_extern:
            raise _DifferError(a, b, at, f"{_show(a)} and {_show(b)}")
        self._bind_type_params(a, b, a.type_vars, b.type_vars, at)
        if [c.name_hint for c in a.constructors] != [c.name_hint for c in b.constructors]:
            raise _DifferError(a, b, at, "different constructors")
        for c, d in zip(a.constructors, b.constructors, strict=True):
            self._values(c.inputs, d.inputs, (at, f".{c.name_hint}"))

    def _bind_type_params(
        self, a: Any, b: Any, ps: Iterable[TypeVar], qs: Iterable[TypeVar], at: Trail
    ) -> None:
        ps, qs = tuple(ps), tuple(qs)
        if [p.kind for p in ps] != [q.kind for q in qs]:
            raise _DifferError(a, b, (at, ".type_params"), "different type parameters")
        for p, q in zip(ps, qs, strict=True):
            self.type_vars[p] = q
            self.type_vars_back[q] = p

    def _values(self, xs: tuple[Any, ...], ys: tuple[Any, ...], at: Trail) -> None:
        if len(xs) != len(ys):
            raise _DifferError(xs, ys, at, f"{len(xs)} and {len(ys)} of them")
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            if x is not y or not isinstance(x, int | str):
                self.types(x, y, (at, f"[{i}]"))

    def types(self, a: Any, b: Any, at: Trail) -> None:
        """Compare two types, shapes, dimensions or base types."""
        if a is b and not (isinstance(a, Type) and a.flags & OPEN_TYPE):
            return
        if not self._same_type(a, b):
            raise _DifferError(a, b, at, f"types {_show(a)} and {_show(b)}")

    def _same_type(self, a: Any, b: Any) -> bool:
        pending, done = [(a, b)], self.equal_types
        while pending:
            pair = x, y = pending.pop()
            if not isinstance(x, Type):
                if isinstance(x, tuple) and isinstance(y, tuple):
                    if len(x) != len(y):  # pyright: ignore[reportUnknownArgumentType]
                        return False
                    pending += zip(x, y, strict=True)  # pyright: ignore[reportUnknownArgumentType]
                elif type(x) is not type(y) or x != y:
                    return False
                continue
            if not isinstance(y, Type):
                return False
            if not (x.flags | y.flags) & OPEN_TYPE:
                if x is not y and x != y:
                    return False
                continue
            if isinstance(x, TypeVar):
                if not self._same_type_var(x, y):
                    return False
                continue
            if type(x) is not type(y):
                return False
            if isinstance(x, IncompleteType):
                if x.kind is not y.kind:
                    return False
                continue
            if pair in done:
                continue
            done.add(pair)
            parts = _parts(self, x, y)
            if parts is None:
                return False
            pending += reversed(parts)
        return True

    def _same_type_var(self, x: TypeVar, y: Type) -> bool:
        if x in self.type_vars or y in self.type_vars_back:
            return self.type_vars.get(x) is y and self.type_vars_back.get(y) is x
        if x is y:
            return True
        if not self.map_free or not isinstance(y, TypeVar) or x.kind is not y.kind:
            return False
        self.type_vars[x], self.type_vars_back[y] = y, x
        return True

    def same_dimension(self, x: Any, y: Any) -> bool:
        """Whether `x` is `y` once its parameters are replaced; their normal forms may order terms differently."""
        if self.map_free:
            mine, theirs = _leaves(x), _leaves(y)
            if len(mine) == len(theirs):
                for p, q in zip(mine, theirs, strict=True):
                    if isinstance(p, TypeVar) and p not in self.type_vars:
                        self._same_type_var(p, q)
        return map_type(x, lambda leaf: self.type_vars.get(leaf, leaf), HAS_VAR) is y


def _leaves(t: Type) -> list[Type]:
    found: dict[Type, None] = {}
    stack = [t]
    while stack:
        u = stack.pop()
        if u.children:
            stack += reversed(u.children)
        else:
            found.setdefault(u)
    return list(found)


def _parts(state: _Comparison, x: Any, y: Any) -> list[tuple[Any, Any]] | None:
    """What must be equal for two types of one class to be equal, or None where they differ."""
    match x:
        case TensorType():
            return [(x.shape, y.shape), (x.dtype, y.dtype)]
        case TupleType():
            return [(x.fields, y.fields)]
        case RefType():
            return [(x.value, y.value)]
        case TypeCall():
            return [(x.func, y.func), (x.args, y.args)]
        case TypeRelation():
            return (
                [(x.args or None, y.args or None)]
                if x.name == y.name and same_value(x.attrs, y.attrs)
                else None
            )
        case FuncType():
            if [p.kind for p in x.type_params] != [q.kind for q in y.type_params]:
                return None
            x, y = x.canonical, y.canonical
            return [
                (x.arg_types, y.arg_types),
                (x.ret_type, y.ret_type),
                (x.type_constraints, y.type_constraints),
            ]
        case DimExpr() | DimCall():
            return [] if state.same_dimension(x, y) else None
        case _:
            return [] if x is y else None


_C = _Comparison
_LEAVES: dict[type, Any] = {
    GlobalVar: _C._global,
    Op: _C._op,
    Constructor: _C._constructor,
    Constant: _C._constant,
}
_NODES: dict[type, Any] = {
    Call: _C._call,
    Let: _C._let,
    LetRec: _C._let_rec,
    Function: _C._function,
    Match: _C._match,
    TupleGetItem: _C._item,
    Grad: _C._grad,
    Tuple: _C._children,
    If: _C._children,
    RefCreate: _C._children,
    RefRead: _C._children,
    RefWrite: _C._children,
}
