"""Operators that change nothing: they mark places in a program for passes, backends and people."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relay.diagnostic import Span
from relay.ir.expr import Expr, Tuple, TupleGetItem
from relay.ir.module import IRModule
from relay.ir.type import Dim, TupleType, Type
from relay.op.base import ANY_DTYPE, Array, Numpy, sample
from relay.op.family import Elementwise
from relay.op.kind import Derivative, Fusion
from relay.op.native import Scalars
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.tap import Tap, listen

PLACES = (sample("2x3 float32"), sample("bool"), sample("0 int32"))


class Mark(Elementwise):
    """The operand itself; so is its derivative."""

    derivative = Derivative.TRANSPOSE
    samples = PLACES

    def reference(self, np: Numpy, data: Array) -> Array:
        return data

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        """The cotangent with this annotation."""
        return (apply(self.name, g, **self.attributes()),)

    def native(self, b: Scalars, data: Any) -> Any:
        """The number itself."""
        return data


class EachMark(Mark):
    """A mark on each tensor of a tuple, where the operand is one."""

    is_resolved = True
    settled_dtypes = ANY_DTYPE

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        t.equal(out, args[0])

    def resolved(
        self, types: Sequence[Type], args: Sequence[Expr], mod: IRModule, span: Span | None
    ) -> Expr | None:
        """The marked fields of a tuple."""
        whole = types[0]
        return marked(self, args[0], whole, span) if isinstance(whole, TupleType) else None


def marked(mark: Mark, e: Expr, t: Type, span: Span | None = None) -> Expr:
    """An expression of a type with a mark, or with one on each tensor that it is made of."""
    if not isinstance(t, TupleType):
        return mark(e)
    fields = (
        e.fields if isinstance(e, Tuple) else [TupleGetItem(e, i, span=span) for i in range(len(t.fields))]
    )
    parts = [marked(mark, f, part, span) for f, part in zip(fields, t.fields, strict=True)]
    return Tuple(tuple(parts), span=span)


@operator("annotation.checkpoint")
class Checkpoint(EachMark):
    """The operand, marked as cheaper to compute again than to keep until its derivative is taken.

    Of a tuple, each tensor in it is marked.

    relay> annotation.checkpoint([1.0, 2.0])
    [1.0, 2.0]
    relay> annotation.checkpoint((1.0, [2.0]))
    (1.0, [2.0])
    """


@operator("annotation.stop_fusion")
class StopFusion(Mark):
    """The operand, which is not computed in one loop with what uses it.

    relay> annotation.stop_fusion([1.0, 2.0])
    [1.0, 2.0]
    """

    fusion = Fusion.OPAQUE


@operator("annotation.cast_hint")
class CastHint(Mark):
    """The operand, which may be kept in the dtype `dtype` by a pass that looks for such hints.

    relay> annotation.cast_hint([1.0, 2.0], dtype="float16")
    [1.0, 2.0]
    """

    dtype: str
    samples = (sample("2x3 float32", dtype="float16"), sample("3 int32", dtype="int8"))


@operator("annotation.compiler_begin")
class CompilerBegin(EachMark):
    """The operand, which enters a region of the program that is meant for the compiler of that name.

    Of a tuple, each tensor in it is marked.

    relay> annotation.compiler_begin([1.0, 2.0], compiler="other")
    [1.0, 2.0]
    """

    compiler: str = "default"
    samples = (*PLACES, sample("3 float32", compiler="other"))


@operator("annotation.compiler_end")
class CompilerEnd(EachMark):
    """The operand, which leaves a region of the program that is meant for the compiler of that name.

    Of a tuple, each tensor in it is marked.

    relay> annotation.compiler_end([1.0, 2.0], compiler="other")
    [1.0, 2.0]
    """

    compiler: str = "default"
    samples = (*PLACES, sample("3 float32", compiler="other"))


@operator("annotation.bitpack_start")
class BitpackStart(Mark):
    """The operand, from which on a pass may keep several small numbers in one word.

    relay> annotation.bitpack_start([1, 2])
    [1, 2]
    """


@operator("annotation.bitpack_end")
class BitpackEnd(Mark):
    """The operand, from which on numbers are no longer kept several in one word.

    relay> annotation.bitpack_end([1, 2])
    [1, 2]
    """


@operator("on_device")
class OnDevice(EachMark):
    """The operand, computed on the device of that name; `constrain_result` and `constrain_body` say what is.

    Programs that are built for several devices (`relay.build(mod, {"cpu": "native", "gpu": "xla gpu"})`) and
    `PlanDevices` go by it; on one device it does nothing.
    Of a tuple, each tensor in it is marked.

    relay> on_device([1.0, 2.0], virtual_device="cpu")
    [1.0, 2.0]
    """

    aliases = ("annotation.on_device",)
    virtual_device: str = ""
    constrain_result: bool = False
    constrain_body: bool = True
    samples = (sample("2x3 float32", virtual_device="cpu"), sample("0 int32"))

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        """The cotangent, which comes from where the result is and goes to where the operand is."""
        back = replace(self, constrain_result=self.constrain_body, constrain_body=self.constrain_result)
        return (back(g),)


@operator("device_copy")
class DeviceCopy(EachMark):
    """The operand, copied from one device to another; in a program for one device it is the operand.

    Of a tuple, each tensor in it is copied.

    relay> device_copy([1.0, 2.0], src_device="cpu", dst_device="cpu")
    [1.0, 2.0]
    """

    src_device: str = ""
    dst_device: str = ""
    samples = (sample("2x3 float32", src_device="cpu", dst_device="cpu"), sample("0 int32"))

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        """The cotangent, copied back."""
        return (replace(self, src_device=self.dst_device, dst_device=self.src_device)(g),)


@operator("debug")
class Debug(Mark):
    """The operand: a place where a debugger may look at it.

    From Python, `relay.debug(x, debug_func=f)` calls `f` with the value whenever a program of this process
    comes to it.

    relay> debug([1.0, 2.0])
    [1.0, 2.0]
    """

    @staticmethod
    def builder(data: Any, debug_func: Any = None) -> Expr:
        """The operand; `debug_func` is called with its value when the program runs."""
        if debug_func is None:
            return Debug()(data)
        return Tap(number=listen(debug_func))(data)


@operator("shard")
class Shard(Mark):
    """The operand, split over the devices of a mesh: for each axis `spec` names the axis of the mesh that it
    is split along, several of them, or None.

    Axes that `spec` does not reach are whole on each device, so `spec=()` is a copy on each.  On backends
    without a mesh it is the operand.

    relay> shard([1.0, 2.0], spec=("data",))
    [1.0, 2.0]
    """

    is_pointwise = False
    spec: tuple[str | tuple[str, ...] | None, ...]
    samples = (
        sample("2x3 float32", spec=()),
        sample("2x3 float32", spec=("data", None)),
        sample("4x2x3 int32", spec=(None, ("data", "model"))),
        sample("bool", spec=()),
        sample("0 float32", spec=("data",)),
    )

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        super().relate(t, args, out)
        axes = mesh_axes(self.spec)
        twice = next((a for i, a in enumerate(axes) if a in axes[:i]), None)
        if twice is not None:
            t.fail("bad-sharding", f"the axis `{twice}` of the mesh is used twice", hint=ONE_USE)
        if self.spec:
            rank = len(t.shape(args[0]))
            if len(self.spec) > rank:
                message = f"`spec` names {len(self.spec)} axes of a tensor of rank {rank}"
                t.fail("bad-sharding", message, hint="it has an axis of the mesh, or None, for each axis")

    def traced(self, np: Any, data: Array) -> Array:
        return np.sharded(data, self.spec)

    def batch(self, n: Dim, which: Sequence[bool], data: Expr) -> Expr:
        """Rows are whole where one row says nothing about them."""
        return replace(self, spec=(None, *self.spec))(data)


ONE_USE = "each axis of a mesh splits one axis of a tensor"


def mesh_axes(spec: Sequence[Any]) -> list[str]:
    """The axes of a mesh that a specification names."""
    return [a for part in spec if part is not None for a in ((part,) if isinstance(part, str) else part)]
