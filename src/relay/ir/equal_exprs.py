"""Structural equality of expressions and patterns."""

from typing import Any, ClassVar

from relay.ir.alias import TypeAlias
from relay.ir.equal_types import OPEN_TYPE, TypeComparison
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
    VMap,
)
from relay.ir.mismatch import DifferError, Trail, show
from relay.ir.module import TypeData
from relay.ir.pattern import BINDING, PatternConstructor, PatternLiteral
from relay.ir.same import attributes, constant_type, same_constant, same_value
from relay.ir.type import Type


class Comparison(TypeComparison):
    """One comparison: which variable, type parameter and node stands for which."""

    def __init__(self, map_free_vars: bool, tolerance: float = 0.0) -> None:
        super().__init__(map_free_vars, tolerance)
        self.there: dict[Any, Any] = {}
        """Variables and shared nodes of the left side with their partners."""
        self.back: dict[Any, Any] = {}
        self.stack: list[tuple[Any, Any, Trail]] = []

    def run(self, a: Any, b: Any, at: Trail) -> None:
        """Compare two of anything; raises at the first difference."""
        if isinstance(a, TypeAlias) and isinstance(b, TypeAlias):
            self.bind_type_params(a, b, a.type_vars, b.type_vars, at)
            self.types(a.type, b.type, at)
            return
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
            kind = a.__class__
            if kind is Var:
                if there.get(a) is not b:
                    self._free_var(a, b, at)
                continue
            if kind is not b.__class__:
                raise DifferError(a, b, at, f"{show(a)} and {show(b)}")
            leaf = self._LEAVES.get(kind)
            if leaf is not None:
                leaf(self, a, b, at)
                continue
            if kind is Tuple and not a.fields and not b.fields:
                continue
            partner = there.get(a)
            if partner is not None:
                if partner is not b:
                    raise DifferError(a, b, at, f"{show(a)} is shared on the left and copied on the right")
                continue
            if b in back:
                raise DifferError(a, b, at, f"{show(a)} is copied on the left and shared on the right")
            there[a] = b
            back[b] = a
            node = self._NODES.get(kind)
            if node is None:
                raise DifferError(a, b, at, f"{show(a)} cannot be compared")
            node(self, a, b, at)
        return None

    def _plain(self, a: Any, b: Any, at: Trail) -> None:
        if isinstance(a, Type) or isinstance(b, Type):
            self.types(a, b, at)
        elif not same_value(a, b, tolerance=self.tolerance):
            raise DifferError(a, b, at, f"{show(a)} and {show(b)}")

    def bind(self, a: Var, b: Var, at: Trail) -> None:
        """From here on `a` stands for `b`."""
        t, u = a.type_annotation, b.type_annotation
        if t is not u or (t is not None and t.flags & OPEN_TYPE):
            self.types(t, u, (at, f".%{a.name_hint}.type"))
        self.there[a] = b
        self.back[b] = a

    def _free_var(self, a: Var, b: Any, at: Trail) -> None:
        if type(b) is not Var:
            raise DifferError(a, b, at, f"{show(a)} and {show(b)}")
        if a in self.there or b in self.back:
            raise DifferError(
                a, b, at, f"`%{a.name_hint}` and `%{b.name_hint}` are bound at different places"
            )
        if a is not b and not self.map_free:
            raise DifferError(a, b, at, f"`%{a.name_hint}` and `%{b.name_hint}` are different free variables")
        self.bind(a, b, at)

    def _global(self, a: GlobalVar, b: GlobalVar, at: Trail) -> None:
        if a.name_hint != b.name_hint:
            raise DifferError(a, b, at, f"`@{a.name_hint}` and `@{b.name_hint}`")

    def _op(self, a: Op, b: Op, at: Trail) -> None:
        if a is not b and a.name != b.name:
            raise DifferError(a, b, at, f"operators `{a.name}` and `{b.name}`")

    def _constructor(self, a: Constructor, b: Constructor, at: Trail) -> None:
        if a is not b and (a.name_hint != b.name_hint or a.belong_to is not b.belong_to):
            raise DifferError(a, b, at, f"constructors `{a.name_hint}` and `{b.name_hint}`")

    def _constant(self, a: Constant, b: Constant, at: Trail) -> None:
        t, u = constant_type(a), constant_type(b)
        if t is not u or (t is not None and t.flags & OPEN_TYPE):
            self.types(t, u, (at, ".type"))
        if not same_constant(a, b):
            raise DifferError(a, b, at, f"{show(a)} and {show(b)} have different values")

    def _call(self, a: Call, b: Call, at: Trail) -> None:
        xs, ys = a.args, b.args
        if len(xs) != len(ys):
            raise DifferError(a, b, at, f"{len(xs)} and {len(ys)} arguments")
        f, g, p, q = a.op, b.op, a.attrs, b.attrs
        if (p is not q or (type(f) is Op and p.dimensions())) and (type(f) is not Op or f is g):
            self._attrs(p, q, (at, ".attrs"))
        if a.written_type_args or b.written_type_args:
            self.values(a.written_type_args, b.written_type_args, (at, ".type_args"))
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
            raise DifferError(a, b, at, f"{len(a.vars)} and {len(b.vars)} bindings")
        for v, w in zip(a.vars, b.vars, strict=True):
            self.bind(v, w, at)
        self._push(a.children, b.children, at, "children")

    def _function(self, a: Function, b: Function, at: Trail) -> None:
        if len(a.params) != len(b.params):
            raise DifferError(a, b, at, f"{len(a.params)} and {len(b.params)} parameters")
        self.bind_type_params(a, b, a.type_params, b.type_params, at)
        for p, q in zip(a.params, b.params, strict=True):
            self.bind(p, q, at)
        if a.ret_type is not None or b.ret_type is not None:
            self.types(a.ret_type, b.ret_type, (at, ".ret_type"))
        if a.constraints or b.constraints:
            self.values(a.constraints, b.constraints, (at, ".constraints"))
        if a.attrs or b.attrs:
            self._attrs(a.attrs, b.attrs, (at, ".attrs"))
        self.stack.append((a.body, b.body, (at, ".body")))

    def _match(self, a: Match, b: Match, at: Trail) -> None:
        if len(a.clauses) != len(b.clauses):
            raise DifferError(a, b, at, f"{len(a.clauses)} and {len(b.clauses)} clauses")
        if a.complete is not b.complete:
            raise DifferError(a, b, at, "`match` and `match?`")
        for i, (c, d) in enumerate(zip(a.clauses, b.clauses, strict=True)):
            self._pattern(c.lhs, d.lhs, (at, f".clauses[{i}].lhs"))
        for i in range(len(a.clauses) - 1, -1, -1):
            c, d = a.clauses[i], b.clauses[i]
            if (c.guard is None) is not (d.guard is None):
                raise DifferError(a, b, (at, f".clauses[{i}].guard"), "a guard on one side alone")
            self._push(c.parts, d.parts, (at, f".clauses[{i}]"), "parts")
        self.stack.append((a.data, b.data, (at, ".data")))

    def _item(self, a: TupleGetItem, b: TupleGetItem, at: Trail) -> None:
        if a.index != b.index:
            raise DifferError(a, b, at, f"fields .{a.index} and .{b.index}")
        self.stack.append((a.tuple_value, b.tuple_value, (at, ".tuple_value")))

    def _grad(self, a: Grad, b: Grad, at: Trail) -> None:
        if a.kind != b.kind:
            raise DifferError(a, b, at, f"`{a.kind}` and `{b.kind}`")
        self.stack.append((a.function, b.function, (at, ".function")))

    def _vmap(self, a: VMap, b: VMap, at: Trail) -> None:
        if (a.in_axes, a.out_axes) != (b.in_axes, b.out_axes):
            raise DifferError(a, b, at, f"axes {a.changed_axes} and {b.changed_axes}")
        self.stack.append((a.function, b.function, (at, ".function")))

    def _children(self, a: Any, b: Any, at: Trail) -> None:
        self._push(a.children, b.children, at, "fields" if type(a) is Tuple else "children")

    def _push(self, xs: tuple[Any, ...], ys: tuple[Any, ...], at: Trail, name: str) -> None:
        if len(xs) != len(ys):
            raise DifferError(xs, ys, at, f"{len(xs)} and {len(ys)} {name}")
        for i in range(len(xs) - 1, -1, -1):
            self.stack.append((xs[i], ys[i], (at, f".{name}[{i}]")))

    def _attrs(self, p: Any, q: Any, at: Trail) -> None:
        mine, theirs = attributes(p), attributes(q)

        def same_type(t: Any, u: Any) -> bool:
            self.types(t, u, at)
            return True

        if not same_value(mine, theirs, same_type, self.tolerance):
            different = [k for k in mine if k not in theirs or not same_value(mine[k], theirs[k])]
            at = (at, f"[{different[0]!r}]") if different else at
            raise DifferError(mine, theirs, at, f"attributes {show(mine)} and {show(theirs)}")

    def _pattern(self, p: Pattern, q: Pattern, at: Trail) -> None:
        stack: list[tuple[Pattern, Pattern, Trail]] = [(p, q, at)]
        while stack:
            p, q, at = stack.pop()
            if type(p) is not type(q):
                raise DifferError(p, q, at, f"{show(p)} and {show(q)}")
            if isinstance(p, BINDING):
                assert isinstance(q, BINDING)
                self.bind(p.var, q.var, at)
            elif isinstance(p, PatternLiteral) and isinstance(q, PatternLiteral):
                self._constant(p.value, q.value, at)
            elif isinstance(p, PatternConstructor) and isinstance(q, PatternConstructor):
                self._constructor(p.constructor, q.constructor, at)
            xs, ys = p.children, q.children
            if xs or ys:
                if len(xs) != len(ys):
                    raise DifferError(p, q, at, f"{len(xs)} and {len(ys)} patterns")
                stack += reversed(
                    [(x, y, (at, f".patterns[{i}]")) for i, (x, y) in enumerate(zip(xs, ys, strict=True))]
                )

    def _type_data(self, a: TypeData, b: TypeData, at: Trail) -> None:
        if a.header is not b.header or a.is_extern is not b.is_extern:
            raise DifferError(a, b, at, f"{show(a)} and {show(b)}")
        self.bind_type_params(a, b, a.type_vars, b.type_vars, at)
        if [c.name_hint for c in a.constructors] != [c.name_hint for c in b.constructors]:
            raise DifferError(a, b, at, "different constructors")
        for c, d in zip(a.constructors, b.constructors, strict=True):
            if c.field_names != d.field_names:
                raise DifferError(a, b, (at, f".{c.name_hint}"), "fields of different names")
            self.values(c.inputs, d.inputs, (at, f".{c.name_hint}"))

    _LEAVES: ClassVar[dict[type, Any]] = {
        GlobalVar: _global,
        Op: _op,
        Constructor: _constructor,
        Constant: _constant,
    }
    _NODES: ClassVar[dict[type, Any]] = {
        Call: _call,
        Let: _let,
        LetRec: _let_rec,
        Function: _function,
        Match: _match,
        TupleGetItem: _item,
        Grad: _grad,
        VMap: _vmap,
        Tuple: _children,
        If: _children,
        RefCreate: _children,
        RefRead: _children,
        RefWrite: _children,
    }
