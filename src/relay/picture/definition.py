"""One definition as a picture: its dataflow graph, in the groups that its scopes and its fusion make."""

from collections.abc import Iterator, Mapping
from typing import Any

from relay.ir.ancestry import common
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Grad,
    If,
    Let,
    LetRec,
    Match,
    Op,
    Pattern,
    Tuple,
    TupleGetItem,
    Var,
    VMap,
)
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar
from relay.ir.scope import Scope, places
from relay.picture.graph import Edge, Graph, Group, Node
from relay.picture.labels import (
    call_label,
    cut,
    inline_text,
    mentioned,
    operator_names,
    pattern_label,
    type_label,
)
from relay.typecheck.types import Types

Path = tuple[int | str, ...]
"""Which part of a value: fields of tuples by number, variables of patterns by name."""
Uses = list[tuple[Expr, str]]
"""Operands, each with what its edge is called."""


class Definition:
    """Draws one definition of an annotated module into a graph."""

    def __init__(self, graph: Graph, types: Types, name: str, e: Expr, fused: Mapping[Expr, Any]) -> None:
        """`fused` says of operators which group of loops computes them; equal values are one group."""
        self.graph = graph
        self.types = types
        self.fused = fused
        self.root = e
        found = places(e)
        self.where = found.where
        self.inner = found.inner
        self.order = found.order[::-1]
        """Every node, what is used before its users."""
        self.top = graph.add_group(Group(f"@{name}", "definition", -1, e.span, name))
        self.groups: dict[Any, int] = {found.where[e]: self.top}
        if isinstance(e, Function):
            self.groups[found.inner[e][0]] = self.top
        self.nodes: dict[Expr, int] = {}
        self.bound: dict[Expr, tuple[Expr, Path]] = {}
        """What variables stand for."""
        self.names: dict[Expr, str] = {}
        """The variable that a value is bound to."""
        self.known: dict[Expr, tuple[Expr, Path]] = {}
        """What has been resolved."""
        self.bind()
        self.place_nodes()
        self.connect()

    # --- variables ---

    def bind(self) -> None:
        """Note what each variable stands for."""
        for e in self.order:
            match e:
                case Let(var, value):
                    self.bound[var] = (value, ())
                    self.names.setdefault(value, f"%{var.name_hint}")
                case LetRec(variables, values):
                    for var, value in zip(variables, values, strict=True):
                        self.bound[var] = (value, ())
                        self.names.setdefault(value, f"%{var.name_hint}")
                case Match(data, clauses):
                    for clause in clauses:
                        for var, path in bound_by(clause.lhs):
                            self.bound[var] = (data, path)
                case Call(op=Function() as fn) if is_fused(fn):
                    for param, arg in zip(fn.params, e.args, strict=True):
                        self.bound[param] = (arg, ())
                case _:
                    pass

    def resolved(self, start: Expr) -> tuple[Expr, Path]:
        """What makes the value of an expression, and which part of that it is."""
        e, path = start, ()
        while e not in self.nodes:
            if e in self.known:
                found = self.known[e]
                path = found[1] + path
                if found[0] is e:
                    break
                e = found[0]
            elif isinstance(e, Var) and e in self.bound:
                e, more = self.bound[e]
                path = more + path
            elif isinstance(e, Let | LetRec):
                e = e.body
            elif isinstance(e, TupleGetItem):
                path = (e.index, *path)
                e = e.tuple_value
            elif isinstance(e, Match) and is_plain(e):
                e = e.clauses[0].rhs
            elif isinstance(e, Call) and isinstance(e.op, Function):
                e = e.op.body
            else:
                break
            if isinstance(e, Tuple) and path and isinstance(path[0], int):
                e, path = e.fields[path[0]], path[1:]
        self.known[start] = (e, path)
        return e, path

    # --- groups ---

    def group_of(self, key: Scope | Expr) -> int:
        """The group of a scope, or of all branches of an `if` or `match`; those around it are made first."""
        missing: list[Scope | Expr] = []
        while key not in self.groups:
            missing.append(key)
            key = self.around(key)
        group = self.groups[key]
        for inner in reversed(missing):
            group = self.groups[inner] = self.new_group(inner, group)
        return group

    def around(self, key: Scope | Expr) -> Scope | Expr:
        """What is directly around a scope, or around the branches of an `if` or `match`."""
        if not isinstance(key, Scope):
            return self.where[key]
        assert key.owner is not None, "the outermost scope is the definition"
        has_branches = isinstance(key.owner, If | Match) and not is_plain(key.owner)
        return key.owner if has_branches else self.where[key.owner]

    def new_group(self, key: Scope | Expr, parent: int) -> int:
        """A group for a scope, or for the branches of an `if` or `match`."""
        if not isinstance(key, Scope):
            word = "if" if isinstance(key, If) else "match"
            return self.graph.add_group(Group(self.named(key, word), "branch", parent, key.span))
        owner = key.owner
        match owner:
            case Function() if is_fused(owner):
                group = Group(operators_in(owner), "fusion", parent, owner.span)
            case Function():
                params = ", ".join([f"%{p.name_hint}" for p in owner.params])
                group = Group(cut(self.named(owner, f"fn ({params})")), "function", parent, owner.span)
            case If():
                branch = owner.true_branch if key.index == 1 else owner.false_branch
                group = Group("then" if key.index == 1 else "else", "branch", parent, branch.span)
            case Match() if not is_plain(owner):
                clause = owner.clauses[key.index - 1]
                group = Group(pattern_label(clause.lhs), "branch", parent, clause.span or clause.rhs.span)
            case _:
                return parent
        return self.graph.add_group(group)

    def group_for(self, e: Expr) -> int:
        """The group that the node of an expression is in."""
        around = self.group_of(self.where[e])
        loops = self.fused.get(e)
        if loops is not None:
            if loops not in self.groups:
                calls = [x for x in loops.members if isinstance(x, Call)]
                group = Group(operator_names(calls[::-1]), "fusion", around, loops.root.span)
                self.groups[loops] = self.graph.add_group(group)
            return self.groups[loops]
        return self.group_of(e) if isinstance(e, If | Match) else around

    def named(self, e: Expr, text: str) -> str:
        """A text behind the variable that an expression is bound to."""
        name = self.names.get(e)
        return text if name is None else f"{name} = {text}"

    # --- nodes ---

    def place_nodes(self) -> None:
        """Make the nodes, in the order of the program."""
        root = self.root
        if isinstance(root, Function):
            self.parameters(root, self.top)
        for e in self.order:
            if e is root and isinstance(e, Function):
                continue
            if isinstance(e, Function):
                if not is_fused(e):
                    self.closure(e)
            elif not isinstance(e, PASSED) and inline_text(e) is None and not is_looked_through(e):
                self.nodes[e] = self.graph.add_node(self.node(e))

    def parameters(self, fn: Function, group: int) -> None:
        """A node for each parameter."""
        for p in fn.params:
            node = Node(f"%{p.name_hint}", "parameter", group, type_label(p.type_annotation), p.span)
            self.nodes[p] = self.graph.add_node(node)

    def closure(self, fn: Function) -> None:
        """A function inside of the definition: its parameters, and itself as a value."""
        group = self.group_of(self.inner[fn][0])
        self.parameters(fn, group)
        node = Node(self.named(fn, "fn"), "value", group, type_label(self.types(fn)), fn.span)
        self.nodes[fn] = self.graph.add_node(node)

    def node(self, e: Expr) -> Node:
        """The node of any other expression."""
        group, t = self.group_for(e), type_label(self.types(e))
        match e:
            case Call():
                texts = [inline_text(self.resolved(a)[0]) for a in e.args]
                label, detail = call_label(e, texts)
                names = mentioned([e.op, *[self.resolved(a)[0] for a in e.args]])
                kind = "operator" if isinstance(e.op, Op) else "call"
                return Node(self.named(e, label), kind, group, t, e.span, detail, names)
            case Constant():
                return Node(self.named(e, "constant"), "constant", group, t, e.span)
            case If() | Match():
                word = "if" if isinstance(e, If) else "match"
                return Node(self.named(e, word), "control", group, t, e.span)
            case Tuple():
                return Node(self.named(e, "tuple"), "value", group, t, e.span, is_tuple=True)
            case Grad() | VMap():
                return Node(self.named(e, e.kind), "value", group, t, e.span)
            case _:
                return Node(self.named(e, WORDS.get(type(e).__name__, "value")), "value", group, t, e.span)

    # --- edges ---

    def connect(self) -> None:
        """Draw the edges, and the result."""
        for e, i in list(self.nodes.items()):
            for operand, label in uses(e):
                self.edge(operand, e, i, label)
        body = self.root.body if isinstance(self.root, Function) else self.root
        e, _ = self.resolved(body)
        text = inline_text(e)
        t = type_label(self.types(body))
        label = "result" if text is None else f"result {text}"
        node = Node(label, "result", self.top, t, body.span, callees=mentioned([e]))
        self.edge(body, None, self.graph.add_node(node), "")

    def edge(self, operand: Expr, user: Expr | None, end: int, label: str) -> None:
        """An edge from what makes an operand, unless that stands inside of the label, or is a function that
        calls itself.
        """
        e, path = self.resolved(operand)
        start = self.nodes.get(e)
        if start is None or start == end:
            return
        if isinstance(e, Function) and user is not None and self.is_inside(user, e):
            return
        part = "".join([f".{p}" if isinstance(p, int) else f" {p}" for p in path]).strip()
        self.graph.edges.append(
            Edge(start, end, type_label(self.types(operand)), " ".join(filter(None, (label, part))))
        )

    def is_inside(self, e: Expr, fn: Function) -> bool:
        """Whether an expression is in the body of a function."""
        inner = self.inner[fn][0]
        return common(inner, self.where[e]) is inner


