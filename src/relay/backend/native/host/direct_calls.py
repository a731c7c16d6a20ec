"""Compiled definitions as functions of CPython: numbers and arrays go in and out without Python in between.

The code that is made here reads Python's objects where CPython and NumPy keep their parts: a float's
number, an array's address, sizes and flags.  What it does not expect (another type, another dtype, an
array that is not contiguous) goes the long way, through `NativeProgram.evaluate`, which converts or refuses
it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.backend.native.host.direct_donation import donated_array, expect_apart, returned_arrays
from relay.backend.native.host.direct_types import is_array, static_dims
from relay.backend.native.host.python_objects import (
    ARRAY_DATA,
    ARRAY_DESCR,
    ARRAY_DIMS,
    ARRAY_FLAGS,
    ARRAY_RANK,
    FLOAT_AT,
    ITEMS_AT,
    READABLE,
    SCALAR_AT,
    TYPE_AT,
    WRITEABLE,
    Objects,
)
from relay.backend.native.host.values import SHARED
from relay.backend.native.llvm.builder import POINTER, Code, Value, integer
from relay.backend.native.llvm.modules import Piece
from relay.backend.native.memory.layout import (
    BOX_OFFSET,
    INTERRUPTED,
    NEXT_OFFSET,
    SITE_OFFSET,
    TENSOR_DATA_OFFSET,
    TENSOR_SIZES_OFFSET,
)
from relay.backend.native.memory.objects import EXTERNAL, header
from relay.backend.native.memory.representation import memory
from relay.backend.native.memory.tensors import elements_at
from relay.ir.dtype import is_float, to_numpy
from relay.ir.type import ANY, TensorType, TupleType, Type

NEW_SCALAR, NEW_FROM_DESCR, SET_BASE = 60, 94, 282
"""Places in the table of NumPy's functions."""

