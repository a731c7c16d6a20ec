"""The loop IR as text that people read: `relay compile --emit loops`.

for i1 in 4096 on threads, grain 3  // softmax
for j in 1024, 32 lanes, reduce maximum  // max
"""

from collections.abc import Iterable, Sequence
from typing import Any, assert_never

from relay.backend.native.loops import nodes as ir

INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "remainder": "%", "plus": "+", "minus": "-",
    "times": "*", "quotient": "//", "rest": "%", "less": "<", "same": "==", "within": "in 0 ..", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "and": "&", "or": "|", "xor": "^", "shl": "<<",
    "ashr": ">>", "lshr": ">>>",
}  # fmt: skip
INLINE_LETTERS, REPEATED_LETTERS = 60, 24
"""Letters of a value that is written where it is read, once or several times."""


class Printer:
    """Lines of text, and the names of values."""

    def __init__(self) -> None:
        """Nothing is named."""
        self.lines: list[str] = []
        self.names: dict[Any, str] = {}
        self.taken: set[str] = set()
        self.uses: dict[Any, int] = {}
        self.readers: dict[Any, set[ir.Block]] = {}
        """The blocks that read each value."""
        self.here: ir.Block | None = None

    # --- names ---

    def fresh(self, prefix: str) -> str:
        """A name that nothing has."""
        name, n = prefix, 0
        while name in self.taken:
            n += 1
            name = f"{prefix}{n}"
        self.taken.add(name)
        return name

    def name(self, x: Any, prefix: str = "v") -> str:
        """The name of a value."""
        found = self.names.get(x)
        if found is None:
            found = self.names[x] = self.fresh(
                x.name.rstrip("0123456789") if isinstance(x, ir.Var) else prefix
            )
        return found

    def value(self, x: ir.Operand) -> str:
        """A value, or its name."""
        if isinstance(x, int):
            return str(x)
        if isinstance(x, ir.Const):
            return f"{x.value!r}" if x.dtype in ("float32", "int32", "bool") else f"{x.value!r}:{x.dtype}"
        return self.names.get(x) or self.name(x)

    def values(self, xs: Iterable[ir.Operand]) -> str:
        """Some values."""
        return ", ".join([self.value(x) for x in xs])

    def buffer(self, x: ir.Buffer) -> str:
        """What elements are of."""
        data = x.data
        if x.name:
            return x.name
        if isinstance(data, ir.Apply) and data.op == "data":
            return self.value(data.args[0])
        text = self.value(data)
        return f"({text})" if " " in text else text

    def access(self, x: ir.Buffer, index: Sequence[ir.Operand]) -> str:
        """An element."""
        return f"{self.buffer(x)}[{self.values(index)}]"

    # --- blocks ---

    def count_uses(self, block: ir.Block) -> None:
        """Count the statements that read each value, which blocks may share, and note the blocks."""
        seen: set[Any] = set()
        pending = [block]
        while pending:
            own = pending.pop()
            if own in seen:
                continue
            seen.add(own)
            readers: list[tuple[Any, Sequence[ir.Operand]]] = [
                (s, tuple(ir.operands(s))) for s in own.statements
            ]
            for s, xs in [*readers, (own, own.yields)]:
                for x in xs:
                    if not isinstance(x, int):
                        self.readers.setdefault(x, set()).add(own)
                        self.uses[x] = self.uses.get(x, 0) + (s not in seen or s is own)
                seen.add(s)
            pending += [inner for s in own.statements for inner in ir.blocks(s)]

    def block(self, block: ir.Block, depth: int) -> None:
        """The statements of a block."""
        outer, self.here = self.here, block
        for s in block.statements:
            self.statement(s, depth)
        self.here = outer

    def line(self, depth: int, text: str) -> None:
        """A line of text."""
        self.lines.append("  " * depth + text)

    def statement(self, s: ir.Statement, depth: int) -> None:
        """A statement."""
        match s:
            case ir.Apply() | ir.Load():
                self.define(
                    s, self.applied(s) if isinstance(s, ir.Apply) else self.access(s.buffer, s.index), depth
                )
            case ir.Global():
                self.names[s] = self.fresh("constant")
            case ir.Stack():
                self.line(depth, f"{self.name(s, 'stack')} = stack {s.size} bytes")
            case ir.Registers():
                self.names[s] = self.fresh("registers")
            case ir.Let():
                if isinstance(s.value, int | ir.Const | ir.Var) or self.names.get(s.value):
                    self.names[s.result] = self.value(s.value)
                else:
                    self.line(depth, f"let {self.name(s.result)} = {self.value(s.value)}")
            case ir.Store():
                self.line(depth, f"{self.access(s.buffer, s.index)} = {self.value(s.value)}")
            case ir.For():
                self.loops(s, depth)
            case ir.Branch():
                self.branch(s, depth)
            case ir.Check():
                self.line(depth, f"fail {s.code} if {self.value(s.condition)}")
            case ir.Poll():
                self.line(depth, "poll for interrupts")
            case ir.NewTensor():
                places = self.values([p.value for p in s.places])
                made = f"{self.name(s.result, 'out')} = new {s.type.dtype}[{self.values(s.sizes)}]"
                made += f", or the caller's array {s.array.slot}" if s.array else ""
                self.line(depth, f"{made}, or in place of {places}" if places else made)
            case ir.Release():
                self.line(depth, f"release {self.value(s.value)}")
            case ir.Invoke():
                self.line(depth, f"call {s.callee.name}({self.values(s.args)})")
            case ir.CallRoutine():
                self.line(depth, f"call LAPACK's {s.name}({self.values(s.args)})")
            case ir.Prefetch():
                ahead = f", {self.value(s.beyond)} ahead" if s.beyond != 0 else ""
                how = ", to write" if s.is_written else ahead
                is_line = s.index == (0,) and not s.buffer.name
                place = self.value(s.buffer.data) if is_line else self.access(s.buffer, s.index)
                self.line(depth, f"fetch {place}{how}")
            case ir.Transpose():
                self.line(depth, f"transpose {self.buffer(s.buffer)}")
            case ir.Parallel():
                begin, end = self.name(s.begin), self.name(s.end)
                grain = f", grain {self.value(s.grain)}" if s.grain != 0 else ", one range each"
                self.line(depth, f"on threads, [{begin}, {end}) of {self.value(s.count)}{grain}")
                self.block(s.body, depth + 1)
            case ir.Alternate():
                self.line(depth, f"{self.name(s.result)} = every other time")
            case _:
                assert_never(s)

    def define(self, x: ir.Value, text: str, depth: int) -> None:
        """A value: in the place of its only reader if it is short, else by name."""
        uses = self.uses.get(x, 0)
        is_index = isinstance(x, ir.Apply) and x.dtype in (ir.INDEX, ir.ADDRESS, ir.OBJECT)
        is_read_here = uses == 1 and (is_index or self.here in self.readers.get(x, ()))
        longest = INLINE_LETTERS if is_read_here else REPEATED_LETTERS if is_index else 0
        if (uses and len(text) > longest) or isinstance(x, ir.Load):
            self.line(depth, f"{self.name(x)} = {text}")
        else:
            self.names[x] = text

    def applied(self, s: ir.Apply) -> str:
        """A function of values."""
        if s.op in INFIX:
            a, b = s.args
            return f"{self.operand(a)} {INFIX[s.op]} {self.operand(b)}"
        if s.op == "choose" and (extreme := self.extreme(s)):
            return extreme
        if s.op == "offset":
            return f"{self.value(s.args[0])} + {self.operand(s.args[1])}"
        if s.op == "data":
            return f"{self.value(s.args[0])}.data"
        if s.op == "size":
            return f"{self.value(s.args[0])}.sizes[{s.args[1]}]"
        if s.op in ("cast", "reinterpret", "to_number"):
            return f"{s.op} {s.dtype}({self.value(s.args[0])})"
        return f"{s.op}({self.values(s.args)})"

    def operand(self, x: ir.Operand) -> str:
        """A value beside an operator."""
        text = self.value(x)
        is_open = " " in text and (text[-1] not in ")]" or text.count("(") > 1 or text[0] == "(")
        return f"({text})" if is_open or (" " in text and text[-1] == "]") else text

    def extreme(self, s: ir.Apply) -> str:
        """The smaller or larger of two indices, if it is one."""
        c, i, j = s.args
        if not isinstance(c, ir.Apply) or c.op != "less" or {c.args[0], c.args[1]} != {i, j}:
            return ""
        return f"{'min' if c.args[0] is i else 'max'}({self.value(i)}, {self.value(j)})"

    def loops(self, s: ir.For, depth: int) -> None:
        """A nest of loops."""
        indices = ", ".join([self.name(i) for i in s.indices])
        how = f", {s.lanes} lanes" if s.lanes else ""
        if s.unroll:
            vectors = f"{s.unroll} masked vector{'s' * (s.unroll > 1)}"
            how += f", {vectors}" if s.lanes and not s.is_whole else ", unrolled"
        if s.carried:
            totals = [f"{self.name(x)} = {self.value(y)}" for x, y in zip(s.carried, s.inits, strict=True)]
            how += f", {'reduce' if s.reduction is not None else 'with'} {', '.join(totals)}"
        origin = f"  // {s.origin}" if s.origin else ""
        self.line(depth, f"for {indices} in {self.values(s.extents)}{how}{origin}")
        self.block(s.body, depth + 1)
        for x, y, z in zip(s.carried, s.body.yields, s.results, strict=True):
            self.line(depth + 1, f"next {self.name(x)} = {self.value(y)}")
            self.names[z] = self.name(x)

    def branch(self, s: ir.Branch, depth: int) -> None:
        """Blocks by conditions."""
        for k, block in enumerate(s.blocks):
            if k == len(s.conditions) and not block.statements and not block.yields:
                break
            how = (
                "else"
                if k == len(s.conditions)
                else f"{'else ' if k else ''}if {self.value(s.conditions[k])}"
            )
            self.line(depth, how)
            self.block(block, depth + 1)
            for x, y in zip(s.results, block.yields, strict=True):
                self.line(depth + 1, f"{self.name(x)} = {self.value(y)}")


def text_of_function(function: ir.Function) -> str:
    """A kernel as text."""
    params = [(x, x.name) for x in function.params]
    names = ", ".join([name for _, name in params])
    return f"kernel {function.name}({names})\n{text_of(function.body, params)}"


def text_of(block: ir.Block, params: Iterable[tuple[ir.Var, str]] = ()) -> str:
    """A function's block as text; `params` are what it has before, with their names."""
    printer = Printer()
    for v, name in params:
        printer.names[v] = printer.fresh(name)
    printer.count_uses(block)
    printer.block(block, 1)
    if block.yields:
        printer.line(1, f"return {printer.values(block.yields)}")
    return "\n".join(printer.lines)
