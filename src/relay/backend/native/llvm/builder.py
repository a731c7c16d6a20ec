"""LLVM IR in the making, as text: values, functions, modules."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from relay.backend.native.llvm import jit
from relay.backend.native.llvm.modules import Piece
from relay.backend.native.llvm.vectors import SIZES, element_of, lanes_of, suffix, vector_of
from relay.backend.native.llvm.vectors import Value as Value

VOID = "void"
POINTER = "ptr"
CONTEXT = Value("ptr", "%ctx")
"""The first parameter of every function: allocator, stack and errors of the thread."""
METADATA = """
!1000 = !{!"branch_weights", i32 2000, i32 1}
!1001 = !{!"branch_weights", i32 1, i32 2000}
!1002 = distinct !{!1002, !1003}
!1003 = !{!"llvm.loop.unroll.disable"}
"""
"""What branches and loops refer to.  Lower numbers are those of the runtime's part of each module."""
ROLLED = ", !llvm.loop !1002"
"""What says at the end of a loop that it is left as it is; the runtime has the note."""

ARGUMENT_REGISTERS = 8
"""Arguments in registers on AArch64: integers and addresses, and as many floats and vectors."""
UNKNOWN_ROOM = """  %relay.none = call i64 asm "", "=r,0"(i64 0)
  %relay.room = alloca i8, i64 %relay.none
  call void asm sideeffect "", "r"(ptr %relay.room)"""
"""Memory of no bytes, of which LLVM does not know so."""


def integer(n: int, bits: int = 64) -> Value:
    """An integer constant."""
    return Value(f"i{bits}", str(n))


UNDONE_LINES = 32
"""The last lines, among which an instruction is looked for that is not needed after all."""
VALUE_OPCODES = {
    "add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "shl", "lshr", "ashr", "and", "or", "xor",
    "fneg", "fadd", "fsub", "fmul", "fdiv", "frem", "icmp", "fcmp", "select", "trunc", "zext", "sext",
    "fptrunc", "fpext", "fptosi", "fptoui", "sitofp", "uitofp", "bitcast", "inttoptr", "ptrtoint",
    "freeze", "getelementptr", "load", "extractvalue", "insertvalue", "extractelement", "insertelement",
    "shufflevector",
}  # fmt: skip
"""Instructions that compute a value or read memory, and do nothing else."""


