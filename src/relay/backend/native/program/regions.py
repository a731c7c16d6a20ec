"""Definitions that other compilers take: calls of functions of C, or of Python where there is none of C."""

from relay.analysis.annotated_regions import compiler_of
from relay.backend.native.llvm.builder import POINTER, Value, integer
from relay.backend.native.llvm.modules import Piece
from relay.backend.native.memory.layout import TENSOR_DATA_OFFSET
from relay.backend.native.memory.objects import REGIONS, release
from relay.backend.native.memory.representation import is_scalar, parts_of
from relay.backend.native.memory.tensors import element, new_tensor, set_element
from relay.backend.native.program.atoms import Atoms
from relay.backend.native.program.program import Program, emit_return
from relay.backend.native.program.python_calls import called
from relay.backend.native.program.recording import force
from relay.interpreter.regions import is_of_known_sizes
from relay.ir.expr import Function
from relay.ir.type import TensorType, Type


class RegionCall(Atoms):
    """The code of a definition that another compiler takes."""

    def __init__(self, program: Program, symbol: str, fn: Function) -> None:
        """`symbol` is the name of the code."""
        super().__init__(program, symbol, fn, "nounwind")
        assert fn.ret_type is not None
        self.returned: Type = fn.ret_type

    def piece(self) -> Piece:
        """The code; it owns what it is given."""
        for p in self.fn.params:
            force(self.program, self.code, self.types(p), self.values[p])
        given = [v for p in self.fn.params for v in self.values[p]]
        types = [self.returned, *[p.type_annotation for p in self.fn.params]]
        if all(map(is_of_known_sizes, types)):
            found = self.in_either(given)
        else:
            found = called(self.program, self.code, self.fn, given)
        for p in self.fn.params:
            if self.is_managed(p):
                release(self.code, self.values[p])
        emit_return(self.program, self.code, self.result, found)
        return self.code.piece()

    def in_either(self, given: list[Value]) -> list[Value]:
        """The result of the function of C, if there is one when the program is loaded; else of Python's."""
        code = self.code
        table, at = code.refer(f"@{REGIONS}"), 8 * len(self.program.references)
        address = code.load(POINTER, Value(POINTER, f"getelementptr (i8, ptr {table}, i64 {at})"))
        in_c, in_python, end = code.label(), code.label(), code.label()
        is_there = code.compare("icmp ne", address, Value(POINTER, "null"))
        code.branch(is_there, in_c, in_python, likely=True)
        code.block(in_c)
        arrivals = [(self.in_c(address, given), code.here)]
        code.jump(end)
        code.block(in_python)
        self.program.fallbacks += 1
        arrivals.append((called(self.program, code, self.fn, given), code.here))
        code.jump(end)
        code.block(end)
        return code.join(arrivals)

    def in_c(self, address: Value, given: list[Value]) -> list[Value]:
        """What a function of C writes into new tensors."""
        code = self.code
        parts = [part for p in self.fn.params for part in parts_of(self.types(p))]
        inputs = [self.elements(part, v) for part, v in zip(parts, given, strict=True)]
        tensors: list[Value | None] = []
        outputs: list[Value] = []
        for part in parts_of(self.returned):
            assert isinstance(part, TensorType)
            if is_scalar(part):
                tensors.append(None)
                outputs.append(code.room(8))
            else:
                dims = [integer(d) for d in part.concrete_shape]
                made = new_tensor(code, self.program.layouts, part, dims)
                tensors.append(made)
                outputs.append(code.load(POINTER, code.at(made, TENSOR_DATA_OFFSET)))
        rows = [self.row(inputs), self.row(outputs)]
        status = code.set("i32", f"call i32 {address.ref}({rows[0]}, {rows[1]})")
        well, ill = code.label(), code.label()
        code.branch(code.compare("icmp eq", status, integer(0, 32)), well, ill, likely=True)
        code.block(ill)
        names = f"`{compiler_of(self.fn)}` for `@{self.fn.attrs['global_symbol']}`"
        message = f"the code of {names} returned another number than 0"
        self.fail("region-failed", message, self.fn, "0 is for all is well")
        code.block(well)
        found = zip(self.result, tensors, outputs, strict=True)
        return [element(code, p, kind, integer(0)) if x is None else x for kind, x, p in found]

    def elements(self, t: Type, v: Value) -> Value:
        """Where the elements of an argument are."""
        if not is_scalar(t):
            return self.code.load(POINTER, self.code.at(v, TENSOR_DATA_OFFSET))
        room = self.code.room(8)
        set_element(self.code, room, integer(0), v)
        return room

    def row(self, addresses: list[Value]) -> Value:
        """Addresses one behind the other in memory."""
        row = self.code.room(8 * max(1, len(addresses)))
        for i, p in enumerate(addresses):
            self.code.store(p, self.code.at(row, 8 * i))
        return row
