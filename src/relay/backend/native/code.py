"""LLVM IR in the making, as text: values, functions, modules."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Value(NamedTuple):
    """An SSA value or a constant: its LLVM type and how it is written."""

    type: str
    ref: str

    def __str__(self) -> str:
        return f"{self.type} {self.ref}"


VOID = "void"
POINTER = "ptr"
CONTEXT = Value("ptr", "%ctx")
"""The first parameter of every function: allocator, stack and errors of the thread."""


def integer(n: int, bits: int = 64) -> Value:
    """An integer constant."""
    return Value(f"i{bits}", str(n))


class Code:
    """The body of one function: lines of LLVM IR, in blocks."""

    def __init__(
        self, name: str, result: str, params: Sequence[Value], attributes: str = "internal tailcc"
    ) -> None:
        """`params` come after the context."""
        self.name = name
        self.result = result
        self.params = tuple(params)
        self.attributes = attributes
        self.lines: list[str] = []
        self.count = 0
        self.here = "entry"
        """The label of the block that is written to."""

    def fresh(self) -> str:
        """A new name."""
        self.count += 1
        return f"%v{self.count}"

    def label(self) -> str:
        """A new name for a block."""
        self.count += 1
        return f"b{self.count}"

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}")

    def set(self, type_: str, text: str) -> Value:
        """An instruction with a result."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return Value(type_, name)

    def op(self, name: str, a: Value, b: Value) -> Value:
        """A binary operator on values of one type."""
        return self.set(a.type, f"{name} {a}, {b.ref}")

    def compare(self, kind: str, a: Value, b: Value) -> Value:
        """A comparison: `icmp eq`, `fcmp olt`."""
        return self.set("i1", f"{kind} {a}, {b.ref}")

    def select(self, c: Value, a: Value, b: Value) -> Value:
        """One of two values."""
        return self.set(a.type, f"select {c}, {a}, {b}")

    def cast(self, kind: str, a: Value, type_: str) -> Value:
        """A conversion: `sext`, `fptrunc`."""
        return a if a.type == type_ else self.set(type_, f"{kind} {a} to {type_}")

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
        weights = {True: ", !prof !0", False: ", !prof !1", None: ""}[likely]
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

    def call(self, result: str, target: str, args: Iterable[Value], how: str = "call tailcc") -> Value | None:
        """Call a function with the context and arguments; None if it has no result."""
        text = f"{how} {result} {target}({', '.join([str(a) for a in (CONTEXT, *args)])})"
        if result == VOID:
            self.do(text)
            return None
        return self.set(result, text)

    def text(self) -> str:
        """The definition of the function."""
        params = ", ".join([str(p) for p in (CONTEXT, *self.params)])
        head = f"define {self.attributes} {self.result} @{self.name}({params}) nounwind {{"
        return "\n".join([head, "entry:", *self.lines, "}"])


def quoted(name: str) -> str:
    """A name of any characters as LLVM writes it."""
    if all(c.isalnum() or c in "._-$" for c in name) and name.isascii() and not name[:1].isdigit():
        return name
    return (
        '"'
        + "".join([chr(c) if 32 < c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in name.encode()])
        + '"'
    )
