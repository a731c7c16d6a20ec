"""Arithmetic on numbers as LLVM IR, one or one for each lane.

Integers wrap; those of 2 and 4 bits are kept in bytes, wrapped after each operation.  Short floats are
computed in float32 and rounded after each operation.
"""

from typing import Any, NamedTuple

from relay.backend.native.llvm.builder import Code, Value, integer
from relay.backend.native.llvm.literals import float_text
from relay.backend.native.llvm.vectors import element_of
from relay.backend.native.math import minifloats
from relay.backend.native.math.lanes import Lane
from relay.backend.native.math.minifloats import FORMATS
from relay.backend.native.math.vector_math import divide_by_splat, emit_function
from relay.backend.native.memory.representation import is_signed, scalar
from relay.backend.native.memory.strings import (
    EMPTY,
    FROM_VALUE,
    call_string_function,
    compare_strings,
    text_of_float,
    text_of_integer,
)
from relay.ir.dtype import integer_range, is_float, is_integer
from relay.ir.expr import Expr

SHORT_FLOATS = ("float16", "bfloat16", *FORMATS)


class Number(NamedTuple):
    """A number of a dtype."""

    dtype: str
    value: Value


def literal(dtype: str, value: Any) -> Value:
    """A number of a dtype as LLVM writes it."""
    kind = scalar(dtype)
    if dtype == "bool":
        return Value(kind, "true" if value else "false")
    if is_integer(dtype):
        return Value(kind, str(int(value)))
    if dtype == "string":
        assert not value, "programs have all strings but the empty one as constants"
        return EMPTY
    return Value(kind, float_text(dtype, float(value)))


