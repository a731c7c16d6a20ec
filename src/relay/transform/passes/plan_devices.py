"""Devices for all values, and copies where a value goes from one to another."""

from collections.abc import Iterator

from relay.diagnostic import fail
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    LetRec,
    Match,
    Op,
    Tuple,
    TupleGetItem,
)
from relay.ir.module import IRModule
from relay.ir.pattern import pattern_vars
from relay.ir.walk import post_order
from relay.op.annotation import DeviceCopy, OnDevice
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass

ANYWHERE = (Constant, Op, Constructor, GlobalVar)
"""What is on each device that reads it."""


@module_pass("plan_devices", opt_level=0, public="PlanDevices")
def plan_devices(mod: IRModule, *, default_device: str = "cpu") -> IRModule:
    """Find a device for each value by what `on_device` and `device_copy` say, and put in copies.

    What an operator reads and what it gives are on one device, and so are a variable and its value, the
    branches of an `if` and its value, parameters and arguments.  `on_device(x, d)` says that `x` is computed
    on `d`, unless `constrain_body` is False, and with `constrain_result` that its value is there; where the
    two are on different devices, it becomes a `device_copy`.  What nothing is said of is on `default_device`.
    Raises `device-conflict` where two devices are said of one value.

    >>> show(plan_devices, '''
    ... def @main(%x: Tensor[(2,), float32]) {
    ...   tanh(on_device(exp(on_device(%x, virtual_device="cpu")), virtual_device="gpu"))
    ... }''')
    def @main(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
      %0 = exp(device_copy(%x, src_device="cpu", dst_device="gpu"));
      tanh(device_copy(%0, src_device="gpu", dst_device="cpu"))
    }
    """
    if not any(is_placement(e) for f in mod.functions.values() for e in post_order(f)):
        return mod
    devices = Devices(mod)

    def placed(root: Expr) -> Expr:
        new: dict[Expr, Expr] = {}
        for e in post_order(root):
            children = tuple([new[c] for c in e.children])
            new[e] = e if children == e.children else e.rebuild(children)
            if isinstance(e, Call) and isinstance(e.attrs, OnDevice):
                source, target = (devices.of(x) or default_device for x in (e.args[0], e))
                copy = DeviceCopy(src_device=source, dst_device=target)
                new[e] = children[1] if source == target else copy(children[1])
        return new[root]

    return with_definitions(mod, {v: placed(e) for v, e in mod.functions.items()})


def is_placement(e: Expr) -> bool:
    """Whether an expression says where a value is."""
    return isinstance(e, Call) and isinstance(e.attrs, OnDevice | DeviceCopy)


class Devices:
    """What is on one device, and on which."""

    def __init__(self, mod: IRModule) -> None:
        """Raises `device-conflict`."""
        self.mod = mod
        self.above: dict[Expr, Expr] = {}
        """For values on one device with others, one that is nearer to the one that stands for all."""
        self.known: dict[Expr, str] = {}
        for definition in mod.functions.values():
            for e in post_order(definition):
                self.note(e)

    def of(self, e: Expr) -> str:
        """The device that a value is on; empty where nothing is said of it."""
        return self.known.get(self.standing_for(e), "")

    def standing_for(self, e: Expr) -> Expr:
        """The value that stands for all that are on one device with another."""
        path: list[Expr] = []
        while e in self.above:
            path.append(e)
            e = self.above[e]
        self.above.update(dict.fromkeys(path, e))
        return e

    def note(self, e: Expr) -> None:
        """Note what an expression says."""
        if isinstance(e, Call) and isinstance(e.attrs, OnDevice):
            op = e.attrs
            self.fix(e.args[0], op.virtual_device if op.constrain_body else "", e)
            self.fix(e, op.virtual_device if op.constrain_result else "", e)
        elif isinstance(e, Call) and isinstance(e.attrs, DeviceCopy):
            self.fix(e.args[0], e.attrs.src_device, e)
            self.fix(e, e.attrs.dst_device, e)
        else:
            for a, b in self.together(e):
                self.join(a, b, e)

    def together(self, e: Expr) -> Iterator[tuple[Expr, Expr]]:
        """The values that are on one device because of an expression, in pairs."""
        match e:
            case Call(op=Op() | Constructor(), args=args):
                yield from ((e, a) for a in args)
            case Call(op=callee, args=args):
                fn = self.mod.functions.get(callee) if isinstance(callee, GlobalVar) else callee
                if isinstance(fn, Function):
                    yield from zip(fn.params, args, strict=True)
                    yield e, fn.body
                else:
                    yield from ((e, a) for a in args)
            case Let(var, value, body):
                yield from ((var, value), (e, body))
            case LetRec():
                yield e, e.body
            case If(_, yes, no):
                yield from ((e, yes), (e, no))
            case Match():
                for clause in e.clauses:
                    yield e, clause.rhs
                    yield from ((e.data, v) for v in pattern_vars(clause.lhs))
            case Tuple(fields):
                yield from ((e, f) for f in fields)
            case TupleGetItem(whole):
                yield e, whole
            case _:
                yield from ((e, c) for c in e.children if not isinstance(e, Function))

    def join(self, a: Expr, b: Expr, at: Expr) -> None:
        """Two values are on one device."""
        if isinstance(a, ANYWHERE) or isinstance(b, ANYWHERE):
            return
        a, b = self.standing_for(a), self.standing_for(b)
        if a is not b:
            self.above[b] = a
            self.fix(a, self.known.pop(b, ""), at)

    def fix(self, e: Expr, device: str, at: Expr) -> None:
        """A value is on a device (`device-conflict`)."""
        e = self.standing_for(e)
        if device and self.known.setdefault(e, device) != device:
            fail(
                "device-conflict",
                f"a value is on `{self.known[e]}` and on `{device}`",
                at.span,
                label="the two meet here",
                hint='copy it: device_copy(x, src_device="…", dst_device="…")',
            )
