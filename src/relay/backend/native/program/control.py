"""Definitions to LLVM IR: calls, conditions, matches, data, closures and references.

Definitions are in A-normal form, monomorphic, and hold no functions but partial applications of definitions
(`lambda_lift`).  Arguments are given with a reference of their own, and so are results.  A call in tail
position is a jump.
"""

from collections.abc import Sequence
from typing import Any

from relay.backend.native.llvm.builder import CONTEXT, POINTER, Value
from relay.backend.native.llvm.modules import Piece
from relay.backend.native.memory.objects import (
    Layout,
    cancel_retain,
    layout,
    new_object,
    read_object,
    release,
    retain,
    take_apart,
    write_object,
)
from relay.backend.native.program.atoms import Atoms, Dying
from relay.backend.native.program.checks import may_misfit, sizes_of
from relay.backend.native.program.closures import closure_layout, static_closure, wrapper
from relay.backend.native.program.global_thunks import CYCLIC
from relay.backend.native.program.held_values import Replaced
from relay.backend.native.program.instrumentation import Instrumentation
from relay.backend.native.program.matching import bind_pattern, test_pattern
from relay.backend.native.program.operators import emit_call
from relay.backend.native.program.ownership import Block, Ownership
from relay.backend.native.program.program import (
    Program,
    call_leaves,
    emit_return,
    emit_tail_call,
    result_type,
)
from relay.backend.native.program.python_calls import effect_called, reference_called
from relay.backend.native.program.recording import flush, force, is_block, record_call
from relay.backend.native.program.routines import routines_called
from relay.backend.native.program.splitting import PIECE
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.pattern import pattern_vars
from relay.ir.type import FuncType, TupleType, TypeCall
from relay.ir.walk import run
from relay.op.kind import NativeRule
from relay.transform.rewriting.chains import Task

LEAN = 200
"""Last uses of variables in a definition from which on the code that counts references is not inlined."""