class NumberEmitter:
    """Numbers at one expression, written to the code of a function."""

    def __init__(self, program: Any, code: Code, at: Expr) -> None:
        """`program` collects sites of failure; `at` is where checks fail."""
        self.program = program
        self.code = code
        self.at = at

    # --- numbers ---

    def const(self, value: Any, like: Number | str) -> Number:
        """A constant of the dtype of another number, or of the dtype that is named."""
        dtype = like if isinstance(like, str) else like.dtype
        return Number(dtype, literal(dtype, value))

    def select(self, c: Number, x: Number, y: Number) -> Number:
        """`x` where `c`, else `y`."""
        return Number(x.dtype, self.code.select(c.value, x.value, y.value))

    def wrapped(self, dtype: str, v: Value) -> Number:
        """An integer of 2 or 4 bits in its range again; others as they are."""
        if dtype[-1] in "24" and dtype.rstrip("0123456789")[-3:] == "int" and int(dtype.split("int")[1]) < 8:
            bits = 8 - int(dtype.split("int")[1])
            up = self.code.op("shl", v, integer(bits, 8))
            v = self.code.op("ashr" if is_signed(dtype) else "lshr", up, integer(bits, 8))
        return Number(dtype, v)

    def arithmetic(self, name: str, *xs: Number) -> Number:
        """`add`, `sub`, `mul` of two numbers, or `neg` of one."""
        dtype = xs[0].dtype
        if is_float(dtype):
            return self.floating(f"f{name}", *xs)
        if name == "neg":
            return self.wrapped(dtype, self.code.op("sub", literal(dtype, 0), xs[0].value))
        return self.wrapped(dtype, self.code.op(name, xs[0].value, xs[1].value))

    def floating(self, name: str, *xs: Number) -> Number:
        """An instruction on floats."""
        values = [self.widened(x) for x in xs]
        if len(values) == 1:
            found = self.code.set(values[0].type, f"{name} {values[0]}")
        elif name == "fdiv" and values[0].type[0] == "<" != values[1].type[0]:
            x, y = (Lane(self.program, self.code, v) for v in values)
            found = divide_by_splat(x, y).value
        else:
            found = self.code.op(name, values[0], values[1])
        return Number(xs[0].dtype, self.narrowed(found, xs[0].dtype))

    def widened(self, x: Number) -> Value:
        """A float as one that is computed with: a short one as float32."""
        code = self.code
        if x.dtype in FORMATS:
            return minifloats.minifloat_to_float32(self.program, code, x.value, x.dtype)
        if x.dtype == "bfloat16":
            return code.cast(
                "bitcast", code.op("shl", code.cast("zext", x.value, "i32"), integer(16, 32)), "float"
            )
        return code.cast("fpext", x.value, "float") if x.dtype == "float16" else x.value

    def narrowed(self, v: Value, dtype: str) -> Value:
        """A float32 or float64 as a float of some dtype, rounded to nearest, once."""
        code = self.code
        if dtype == "float64":
            return code.cast("fpext", v, "double")
        if dtype == "float32":
            return code.cast("fptrunc", v, "float")
        single = self.rounded_to_odd(v) if element_of(v.type) == "double" else v
        if dtype in FORMATS:
            return minifloats.float32_to_minifloat(code, single, dtype)
        return code.cast("fptrunc", single, "half") if dtype == "float16" else self.bfloat(single)

    def rounded_to_odd(self, v: Value) -> Value:
        """A float64 as the float32 next to it towards 0, its last bit set if that is inexact.

        Rounding this to fewer bits gives what rounding the float64 would (Boldo and Melquiond, 2008).
        """
        code = self.code
        near = code.cast("fptrunc", v, "float")
        back = code.cast("fpext", near, "double")
        bits = code.cast("bitcast", near, "i32")
        sizes = [code.op("and", code.cast("bitcast", x, "i64"), integer(2**63 - 1)) for x in (back, v)]
        too_far = code.compare("icmp ugt", *sizes)
        towards = code.op("sub", bits, code.cast("zext", too_far, "i32"))
        odd = code.op("or", towards, integer(1, 32))
        inexact = code.compare("fcmp one", back, v)
        return code.cast("bitcast", code.select(inexact, odd, bits), "float")

    def bfloat(self, v: Value) -> Value:
        """A float32 as a bfloat16, by its bits: not every processor has an instruction."""
        code = self.code
        bits = code.cast("bitcast", v, "i32")
        even = code.op("and", code.op("lshr", bits, integer(16, 32)), integer(1, 32))
        up = code.op("add", bits, code.op("add", even, integer(0x7FFF, 32)))
        nan = code.compare("fcmp uno", v, v)
        chosen = code.select(nan, code.op("or", bits, integer(1 << 22, 32)), up)
        return code.cast("trunc", code.op("lshr", chosen, integer(16, 32)), "i16")

    def add(self, x: Number, y: Number) -> Number:
        """`x + y`."""
        return self.arithmetic("add", x, y)

    def subtract(self, x: Number, y: Number) -> Number:
        """`x - y`."""
        return self.arithmetic("sub", x, y)

    def multiply(self, x: Number, y: Number) -> Number:
        """`x * y`."""
        return self.arithmetic("mul", x, y)

    def negative(self, x: Number) -> Number:
        """`-x`."""
        return self.arithmetic("neg", x)

    def divide(self, x: Number, y: Number) -> Number:
        """`x / y`; integers are rounded towards 0, and `y` is not 0."""
        return self.floating("fdiv", x, y) if is_float(x.dtype) else self.integer_division("div", x, y)

    def remainder(self, x: Number, y: Number) -> Number:
        """The remainder of `x / y`, rounded towards 0; of integers, `y` is not 0."""
        return self.floating("frem", x, y) if is_float(x.dtype) else self.integer_division("rem", x, y)

    def integer_division(self, name: str, x: Number, y: Number) -> Number:
        """A quotient or remainder of integers; that of the least and -1 wraps."""
        code = self.code
        zero = literal(y.dtype, 0)
        if not is_signed(x.dtype):
            return Number(x.dtype, code.op(f"u{name}", x.value, y.value))
        minus = code.compare("icmp eq", y.value, literal(y.dtype, -1))
        safe = code.select(minus, literal(y.dtype, 1), y.value)
        found = code.op(f"s{name}", x.value, safe)
        if name == "div":
            found = code.select(minus, code.op("sub", zero, x.value), found)
        return self.wrapped(x.dtype, found)

    def refuse(self, condition: Value, kind: str, message: str, hint: str) -> None:
        """Fail where a condition holds."""
        code = self.code
        bad, good = code.label(), code.label()
        code.branch(code.is_any(condition), bad, good, likely=False)
        code.block(bad)
        n = self.program.site(kind, message, self.at, hint)
        code.do(f"call void @relay.fail(ptr %ctx, i64 {n})")
        code.do("unreachable")
        code.block(good)

    def compare(self, kind: str, x: Number, y: Number) -> Number:
        """`eq`, `ne`, `lt`, `le`, `gt` or `ge`; all but `ne` are False where one is NaN."""
        if x.dtype == "string":
            return Number("bool", compare_strings(self.code, kind, x.value, y.value))
        if is_float(x.dtype):
            name = "fcmp une" if kind == "ne" else f"fcmp o{kind}"
            return Number("bool", self.code.compare(name, self.widened(x), self.widened(y)))
        sign = "" if kind in ("eq", "ne") else "s" if is_signed(x.dtype) else "u"
        return Number("bool", self.code.compare(f"icmp {sign}{kind}", x.value, y.value))

    def bits(self, name: str, x: Number, y: Number) -> Number:
        """`and`, `or`, `xor`, `shl`, `ashr` or `lshr` of integers; the first three of truth values too."""
        return self.wrapped(x.dtype, self.code.op(name, x.value, y.value))

    def function(self, name: str, *xs: Number) -> Number:
        """A function of floats by its name: one of `vector_math`, or an instruction that LLVM names."""
        lanes = [Lane(self.program, self.code, self.widened(x)) for x in xs]
        return Number(xs[0].dtype, self.narrowed(emit_function(name, lanes).value, xs[0].dtype))

    def of_strings(self, name: str, dtype: str, *xs: Number) -> Number:
        """A function of strings by its name: see `relay.op.strings`."""
        code = self.code
        if name != FROM_VALUE:
            return Number(dtype, call_string_function(code, name, [x.value for x in xs]))
        (x,) = xs
        if is_float(x.dtype):
            return Number(dtype, text_of_float(code, code.cast("fpext", self.widened(x), "double"), x.dtype))
        kind = "sext" if is_signed(x.dtype) else "zext"
        return Number(dtype, text_of_integer(code, code.cast(kind, x.value, "i64"), x.dtype))

    # --- conversion ---

    def cast(self, x: Number, dtype: str) -> Number:
        """`x` in another dtype: integers wrap, floats saturate on the way to integers and NaN gives 0."""
        code, source, kind = self.code, x.dtype, scalar(dtype)
        if source == dtype:
            return x
        if dtype == "bool":
            return self.compare("ne", x, self.const(0, x))
        if is_float(source) and is_float(dtype):
            return Number(dtype, self.narrowed(self.widened(x), dtype))
        if is_float(source):
            return self.saturated(x, dtype)
        if is_float(dtype):
            how = "sitofp" if is_signed(source) else "uitofp"
            wide = code.cast(how, x.value, "float" if dtype in SHORT_FLOATS else kind)
            return Number(dtype, self.narrowed(wide, dtype))
        width = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
        if width[kind] < width[element_of(x.value.type)]:
            return self.wrapped(dtype, code.cast("trunc", x.value, kind))
        return self.wrapped(dtype, code.cast("sext" if is_signed(source) else "zext", x.value, kind))

    def saturated(self, x: Number, dtype: str) -> Number:
        """A float as an integer, held within its range."""
        code = self.code
        low, high = integer_range(dtype)
        if element_of(self.widened(x).type) == "float" and max(-low, high) < 1 << 16:
            return self.saturated_in_lanes(x, dtype)
        wide = code.cast("fpext", self.widened(x), "double")
        below = code.compare("fcmp olt", wide, literal("float64", low))
        above = code.compare("fcmp oge", wide, literal("float64", float(high)))
        nan = code.compare("fcmp uno", wide, wide)
        outside = code.op("or", code.op("or", below, above), nan)
        safe = code.select(outside, literal("float64", 0), wide)
        made = code.cast("fptosi" if low < 0 else "fptoui", safe, "i64")
        whole = Value("i64", str(high if high < 2**63 else high - 2**64))
        made = code.select(above, whole, code.select(below, integer(low), made))
        return Number(dtype, code.cast("trunc", made, scalar(dtype)))

    def saturated_in_lanes(self, x: Number, dtype: str) -> Number:
        """A float32 as an integer of at most 16 bits, held within its range by instructions on vectors."""
        code, (low, high) = self.code, integer_range(dtype)
        v = self.widened(x)
        for how, bound in (("fcmp ogt", float(low)), ("fcmp olt", float(high))):
            edge = literal("float32", bound)
            v = code.select(code.compare(how, v, edge), v, edge)
        whole = code.cast("fptosi", v, "i32")
        if low < 0:
            nan = code.compare("fcmp uno", self.widened(x), self.widened(x))
            whole = code.select(nan, integer(0, 32), whole)
        return self.wrapped(dtype, code.cast("trunc", whole, scalar(dtype)))

    def reinterpret(self, x: Number, dtype: str) -> Number:
        """The bits of `x` as a number of another dtype of the same width."""
        bits = self.code.cast("bitcast", x.value, scalar(dtype))
        if dtype == "float4_e2m1fn":
            bits = self.code.op("and", bits, integer(15, 8))
        return self.wrapped(dtype, bits)
