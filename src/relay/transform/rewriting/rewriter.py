"""Rules over operator calls: what passes that replace calls share.

A rule sees one node whose parts are done, looks through `let`-bound variables at what made its operands, and
says what the node becomes, or None.  What it makes is gone through by the rules in turn, so that a rule need
not know the others.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from relay.analysis.normal_form import ATOMS
from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.scope import Scope, scopes
from relay.ir.type import TensorType, Type
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.registry import instance
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.forms import ANF
from relay.typecheck.query import Types

Rule: TypeAlias = Callable[["Rewriter", Any], Expr | None]
"""What becomes of a node whose parts are done; None if it stays."""
Table: TypeAlias = Mapping[type, Sequence[Rule]]
"""The rules by what they look at: the class of an operator, or of another node."""


def apply_rules(mod: IRModule, table: Table) -> IRModule:
    """`mod` with each definition as the rules leave it; definitions in A-normal form stay in it."""
    types = Types(mod)
    new: dict[Any, Expr] = {}
    for v, e in mod.functions.items():
        made = e if table.keys().isdisjoint(map(_subject, post_order(e))) else Rewriter(e, types, table).run()
        new[v] = anf(made, types) if made is not e and ANF.is_known_of(mod, v) else made
    return with_definitions(mod, new)


def call(op: Operator, args: Sequence[Expr], source: Expr) -> Call:
    """A call of an operator, at the span of the node that it stands for."""
    return Call(Op.get(op.name), tuple(args), op, span=source.span)


def call_of(name: str, args: Sequence[Expr], source: Expr, **attrs: Any) -> Call:
    """As `call`, for an operator by its name, with the attributes that differ from their defaults."""
    return call(instance(name, attrs), args, source)


def _subject(e: Expr) -> type:
    """The class that rules for a node go by."""
    subject: object = e.attrs if type(e) is Call and type(e.op) is Op else e
    return type(subject)


class Rewriter:
    """One pass over a definition."""

    def __init__(self, root: Expr, types: Types, table: Table) -> None:
        """`types` knows the module's definitions."""
        self.root = root
        self.types = types
        self.table = table
        self.new: dict[Expr, Expr] = {}
        """What becomes of each node; a result stands for itself."""
        self.values: dict[Expr, Expr] = {}
        """The values of `let`-bound variables, as they were."""
        self.users: dict[Expr, int] = {}
        """How often each node and variable is used; what a rule made is used once."""
        self.shared: set[Expr] = set()
        """Nodes with several users, where a use that goes may leave the others to a function inside."""
        self.origin = root
        """The node of the source that the rules are at."""
        self.subjects: set[type] = set()
        """The classes of operators and of other nodes that there are."""
        self.has_functions = False
        self._homes: Homes | None = None
        self._plain: dict[Expr, bool] = {}
        self._free: dict[Expr, bool] = {}

    def run(self) -> Expr:
        """The definition as the rules leave it."""
        order = list(post_order(self.root))
        self.survey(order)
        for e in order:
            self.origin = e
            kept, made = self.step(e)
            if made is None:
                self.keep(e, kept)
            else:
                self.settle(e, made)
        return self.new[self.root]

    def survey(self, order: Sequence[Expr]) -> None:
        """Note which variables are bound to what, and what is shared where there are functions inside."""
        users = self.users
        self.subjects.update(map(_subject, order))
        for e in order:
            if type(e) is Let:
                self.values[e.var] = e.value
            elif type(e) is Function and e is not self.root:
                self.has_functions = True
            for c in e.children:
                users[c] = users.get(c, 0) + 1
        if self.has_functions:
            self.shared = {e for e, count in users.items() if count > 1}

    def step(self, e: Expr) -> tuple[Expr, Expr | None]:
        """A node around its parts, and what a rule makes of it."""
        if type(e) is Var:
            return e, self.renamed(e)
        children = e.children
        if not children:
            return e, None
        new = self.new
        now = tuple([new[c] for c in children])
        if type(e) is Let and new.get(e.var, e.var) is not e.var:
            return e, self.without(e, now)
        kept = e if now == children else e.rebuild(now)
        for rule in self.table.get(_subject(kept), ()):
            made = rule(self, kept)
            if made is not None and self.accepts(self.types(made), self.types(e)):
                return kept, made
        return kept, None

    def accepts(self, made: Type, wanted: Type) -> bool:
        """Whether what a rule makes may have that type."""
        return made == wanted

    def without(self, e: Let, now: tuple[Expr, ...]) -> Expr:
        """A `let` whose variable has become something else, around its parts."""
        return now[1]

    def keep(self, e: Expr, kept: Expr) -> None:
        """Note what becomes of a node that no rule changes."""
        self.new[e] = kept
        if kept is not e:
            self.subjects.add(_subject(kept))
            self.new[kept] = kept
            self.use(kept, e)
            if e in self.shared:
                self.shared.add(kept)

    def use(self, made: Expr, e: Expr) -> None:
        """Those who use `e` use what was made of it."""
        self.users[made] = self.users.get(made, 0) + self.users.get(e, 1)

    def settle(self, e: Expr, made: Expr) -> None:
        """Note what becomes of a node that a rule has made something of, once that is done."""
        new = self.new
        stack: list[tuple[Expr, Expr | None]] = [(e, made)]
        while stack:
            top, instead = stack[-1]
            if instead is not None and instead in new:
                new[top] = new[instead]
                self.use(new[top], top)
            elif instead is not None:
                self.users.setdefault(instead, 0)
                stack.append((instead, None))
                continue
            elif top not in new:
                missing = [c for c in top.children if c not in new]
                if missing:
                    stack += [(c, None) for c in missing]
                    continue
                self.subjects.add(_subject(top))
                kept, next_made = self.step(top)
                if next_made is not None:
                    stack[-1] = (top, next_made)
                    continue
                self.keep(top, kept)
            stack.pop()

    def renamed(self, e: Expr) -> Expr | None:
        """The atom that a variable is another name of."""
        value = self.values.get(e)
        made = None if value is None else self.new.get(value)
        if made is None or type(made) not in (Var, Constant):
            return None
        return made if self.types(made) == self.types(e) else None

    # --- what rules ask ---

    def seen(self, e: Expr) -> Expr | None:
        """What an operand is made of, if a rule may use that and do without the operand."""
        made = self.value_of(e)
        return made if made is not None and self.may_use(e, made) else None

    def value_of(self, e: Expr) -> Expr | None:
        """What an operand is made of: itself, or what a variable is bound to."""
        made = e
        while type(made) is Var and made in self.values:
            value = self.new.get(self.values[made])
            if value is None:
                return None
            made = value
        return made

    def may_use(self, e: Expr, made: Expr) -> bool:
        """Whether a rule may use what an operand is made of, and do without the operand."""
        if type(e) is not Var:
            return type(e) in ATOMS or e not in self.shared
        return all(type(c) in ATOMS or self.is_plain(c) for c in made.children)

    def parts(self, e: Expr, *kinds: type) -> tuple[Any, tuple[Expr, ...]] | None:
        """Operator and operands of what an operand is made of, if it is a call of one of these operators."""
        made = self.value_of(e)
        if type(made) is not Call or not isinstance(made.attrs, kinds) or type(made.op) is not Op:
            return None
        return (made.attrs, made.args) if self.may_use(e, made) else None

    def is_only_here(self, e: Expr) -> bool:
        """Whether an operand has no other users, and is evaluated as often as the node that uses it."""
        while self.users.get(e, 1) <= 1:
            if type(e) is not Var or e not in self.values:
                return True
            if not self.is_near(self.values[e]):
                return False
            e = self.new.get(self.values[e], e)
        return False

    def is_near(self, e: Expr) -> bool:
        """Whether a node of the source is evaluated in the function where the rules are."""
        if not self.has_functions:
            return True
        if self._homes is None:
            self._homes = Homes(self.root)
        return self._homes(e) is self._homes(self.origin)

    def is_plain(self, e: Expr) -> bool:
        """Whether `e` is operator calls and tuples of atoms: no effect, and its place does not matter."""
        return type(e) in ATOMS or _throughout(e, self._plain, is_data)

    def may_go(self, e: Expr) -> bool:
        """Whether nobody notices, nor has more to do, if this use of `e` goes."""
        return type(e) in ATOMS or _throughout(e, self._free, lambda p: p not in self.shared and is_data(p))

    def tensor(self, e: Expr) -> TensorType | None:
        """The type of a tensor whose shape and dtype are known; None for anything else."""
        t = self.types(e)
        return t if isinstance(t, TensorType) and t.is_closed and isinstance(t.dtype, str) else None


