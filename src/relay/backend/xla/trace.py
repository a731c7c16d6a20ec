"""Annotated programs evaluated on arrays whose values are not known yet, so that JAX records operators.

Calls are followed into what they call.  What a program does with tuples, functions, data types and references
is done while it is traced: only operators, branches on what is computed, and loops are left of it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from relay.backend.xla.checks import Checks
from relay.backend.xla.data import Structure, flatten, is_known
from relay.backend.xla.functions import Cell, Closure, Frame
from relay.backend.xla.layout import Layout
from relay.backend.xla.loops import looped
from relay.backend.xla.namespace import Namespace
from relay.backend.xla.operators import applied_operator
from relay.backend.xla.program import Program
from relay.backend.xla.shapes import demand, shape_of
from relay.diagnostic import Span
from relay.interpreter.binding import constant_value
from relay.interpreter.unit import Step
from relay.interpreter.value import ConstructorValue
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
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
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    VMap,
)
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar
from relay.ir.type import TypeVar
from relay.ir.walk import run
from relay.op.registry import instance
from relay.op.traced import UntraceableError

MAX_BRANCHES = 32
"""How deep branches on computed values nest: JAX takes a dozen frames of Python for each."""
MAX_OPERATORS = 2_000
"""How many operators a program may have: XLA takes 7 s for so many, and more than twice that for twice."""
MISMATCH = "branches on a computed value give data of different structure"


class Trace:
    """One evaluation of a program.  Its steps are generators, as `relay.ir.walk.run` takes them."""

    def __init__(self, program: Program, constants: Sequence[Any], layout: Layout) -> None:
        """`constants` are the values of `program.constants`, on the devices of `layout`."""
        self.program = program
        self.jax = program.jax
        self.checks = Checks(program.jax)
        self.np = Namespace(program.jax, self.checks, layout)
        self.constants = dict(zip(program.constants, constants, strict=True))
        self.cells: list[Cell] = []
        self.globals: dict[GlobalVar, Any] = {}
        """The definitions that have been reached; None for one that is being evaluated."""
        self.active: dict[Function, int] = {}
        """The functions that are being called, with how many branches their calls are in."""
        self.depth = 0
        self.count = 0
        self.refused: Span | None = None
        """Where the operator stands that has no form for XLA."""

    # --- nodes

    def ready(self, here: Frame, e: Expr) -> Any:
        """The value of a leaf, or of a node that has been evaluated; else None."""
        match e:
            case Constant():
                return self.literal(e)
            case Op() | Constructor():
                return e
            case GlobalVar():
                return self.globals.get(e)
            case _:
                return here.find(e)

    def literal(self, e: Constant) -> Any:
        """The value of a constant, which is an argument of the compiled program if it is large."""
        if e in self.constants:
            return self.constants[e]
        if e.type is not None and isinstance(e.type.dtype, TypeVar):
            raise UntraceableError("the dtype of a literal depends on the call")
        return constant_value(e)

    def value(self, here: Frame, e: Expr) -> Step:
        """The value of a node, which is evaluated unless it has been."""
        found = self.ready(here, e)
        if found is None:
            if isinstance(e, GlobalVar):
                return (yield self.definition(e))
            found = yield from self.evaluated(here, e)
            here.values[e] = found
        return found

    def values(self, here: Frame, several: Iterable[Expr]) -> Step:
        """The values of several nodes, in order."""
        found: list[Any] = []
        for e in several:
            known = self.ready(here, e)
            found.append((yield self.value(here, e)) if known is None else known)
        return tuple(found)

    def evaluated(self, here: Frame, e: Expr) -> Step:
        """The value of a node that has none yet."""
        match e:
            case Call():
                return (yield from self.call(here, e))
            case Let() | LetRec():
                end = yield from self.bindings(here, e)
                return (yield self.value(here, end))
            case Function():
                yield from self.hoist(here, e)
                return Closure(e, here, here.plan.names.get(e))
            case If():
                return (yield from self.branch(here, e, self.value))
            case Match():
                inside, clause = yield from self.clause(here, e)
                return (yield self.value(inside, clause.rhs))
            case Tuple():
                return (yield from self.values(here, e.fields))
            case TupleGetItem():
                of = yield self.value(here, e.tuple_value)
                return of[e.index]
            case RefCreate():
                cell = Cell((yield self.value(here, e.value)))
                if None in self.globals.values():
                    raise UntraceableError("a reference lives as long as the program")
                self.cells.append(cell)
                return cell
            case RefRead():
                return (yield self.value(here, e.ref)).value
            case RefWrite():
                cell, value = yield from self.values(here, (e.ref, e.value))
                cell.value = value
                return ()
            case Grad() | VMap():
                raise UntraceableError(f"`{e.kind}` of a function that is known only when the program runs")
            case _:
                raise UntraceableError(f"{e!r} has no value here")

    def hoist(self, here: Frame, construct: Expr) -> Step:
        """Evaluate the shared nodes whose first use is inside of `construct`."""
        for e in here.plan.before.get(construct, ()):
            if here.find(e) is None:
                yield self.value(here, e)

    def bindings(self, here: Frame, e: Expr) -> Step:
        """A run of `let`s; returns the first body that is something else."""
        while isinstance(e, Let | LetRec) and here.find(e) is None:
            if isinstance(e, LetRec):
                for fn in e.values:
                    yield from self.hoist(here, fn)
                for v, fn in zip(e.vars, e.values, strict=True):
                    assert isinstance(fn, Function)
                    here.values[v] = Closure(fn, here, v)
            else:
                found = self.ready(here, e.value)
                if found is None:
                    found = yield self.value(here, e.value)
                here.values[e.var] = found
                if not isinstance(e.value, Function):
                    demand(e.var.type_annotation, found, here.sizes)
            e = e.body
        return e

    # --- definitions and calls

    def definition(self, name: GlobalVar) -> Step:
        """The value of a definition; a constant is evaluated when it is first reached."""
        if name in self.globals:
            raise UntraceableError(f"the value of `@{name.name_hint}` depends on itself")
        e = self.program.mod.functions[name]
        frame = Frame(self.program.plan(name))
        if isinstance(e, Function):
            self.globals[name] = Closure(e, frame, name)
        else:
            self.globals[name] = None
            self.globals[name] = yield self.value(frame, e)
        return self.globals[name]

    def entry(self, name: GlobalVar, args: Sequence[Any]) -> Step:
        """The value of a definition, of a function on arguments."""
        found = yield self.definition(name)
        is_function = isinstance(self.program.mod.functions[name], Function)
        return (yield self.applied(found, args)) if is_function else found

    def call(self, here: Frame, e: Call) -> Step:
        """The value of a call."""
        if isinstance(e.op, Op):
            args = yield from self.values(here, e.args)
            return self.operator(e.attrs, args, e)
        f = yield self.value(here, e.op)
        args = yield from self.values(here, e.args)
        return (yield self.applied(f, args))

    def operator(self, op: Any, args: Sequence[Any], e: Call | None = None) -> Any:
        """The value of an operator on operands."""
        self.count += 1
        if self.count > MAX_OPERATORS:
            raise UntraceableError(f"there are more than {MAX_OPERATORS:,} operators")
        self.checks.span = None if e is None else e.span
        try:
            return applied_operator(self.np, op, args, None if e is None else self.program.types(e))
        except UntraceableError as error:
            self.refused = self.checks.span
            reason = str(error)
            raise UntraceableError(reason if op.name in reason else f"`{op.name}`: {reason}") from None

    def applied(self, f: Any, args: Sequence[Any]) -> Step:
        """The value of a function on arguments."""
        if isinstance(f, Op):
            return self.operator(instance(f.name, {}), args)
        if isinstance(f, Constructor):
            return ConstructorValue(f, tuple(args))
        fn = f.function
        before = self.active.get(fn)
        has_data = any(isinstance(a, ConstructorValue) for a in args)
        if before is not None and before < self.depth and not has_data:
            raise UntraceableError(f"{spelled(f)} calls itself, depending on what is computed")
        self.active[fn] = self.depth
        try:
            loop = self.program.loop(f)
            if loop is not None and not loop.is_unrolled:
                return (yield from looped(self, f, args, loop))
            here = self.entered(f, args)
            result = yield self.value(here, fn.body)
        finally:
            if before is None:
                del self.active[fn]
            else:
                self.active[fn] = before
        demand(fn.ret_type, result, here.sizes)
        return result

    def entered(self, f: Closure, args: Sequence[Any]) -> Frame:
        """The scope of a call of a function on arguments."""
        sizes = dict(f.frame.sizes)
        for p, x in zip(f.function.params, args, strict=True):
            demand(p.type_annotation, x, sizes)
        return Frame(f.frame.plan, f.frame, dict(zip(f.function.params, args, strict=True)), sizes)

    # --- choices

    def branch(
        self, here: Frame, e: If, evaluate: Callable[[Frame, Expr], Step], mismatch: str = MISMATCH
    ) -> Step:
        """What `evaluate` gives for the branch of an `if` that is taken, or for both where that depends on
        what is computed; `mismatch` says why these may not be of different structure.
        """
        condition = yield self.value(here, e.cond)
        yield from self.hoist(here, e)
        if is_known(condition):
            return (yield evaluate(here.inside(), e.true_branch if condition else e.false_branch))
        return self.either(
            condition,
            lambda: run(evaluate(here.inside(), e.true_branch)),
            lambda: run(evaluate(here.inside(), e.false_branch)),
            mismatch,
        )

    def clause(self, here: Frame, e: Match) -> Step:
        """The clause of a `match` that matches, and its scope."""
        data = yield self.value(here, e.data)
        yield from self.hoist(here, e)
        for clause in e.clauses:
            inside = here.inside()
            if matches(clause, data, inside):
                return inside, clause
        raise UntraceableError("no clause matches")

    def state(self) -> tuple[Any, list[Any], dict[GlobalVar, Any]]:
        """What a branch can change."""
        return self.checks.failed, [c.value for c in self.cells], dict(self.globals)

    def restore(self, state: tuple[Any, Sequence[Any], dict[GlobalVar, Any]]) -> None:
        """Go back to a state; references that were made since are gone."""
        self.checks.failed, values, known = state
        del self.cells[len(values) :]
        for cell, value in zip(self.cells, values, strict=True):
            cell.value = value
        self.globals = dict(known)

    def either(self, condition: Any, yes: Callable[[], Any], no: Callable[[], Any], mismatch: str) -> Any:
        """The value of one of two branches."""
        if self.depth == MAX_BRANCHES:
            raise UntraceableError(f"branches on computed values nest deeper than {MAX_BRANCHES}")
        before = self.state()
        kept: list[Any] = []

        def traced(choice: Callable[[], Any]) -> Callable[[], Any]:
            def branch() -> Any:
                self.restore(before)
                value = choice()
                leaves, structure = self.outcome(value, len(before[1]))
                kept.append((structure, list(map(shape_of, leaves))))
                if kept[-1] != kept[0]:
                    raise UntraceableError(mismatch)
                return self.np.asarray(self.checks.failed), leaves

            return branch

        self.depth += 1
        try:
            failed, leaves = self.jax.lax.cond(condition, traced(yes), traced(no))
        finally:
            self.depth -= 1
            self.restore(before)
        return self.resumed(failed, kept[0][0](*leaves))

    def outcome(self, value: Any, cells: int) -> tuple[list[Any], Structure]:
        """A value with what is in the first references, as arrays that JAX takes, and their structure."""
        leaves, structure = flatten((value, *[c.value for c in self.cells[:cells]]))
        return [self.np.array(x) for x in leaves], structure

    def resumed(self, failed: Any, found: tuple[Any, ...]) -> Any:
        """Go on from what `outcome` has given, behind a branch or a loop: its value."""
        self.checks.failed = failed
        value, *inside = found
        for cell, x in zip(self.cells, inside, strict=True):
            cell.value = x
        return value


def spelled(f: Closure) -> str:
    """What a function is called."""
    match f.name:
        case GlobalVar():
            return f"`@{f.name.name_hint}`"
        case Var():
            return f"`%{f.name.name_hint}`"
        case _:
            return "a function"


def matches(clause: Clause, data: Any, inside: Frame) -> bool:
    """Whether a value matches the pattern of a clause, whose variables are bound then."""
    stack: list[tuple[Pattern, Any]] = [(clause.lhs, data)]
    while stack:
        pattern, x = stack.pop()
        match pattern:
            case PatternVar(var):
                inside.values[var] = x
            case PatternConstructor(constructor, patterns):
                if x.tag != constructor.tag:
                    return False
                stack += zip(patterns, x.fields, strict=False)
            case PatternTuple(patterns):
                stack += zip(patterns, x, strict=True)
            case _:
                pass
    return True
