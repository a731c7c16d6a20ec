"""Functions to instructions.

A definition is lowered as a whole, its inner functions with it, in one pass over the graph that recurses over
nothing: the steps below are generators, which yield the one of a child and receive the child's register.
"""

from collections.abc import Generator, Iterable
from typing import Any

from relay.diagnostic import Diagnostic
from relay.interpreter import code as op
from relay.interpreter.binding import LiteralOf, constant_value, hidden_parameters
from relay.interpreter.checks import (
    Required,
    check_annotation,
    check_arguments,
    check_result,
    check_returned,
    no_match,
)
from relay.interpreter.code import Code, Draft, Label, Register, finish
from relay.interpreter.functions import ConstructorFunction
from relay.interpreter.matching import lower_tests, switch_table
from relay.interpreter.placing import plan
from relay.interpreter.unit import Group, Step, Unit, World
from relay.interpreter.value import Closure, ConstructorValue
from relay.ir.expr import (
    Call,
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
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    VMap,
)
from relay.ir.type import TypeVar
from relay.ir.walk import run

ANONYMOUS = Var("fn", span=None)
"""Stands for the variable of a function that none is bound to."""


def lower_function(world: World, code: Code, fn: Function) -> None:
    """Fill `code` in with a global function or the function that an expression is."""
    run(Lowering(world, fn).function(code, fn, None, Group()))


def lower_constant(world: World, cell: Any, value: Expr) -> None:
    """Fill in the code that evaluates a global constant and leaves its value in `cell`."""
    lowering = Lowering(world, value)
    unit = Unit(cell.code, Draft(0), Group(), None)
    unit.draft.emit(op.SETTLE, 0, cell, run(lowering.value(unit, value)))
    world.arrange(unit)
    finish(unit.draft, cell.code)


