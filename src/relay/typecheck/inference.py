"""The types of one group of definitions while they are being found, and the loop that finds them.

`Inference.infer` drives generators on an explicit stack: the rule of a node yields a child and receives its
type.  What needs no descent (variables, literals, operator calls on such) is answered at once by `quick`.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from relay.diagnostic import Note, Report
from relay.ir.alias import expanded
from relay.ir.expr import Call, Constant, Constructor, Expr, GlobalVar, Match, Op, Pattern, Var, VMap
from relay.ir.module import IRModule
from relay.ir.scope import Scope, scopes
from relay.ir.subst import map_type
from relay.ir.type import HAS_INCOMPLETE, FuncType, IncompleteType, Type, TypeVar
from relay.typecheck import explain, leaves
from relay.typecheck.generalize import Signature
from relay.typecheck.graph import Scan
from relay.typecheck.kinds import check_kinds
from relay.typecheck.places import place
from relay.typecheck.schemes import instance_of
from relay.typecheck.solver import Solver
from relay.typecheck.unknown import ERROR, Mismatch, Unknown

Rule = Generator[Expr, Any, Any]
"""Yields expressions, receives their types, returns a type."""
RuleMaker = Callable[["Inference", Any, Any], Rule]
"""`(inference, node, want)`: the rule of a node; `want` is what its place requires, or None."""
RULES: dict[type, RuleMaker] = {}


def rule(*kinds: type) -> Callable[[RuleMaker], RuleMaker]:
    """Register the typing rule of some kinds of nodes."""

    def register(made: RuleMaker) -> RuleMaker:
        RULES.update(dict.fromkeys(kinds, made))
        return made

    return register


class Inference(Solver):
    """The types of one group of definitions."""

    def __init__(self, mod: IRModule, report: Report, lookup: Callable[[GlobalVar, Expr], Any]) -> None:
        """`lookup` gives the type of a definition of another group."""
        super().__init__(report)
        self.mod = mod
        self.lookup = lookup
        self.vars: dict[Var, Any] = {}
        self.group: dict[GlobalVar, Any] = {}
        self.types: dict[Expr, Any] = {}
        self.literals: list[tuple[Constant, Unknown]] = []
        """The open literals that are still to be generalised or decided."""
        self.constant_dtype: dict[Constant, Unknown] = {}
        self.matched: dict[Match | Pattern, Any] = {}
        """The types of what is matched, by the matches and alternatives that are to be lowered."""
        self.type_args: dict[Call, tuple[Any, ...]] = {}
        self.batched_rows: dict[VMap, tuple[Any, Any]] = {}
        """How many rows the calls of a `vmap` have, and the type of its function, where there is one number.
        """
        self.batched_instances: dict[VMap, tuple[Any, ...]] = {}
        """The type arguments of the functions of these."""
        self.required: list[tuple[Unknown, TypeVar, Expr | None]] = []
        """What something has to decide, because its kind has no default."""
        self.monomorphic: dict[Any, Signature] = {}
        """The functions whose bodies are being inferred: inside they have one type."""
        self.mono_calls: dict[Call, Signature] = {}
        self.signatures: dict[Expr, Signature] = {}
        self.roots: list[Expr] = []
        self.binders: dict[Var, Expr] | None = None
        self.is_open = False
        self.free: list[Var] = []
        self.here: Expr | None = None
        """The node whose rule is running."""
        self.want: Any = None
        """What the place of the next child requires, for its rule."""
        self.raw_wanted: set[Expr] = set()
        """Callees: their type is asked for as it is, not as an instance."""
        self.homes: dict[Expr, Scope] = {}
        self.scope_level: dict[tuple[Expr | None, int], int] = {}
        self.kinds_seen: set[Any] = set()

    def enter(self, root: Expr, scanned: Scan) -> None:
        """Make ready for a definition; where its shared nodes live matters if something is generalised."""
        self.roots.append(root)
        if scanned.has_inner_schemes and scanned.shared:
            where = scopes(root)
            self.homes.update({e: where[e] for e in scanned.shared if not _is_closed_leaf(e)})

    # --- driving ------------------------------------------------------------------------------------------

    def infer(self, root: Expr, want: Any = None) -> Any:
        """The type of an expression; `want` is what its place requires, if a `?` in it loosens branches."""
        t = self.quick(root)
        return self.drive(root, self.start(root, want)) if t is None else t

    def drive(self, e: Any, steps: Rule) -> Any:
        """Run a rule to its end."""
        stack: list[tuple[Any, Rule]] = []
        value: Any = None
        while True:
            self.here = e
            try:
                child = steps.send(value)
            except StopIteration as stop:
                value = stop.value
                if e is not None:
                    self.types[e] = value
                    if type(value) is FuncType and value.type_params and e not in self.raw_wanted:
                        value = instance_of(self, value, e)
                if not stack:
                    return value
                e, steps = stack.pop()
            else:
                stack.append((e, steps))
                want, self.want = self.want, None
                e, steps, value = child, self.start(child, want), None

    def start(self, e: Expr, want: Any) -> Rule:
        """The rule for a node, at the level of the scope that evaluates it."""
        steps = RULES.get(type(e), _temporary)(self, e, want)
        return self.at_home(e, steps) if e in self.homes else steps

    def at_home(self, e: Expr, steps: Rule) -> Rule:
        """A shared node belongs to the innermost scope around its uses, so nothing inside generalises it."""
        saved, self.level = self.level, self.home_level(e)
        t = yield from steps
        self.level = saved
        return t

    def home_level(self, e: Expr) -> int:
        """The level of the scope that evaluates a node."""
        where = self.homes.get(e)
        if where is None:
            return self.level
        while where is not None and (where.owner, where.index) not in self.scope_level:
            where = where.parent
        return min(self.level, 1 if where is None else self.scope_level[where.owner, where.index])

    def quick(self, e: Expr) -> Any:
        """The type of a node that needs no descent, else None."""
        if type(e) is Var:
            t = self.vars.get(e)
            if t is None:
                return leaves.unbound(self, e)
            return instance_of(self, t, self.use(e)) if type(t) is FuncType and t.type_params else t
        if type(e) is not Call or type(e.op) is not Op:
            return self.quick_leaf(e)
        t = self.types.get(e)
        if t is not None:
            return t
        if self.homes and e in self.homes:
            return None
        args: list[Any] = []
        known = self.vars
        for a in e.args:
            t = known.get(a) if type(a) is Var else self.quick_leaf(a)
            if t is None or (type(t) is FuncType and t.type_params):
                if type(a) is not Var:
                    return None
                t = self.quick(a)
            args.append(t)
        t = self.types[e] = leaves.operator_call(self, e, tuple(args))
        return t

    def quick_leaf(self, e: Expr) -> Any:
        """`quick`, without variables and operator calls."""
        k = type(e)
        if k is Constant:
            return leaves.constant(self, e)  # pyright: ignore[reportArgumentType]
        t = self.raw(e) if k is Op or k is GlobalVar or k is Constructor else self.types.get(e)
        return instance_of(self, t, self.use(e)) if type(t) is FuncType and t.type_params else t

    def use(self, e: Expr) -> Expr:
        """The node that shows where `e` is used."""
        return e if self.here is None else place(e, self.here)

    def raw(self, e: Expr) -> Any:
        """The type of something named, not instantiated; None for other nodes."""
        if type(e) is Var:
            t = self.vars.get(e)
            return leaves.unbound(self, e) if t is None else t
        if type(e) is GlobalVar:
            t = self.group.get(e)
            return self.lookup(e, e) if t is None else t
        if type(e) is Constructor:
            return leaves.constructor_type(self, e)
        return leaves.operator_value(self, e) if type(e) is Op else None

    # --- errors and annotations ---------------------------------------------------------------------------

    def explain(self, operands: Iterable[Expr]) -> tuple[Note, ...]:
        """See `Solver`."""
        return explain.notes(self, operands)

    def agree(
        self,
        expected: Any,
        found: Any,
        at: Expr,
        what: str,
        *,
        strict: bool = False,
        hint: str = "",
        shape_hint: str = "",
        operands: Sequence[Expr] | None = None,
    ) -> bool:
        """Unify, or report at an expression that `what` should be `expected`; `shape_hint` is for shapes that
        differ.
        """
        if expected is found:
            return True
        self.cause = at
        try:
            self.unify(expected, found, strict)
        except Mismatch as m:
            f = self.describe(m, expected, found)
            message = f"{what}: {f.message}" if what else f.message
            about = (at,) if operands is None else operands
            if f.code in ("shape-mismatch", "rank-mismatch"):
                hint = hint or shape_hint
            self.diagnose(f.code, message, at, label=f.label, hint=hint or f.hint, operands=about)
            return False
        if self.queue:
            self.settle()
        return True

    def annotation(self, t: Type, at: Any, *, polymorphic: bool = False) -> Any:
        """A type as written, with each `_` a new unknown."""
        t = expanded(t)
        if t not in self.kinds_seen and not self.is_well_kinded(t, at, polymorphic):
            return ERROR
        if not t.flags & HAS_INCOMPLETE:
            return t
        return map_type(
            t, lambda leaf: self.fresh_of(leaf.kind) if type(leaf) is IncompleteType else leaf, HAS_INCOMPLETE
        )

    def is_well_kinded(self, t: Type, at: Any, polymorphic: bool) -> bool:
        """Whether a type as written has its kinds right; reports where not."""
        faults: list[str] = []

        def complain(code: str, message: str, hint: str) -> None:
            faults.append(code)
            self.diagnose(code, message, at, hint=hint)

        check_kinds(t, self.mod, complain, self.kinds_seen, may_be_polymorphic=polymorphic)
        if not faults:
            self.kinds_seen.add(t)
        return not faults


def _is_closed_leaf(e: Expr) -> bool:
    """Whether a node has the same type wherever it is evaluated."""
    return type(e) in (Var, GlobalVar, Op, Constructor) or (type(e) is Constant and not e.is_open)


@rule(Var, GlobalVar, Constant, Op, Constructor)
def _leaf(inf: Inference, e: Expr, want: Any) -> Rule:
    """A leaf, where a place asks for it as for any other node."""
    yield from ()
    return inf.quick(e)


def _temporary(inf: Inference, e: Expr, want: Any) -> Rule:
    """A pass left one of its own nodes over."""
    yield from ()
    inf.diagnose("temporary-node", f"{type(e).__name__} belongs to a pass and has no type", e)
    return ERROR