class Code:
    """The body of one function: lines of LLVM IR, in blocks."""

    def __init__(
        self,
        name: str,
        result: str,
        params: Sequence[Value],
        attributes: str = "internal tailcc",
        traits: str = "nounwind",
    ) -> None:
        """`params` come after the context; `traits` are what LLVM may know of the function."""
        self.name = name
        self.result = result
        self.params = tuple(params)
        self.attributes = attributes
        self.traits = traits
        self.lines: list[str] = []
        self.rooms: list[str] = []
        """Memory of the function's own, which is there from its beginning."""
        self.symbols: dict[str, str] = {}
        """Symbols of the program that it refers to, each with its declaration for other modules."""
        self.declarations: dict[str, None] = {}
        """Declarations and tables that its module needs."""
        self.runtime = "relay."
        """How the names of functions begin that count references: those inside of each module, or (`relay_`)
        those to call where there are many.
        """
        self.count = 0
        self.here = "entry"
        """The label of the block that is written to."""
        self.lanes = 0
        """How many elements are computed at once; 0 where it is one, and nothing is a vector."""
        self.mask: Value | None = None
        """Which lanes count; None if all do."""
        self.is_partial = False
        """Whether it may be that no lane counts, so that memory is read by those alone that do."""
        self.is_rolled = False
        """Whether LLVM leaves loops as they are: copies of what they do would gain nothing, and take time."""
        self.passes_on_stack = False
        """Whether it calls functions of the program whose arguments do not fit into registers on AArch64."""

    def fresh(self) -> str:
        """A new name."""
        self.count += 1
        return f"%v{self.count}"

    def later(self, type_: str) -> Value:
        """A value that is still to be defined."""
        return Value(type_, self.fresh())

    def label(self) -> str:
        """A new name for a block."""
        self.count += 1
        return f"b{self.count}"

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}")

    def undo(self, text: str, others: str, place: Value) -> bool:
        """Take back an instruction without a result, and return True, if nothing follows it in its block but
        instructions that begin with `others`, and those that compute a value or read memory but for `place`.
        """
        for i in range(len(self.lines) - 1, max(0, len(self.lines) - UNDONE_LINES) - 1, -1):
            line = self.lines[i][2:]
            if line == text:
                del self.lines[i]
                return True
            opcode, _, operands = line.partition(" = ")[2].partition(" ")
            is_value = opcode in VALUE_OPCODES and not (opcode == "load" and f", {place}," in operands + ",")
            if not (is_value or line.startswith(others)):
                return False
        return False

    def set(self, type_: str, text: str) -> Value:
        """An instruction with a result."""
        self.count += 1
        ref = f"%v{self.count}"
        self.lines.append(f"  {ref} = {text}")
        return Value(type_, ref)

    def room(self, size: int) -> Value:
        """Memory of so many bytes, until the function returns."""
        v = self.later(POINTER)
        self.rooms.append(f"  {v.ref} = alloca [{size} x i8], align 64")
        return v

    def op(self, name: str, a: Value, b: Value) -> Value:
        """A binary operator on values of one type; one of them may be a vector, here and below."""
        if self.lanes and a.type != b.type:
            a, b = self.alike(a, b)
        return self.set(a.type, f"{name} {a}, {b.ref}")

    def compare(self, kind: str, a: Value, b: Value) -> Value:
        """A comparison: `icmp eq`, `fcmp olt`."""
        if self.lanes and a.type != b.type:
            a, b = self.alike(a, b)
        return self.set(vector_of("i1", lanes_of(a.type)), f"{kind} {a}, {b.ref}")

    def select(self, c: Value, a: Value, b: Value) -> Value:
        """One of two values."""
        if self.lanes:
            if c.type != "i1":
                a, b = self.spread(a), self.spread(b)
            elif a.type != b.type:
                a, b = self.alike(a, b)
        return self.set(a.type, f"select {c}, {a}, {b}")

    def cast(self, kind: str, a: Value, type_: str) -> Value:
        """A conversion of each lane: `sext`, `fptrunc`."""
        wanted = vector_of(type_, lanes_of(a.type))
        return a if a.type == wanted else self.set(wanted, f"{kind} {a} to {wanted}")

    def bits_of(self, v: Value, kind: str) -> Value:
        """A vector's bits in lanes of another type."""
        wanted = vector_of(kind, lanes_of(v.type) * SIZES[element_of(v.type)] // SIZES[kind])
        return v if v.type == wanted else self.set(wanted, f"bitcast {v} to {wanted}")

    def intrinsic(self, name: str, *args: Value, flags: str = "") -> Value:
        """A function that LLVM has for a type and its vectors: `fma`, `sqrt`; with what it may assume."""
        if self.lanes and any(a.type[0] == "<" for a in args):
            args = tuple([self.spread(a) for a in args])
        kind = args[0].type
        function = f"@llvm.{name}.{suffix(kind)}"
        return self.set(kind, f"call {flags}{kind} {function}({', '.join(map(str, args))})")

    @contextmanager
    def rolled(self) -> Generator[None, None, None]:
        """Loops that are made inside are left as they are."""
        before, self.is_rolled = self.is_rolled, True
        try:
            yield
        finally:
            self.is_rolled = before

    def again(self, head: str) -> None:
        """Go back to where a loop begins."""
        self.do(f"br label %{head}{ROLLED if self.is_rolled else ''}")

    # --- vectors ---

    @contextmanager
    def in_lanes(self, lanes: int) -> Generator[None, None, None]:
        """What is computed inside is computed for so many elements at once."""
        before = self.lanes, self.mask, self.is_partial
        self.lanes, self.mask = lanes, None
        try:
            yield
        finally:
            self.lanes, self.mask, self.is_partial = before

    def alike(self, *values: Value) -> tuple[Value, ...]:
        """Numbers as vectors, beside others that are."""
        return tuple([self.spread(v) for v in values])

    def spread(self, v: Value) -> Value:
        """A number in all lanes; a vector as it is."""
        if v.type[0] == "<" or not self.lanes:
            return v
        kind = vector_of(v.type, self.lanes)
        if v.ref[0] != "%":
            return Value(kind, f"splat ({v})")
        one = self.set(kind, f"insertelement {kind} poison, {v}, i64 0")
        return self.set(kind, f"shufflevector {one}, {kind} poison, <{self.lanes} x i32> zeroinitializer")

    def gather(self, kind: str, places: Value) -> Value:
        """What memory holds at the address of each lane that counts; 0 in the others."""
        found = vector_of(kind, lanes_of(places.type))
        name = f"@llvm.masked.gather.{suffix(found)}.{suffix(places.type)}"
        what = f"{places}, i32 {SIZES[kind]}, {self.marks()}, {found} zeroinitializer"
        return self.set(found, f"call {found} {name}({what})")

    def load_lanes(self, kind: str, p: Value, back: bool = False) -> Value:
        """What memory holds from an address on, in the lanes that count; the last lane first if `back`."""
        found = vector_of(kind, self.lanes)
        mask = self.turned(self.mask) if self.mask is not None and back else self.mask
        if mask is None:
            v = self.load(found, p, f", align {SIZES[kind]}")
        else:
            what = f"{p}, i32 {SIZES[kind]}, {mask}, {found} zeroinitializer"
            v = self.set(found, f"call {found} @llvm.masked.load.{suffix(found)}.p0({what})")
        return self.turned(v) if back else v

    def store_lanes(self, v: Value, p: Value) -> None:
        """Write the lanes that count to memory, from an address on."""
        size = SIZES[element_of(v.type)]
        if self.mask is None:
            self.store(v, p, f", align {size}")
        else:
            what = f"{v}, {p}, i32 {size}, {self.mask}"
            self.do(f"call void @llvm.masked.store.{suffix(v.type)}.p0({what})")

    def turned(self, v: Value) -> Value:
        """The lanes in reverse."""
        return self.shuffled(v, v, range(lanes_of(v.type))[::-1])

    def shuffled(self, x: Value, y: Value, picks: Sequence[int]) -> Value:
        """Some lanes of two vectors, which are counted through."""
        mask = f"<{len(picks)} x i32> <{', '.join([f'i32 {p}' for p in picks])}>"
        kind = vector_of(element_of(x.type), len(picks))
        return self.set(kind, f"shufflevector {x}, {y}, {mask}")

    def transposed(self, rows: Sequence[Value]) -> list[Value]:
        """A square of numbers, its rows as columns: each step interleaves a vector with the one half of them
        further on.
        """
        n, found = len(rows), list(rows)
        half = n // 2
        orders = [[x for k in ks for x in (k, n + k)] for ks in (range(half), range(half, n))]
        for _ in range(n.bit_length() - 1):
            found = [self.shuffled(found[k], found[k + half], order) for k in range(half) for order in orders]
        return found

    def interleaved(self, rows: Sequence[Value]) -> list[Value]:
        """The first lanes of all vectors, their second ones, and so on."""
        count, n = len(rows), lanes_of(rows[0].type)
        found: list[Value] = []
        for i in range(count):
            places = [divmod(i * n + lane, count) for lane in range(n)]
            made = rows[0]
            for k in range(1, count):
                kept = [place if k == 1 else lane for lane, (place, _) in enumerate(places)]
                order = [n + p if row == k else kept[lane] for lane, (p, row) in enumerate(places)]
                made = self.shuffled(made, rows[k], order)
            found.append(made)
        return found

    def marks(self) -> Value:
        """Which lanes count, as a vector."""
        return self.mask or Value(f"<{self.lanes} x i1>", "splat (i1 true)")

    def is_any(self, c: Value) -> Value:
        """Return whether a condition holds in a lane that counts."""
        if c.type == "i1" and not self.is_partial:
            return c
        return self.is_set(c if self.mask is None else self.op("and", c, self.mask))

    def is_set(self, c: Value) -> Value:
        """Return whether a vector of booleans has a true one."""
        return self.set("i1", f"call i1 @llvm.vector.reduce.or.{suffix(c.type)}({c})")

    def look_up(self, kind: str, table: str, at: Value) -> Value:
        """An entry of a constant table, for each lane."""
        places = self.set(
            vector_of("ptr", lanes_of(at.type)), f"getelementptr inbounds {kind}, ptr {table}, {at}"
        )
        return self.gather(kind, places) if lanes_of(at.type) else self.load(kind, places)

    def at(self, p: Value, offset: int | Value) -> Value:
        """An address some bytes further on."""
        if offset == 0:
            return p
        by = offset if isinstance(offset, Value) else integer(offset)
        return self.set("ptr", f"getelementptr inbounds i8, {p}, {by}")

    def load(self, type_: str, p: Value, more: str = "") -> Value:
        """What memory holds."""
        return self.set(type_, f"load {type_}, {p}{more}")

    def store(self, value: Value, p: Value, more: str = "") -> None:
        """Write to memory."""
        self.do(f"store {value}, {p}{more}")

    def jump(self, label: str) -> None:
        """Go on elsewhere."""
        self.do(f"br label %{label}")

    def branch(self, c: Value, yes: str, no: str, likely: bool | None = None) -> None:
        """Go on in one of two places."""
        weights = {True: ", !prof !1000", False: ", !prof !1001", None: ""}[likely]
        self.do(f"br {c}, label %{yes}, label %{no}{weights}")

    def block(self, label: str) -> None:
        """What follows belongs to that block."""
        self.lines.append(f"{label}:")
        self.here = label

    def join(self, arrivals: Sequence[tuple[Sequence[Value], str]]) -> list[Value]:
        """The values that come in from several blocks, at the start of one."""
        (first, _), *others = arrivals
        if not others:
            return list(first)
        found: list[Value] = []
        for i, v in enumerate(first):
            parts = ", ".join([f"[{values[i].ref}, %{label}]" for values, label in arrivals])
            found.append(self.set(v.type, f"phi {v.type} {parts}"))
        return found

    def refer(self, symbol: str, declaration: str = "") -> str:
        """Note that this function refers to a symbol of the program, and return the symbol.

        Data have no declaration: functions that refer to them stay in the module that defines them.
        """
        self.symbols[symbol] = declaration
        return symbol

    def declare(self, text: str) -> None:
        """Note a declaration or a table that the module of this function needs."""
        self.declarations[text] = None

    def call(
        self,
        result: str,
        target: str,
        args: Iterable[Value],
        *,
        convention: str = "tailcc",
        is_tail: bool = False,
    ) -> Value | None:
        """Call a function with the context and arguments; None if it has no result."""
        given = [CONTEXT, *args]
        if convention == "tailcc" and not fits_registers(given):
            self.passes_on_stack = True
        if target[0] == "@" and target not in self.symbols:
            self.symbols[target] = declaration(target, result, given, convention)
        how = "tail call" if is_tail else "call"  # LLVM 22 drops arguments on the stack of `musttail`
        text = f"{how} {convention} {result} {target}({', '.join([str(a) for a in given])})"
        if result == VOID:
            self.do(text)
            return None
        return self.set(result, text)

    def declaration(self) -> str:
        """The declaration of the function for other modules."""
        convention = self.attributes.removeprefix("internal").strip()
        return declaration(f"@{self.name}", self.result, [CONTEXT, *self.params], convention)

    def piece(self) -> Piece:
        """The function, with what it refers to."""
        return Piece(self.text(), (f"@{self.name}",), self.symbols, self.declarations)

    def text(self) -> str:
        """The definition of the function.

        A function that is called by `tailcc` takes its arguments off the stack.  After such a call, LLVM 22
        moves the stack pointer of AArch64 to where it was, but may read spilled values before, from the wrong
        place (https://github.com/llvm/llvm-project/issues/60972).  In functions with memory of an unknown
        size it finds these by the frame pointer.
        """
        rooms = self.rooms
        if self.passes_on_stack and jit.is_aarch64():
            rooms = [*rooms, UNKNOWN_ROOM]
        params = ", ".join([str(p) for p in (CONTEXT, *self.params)])
        head = f"define {self.attributes} {self.result} @{self.name}({params}) {self.traits} {{"
        return "\n".join([head, "entry:", *rooms, *self.lines, "}"])


def fits_registers(args: Iterable[Value]) -> bool:
    """Whether AArch64 passes all arguments in registers."""
    integers = floats = 0
    for a in args:
        if a.type[0] == "i" or a.type == POINTER:
            integers += 1
        else:
            floats += -(-SIZES[element_of(a.type)] * max(1, lanes_of(a.type)) // 16)
    return max(integers, floats) <= ARGUMENT_REGISTERS


def declaration(symbol: str, result: str, params: Iterable[Value], convention: str) -> str:
    """The declaration of a function."""
    return f"declare {convention} {result} {symbol}({', '.join([p.type for p in params])})"


def quoted(name: str) -> str:
    """A name of any characters as LLVM writes it."""
    if all(c.isalnum() or c in "._-$" for c in name) and name.isascii() and not name[:1].isdigit():
        return name
    return (
        '"'
        + "".join([chr(c) if 32 < c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in name.encode()])
        + '"'
    )