class Lowering:
    """One pass over a definition."""

    def __init__(self, world: World, root: Expr) -> None:
        self.world = world
        self.plan = plan(root)
        self.done: set[Expr] = set()
        """The inner nodes that some function has evaluated."""

    # --- functions

    def function(self, code: Code, fn: Function, outer: Unit | None, group: Group) -> Step:
        """Lower the body of `fn` into `code`; what it captures is added to `group`."""
        unit = Unit(code, Draft(len(fn.params)), group, outer, params=fn.params)
        unit.places.update(zip(fn.params, unit.draft.params, strict=True))
        for hidden in code.hidden:
            group.keys.setdefault(hidden)
        region = self.world.region(fn, code.name)
        if region is not None:
            unit.draft.span = fn.span
            unit.draft.emit(op.RETURN, 0, None, unit.draft.operate(region, tuple(unit.draft.params)))
            if outer is None:
                unit.seal(self.world)
            return unit
        required = check_result(fn, self.world)
        yield self.tail(unit, fn.body, required)
        if outer is None:
            unit.seal(self.world)
        return unit

    def closures(self, unit: Unit, functions: dict[Var, Function]) -> Step:
        """Make the closures of a group of functions; returns their registers."""
        for fn in functions.values():
            yield from self.hoist(unit, fn)
        group = Group()
        for var, fn in functions.items():
            group.members[var] = Code("fn" if var is ANONYMOUS else f"%{var.name}", fn, len(fn.params))
        hidden = tuple(dict.fromkeys([p for fn in functions.values() for p in hidden_parameters(fn)]))
        for code in group.members.values():
            code.hidden = hidden
        units: list[Unit] = []
        for var, fn in functions.items():
            units.append((yield self.function(group.members[var], fn, unit, group)))
        missing = unit.draft.constant(None) if hidden else -1
        env = tuple([missing if key in hidden else unit.lookup(key) for key in group.keys])
        registers: list[Register] = []
        for inner in units:
            inner.seal(self.world)
            unit.draft.span = inner.code.function.span
            registers.append(self.closure(unit, inner.code, env))
        return registers

    def closure(self, unit: Unit, code: Code, env: tuple[Register, ...]) -> Register:
        """A closure over registers; one that captures nothing is a constant."""
        if not env:
            return unit.draft.constant(Closure(code, (), self.world))
        d = unit.draft.fresh()
        unit.draft.emit(op.CLOSURE, d, code, env)
        return d

    def hoist(self, unit: Unit, construct: Expr) -> Step:
        """Evaluate the shared nodes whose first use is inside `construct`."""
        for e in self.plan.before.get(construct, ()):
            if e not in unit.places:
                yield self.value(unit, e)

    # --- values

    def ready(self, unit: Unit, e: Expr) -> Register | None:
        """The register of a leaf or of a node that has been evaluated."""
        known = unit.places.get(e)
        if known is not None:
            return known
        match e:
            case Var():
                return unit.lookup(e)
            case Constant():
                return self.literal(unit, e)
            case Op():
                value: Any = self.world.operator_value(e)
            case Constructor():
                value = ConstructorFunction(e)
            case GlobalVar():
                return self.global_value(unit, e)
            case _:
                return unit.lookup(e) if e in self.done else None
        register = unit.places[e] = unit.draft.constant(value)
        return register

    def literal(self, unit: Unit, e: Constant) -> Register:
        """A constant; one of open dtype takes what the type parameter is bound to, on entry."""
        if e.type is None or not isinstance(e.type.dtype, TypeVar):
            register = unit.draft.constant(constant_value(e))
        else:
            register = unit.draft.at_entry(LiteralOf(e.value).__getitem__, unit.lookup(e.type.dtype))
        unit.places[e] = register
        return register

    def global_value(self, unit: Unit, e: GlobalVar) -> Register:
        """A global function as a closure, or a global constant, which is evaluated when first reached."""
        code = self.world.global_code(e)
        if code is not None:
            return unit.draft.constant(Closure(code, (None,) * len(code.hidden), self.world))
        return unit.emit(e.span, op.GLOBAL, self.world.global_cell(e))

    def values(self, unit: Unit, several: Iterable[Expr]) -> Step:
        """Several expressions, left to right; returns their registers."""
        registers: list[Register] = []
        for e in several:
            register = self.ready(unit, e)
            registers.append((yield self.value(unit, e)) if register is None else register)
        return tuple(registers)

    def value(self, unit: Unit, e: Expr) -> Step:
        """Evaluate `e` unless that has been done; returns its register."""
        register = self.ready(unit, e)
        if register is None:
            register = yield self.evaluate(unit, e)
            unit.places[e] = register
            self.done.add(e)
        return register

    def evaluate(self, unit: Unit, e: Expr) -> Step:
        """Code for a node that has no value yet."""
        draft = unit.draft
        match e:
            case Call():
                return (yield from self.call(unit, e, tail=False))
            case Let() | LetRec():
                end = yield from self.bindings(unit, e)
                return (yield self.value(unit, end))
            case Function():
                var = self.plan.names.get(e, ANONYMOUS)
                (register,) = yield from self.closures(unit, {var: e})
                return register
            case If() | Match():
                d = draft.fresh()
                after = Label()
                for branch in (yield from self.branches(unit, e)):
                    inner = yield self.value(unit, branch)
                    draft.move(d, inner)
                    draft.emit(op.JUMP, after)
                self.last_jump(draft)
                draft.place(after)
                return d
            case Tuple():
                fields = yield from self.values(unit, e.fields)
                return unit.emit(e.span, op.TUPLE, None, fields)
            case TupleGetItem():
                (of,) = yield from self.values(unit, (e.tuple_value,))
                return unit.emit(e.span, op.GET, None, of, e.index)
            case RefCreate():
                (of,) = yield from self.values(unit, (e.value,))
                return unit.emit(e.span, op.REF, None, of)
            case RefRead():
                (of,) = yield from self.values(unit, (e.ref,))
                return unit.emit(e.span, op.READ, None, of)
            case RefWrite():
                cell, value = yield from self.values(unit, (e.ref, e.value))
                return unit.emit(e.span, op.WRITE, None, cell, value)
            case Grad() | VMap():
                return unit.failure(
                    Diagnostic(
                        "unknown-grad-target" if isinstance(e, Grad) else "batch-function",
                        f"`{e.kind}` of a function that is known only when the program runs",
                        e.span,
                        hint="call the definition around it from a program that passes a known function",
                    ),
                )
            case _:
                raise AssertionError(f"{e!r} cannot be evaluated")

    def last_jump(self, draft: Draft) -> None:
        """Drop a jump to the next instruction."""
        if draft.last_label != len(draft.code) and draft.code[-1][0] == op.JUMP:
            draft.code.pop()
            draft.spans.pop()

    def bindings(self, unit: Unit, e: Expr) -> Step:
        """A run of `let`s; returns the first body that is something else, or that is evaluated already."""
        while e not in unit.places and e not in self.done:
            match e:
                case Let(var=var, value=Function() as fn) if fn not in unit.places and fn not in self.done:
                    (unit.places[var],) = yield from self.closures(unit, {var: fn})
                    unit.places[fn] = unit.places[var]
                    self.done.add(fn)
                case Let(var=var, value=value):
                    register = self.ready(unit, value)
                    if register is None:
                        register = yield self.value(unit, value)
                    unit.places[var] = register
                    check_annotation(self.world, unit, var, value)
                case LetRec():
                    functions: dict[Var, Any] = dict(zip(e.vars, e.values, strict=True))
                    unit.places.update(zip(e.vars, (yield from self.closures(unit, functions)), strict=True))
                case _:
                    break
            e = e.body
        return e

    def branches(self, unit: Unit, e: If | Match) -> Generator[Step, Any, Iterable[Expr]]:
        """Code up to the branches; iterating over the result yields each where its code belongs."""
        scrutinee = e.cond if isinstance(e, If) else e.data
        register = self.ready(unit, scrutinee)
        if register is None:
            register = yield self.value(unit, scrutinee)
        yield from self.hoist(unit, e)
        return self.if_branches(unit, e, register) if isinstance(e, If) else self.clauses(unit, e, register)

    def if_branches(self, unit: Unit, e: If, cond: Register) -> Iterable[Expr]:
        """The branches of an `if`."""
        otherwise = Label()
        unit.draft.span = e.span
        unit.draft.emit(op.BRANCH, otherwise, None, cond)
        yield e.true_branch
        unit.draft.place(otherwise)
        yield e.false_branch

    def clauses(self, unit: Unit, e: Match, data: Register) -> Iterable[Expr]:
        """The clauses of a `match`: tests that jump to the next clause where they fail."""
        draft = unit.draft
        full = [Label() for _ in range(len(e.clauses) + 1)]
        table = switch_table(e, full, self.world.datatype_size)
        if table is not None:
            draft.span = e.span
            draft.emit(op.SWITCH, 0, table.targets, data)
        for i, clause in enumerate(e.clauses):
            draft.place(full[i])
            draft.span = clause.span
            entered = None if table is None else table.entries[i]
            unit.places.update(
                lower_tests(draft, clause.lhs, data, full[i + 1], entered, self.plan.mentioned)
            )
            yield clause.rhs
        draft.place(full[-1])
        draft.span = e.span
        draft.operate(no_match(e), (data,))

    # --- calls

    def call(self, unit: Unit, e: Call, *, tail: bool) -> Step:
        """A call; returns the register of its result, or None if it was a tail call and has left."""
        draft = unit.draft
        callee = e.op
        if type(callee) is Op:
            args = yield from self.values(unit, e.args)
            draft.span = e.span
            return draft.operate(self.world.operator(e), args)
        if type(callee) is Constructor:
            args = yield from self.values(unit, e.args)
            if not args:
                return draft.constant(ConstructorValue(callee))
            draft.span = e.span
            check_arguments(self.world, unit, e, args)
            return unit.emit(e.span, op.CON, callee, args)
        code = self.known_code(unit, callee)
        register = None
        if code is None:
            (register,) = yield from self.values(unit, (callee,))
        args = yield from self.values(unit, e.args)
        draft.span = e.span
        check_arguments(self.world, unit, e, args)
        if code is None:
            assert register is not None
            polymorphic = unit.hidden_arguments(e, None)
            if polymorphic:
                register = draft.operate(instantiate, (register, *polymorphic))
            return self.leave(unit, tail, (op.CALL_VALUE, op.TAIL_VALUE), register, args)
        if callee in unit.group.members:
            if tail and code is unit.code:
                draft.emit(op.SELF, 0, code.params, args)
                return None
            return self.leave(unit, tail, (op.CALL_GROUP, op.TAIL_GROUP), code, args, unit.code)
        hidden = unit.hidden_arguments(e, code)
        if tail and code is unit.code and not hidden:
            draft.emit(op.SELF, 0, code.params, args)
            return None
        if not tail and not hidden and len(args) in (1, 2):
            d = draft.fresh()
            draft.emit(op.CALL1 if len(args) == 1 else op.CALL2, d, code, *args)
            return d
        return self.leave(unit, tail, (op.CALL, op.TAIL), code, (*args, *hidden))

    def leave(
        self, unit: Unit, tail: bool, opcodes: tuple[int, int], f: Any, a: Any, b: Any = 0
    ) -> Register | None:
        """A call instruction, in tail position or not."""
        if tail:
            unit.draft.emit(opcodes[1], 0, f, a, b)
            return None
        d = unit.draft.fresh()
        unit.draft.emit(opcodes[0], d, f, a, b)
        return d

    def known_code(self, unit: Unit, callee: Expr) -> Code | None:
        """The code of a callee that is a global function or one of this function's group; else None."""
        if type(callee) is GlobalVar:
            return self.world.global_code(callee)
        if type(callee) is Var and callee not in unit.places:
            return unit.group.members.get(callee)
        return None

    # --- tail positions

    def tail(self, unit: Unit, e: Expr, required: Required | None = None) -> Step:
        """Code that evaluates `e` and returns its value, which must have the `required` type, if any."""
        e = yield from self.bindings(unit, e)
        if e not in unit.places and e not in self.done:
            if type(e) is If or type(e) is Match:
                for branch in (yield from self.branches(unit, e)):
                    yield self.tail(unit, branch, required)
                return
            if type(e) is Call and (required is None or not required.differs(e)):
                result = yield from self.call(unit, e, tail=True)
                if result is not None:
                    unit.draft.emit(op.RETURN, 0, None, result)
                return
        register = self.ready(unit, e)
        if register is None:
            register = yield self.value(unit, e)
        if required is not None:
            check_returned(unit, e, register, required)
        unit.draft.emit(op.RETURN, 0, None, register)


def instantiate(closure: Any, *hidden: Any) -> Any:
    """A closure of a polymorphic function with its type parameters bound."""
    return Closure(closure.code, (*hidden, *closure.env[len(hidden) :]), closure.machine)
