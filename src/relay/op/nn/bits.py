"""Numbers of a few bits: packed into words, and products of them."""

from typing import Any, Literal

from relay.ir.dim import floor_divide
from relay.ir.dtype import bits as width_of
from relay.ir.expr import Call, Expr, Op, as_expr, constant
from relay.ir.type import TensorType, Type
from relay.op.attribute import DTypeName
from relay.op.axes import attribute_fault, axis_of
from relay.op.base import INTEGRAL, sample
from relay.op.composite import Composite
from relay.op.kind import Derivative
from relay.op.nn.layout import Spatial
from relay.op.numeric import apply, dims
from relay.op.registry import instance, operator
from relay.op.relation import Typing
from relay.op.term import Term

Word = Literal["uint8", "uint16", "uint32", "uint64"]


@operator("nn.bitpack")
class BitPack(Composite):
    """The bits of integers in words: along `pack_axis` each word holds one bit of so many neighbours.

    The first of them is the highest bit.  The bits of a number, the lowest first, are a new axis `bit_axis`.

    relay> nn.bitpack([1, 0, 0, 0, 0, 0, 1, 1], pack_axis=0, bit_axis=0, pack_type="uint8")
    [[131]]
    """

    derivative = Derivative.ZERO
    bits: int = 1
    pack_axis: int = 1
    bit_axis: int = 2
    pack_type: Word = "uint32"

    @staticmethod
    def builder(
        data: Any,
        bits: int = 1,
        pack_axis: int = 1,
        bit_axis: int = 2,
        pack_type: str = "uint32",
        name: str = "bitpack",
    ) -> Expr:
        """See the operator; `name`, which the original has for its kernel, changes nothing."""
        del name
        attrs = {"bits": bits, "pack_axis": pack_axis, "bit_axis": bit_axis, "pack_type": pack_type}
        return Call(Op.get(BitPack.name), (as_expr(data),), attrs)

    samples = (
        sample("2x16x3 uint8", bits=2, pack_axis=1, bit_axis=2, pack_type="uint8"),
        sample("2x32 uint32", bits=3, bit_axis=0),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        t.dtype_in(data, INTEGRAL, "the data")
        shape = list(t.shape(data))
        at, word = axis_of(t, self.pack_axis, len(shape), "pack_axis"), width_of(self.pack_type)
        if not 1 <= self.bits <= word:
            attribute_fault(t, "bits", self.bits, f"a word has {word} bits")
        t.require(word, "divides", shape[at], "words are full")
        shape[at] = floor_divide(shape[at], word)
        shape.insert(axis_of(t, self.bit_axis, len(shape) + 1, "bit_axis", "the result"), self.bits)
        return TensorType(shape, self.pack_type)

    def decompose(self, types: Any, data: Expr) -> Expr:
        rank, word = len(dims(types[0])), width_of(self.pack_type)
        at = self.pack_axis % rank
        x = Term(data, types[0].dtype).cast(self.pack_type)
        codes = [0] * at + [-4, -1, word] + [-2]
        parts = x.of("reshape", newshape=tuple(codes))
        places = [constant(_shifts(self.pack_type, word).reshape([-1] + [1] * (rank - 1 - at)))]
        planes: list[Expr] = []
        for k in range(self.bits):
            bit = ((parts >> k) & 1) << places[0]
            planes.append(bit.of("sum", axis=(at + 1,)).expr)
        return apply("stack", tuple(planes), axis=self.bit_axis % (rank + 1))


def _shifts(dtype: str, word: int) -> Any:
    """How far each bit of a word is from its lowest."""
    import numpy

    return numpy.arange(word - 1, -1, -1).astype(dtype)


def of_bits(x: Term, bits: int) -> Term:
    """The lowest bits of integers, as int32."""
    return x.cast("int32") & ((1 << bits) - 1)


def weight_of_bits(w: Term, bits: int, unipolar: bool) -> Term:
    """What a weight of so many bits stands for; `unipolar` data has weights whose bits are -1 and 1."""
    found = of_bits(w, bits)
    return found * 2 - ((1 << bits) - 1) if unipolar else found


@operator("nn.bitserial_dense")
class BitserialDense(Composite):
    """`nn.dense` of data of `data_bits` bits by a weight of `weight_bits`, of which only those count.

    With `unipolar` each bit of the weight stands for -1 or 1 times its power of 2.  Source: Umuroglu and
    Jahre, 2017.

    relay> nn.bitserial_dense(cast([[1, 1]], dtype="int16"), cast([[1, 0], [1, 1]], dtype="int16"))
    [[0, 2]]
    """

    derivative = Derivative.ZERO
    units: int | None = None
    data_bits: int = 1
    weight_bits: int = 1
    pack_dtype: Word = "uint32"
    out_dtype: DTypeName = DTypeName("int16")
    unipolar: bool = True
    dtypes = INTEGRAL
    samples = (
        sample("3x8 int16", "4x8 int16", units=4, data_bits=2),
        sample("3x8 uint8", "4x8 uint8", weight_bits=2, data_bits=2, unipolar=False),
    )

    def infer(self, t: Typing, data: Type, weight: Type) -> Type:
        return instance("nn.dense", {"units": self.units, "out_dtype": self.out_dtype}).infer(t, data, weight)

    def decompose(self, types: Any, data: Expr, weight: Expr) -> Expr:
        x = of_bits(Term(data, types[0].dtype), self.data_bits)
        w = weight_of_bits(Term(weight, types[1].dtype), self.weight_bits, self.unipolar)
        return x.of("nn.dense", w, units=self.units).cast(self.out_dtype).expr


@operator("nn.bitserial_conv2d")
class BitserialConv2D(Composite):
    """`nn.conv2d` of data of `activation_bits` bits by a weight of `weight_bits`, of which only those count.

    With `unipolar` each bit of the weight stands for -1 or 1 times its power of 2.

    relay> nn.bitserial_conv2d(cast([[[[1, 1]]]], dtype="int16"), cast([[[[0]]]], dtype="int16"))
    [[[[-1, -1]]]]
    """

    derivative = Derivative.ZERO
    strides: Spatial = (1, 1)
    padding: Spatial = (0, 0)
    channels: int | None = None
    kernel_size: Spatial | None = None
    activation_bits: int = 1
    weight_bits: int = 1
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    pack_dtype: Word = "uint32"
    out_dtype: DTypeName = DTypeName("int16")
    unipolar: bool = True
    dtypes = INTEGRAL
    samples = (
        sample("1x3x5x6 int16", "4x3x3x3 int16", padding=(1, 1), activation_bits=2),
        sample("1x5x6x3 uint8", "3x3x3x4 uint8", unipolar=False, data_layout="NHWC", kernel_layout="HWIO"),
    )

    def inner(self) -> dict[str, Any]:
        """The attributes of `nn.conv2d`."""
        names = ("strides", "padding", "channels", "kernel_size", "data_layout", "kernel_layout")
        return {name: self[name] for name in names}

    def infer(self, t: Typing, data: Type, weight: Type) -> Type:
        return instance("nn.conv2d", {**self.inner(), "out_dtype": self.out_dtype}).infer(t, data, weight)

    def decompose(self, types: Any, data: Expr, weight: Expr) -> Expr:
        x = of_bits(Term(data, types[0].dtype), self.activation_bits)
        w = weight_of_bits(Term(weight, types[1].dtype), self.weight_bits, self.unipolar)
        return x.of("nn.conv2d", w, **self.inner()).cast(self.out_dtype).expr
