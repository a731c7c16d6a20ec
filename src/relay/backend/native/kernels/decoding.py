"""How kernels read weights in blocks: bytes as vectors of codes, codes as vectors of floats."""

from dataclasses import dataclass
from typing import Any

from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.functions import kernel_function
from relay.backend.native.loops.nodes import ADDRESS, INDEX, Buffer, Function, Index, Value
from relay.op.blocks.formats import FORMATS, BlockFormat
from relay.op.blocks.readers import At, ElementReader, Word, index_of

PARAMS = (("source", ADDRESS), ("count", INDEX), ("to", ADDRESS))
"""Where blocks begin, how many they are, and where their numbers go, as float32."""


class BlockReader(ElementReader):
    """Reads a block in memory: one byte, or neighbours along the lanes."""

    def __init__(self, b: Builder, at: Value, form: BlockFormat) -> None:
        """`at` is where the block begins."""
        buffer = Buffer(at, "uint8", (form.bytes,), "block")
        super().__init__(b, lambda i: b.read(buffer, (i,)))
        self.build, self.at, self.form = b, at, form

    def half(self, at: int) -> Word:
        """A float16, as float32; blocks have an even number of bytes."""
        b = self.build
        place = b.address(self.at, at)
        return Word(b, b.cast(b.read(Buffer(place, "float16", (1,)), (0,)), "float32"))

    def bit(self, at: int, number: "At | int") -> Word:
        """A bit of 32."""
        b = self.build
        word = b.read(Buffer(b.address(self.at, at), "uint32", (1,)), (0,))
        shift = b.as_number(index_of(number), "uint32")
        low = b.bits("and", b.bits("lshr", word, shift), b.const(1, "uint32"))
        return Word(b, b.cast(low, "uint8"))

    def number(self, r: int, x: Index) -> Value:
        """The code of a number of run `r`, as float32; `x` goes along the lanes."""
        b, code = self.build, self.code(r, x)
        whole = b.reinterpret(code, "int8") if self.form.is_signed else b.cast(code, "int32")
        return b.cast(whole, "float32")

    def code(self, r: int, x: Index) -> Value:
        """The code itself, a byte."""
        return self.form.code(self, r, At(self.build, x)).x


@dataclass(frozen=True)
class Decoding:
    """A way of writing what blocks stand for."""

    format: str

    @property
    def form(self) -> BlockFormat:
        """The format."""
        return FORMATS[self.format]

    @property
    def name(self) -> str:
        """The symbol of its code."""
        return f"relay.decode.{self.format}"

    def function(self) -> Function:
        """Its loops."""
        return kernel_function(self.name, PARAMS, self.build)

    def build(self, b: Builder, given: Any) -> None:
        """Block after block, run after run."""
        source, count, to = given
        form = self.form
        out = Buffer(to, "float32", (count, form.size), "to")

        def block(i: Index, _: Any) -> None:
            a = BlockReader(b, b.address(source, b.times(i, form.bytes)), form)
            for r in range(form.size // form.run):
                scale = form.scale(a, r).x
                least = None if form.minimum is None else form.minimum(a, r).x

                def put(x: Index, r: int = r, scale: Value = scale, least: Value | None = least) -> None:
                    code = a.number(r, x)
                    code = b.subtract(code, b.const(form.zero, code)) if form.zero else code
                    found = b.multiply(scale, code)
                    found = found if least is None else b.add(found, least)
                    b.write(out, (i, b.plus(r * form.run, x)), found)

                b.vector(form.run, put)

        b.loop(count, (), block)