class Homes:
    """Which function evaluates a node of a definition, once for each call."""

    def __init__(self, root: Expr) -> None:
        self.where = scopes(root)
        self.known: dict[Scope, Expr | None] = {}

    def __call__(self, e: Expr) -> Expr | None:
        """The function; None for the definition itself."""
        path: list[Scope] = []
        s: Scope | None = self.where[e]
        while s is not None and s not in self.known and not isinstance(s.owner, Function):
            path.append(s)
            s = s.parent
        home = None if s is None else self.known.get(s, s.owner)
        for s in path:
            self.known[s] = home
        return home


def is_data(e: Expr) -> bool:
    """Whether a node is a call of an operator, a tuple or a projection."""
    if type(e) is Call:
        return type(e.op) is Op and not e.attrs.impure
    return type(e) is Tuple or type(e) is TupleGetItem


def _throughout(root: Expr, known: dict[Expr, bool], holds: Callable[[Expr], bool]) -> bool:
    """Whether something holds of `root` and of everything under it but atoms; `known` remembers it."""
    stack = [root]
    while stack:
        e = stack[-1]
        if e not in known:
            if not holds(e):
                known[e] = False
            else:
                missing = [c for c in e.children if type(c) not in ATOMS and c not in known]
                if missing:
                    stack += missing
                    continue
                known[e] = all(type(c) in ATOMS or known[c] for c in e.children)
        stack.pop()
    return known[root]