PASSED = (Var, Let, LetRec, TupleGetItem, GlobalVar, Op)
"""What has no node: others are connected through it."""
WORDS = {"RefCreate": "ref", "RefRead": "ref_read", "RefWrite": "ref_write"}


def is_fused(fn: Expr) -> bool:
    """Whether a function is a group of operators that fusion has made."""
    return isinstance(fn, Function) and bool(fn.attrs.get("Primitive"))


def is_plain(e: Expr) -> bool:
    """Whether a match only takes a value apart."""
    return isinstance(e, Match) and len(e.clauses) == 1 and e.clauses[0].guard is None


def is_looked_through(e: Expr) -> bool:
    """Whether an expression stands for another: a match that takes apart, a call of a fused group."""
    return is_plain(e) or (isinstance(e, Call) and is_fused(e.op))


def operators_in(fn: Function) -> str:
    """Some of the operators of a fused function, by their names."""
    from relay.ir.walk import post_order

    return operator_names([e for e in post_order(fn.body) if isinstance(e, Call)])


def bound_by(root: Pattern) -> Iterator[tuple[Var, Path]]:
    """The variables of a pattern, each with the part of the value that it is."""
    pending: list[tuple[Pattern, Path]] = [(root, ())]
    while pending:
        p, path = pending.pop()
        if isinstance(p, PatternVar):
            yield p.var, path
        elif isinstance(p, PatternTuple):
            pending += [(x, (*path, i)) for i, x in enumerate(p.patterns)]
        elif isinstance(p, PatternConstructor):
            pending += [(x, (*path, p.constructor.name_hint, i)) for i, x in enumerate(p.patterns)]
        else:
            pending += [(x, path) for x in p.children]


def uses(e: Expr) -> Uses:
    """The operands of an expression that has a node."""
    match e:
        case Call():
            callee: Uses = [] if isinstance(e.op, Op | GlobalVar) else [(e.op, "function")]
            return callee + [(a, "") for a in e.args]
        case If(cond, yes, no):
            return [(cond, "condition"), (yes, "then"), (no, "else")]
        case Match(data, clauses):
            return [(data, "")] + [x for c in clauses for x in clause_uses(c)]
        case _:
            return [(c, "") for c in e.children]


def clause_uses(clause: Clause) -> Uses:
    """The guard and the result of a clause."""
    label = pattern_label(clause.lhs)
    guard: Uses = [] if clause.guard is None else [(clause.guard, f"{label} if")]
    return [*guard, (clause.rhs, label)]