DECLARATIONS = """
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyTuple_New(i64)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare void @relay_begin(ptr)
declare void @relay_end(ptr)
declare i32 @relay_enter(ptr, ptr)
declare i64 @relay_outside(ptr, ptr)
declare void @relay_give(ptr, i64)
declare void @relay_clear(ptr)
declare ptr @relay_new_tensor(ptr, i64)
declare ptr @relay_give_away(ptr, ptr)
declare void @Py_DecRef(ptr)
declare void @relay_forget(ptr)
declare void @Py_IncRef(ptr)
@relay.contexts = global ptr null
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


class Entry:
    """The code of one definition as CPython calls it."""

    def __init__(
        self,
        name: str,
        start: str,
        objects: Objects,
        params: Sequence[Type | None],
        result: Type | None,
        is_long: bool,
        donated: Sequence[int] = (),
    ) -> None:
        """`start` is the code that works on the box of a context; while a long one runs, so may other threads
        of Python.  The arguments that are `donated` may be overwritten.
        """
        self.donated = [i for i in donated if params[i] is not None and is_array(params[i])]
        self.overwritten: list[tuple[Value, Value, TensorType]] = []
        """The tensors that these are, and the arrays."""
        self.is_long = is_long
        self.params = [t for t in params if isinstance(t, TensorType)]
        self.start = start
        self.result = result
        arguments = [Value(POINTER, "%args"), Value("i64", "%n"), Value(POINTER, "%names")]
        self.code = Code(name, POINTER, arguments, "")
        self.objects = objects
        self.context = Value(POINTER, "")
        self.number = 0

    def piece(self, tensor: int) -> Piece:
        """The whole of it; `tensor` is the number of the layout of tensors."""
        code = self.code
        self.number = tensor
        code.do("%count = and i64 %n, 9223372036854775807")
        count = Value("i64", "%count")
        self.expect(code.compare("icmp eq", count, integer(len(self.params))))
        self.expect(code.compare("icmp eq", Value(POINTER, "%names"), Value(POINTER, "null")))
        given = [code.load(POINTER, code.at(Value(POINTER, "%args"), 8 * i)) for i in range(len(self.params))]
        sizes: dict[Any, Value] = {}
        for x, t in zip(given, self.params, strict=True):
            if t.shape != ():
                self.expect_array(x, t, sizes)
        pairs = list(zip(given, self.params, strict=True))
        expect_apart(code, pairs, self.donated, self.expect)
        numbers = [self.scalar(x, str(t.dtype)) if t.shape == () else None for x, t in pairs]
        contexts = Value(POINTER, "@relay.contexts")
        self.context = code.load(POINTER, contexts)
        self.expect(code.compare("icmp ne", self.context, Value(POINTER, "null")))
        code.store(code.load(POINTER, code.at(self.context, NEXT_OFFSET)), contexts)
        box = code.load(POINTER, code.at(self.context, BOX_OFFSET))
        leaves = [n or self.argument(i, *pairs[i]) for i, n in enumerate(numbers)]
        for i, v in enumerate(leaves):
            code.store(code.cast("zext", v, memory(v.type)), code.at(box, 8 * i))
        failed = self.entered()
        code.branch(code.compare("icmp eq", failed, integer(0, 32)), "done", "failed", likely=True)
        code.block("done")
        found = self.returned(box, self.result)
        code.do(f"call void @relay_give({self.context}, i64 1)")
        code.do(f"ret {found}")
        code.block("failed")
        site = code.load("i64", code.at(self.context, SITE_OFFSET))
        code.do(f"call void @relay_clear({self.context})")
        code.do(f"call void @relay_give({self.context}, i64 1)")
        code.branch(code.compare("icmp eq", site, integer(INTERRUPTED)), "interrupted", "told")
        code.block("interrupted")
        code.do("ret ptr null")
        code.block("told")
        code.do(f"ret {self.told(site, given)}")
        code.block("long")
        slow = code.load(POINTER, code.at(Value(POINTER, "%ctx"), ITEMS_AT))
        found = code.set(POINTER, f"call ptr @PyObject_Vectorcall({slow}, ptr %args, i64 %count, ptr %names)")
        code.do(f"ret {found}")
        return code.piece()

    def entered(self) -> Value:
        """Whether the program has failed."""
        code = self.code
        call = f"call i32 @relay_enter({self.context}, ptr @{self.start})"
        if not self.is_long:
            return code.set("i32", call)
        code.do(f"call void @relay_begin({self.context})")
        failed = code.set("i32", call)
        code.do(f"call void @relay_end({self.context})")
        return failed

    def told(self, site: Value, given: Sequence[Value]) -> Value:
        """Leave it to Python to say what has failed, and in which call."""
        code = self.code
        fail = code.load(POINTER, code.at(Value(POINTER, "%ctx"), ITEMS_AT + 8))
        number = code.set(POINTER, f"call ptr @PyLong_FromLongLong({site})")
        row = code.set(POINTER, f"alloca [{len(given) + 1} x ptr]")
        for i, x in enumerate([number, *given]):
            code.store(x, code.at(row, 8 * i))
        what = f"{fail}, {row}, i64 {len(given) + 1}, ptr null"
        found = code.set(POINTER, f"call ptr @PyObject_Vectorcall({what})")
        code.do(f"call void @Py_DecRef({number})")
        return found

    def object(self, name: str) -> Value:
        """The address of an object of Python."""
        return self.objects.load(self.code, name)

    def function(self, place: int) -> str:
        """The address of one of NumPy's functions, as something to call."""
        return self.object(f"numpy:{place}").ref

    def expect(self, condition: Value) -> None:
        """Go the long way unless a condition holds."""
        label = self.code.label()
        self.code.branch(condition, label, "long", likely=True)
        self.code.block(label)

    def scalar(self, x: Value, dtype: str) -> Value:
        """A number out of a NumPy scalar of the dtype, such as a result is, or a Python number."""
        code = self.code
        kind = code.load(POINTER, code.at(x, TYPE_AT))
        own, other, end = code.label(), code.label(), code.label()
        code.branch(code.compare("icmp eq", kind, self.object(f"scalar:{dtype}")), own, other)
        code.block(own)
        leaf = {"float32": "float", "float64": "double"}.get(dtype, f"i{8 * to_numpy(dtype).itemsize}")
        held = code.load(leaf, code.at(x, SCALAR_AT))
        first = code.compare("icmp ne", held, integer(0, 8)) if dtype == "bool" else held
        code.jump(end)
        code.block(other)
        second = self.python_number(x, kind, dtype)
        here = code.here
        code.jump(end)
        code.block(end)
        return code.join([([first], own), ([second], here)])[0]

    def python_number(self, x: Value, kind: Value, dtype: str) -> Value:
        """A number out of a Python object of just that kind, `kind` being its type."""
        code = self.code
        if dtype == "bool":
            yes, no = [code.compare("icmp eq", x, self.object(b)) for b in ("True", "False")]
            self.expect(code.op("or", yes, no))
            return yes
        if is_float(dtype):
            self.expect(code.compare("icmp eq", kind, self.object("float")))
            number = code.load("double", code.at(x, FLOAT_AT))
            return number if dtype == "float64" else code.cast("fptrunc", number, "float")
        self.expect(code.compare("icmp eq", kind, self.object("int")))
        flag = code.set(POINTER, "alloca i32")
        number = code.set("i64", f"call i64 @PyLong_AsLongLongAndOverflow({x}, {flag})")
        self.expect(code.compare("icmp eq", code.load("i32", flag), integer(0, 32)))
        info = np.iinfo(to_numpy(dtype))
        if info.min > -(2**63):
            self.expect(code.compare("icmp sge", number, integer(int(info.min))))
        if info.max < 2**63 - 1:
            self.expect(code.compare("icmp sle", number, integer(int(info.max))))
        bits = 8 * to_numpy(dtype).itemsize
        return number if bits == 64 else code.cast("trunc", number, f"i{bits}")

    def expect_array(self, x: Value, t: TensorType, sizes: dict[Any, Value]) -> None:
        """Go the long way unless a Python object is an array of that type, in C order; `sizes` are those of
        the dimensions that have a name.
        """
        code = self.code
        shape = static_dims(t)
        self.expect(code.compare("icmp eq", code.load(POINTER, code.at(x, TYPE_AT)), self.object("ndarray")))
        descr = self.object(f"dtype:{t.dtype}")
        self.expect(code.compare("icmp eq", code.load(POINTER, code.at(x, ARRAY_DESCR)), descr))
        flags = code.load("i32", code.at(x, ARRAY_FLAGS))
        self.expect(
            code.compare("icmp eq", code.op("and", flags, integer(READABLE, 32)), integer(READABLE, 32))
        )
        rank = code.load("i32", code.at(x, ARRAY_RANK))
        self.expect(code.compare("icmp eq", rank, integer(len(shape), 32)))
        dims = code.load(POINTER, code.at(x, ARRAY_DIMS))
        for i, d in enumerate(shape):
            if d is ANY:
                continue
            size = code.load("i64", code.at(dims, 8 * i))
            known = integer(d) if isinstance(d, int) else sizes.setdefault(d, size)
            if known is not size:
                self.expect(code.compare("icmp eq", size, known))

    def argument(self, i: int, x: Value, t: TensorType) -> Value:
        """An object around the elements of an argument."""
        if i not in self.donated:
            return self.array(x, t, self.number)
        made = donated_array(self.code, self.context, x, t, self.number, self.object("capsule"))
        self.overwritten.append((made, x, t))
        return made

    def array(self, x: Value, t: TensorType, tensor: int) -> Value:
        """An object around the elements of an array; both outlive the call, so that nobody counts."""
        code = self.code
        shape = static_dims(t)
        size = elements_at(len(shape))
        p = code.set(POINTER, f"alloca [{size} x i8], align 16")
        code.store(integer(header(tensor, EXTERNAL, 0)), p)
        code.store(code.load(POINTER, code.at(x, ARRAY_DATA)), code.at(p, TENSOR_DATA_OFFSET))
        dims = code.load(POINTER, code.at(x, ARRAY_DIMS))
        for i, d in enumerate(shape):
            found = integer(d) if isinstance(d, int) else code.load("i64", code.at(dims, 8 * i))
            code.store(found, code.at(p, TENSOR_SIZES_OFFSET + 8 * i))
        return p

    def returned(self, box: Value, t: Type | None) -> Value:
        """The result as a Python object."""
        if isinstance(t, TupleType):
            return self.new_tuple(box, t)
        assert isinstance(t, TensorType)
        return self.part(box, t)

    def new_tuple(self, box: Value, t: TupleType) -> Value:
        """A tuple of the values in the box; null where there is no memory, which Python has said then.

        Each part is put into its tuple as soon as it is made, so that one that cannot be made leaves the
        outer tuple alone to be dropped.
        """
        code = self.code
        whole = code.set(POINTER, f"call ptr @PyTuple_New(i64 {len(t.fields)})")
        lost, end, at = code.label(), code.label(), 0
        self.expect_made(whole, lost)
        pending = slots(whole, t)
        while pending:
            within, i, part = pending.pop()
            if isinstance(part, TupleType):
                made = code.set(POINTER, f"call ptr @PyTuple_New(i64 {len(part.fields)})")
                pending += slots(made, part)
            else:
                assert isinstance(part, TensorType)
                made = self.part(code.at(box, 8 * at), part)
                at += 1
            self.expect_made(made, lost)
            code.store(made, code.at(within, ITEMS_AT + 8 * i))
        first = code.here
        code.jump(end)
        code.block(lost)
        code.do(f"call void @Py_DecRef({whole})")
        second = code.here
        code.jump(end)
        code.block(end)
        return code.join([([whole], first), ([Value(POINTER, "null")], second)])[0]

    def part(self, leaf: Value, t: TensorType) -> Value:
        """A tensor: an array, or a number of NumPy's."""
        code = self.code
        if t.shape != ():
            return self.new_array(code.load(POINTER, leaf), t)
        descr = self.object(f"dtype:{t.dtype}")
        return code.set(POINTER, f"call ptr {self.function(NEW_SCALAR)}({leaf}, {descr}, ptr null)")

    def expect_made(self, made: Value, lost: str) -> None:
        """Go to `lost` where there is no object."""
        label = self.code.label()
        is_made = self.code.compare("icmp ne", made, Value(POINTER, "null"))
        self.code.branch(is_made, label, lost, likely=True)
        self.code.block(label)

    def new_array(self, p: Value, t: TensorType) -> Value:
        """A tensor as an array: that of an argument which it has taken the place of, or another."""
        rank = len(static_dims(t))
        same = [(q, x) for q, x, u in self.overwritten if u.dtype == t.dtype and len(static_dims(u)) == rank]
        return returned_arrays(self.code, p, same, lambda: self.own_array(p, t))

    def own_array(self, p: Value, t: TensorType) -> Value:
        """A tensor as an array: a copy of its elements, or, if they are many and nobody else has them,
        those; null where there is no memory for a copy, which NumPy has said then.
        """
        code, shape = self.code, static_dims(t)
        size = integer(to_numpy(str(t.dtype)).itemsize)
        dims = code.set(POINTER, f"alloca [{len(shape)} x i64]")
        for i, d in enumerate(shape):
            found = (
                integer(d)
                if isinstance(d, int)
                else code.load("i64", code.at(p, TENSOR_SIZES_OFFSET + 8 * i))
            )
            code.store(found, code.at(dims, 8 * i))
            size = code.op("mul", size, found)
        data = code.load(POINTER, code.at(p, TENSOR_DATA_OFFSET))
        descr = self.object(f"dtype:{t.dtype}")
        code.do(f"call void @Py_IncRef({descr})")

        def make(elements: Value, flags: int) -> Value:
            what = f"{self.object('ndarray')}, {descr}, i32 {len(shape)}, {dims}, ptr null"
            call = f"call ptr {self.function(NEW_FROM_DESCR)}({what}, {elements}, i32 {flags}, ptr null)"
            return code.set(POINTER, call)

        give, copy, end = code.label(), code.label(), code.label()
        is_own = code.compare("icmp eq", code.load("i64", p), integer(header(self.number)))
        is_large = code.compare("icmp uge", size, integer(SHARED))
        code.branch(code.op("and", is_own, is_large), give, copy)
        code.block(give)
        shared = make(data, READABLE | WRITEABLE)
        whole = code.set(POINTER, f"call ptr @relay_give_away({self.context}, {p})")
        capsule = code.set(POINTER, f"call ptr @PyCapsule_New({whole}, ptr null, ptr @relay_forget)")
        code.do(f"call i32 {self.function(SET_BASE)}({shared}, {capsule})")
        first = code.here
        code.jump(end)
        code.block(copy)
        copied = make(Value(POINTER, "null"), 0)
        refused, fill = code.here, code.label()
        code.branch(code.compare("icmp eq", copied, Value(POINTER, "null")), end, fill, likely=False)
        code.block(fill)
        target = code.load(POINTER, code.at(copied, ARRAY_DATA))
        code.do(f"call void @llvm.memcpy.p0.p0.i64({target}, {data}, {size}, i1 false)")
        code.do(f"call void @relay.release({self.context}, {p})")
        second = code.here
        code.jump(end)
        code.block(end)
        return code.join([([shared], first), ([copied], refused), ([copied], second)])[0]


def slots(within: Value, t: TupleType) -> list[tuple[Value, int, Type]]:
    """The places of a new tuple, last first: the tuple, the number and the type."""
    return [(within, i, part) for i, part in reversed(list(enumerate(t.fields)))]
