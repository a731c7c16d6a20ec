"""The result of partial evaluation in the making: chains whose bindings stay if something mentions them."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from relay.analysis.normal_form import ATOMS
from relay.ir.bind import substitute
from relay.ir.expr import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
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
)
from relay.ir.pattern import PatternVar
from relay.ir.type import HAS_ANY, FuncType, TupleType, Type, TypeCall
from relay.ir.vars import free_vars
from relay.ir.walk import rewrite_pattern
from relay.transform.passes.partial_values import Closure, Frame, Value, hinted
from relay.transform.rewriting.chains import Chain, Task, link
from relay.transform.rewriting.copying import Copy
from relay.transform.rewriting.instantiation import instance_args
from relay.typecheck.query import Types


class Result:
    """The statements written so far, and which of them are needed."""

    def __init__(self, types: Types, function: Callable[[Closure], Task]) -> None:
        """`function` makes a function of the result; it is asked when it is known that it is needed."""
        self.types = types
        self.function = function
        self.mentioned: set[Expr] = set()
        """What the result mentions."""
        self.waiting: dict[Var, list[Closure]] = {}
        """Functions whose bodies are gone through if they are mentioned, by the first name."""
        self.cells: set[Expr] = set()
        """Variables bound to references that are made here."""

    # --- bindings ---

    def bind(self, var: Var, value: Value, frame: Frame, chain: Chain, source: Let | None = None) -> Value:
        """A variable has a value from here on."""
        t = frame.type(var.type_annotation)
        if type(value.atom) in ATOMS and self.is_name(value.atom, t):
            frame.vars[var] = value
            return value
        made = self.name(var, t, frame)
        static = value.static
        if type(value.atom) is Function:
            assert isinstance(static, Closure)
            self.waiting[made] = [static]
        elif type(value.atom) is RefCreate:
            self.cells.add(made)
        elif type(value.atom) in ATOMS:
            static = None
        chain.let(made, value.atom, source)
        found = frame.vars[var] = Value(made, static)
        return found

    def bind_group(
        self,
        names: tuple[Var, ...],
        values: tuple[Expr, ...],
        frame: Frame,
        chain: Chain,
        source: Let | LetRec,
    ) -> None:
        """Functions that know themselves and each other."""
        made = tuple([self.name(v, frame.type(v.type_annotation), frame) for v in names])
        closures = [Closure(cast("Function", f), frame) for f in values]
        for v, m, c in zip(names, made, closures, strict=True):
            frame.vars[v] = Value(m, c)
        self.waiting[made[0]] = closures
        chain.bindings.append((made, values, source))

    def name(self, var: Var, t: Type | None, frame: Frame) -> Var:
        """The variable of the result in the place of one of the source."""
        return var if frame.own and t is var.type_annotation else Var(var.name_hint, t, span=var.span)

    def is_name(self, atom: Expr, t: Type | None) -> bool:
        """Whether an atom may stand for a variable of type `t`."""
        found = self.types(atom)
        if found is t or type(atom) is Op or type(atom) is Constructor:
            return True
        return isinstance(found, FuncType) and isinstance(t, FuncType) and bool(instance_args(found, t))

    def field(self, whole: Value, index: int, chain: Chain) -> Value:
        """A field of a tuple."""
        if isinstance(whole.static, tuple):
            return whole.static[index]
        t = self.types(whole.atom)
        assert isinstance(t, TupleType)
        var = Var("x", t.fields[index], span=whole.atom.span)
        chain.let(var, TupleGetItem(whole.atom, index, span=whole.atom.span))
        return Value(var)

    def pattern(self, clause: Clause, data: Value, frame: Frame) -> Any:
        """The pattern of a clause that may be taken; its variables have values now."""
        new: dict[Var, Var] = {}
        for v, value in hinted(clause, data).items():
            t = frame.type(v.type_annotation)
            new[v] = self.name(v, t, frame)
            is_known = value is not None and type(value.atom) in ATOMS and self.is_name(value.atom, t)
            frame.vars[v] = value if value is not None and is_known else Value(new[v])
        if frame.own:
            return clause.lhs
        return rewrite_pattern(
            clause.lhs, lambda p: PatternVar(new[p.var], span=p.span) if isinstance(p, PatternVar) else None
        )

    def type_args(self, e: Call, callee: Value, frame: Frame) -> tuple[Any, ...]:
        """The type arguments of a call; those of a polymorphic callee that comes as a value are implied."""
        op = callee.atom
        if op is e.op or e.written_type_args or type(op) is Op:
            return frame.types(e.written_type_args)
        t = frame.type(self.types(e.op))
        assert isinstance(t, FuncType)
        if type(op) is Constructor:
            return t.ret_type.args if isinstance(t.ret_type, TypeCall) else ()
        scheme = self.types(op)
        assert isinstance(scheme, FuncType)
        return (instance_args(scheme, t) or ()) if scheme.type_params else ()

    # --- what is needed ---

    def finish(self, chain: Chain, body: Expr) -> Task:
        """Close a chain from its end: what is needed of it is known then.

        A write goes with what it writes where the next one to the same reference comes before anybody could
        read it: a function that is only written, as each of the steps on a tape, is not gone through.
        """
        body = self.tail(chain, body)
        self.mention(body)
        overwritten: set[Expr] = set()
        for names, values, source in reversed(chain.bindings):
            closures = self.waiting.pop(names[0], None)
            if closures is not None:
                names, values = yield self.functions(names, closures)
                if names:
                    body = link(names, values, body, source)
            elif names[0] in self.mentioned or not self.is_droppable(values[0]):
                value = values[0]
                if type(value) is RefWrite and value.ref in self.cells:
                    if value.ref in overwritten and names[0] not in self.mentioned:
                        continue
                    overwritten.add(value.ref)
                elif may_read(value):
                    overwritten.clear()
                self.mention(value)
                body = link(names, values, body, source)
        return body

    def tail(self, chain: Chain, body: Expr) -> Expr:
        """What a block ends in: the last thing that it evaluates, without a name for that alone."""
        while chain.bindings and type(body) is Var:
            (name, *_), values, _ = chain.bindings[-1]
            is_function = name in self.waiting
            if name is body:
                is_exact = not body.type_annotation or not body.type_annotation.flags & HAS_ANY
                return chain.bindings.pop()[1][0] if is_exact and not is_function else body
            if is_function or name in self.mentioned or not self.is_droppable(values[0]):
                break
            chain.bindings.pop()
        return body

    def functions(self, names: tuple[Var, ...], closures: Sequence[Closure]) -> Task:
        """Those of several functions that are mentioned, by themselves too."""
        made: dict[Var, Expr] = {}
        while True:
            missing = [i for i, v in enumerate(names) if v in self.mentioned and v not in made]
            if not missing:
                kept = tuple([v for v in names if v in made])
                return kept, tuple([made[v] for v in kept])
            made[names[missing[0]]] = yield self.function(closures[missing[0]])

    def mention(self, e: Expr) -> None:
        """Note what a statement of the result mentions."""
        self.mentioned.update(e.children or (e,))

    def is_droppable(self, e: Expr) -> bool:
        """Whether nobody notices if a statement that nobody uses is not evaluated."""
        match e:
            case Call(op=Op()):
                return not e.attrs.impure
            case Call(op=Constructor()) | Tuple() | TupleGetItem() | RefCreate() | RefRead():
                return True
            case _:
                return type(e) in ATOMS

    def opaque(self, fn: Function, frame: Frame) -> Expr:
        """A fused function."""
        free = free_vars(fn)
        for v in free:
            self.mentioned.add(frame.find(v).atom)
        if frame.own and all(frame.find(v).atom is v for v in free):
            return fn
        copy = Copy(dict(frame.copy.types) if frame.copy else {})
        inner = copy.of(fn)
        values: dict[Var, Expr] = {v: frame.find(v).atom for v in free}
        return substitute(inner, values) if values else inner


def may_read(e: Expr) -> bool:
    """Whether a statement may read a reference: itself, in what it calls, or to show it (`trace`)."""
    match e:
        case Call(op=Op()):
            return e.attrs.impure
        case Call():
            return not isinstance(e.op, Constructor)
        case _:
            return isinstance(e, RefRead | If | Match)
