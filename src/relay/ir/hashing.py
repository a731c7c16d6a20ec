"""A hash that structurally equal programs share, the same in every process."""

from collections.abc import Iterable, Mapping
from typing import Any

from relay.ir.alias import expanded
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Function,
    GlobalVar,
    Grad,
    Let,
    LetRec,
    Match,
    Op,
    Pattern,
    RelayExpr,
    TupleGetItem,
    Var,
    VMap,
)
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import BINDING, PatternConstructor, PatternLiteral, pattern_nodes
from relay.ir.same import constant_hash, constant_type, text_hash, value_hash
from relay.ir.type import (
    DimCall,
    DimExpr,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    TensorType,
    Type,
    TypeRelation,
    TypeVar,
)


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A hash of an expression, function, type, pattern or module that respects `structural_equal`."""
    if isinstance(node, IRModule):
        named = [(text_hash(v.name_hint), _Hashing(map_free_vars).any(f)) for v, f in node.functions.items()]
        named += [
            (text_hash(v.name_hint), _Hashing(map_free_vars).any(d)) for v, d in node.type_definitions.items()
        ]
        return hash((tuple(sorted(named)), value_hash(node.attrs), value_hash(node.options)))
    return _Hashing(map_free_vars).any(node)


class _Hashing:
    """One hash: bound variables count by the order in which they are bound."""

    def __init__(self, map_free_vars: bool) -> None:
        self.map_free = map_free_vars
        self.known: dict[Any, int] = {}
        self.type_known: dict[Any, int] = {}
        self.bound = 0

    def any(self, node: Any) -> int:
        """The hash of anything."""
        match node:
            case RelayExpr():
                return self.expr(node)
            case Clause():
                return hash((self.pattern(node.lhs), *[self.expr(e) for e in node.parts]))
            case Pattern():
                return self.pattern(node)
            case TypeData():
                self.type_params(node.type_vars)
                fields = [
                    (text_hash(c.name_hint), self.type(c.inputs), *map(text_hash, c.field_names))
                    for c in node.constructors
                ]
                return hash((text_hash(node.header.name_hint), tuple(fields)))
            case _:
                return self.type(node) if isinstance(node, Type) else value_hash(node)

    def bind(self, var: Var) -> int:
        """Number a variable as it is bound."""
        self.bound += 1
        self.known[var] = hash((11, self.bound))
        return 0 if var.type_annotation is None else self.type(var.type_annotation)

    def type_params(self, params: tuple[TypeVar, ...]) -> int:
        """Number type parameters as they are bound."""
        for p in params:
            self.bound += 1
            self.type_known[p] = hash((12, self.bound))
        return len(params)

    def pattern(self, root: Pattern) -> int:
        """The hash of a pattern; binds its variables."""
        parts: list[int] = []
        for p in pattern_nodes(root):
            parts.append(text_hash(type(p).__name__) + len(p.children))
            if isinstance(p, BINDING):
                parts.append(self.bind(p.var))
            elif isinstance(p, PatternLiteral):
                parts.append(self.fields(p.value))
            elif isinstance(p, PatternConstructor):
                parts.append(text_hash(p.constructor.name_hint))
        return hash(tuple(parts))

    def expr(self, root: RelayExpr) -> int:
        """The hash of an expression: children first, shared nodes once."""
        known = self.known
        stack: list[tuple[Any, int | None]] = [(root, None)]
        while stack:
            e, own = stack.pop()
            if own is not None:
                known[e] = hash((own, *[known[c] for c in e.children]))
            elif e not in known:
                kind = e.__class__
                if kind is Var:
                    known[e] = hash((13, self.bind(e))) if self.map_free else hash((14, id(e)))
                    continue
                own = hash((_KINDS[kind], self.fields(e))) if kind in _KINDS else text_hash(kind.__name__)
                children = e.children
                if children:
                    stack.append((e, own))
                    stack += [(c, None) for c in reversed(children)]
                else:
                    known[e] = own
        return known[root]

    def fields(self, e: Any) -> int:
        """The hash of what a node says beside its children; binds its variables."""
        match e:
            case Call():
                own = 1 if e.written_type_args == () else self.type(e.written_type_args)
                return hash((own, self.attrs(e.attrs)))
            case Let():
                return self.bind(e.var)
            case LetRec():
                return hash(tuple([self.bind(v) for v in e.vars]))
            case Function():
                head = self.type_params(e.type_params)
                params = tuple([self.bind(p) for p in e.params])
                return hash(
                    (head, params, self.type(e.ret_type), self.type(e.constraints), self.attrs(e.attrs))
                )
            case Match():
                clauses = [(self.pattern(c.lhs), c.guard is None) for c in e.clauses]
                return hash((e.complete, tuple(clauses)))
            case TupleGetItem():
                return e.index
            case Constant():
                return hash((constant_hash(e), self.type(constant_type(e))))
            case GlobalVar() | Constructor():
                return text_hash(e.name_hint)
            case Op():
                return text_hash(e.name)
            case Grad():
                return text_hash(e.kind)
            case VMap():
                return hash((e.in_axes, e.out_axes))
            case _:
                return 0

    def attrs(self, attrs: Any) -> int:
        """The hash of attributes; operator instances keep theirs."""
        if isinstance(attrs, Mapping):
            return value_hash(attrs) if attrs else 0
        key = id(attrs)
        found = self.type_known.get(key)
        if found is None:
            found = value_hash(attrs.attributes())
            dimensions = attrs.dimensions()
            if dimensions:  # what their variables are called is another matter in each function
                return hash((found, self._several(dimensions)))
            self.type_known[key] = found
        return found

    def type(self, root: Any) -> int:
        """The hash of a type, shape, dimension or dtype."""
        if root is None:
            return 0
        root = expanded(root)
        if not isinstance(root, Type):
            return self._several(root) if isinstance(root, tuple) else self._value(root)  # pyright: ignore[reportUnknownArgumentType]
        known = self.type_known
        stack: list[Any] = [root]
        while stack:
            t = stack[-1]
            if t in known:
                stack.pop()
                continue
            below = t.canonical.children if isinstance(t, FuncType) else t.children
            waiting = [c for c in below if c not in known]
            if waiting:
                stack += waiting
            else:
                known[t] = hash(
                    (text_hash(type(t).__name__), self._type_fields(t, [known[c] for c in below]))
                )
                stack.pop()
        return known[root]

    def _several(self, types: Iterable[Any]) -> int:
        return hash(tuple([self.type(t) for t in types]))

    def _value(self, x: Any) -> int:
        return text_hash(x) if isinstance(x, str) else hash(x)

    def _type_fields(self, t: Type, below: list[int]) -> int:
        match t:
            case TypeVar() | IncompleteType():
                return text_hash(t.kind.value)
            case GlobalTypeVar():
                return text_hash(t.name_hint)
            case DimExpr():
                return hash((t.constant, tuple(sorted(below)), tuple(sorted([c for _, c in t.terms]))))
            case DimCall():
                numbers = [a for a in t.args if isinstance(a, int)]
                order = below if t.op == "/" else sorted(below)
                return hash((text_hash(t.op), tuple(numbers), tuple(order)))
            case TensorType():
                sizes = (
                    [d if isinstance(d, int) else -3 for d in t.shape] if isinstance(t.shape, tuple) else []
                )
                return hash(
                    (tuple(sizes), self._value(t.dtype) if isinstance(t.dtype, str) else 0, tuple(below))
                )
            case TypeRelation():
                return hash((text_hash(t.name), value_hash(t.attrs), tuple(below)))
            case FuncType():
                return hash((len(t.type_params), len(t.arg_types), tuple(below)))
            case _:
                return hash(tuple(below))


_KINDS = {
    kind: i
    for i, kind in enumerate(
        (Call, Let, LetRec, Function, Match, TupleGetItem, Constant, GlobalVar, Constructor, Op, Grad, VMap)
    )
}
