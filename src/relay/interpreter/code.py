"""Instructions: what functions are lowered to, and how virtual registers become a small frame.

An instruction is a tuple `(opcode, d, f, a, b)`.  A frame is one list of registers: the arguments, then what
the closure captured, then constants, then temporaries.  Jumps only go forward (a loop is a tail call), so a
register is free for others after its last use in the order of the code.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from relay.diagnostic import Span
from relay.ir.expr import Function

(
    OP2,
    BRANCH,
    RETURN,
    CALL1,
    OP1,
    CALL2,
    SWITCH,
    FIELD,
    SELF,
    MOVE,
    JUMP,
    CALL,
    TAIL,
    CON,
    CALL_VALUE,
    TAIL_VALUE,
    CALL_GROUP,
    TAIL_GROUP,
    GET,
    OPN,
    IF_TAG,
    TUPLE,
    CLOSURE,
    GROUP,
    READ,
    WRITE,
    REF,
    GLOBAL,
    LOWER,
    SETTLE,
) = range(30)

SHAPES: dict[int, str] = {
    OP2: "d-rr",
    BRANCH: "L-r-",
    RETURN: "--r-",
    CALL1: "d-r-",
    OP1: "d-r-",
    CALL2: "d-rr",
    SWITCH: "-Tr-",
    FIELD: "d-r-",
    SELF: "--R-",
    MOVE: "d-r-",
    JUMP: "L---",
    CALL: "d-R-",
    TAIL: "--R-",
    CON: "d-R-",
    CALL_VALUE: "drR-",
    TAIL_VALUE: "-rR-",
    CALL_GROUP: "d-R-",
    TAIL_GROUP: "--R-",
    GET: "d-r-",
    OPN: "d-R-",
    IF_TAG: "L-r-",
    TUPLE: "d-R-",
    CLOSURE: "d-R-",
    GROUP: "d---",
    READ: "d-r-",
    WRITE: "d-rr",
    REF: "d-r-",
    GLOBAL: "d---",
    LOWER: "----",
    SETTLE: "--r-",
}
"""What each of `d f a b` is: `d`efined, `r`ead, `R` several read (`gather`), `L` a label, `T` several."""

Instruction = tuple[int, Any, Any, Any, Any]
Register = int


class Code:
    """A function, lowered when it is first called.

    `instructions` keeps its identity: before the first call it holds one `LOWER`.  Its last instruction is
    always `LOWER`, never reached afterwards: by it a backtrace finds the code that a frame belongs to.
    `rest` is the part of a new frame that follows arguments and environment.
    """

    __slots__ = ("captures", "function", "hidden", "instructions", "lower", "name", "params", "rest", "spans")

    def __init__(self, name: str, function: Function | None, params: int) -> None:
        """`name` is for backtraces; `lower` is set to what fills the code in later."""
        self.name = name
        self.function: Any = function
        self.params = params
        self.hidden: tuple[Any, ...] = ()
        self.captures = 0
        self.lower: Callable[[], None] | None = None
        self.instructions: list[Instruction] = [(LOWER, 0, self, 0, 0)]
        self.spans: list[Span | None] = [None]
        self.rest: list[Any] = []


class Label:
    """A place in code that is not known yet."""

    __slots__ = ("position",)

    def __init__(self) -> None:
        self.position = -1


class Draft:
    """Instructions over virtual registers, in the making.

    Registers are numbers: `params` first, then `env` as captures come up, constants and temporaries as they
    are needed.
    """

    __slots__ = (
        "code", "constants", "count", "env", "keeps", "last_label", "params", "places", "prologue", "span",
        "spans",
    )  # fmt: skip

    def __init__(self, params: int) -> None:
        self.params = list(range(params))
        self.count = params
        self.env: list[int] = []
        self.constants: dict[int, Any] = {}
        self.code: list[list[Any]] = []
        self.spans: list[Span | None] = []
        self.prologue: list[list[Any]] = []
        self.last_label = -1
        self.span: Span | None = None
        self.keeps = False
        """Whether registers keep their values until the function returns, for a debugger to read."""
        self.places: dict[int, int] = {}
        """Where each register is in a frame, once the function is finished."""

    def fresh(self) -> int:
        """A new virtual register."""
        self.count += 1
        return self.count - 1

    def constant(self, value: Any) -> int:
        """A register that holds `value` from the start."""
        register = self.fresh()
        self.constants[register] = value
        return register

    def emit(self, opcode: int, d: Any = 0, f: Any = None, a: Any = 0, b: Any = 0) -> None:
        """Add an instruction at the current span."""
        self.code.append([opcode, d, f, a, b])
        self.spans.append(self.span)

    def operate(self, f: Callable[..., Any], registers: tuple[int, ...], d: int | None = None) -> int:
        """Apply a Python function to registers; returns the register of the result."""
        d = self.fresh() if d is None else d
        if len(registers) == 2:
            self.emit(OP2, d, f, *registers)
        elif len(registers) == 1:
            self.emit(OP1, d, f, *registers)
        else:
            self.emit(OPN, d, f, registers)
        return d

    def at_entry(self, f: Callable[..., Any], register: int) -> int:
        """Apply a Python function to a register whenever the function is entered."""
        d = self.fresh()
        self.prologue.append([OP1, d, f, register, 0])
        return d

    def place(self, label: Label) -> None:
        """The next instruction is where `label` is."""
        label.position = self.last_label = len(self.code)

    def move(self, d: int, register: int) -> None:
        """Bring a value into register `d`; the instruction before puts it there if that is possible."""
        last = self.code[-1] if self.code and self.last_label != len(self.code) else None
        if last and SHAPES[last[0]][0] == "d" and last[1] == register and register not in self.params:
            last[1] = d
        else:
            self.emit(MOVE, d, None, register)


LEAVES = frozenset({RETURN, SELF, TAIL, TAIL_VALUE, TAIL_GROUP, JUMP, SWITCH, SETTLE})
"""The opcodes that the next instruction does not follow."""


def successors(at: int, instruction: Sequence[Any]) -> list[int]:
    """Where a function may go on after the instruction at `at`, unless it leaves; labels are placed."""
    found = [] if instruction[0] in LEAVES else [at + 1]
    for kind, x in zip(SHAPES[instruction[0]], instruction[1:], strict=True):
        labels = [x] if kind == "L" else x if kind == "T" else []
        found += [label.position if isinstance(label, Label) else label for label in labels]
    return found


def labels_of(draft: Draft) -> list[Label]:
    """The labels that a function jumps to, each once."""
    found: dict[int, Label] = {}
    for instruction in draft.code:
        for kind, x in zip(SHAPES[instruction[0]], instruction[1:], strict=True):
            for label in [x] if kind == "L" else x if kind == "T" else []:
                found[id(label)] = label
    return list(found.values())


def finish(draft: Draft, code: Code) -> None:
    """Give every virtual register its place in the frame and fill `code` in."""
    shift = len(draft.prologue)
    body = draft.prologue + draft.code
    spans: list[Span | None] = [None] * shift + draft.spans
    last = _last_uses(body)
    place = draft.places
    place.update({v: i for i, v in enumerate([*draft.params, *draft.env, *draft.constants])})
    fixed = last if draft.keeps else set(draft.env) | set(draft.constants)
    free: list[int] = []
    size = len(place)
    done: list[Instruction] = []
    for at, (opcode, d, f, a, b) in enumerate(body):
        kinds = SHAPES[opcode]
        read = set(_reads(kinds, f, a, b))
        new_f, new_a, new_b = [_placed(k, x, place, shift) for k, x in zip(kinds[1:], (f, a, b), strict=True)]
        free += [place[v] for v in read if last[v] == at and v not in fixed]
        if kinds[0] == "d":
            if d not in place:
                if free:
                    place[d] = free.pop()
                else:
                    place[d] = size
                    size += 1
            register = place[d]
            if last[d] == at and d not in fixed and d not in read:
                free.append(register)
            d = register
        elif kinds[0] == "L":
            d = d.position + shift
        done.append((opcode, d, new_f, new_a, new_b))
    code.captures = len(draft.env)
    code.spans[:] = [*spans, None]
    temporaries = size - len(draft.params) - len(draft.env) - len(draft.constants)
    code.rest[:] = [*draft.constants.values(), *[None] * temporaries]
    done.append((LOWER, 0, code, 0, 0))
    code.instructions[:] = done


def gather(*registers: Register) -> Callable[[list[Any]], tuple[Any, ...]]:
    """What takes the values in registers out of a frame, as fast as Python can."""
    if len(registers) > 1:
        return itemgetter(*registers)
    if not registers:
        return lambda frame: ()
    (only,) = registers
    return lambda frame: (frame[only],)


def _reads(kinds: str, *operands: Any) -> list[int]:
    found: list[int] = []
    for kind, x in zip(kinds[1:], operands, strict=True):
        if kind == "r":
            found.append(x)
        elif kind == "R":
            found += x
    return found


def _last_uses(body: list[list[Any]]) -> dict[int, int]:
    """Where each virtual register is last read or written."""
    last: dict[int, int] = {}
    for at, (opcode, d, f, a, b) in enumerate(body):
        kinds = SHAPES[opcode]
        for v in _reads(kinds, f, a, b):
            last[v] = at
        if kinds[0] == "d":
            last[d] = at
    return last


def _placed(kind: str, x: Any, place: dict[int, int], shift: int) -> Any:
    match kind:
        case "r":
            return place[x]
        case "R":
            return gather(*[place[v] for v in x])
        case "T":
            return [label.position + shift for label in x]
        case _:
            return x