class Definition(Atoms):
    """One function of the program."""

    def __init__(self, program: Program, symbol: str, fn: Function, may_recur: bool) -> None:
        """`symbol` is the name of its code."""
        # LLVM would copy constants of data types into one another again and again, as far as it goes.
        stays = fn.attrs.get(PIECE) or (not fn.params and isinstance(fn.ret_type, TypeCall))
        super().__init__(program, symbol, fn, "nounwind noinline" if stays else "nounwind")
        self.may_recur = may_recur
        assert fn.ret_type is not None
        self.returned = fn.ret_type
        self.owned = Ownership(fn.body, self.is_managed)
        self.replaced = Replaced()
        is_lean = fn.attrs.get(PIECE) == "tensors" or self.owned.last_uses() > LEAN
        self.code.runtime = "relay_" if is_lean else "relay."

    def piece(self) -> Piece:
        """The code of the function; one that may run again and again looks whether it may go on."""
        if self.may_recur:
            self.code.do(f"call void @relay.check({CONTEXT})")
        block = self.owned.blocks[self.fn.body]
        for p in self.fn.params:
            self.sizes.update(sizes_of(self.code, self.types(p), self.values[p]))
        for p in self.fn.params:
            if self.is_managed(p) and p not in block.last:
                release(self.code, self.values[p])
        run(self.block(self.fn.body, is_tail=True))
        return self.code.piece()

    def refusal(self) -> Piece:
        """The code of a constant that needs its own value."""
        self.fail("constant-cycle", str(self.fn.attrs[CYCLIC]), self.fn)
        return self.code.piece()

    # --- blocks ---

    def block(self, e: Expr, is_tail: bool) -> Task:
        """The statements of a block; its result as leaves, which nothing follows if it is the function's."""
        block = self.owned.blocks[e]
        self.replaced.add(block, self.is_plain, self.may_fail)
        dying: list[Dying] = [{} for _ in block.statements]
        for v, i in block.last.items():
            dying[i][v] = None
        for i, (var, s) in enumerate(block.statements):
            gone = dying[i]
            if var is None:
                return (yield self.tail(s, gone, is_tail))
            found = yield self.watched(s, gone)
            self.fit(s, f"`%{var.name}`", var.type_annotation, found)
            self.values[var] = found
            for write, k in self.replaced.early.get(var, ()):
                self.write_field(write, k, found)
            if self.is_managed(var) and var not in block.last:
                release(self.code, found)
        raise AssertionError("a block ends in an expression")

    def tail(self, e: Expr, gone: Dying, is_tail: bool) -> Task:
        """What a block ends in."""
        # Groups do not recur, and LLVM loses arguments on the stack where a jump leaves an aligned frame.
        is_group = isinstance(e, Call) and (e.op in self.program.callees or self.is_recorded(e))
        fits = not is_tail or not may_misfit(self.returned, self.types(e))
        if (
            is_tail
            and fits
            and isinstance(e, Call)
            and not isinstance(e.op, Op | Constructor)
            and not is_group
        ):
            self.tail_call(e, gone)
            return None
        if is_tail and isinstance(e, If | Match):
            yield self.choice(e, gone, is_tail=True)
            return None
        found = yield self.watched(e, gone)
        if is_tail:
            self.fit(e, "the result", self.returned, found)
            emit_return(self.program, self.code, self.result, found)
            return None
        return found

    def watched(self, e: Expr, gone: Dying) -> Task:
        """A statement, whose time is noted in programs that are profiled."""
        watch = self.program.watch
        if watch is None or not watch.is_timed(e):
            return self.statement(e, gone)
        return self.timed(watch, e, gone)

    def timed(self, watch: Instrumentation, e: Expr, gone: Dying) -> Task:
        """A statement between two looks at the clock."""
        assert isinstance(e, Call)
        number, begin = watch.begin(self.code, e)
        found = yield self.statement(e, gone)
        watch.end(self.code, number, begin)
        return found

    # --- statements ---

    def is_plain(self, e: Expr) -> bool:
        """Whether a statement computes a value and does nothing else."""
        match e:
            case Call(op=Op()):
                return e.attrs.native_rule not in (
                    NativeRule.EFFECT,
                    NativeRule.LIBRARY,
                    NativeRule.REFERENCE,
                )
            case Call():
                return e.op in self.program.callees or isinstance(e.op, Constructor)
            case _:
                return isinstance(e, Tuple | TupleGetItem | Var | Constant | Function)

    def may_fail(self, e: Expr) -> bool:
        """Whether a statement that is plain may fail, and somebody sees then what references hold."""
        is_safe = isinstance(e, Call) and e.op in self.program.callees and e.op not in self.program.failing
        return self.program.shows_references and not (is_safe or isinstance(e, Tuple | TupleGetItem | Var))

    def statement(self, e: Expr, gone: Dying) -> Task:
        """The leaves of a value, with references of its own."""
        code = self.code
        match e:
            case If() | Match():
                return (yield self.choice(e, gone, is_tail=False))
            case Call(op=Op()):
                found: Sequence[Value] = self.operator(e)
            case Call(op=Constructor() as c):
                return self.instance(c, e, gone)
            case Call():
                return self.call(e, gone)
            case Tuple():
                return self.taken(e.fields, gone)
            case TupleGetItem():
                found = self.field(e)
                retain(code, found)
            case Function():
                return self.closure(e, gone)
            case RefCreate():
                held = self.leaves(self.types(e.value))
                return [new_object(code, self.program.layouts, layout(held), self.taken((e.value,), gone))]
            case RefRead():
                found = self.contents(e.ref)
                if e.ref in gone:
                    take_apart(code, layout(self.held(e.ref)), self.taken((e.ref,), gone)[0], found)
                elif e not in self.replaced.statements:
                    retain(code, found)
            case RefWrite():
                found = self.write(e, gone)
            case _:
                return self.taken((e,), gone)
        self.drop(gone)
        return found

    def field(self, e: TupleGetItem) -> Sequence[Value]:
        """A field of a tuple."""
        t = self.types(e.tuple_value)
        assert isinstance(t, TupleType)
        return self.atom(e.tuple_value)[self.leaves.field(t, e.index)]

    def operator(self, e: Call) -> Sequence[Value]:
        """An operator."""
        self.force(e)
        if e.attrs.native_rule is NativeRule.EFFECT:
            return self.effect(e)
        if e.attrs.native_rule is NativeRule.LIBRARY:
            return routines_called(self.program, self.code, e, self.atom)
        if e.attrs.native_rule is NativeRule.REFERENCE:
            given = [v for a in e.args for v in self.atom(a)]
            return reference_called(self.program, self.code, e, given)
        return emit_call(self.program, self.code, e, self.atom)

    def effect(self, e: Call) -> Sequence[Value]:
        """An operator with an effect: a test, or what Python does; its value is the first operand, if any."""
        code, op = self.code, e.attrs
        if op.failure is None:
            flush(self.program, code)
            effect_called(self.program, code, e, [v for a in e.args for v in self.atom(a)])
        else:
            holds, fails = code.label(), code.label()
            code.branch(self.atom(e.args[0])[0], holds, fails, likely=True)
            code.block(fails)
            kind, message = op.failure
            self.fail(kind, message, e)
            code.block(holds)
        if not (op.passes_on and e.args):
            return []
        found = self.atom(e.args[0])
        retain(code, found)
        return found

    def contents(self, ref: Expr) -> list[Value]:
        """What a reference holds."""
        held = self.held(ref)
        return read_object(self.code, layout(held), self.atom(ref)[0], held)

    def held(self, ref: Expr) -> tuple[str, ...]:
        """The leaves that a reference holds."""
        t: Any = self.types(ref)
        return self.leaves(t.value)

    def write(self, e: RefWrite, gone: Dying) -> Sequence[Value]:
        """Put a value in a reference, and give up what it held."""
        before = [] if e in self.replaced.statements else self.contents(e.ref)
        value = self.taken((e.value,), gone)
        write_object(self.code, layout(self.held(e.ref)), self.atom(e.ref)[0], value)
        release(self.code, before)
        return []

    def write_field(self, e: RefWrite, index: int, value: Sequence[Value]) -> None:
        """Put a value in a field of what a reference holds, which will be given up with its variable."""
        t: Any = self.types(e.ref)
        of, part = layout(self.held(e.ref)), self.leaves.field(t.value, index)
        write_object(self.code, Layout(of.offsets[part], of.size, ()), self.atom(e.ref)[0], value)

    # --- calls ---

    def call(self, e: Call, gone: Dying) -> list[Value]:
        """Call a definition or a closure."""
        if self.is_recorded(e):
            assert isinstance(e.op, GlobalVar)
            operands = self.taken(e.args, gone)
            self.drop(gone)
            return record_call(self.program, self.code, e.op, operands)
        if e.op in self.program.callees:
            self.force(e)
        target, args, leaves = self.callee(e, gone)
        self.drop(gone)
        return call_leaves(self.program, self.code, self.code.call(result_type(leaves), target, args), leaves)

    def is_recorded(self, e: Call) -> bool:
        """Whether a call is recorded, to be made later with others."""
        return isinstance(e.op, GlobalVar) and is_block(self.program.mod.functions[e.op])

    def force(self, e: Call) -> None:
        """Make the calls first that were recorded and make an operand."""
        for a in e.args:
            force(self.program, self.code, self.types(a), self.atom(a))

    def tail_call(self, e: Call, gone: Dying) -> None:
        """Go on with a definition or a closure."""
        target, args, leaves = self.callee(e, gone)
        self.drop(gone)
        emit_tail_call(self.code, result_type(leaves), target, args)

    def callee(self, e: Call, gone: Dying) -> tuple[str, list[Value], tuple[str, ...]]:
        """The address that is called, the arguments, the leaves of the result."""
        t = self.types(e.op)
        assert isinstance(t, FuncType)
        self.fit_arguments(e, t)
        leaves = self.leaves(t.ret_type)
        if isinstance(e.op, GlobalVar):
            target, first = self.program.callee(self.code, e.op)
            return target, [*first, *self.taken(e.args, gone)], leaves
        args = self.taken((*e.args, e.op), gone)
        me = args.pop()
        address = self.code.load(POINTER, self.code.at(me, closure_layout(()).offsets[0]))
        return address.ref, [me, *args], leaves

    def closure(self, fn: Function, gone: Dying) -> list[Value]:
        """A partial application as an object."""
        inner = fn.body
        assert isinstance(inner, Call)
        assert isinstance(inner.op, GlobalVar)
        held = inner.args[: len(inner.args) - len(fn.params)]
        t = self.types(fn)
        assert isinstance(t, FuncType)
        if not held:
            return [static_closure(self.program, self.code, inner.op, t)]
        inside = wrapper(self.program, inner.op, [self.types(a) for a in held], t)
        values = self.taken(held, gone)
        of = closure_layout([v.type for v in values])
        address = self.code.set(
            "i64", f"ptrtoint ptr {self.code.refer(f'@{inside.name}', inside.declaration())} to i64"
        )
        self.drop(gone)
        return [new_object(self.code, self.program.layouts, of, [address, *values])]

    # --- data ---

    def instance(self, c: Constructor, e: Call, gone: Dying) -> list[Value]:
        """An instance of a data type."""
        if not e.args:
            return [self.program.singleton(self.code, c.tag)]
        self.fit_arguments(e, self.types(c))
        t = self.types(e)
        args = t.args if isinstance(t, TypeCall) else ()
        _, of = self.program.cell(c, args)
        values = self.taken(e.args, gone)
        return [new_object(self.code, self.program.layouts, of, values, c.tag)]

    # --- choices ---

    def choice(self, e: If | Match, gone: Dying, is_tail: bool) -> Task:
        """A condition or a match; each way gives up what it does not need any more."""
        code = self.code
        arrivals: list[tuple[Sequence[Value], str]] = []
        end = code.label()
        spared: list[Value] = []
        if isinstance(e, If):
            yes, no = code.label(), code.label()
            spared = self.cancel_common_retains(e, gone)
            code.branch(self.atom(e.cond)[0], yes, no)
            ways = [(yes, None, e.true_branch), (no, None, e.false_branch)]
        else:
            ways = [(code.label(), c, c.rhs) for c in e.clauses]
            self.tests(e, [label for label, _, _ in ways])
        for label, clause, body in ways:
            code.block(label)
            block = self.owned.blocks[body]
            if clause is not None:
                self.bind(e.children[0], clause, block, gone)
            is_kept = set(spared)
            for v in gone:
                if v not in block.last and not (clause is not None and v is e.children[0]):
                    release(code, [x for x in self.values[v] if x not in is_kept])
            mine = {*gone, *([] if clause is None else pattern_vars(clause.lhs))}
            for v in [v for v in block.last if v in self.values and v not in mine]:
                del block.last[v]
            found = yield self.block(body, is_tail)
            if found is not None:
                arrivals.append((found, code.here))
                code.jump(end)
        if is_tail:
            return None
        code.block(end)
        return code.join(arrivals)

    def cancel_common_retains(self, e: If, gone: Dying) -> list[Value]:
        """Take back, and return, references just taken that both ways would give up at once."""
        ways = [self.owned.blocks[body] for body in (e.true_branch, e.false_branch)]
        lost = [[x for v in gone if v not in way.last for x in self.values[v]] for way in ways]
        common = [x for x in lost[0] if lost[0].count(x) == lost[1].count(x) == 1]
        return [x for x in common if x.type == POINTER and cancel_retain(self.code, x)]

    def bind(self, data: Expr, clause: Clause, block: Block, gone: Dying) -> None:
        """Bind the variables of a pattern that matches, and give up the value if it ends here."""
        ends = isinstance(data, Var) and data in gone and data not in block.last
        t, leaves = self.types(data), self.atom(data)
        found = bind_pattern(self.program, self.code, clause.lhs, t, leaves, block.last, ends)
        self.values.update(found)

    def tests(self, e: Match, labels: Sequence[str]) -> None:
        """Go to the first clause that matches."""
        code = self.code
        data = self.atom(e.data)
        t = self.types(e.data)
        for clause, label in zip(e.clauses, labels, strict=True):
            other = code.label()
            if test_pattern(self.program, code, clause.lhs, t, data, other):
                code.jump(label)
                code.block(other)
            else:
                code.jump(label)
                return
        if e.complete:
            code.do("unreachable")
        else:
            self.fail("match-failure", "no clause matches", e)
