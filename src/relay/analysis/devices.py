"""On which device each value of a program is, by what `on_device` and `device_copy` say of some."""

from collections.abc import Sequence

from relay.diagnostic import fail
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
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
)
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar
from relay.ir.walk import post_order
from relay.op.annotation import DeviceCopy, OnDevice

RESULT = -1
"""The part of a function that is its result."""


class Place:
    """Where the parts of a value are, of which nothing may be known yet.

    What is on one device as a whole (a tensor, an instance of a data type) is `is_whole`.  A tuple has parts,
    places of those fields that something is known of, and so has a function: its parameters, and `RESULT`.
    """

    __slots__ = ("above", "device", "is_whole", "parts")

    def __init__(self, *, is_whole: bool = False, parts: "dict[int, Place] | None" = None) -> None:
        self.above: Place | None = None
        """A place that is the same one, nearer to the one that stands for all that are."""
        self.device = ""
        self.is_whole = is_whole
        self.parts = {} if parts is None else parts

    def root(self) -> "Place":
        """The place that stands for all that are the same."""
        top = self
        while top.above is not None:
            top = top.above
        here = self
        while here.above is not None:
            here.above, here = top, here.above
        return top


class Devices:
    """The devices of the values of a module.

    What an operator reads and what it gives are on one device, and so are what is given to a function and its
    parameter, a variable and its value, the branches of an `if` and its value, a reference and what is in it.
    Fields of tuples have devices of their own, and so have parameters and results of functions.  Constants
    are on each device that reads them.  The work is about that of type inference, and linear in the program.
    """

    def __init__(self, mod: IRModule) -> None:
        """Raises `device-conflict`."""
        self.places: dict[Expr, Place] = {}
        self.at: Expr | None = None
        """The expression because of which two places are one."""
        for name in mod.functions:
            self.places[name] = Place()
        for name, definition in mod.functions.items():
            for e in post_order(definition):
                self.note(e)
            self.same(self.places[name], self.place(definition))

    def of(self, e: Expr) -> str:
        """The device that a value is on; empty where nothing says it, or its parts are on different ones."""
        stack, found = [self.place(e)], ""
        while stack:
            here = stack.pop().root()
            if here.device and found and here.device != found:
                return ""
            found = found or here.device
            stack += here.parts.values()
        return found

    def place(self, e: Expr) -> Place:
        """The place of a value; a new one for what is anywhere."""
        if isinstance(e, Constant | Op | Constructor):
            return Place()
        return self.places.setdefault(e, Place())

    def note(self, e: Expr) -> None:
        """Note what an expression says of its parts."""
        self.at = e
        match e:
            case Call(attrs=OnDevice() as mark, args=(arg,)):
                self.fix(arg, mark.virtual_device if mark.constrain_body else "")
                self.fix(e, mark.virtual_device if mark.constrain_result else "")
            case Call(attrs=DeviceCopy() as copy, args=(arg,)):
                self.fix(arg, copy.src_device)
                self.fix(e, copy.dst_device)
            case Call(op=Op() | Constructor(), args=args):
                whole = Place(is_whole=True)
                for x in (*args, e):
                    self.same(whole, self.place(x))
            case Call(op=callee, args=args):
                self.same(self.place(callee), self.function(args, e))
            case Function(params=params, body=body):
                self.same(self.place(e), self.function(params, body))
            case Tuple(fields):
                self.same(self.place(e), Place(parts=dict(enumerate(map(self.place, fields)))))
            case TupleGetItem(whole, index):
                self.same(self.place(whole), Place(parts={index: self.place(e)}))
            case Match():
                self.clauses(e)
            case Let(var, value, body):
                self.same(self.place(var), self.place(value))
                self.same(self.place(e), self.place(body))
            case LetRec():
                for var, value in zip(e.vars, e.values, strict=True):
                    self.same(self.place(var), self.place(value))
                self.same(self.place(e), self.place(e.body))
            case _:
                self.note_choice(e)

    def note_choice(self, e: Expr) -> None:
        """Note what an `if` or an expression with a reference says of its parts."""
        match e:
            case If(_, yes, no):
                self.same(self.place(e), self.place(yes))
                self.same(self.place(e), self.place(no))
            case RefCreate(value):
                self.same(self.place(e), self.place(value))
            case RefRead(ref):
                self.same(self.place(e), self.place(ref))
            case RefWrite(ref, value):
                self.same(self.place(ref), self.place(value))
            case _:
                pass

    def clauses(self, e: Match) -> None:
        """Note what the patterns of a `match` say of what they take apart."""
        for clause in e.clauses:
            self.same(self.place(e), self.place(clause.rhs))
            stack: list[tuple[Pattern, Place]] = [(clause.lhs, self.place(e.data))]
            while stack:
                pattern, data = stack.pop()
                match pattern:
                    case PatternVar(var):
                        self.same(data, self.place(var))
                    case PatternConstructor(patterns=inner):
                        self.same(data, Place(is_whole=True))
                        stack += [(p, data) for p in inner]
                    case PatternTuple(inner):
                        parts = [Place() for _ in inner]
                        self.same(data, Place(parts=dict(enumerate(parts))))
                        stack += zip(inner, parts, strict=True)
                    case _:
                        pass

    def function(self, params: Sequence[Expr], result: Expr) -> Place:
        """The place of a function."""
        return Place(parts=dict(enumerate(map(self.place, params))) | {RESULT: self.place(result)})

    def fix(self, e: Expr, device: str) -> None:
        """A value is on a device as a whole."""
        if device:
            there = Place(is_whole=True)
            there.device = device
            self.same(self.place(e), there)

    def same(self, a: Place, b: Place) -> None:
        """Two places are one, and so are their parts; what is whole is where each of its parts is."""
        stack = [(a, b)]
        while stack:
            a, b = (place.root() for place in stack.pop())
            if a is b:
                continue
            a, b = (b, a) if len(b.parts) > len(a.parts) else (a, b)
            if a.device and b.device and a.device != b.device:
                self.refuse(a.device, b.device)
            b.above = a
            a.device = a.device or b.device
            for i, part in b.parts.items():
                known = a.parts.setdefault(i, part)
                if known is not part:
                    stack.append((known, part))
            a.is_whole = a.is_whole or b.is_whole
            if a.is_whole:
                stack += [(a, part) for part in a.parts.values()]
                a.parts = {}

    def refuse(self, one: str, other: str) -> None:
        """Say that a value is on two devices (`device-conflict`)."""
        fail(
            "device-conflict",
            f"a value is on `{one}` and on `{other}`",
            None if self.at is None else self.at.span,
            label="the two meet here",
            hint='copy it: device_copy(x, src_device="…", dst_device="…")',
        )
