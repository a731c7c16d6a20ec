"""Functions of Python as closures of compiled code.

Such a closure holds the address of a function for its type, which leads to Python, and a number by which
Python knows what to call.
"""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

from relay.backend.native.host.context import Context, get, put
from relay.backend.native.host.signature import Signature
from relay.backend.native.host.values import Conversion
from relay.backend.native.memory.layout import CALLBACK_OFFSET, SAVED_STACK_POINTER_OFFSET
from relay.backend.native.memory.objects import header, layout
from relay.interpreter.conversion import result_of
from relay.ir.type import FuncType

CLOSURE = layout(["i64", "i64", "i64"])
"""The address of the code, that of the function that leads to Python, and the number."""
TABLE = "relay.callbacks"


class Callbacks:
    """What compiled code may call of Python."""

    def __init__(self, signature: Signature, table: int, contexts: Mapping[int, Context]) -> None:
        """`table` is where the code of closures is."""
        self.signature = signature
        self.table = table
        self.contexts = contexts
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        self.ways = {t: kind(partial(self.called, t)) for t in signature.parts.callbacks}
        self.functions: dict[int, Callable[..., Any]] = {}
        self.numbers = count(1)
        self.made: dict[Conversion, list[int]] = {}
        """The numbers of the functions that a call has been given, by what converts for it."""
        self.raised: dict[int, BaseException] = {}
        """What functions have raised, by the contexts of the calls."""

    def closure(self, conversion: Conversion, function: Callable[..., Any], t: FuncType) -> int:
        """An object that stands for a function of Python."""
        number = next(self.numbers)
        self.functions[number] = function
        self.made.setdefault(conversion, []).append(number)
        p = conversion.new(CLOSURE)
        put(p, "ptr", header(self.signature.layouts.number(CLOSURE)))
        code = get(self.table + 8 * self.signature.parts.callbacks.index(t), "ptr")
        way = ctypes.cast(self.ways[t], ctypes.c_void_p).value
        for at, v in zip(CLOSURE.offsets, (code, way, number), strict=True):
            put(p + at, "ptr", v)
        return p

    def forget(self, conversion: Conversion) -> None:
        """No closure is left that a call has been given."""
        for number in self.made.pop(conversion, ()):
            del self.functions[number]

    def called(self, t: FuncType, context: int) -> int:
        """Compiled code calls a function of Python: 0 if there is a result, 1 if it has raised."""
        # Memory that is asked for here has a way back of its own.
        back = get(context + SAVED_STACK_POINTER_OFFSET, "ptr")
        try:
            row = get(context + CALLBACK_OFFSET, "ptr")
            number = get(get(row, "ptr") + CLOSURE.offsets[2], "i64")
            self.result(self.contexts[context].conversion, self.functions[number], t, row)
        except BaseException as error:
            self.raised[context] = error
            return 1
        finally:
            put(context + SAVED_STACK_POINTER_OFFSET, "ptr", back)
        return 0

    def result(self, conversion: Conversion, function: Callable[..., Any], t: FuncType, row: int) -> None:
        """Call a function with what is in a row, and put its result there (`argument-type`)."""
        known, conversion.cells = conversion.cells, conversion.given_cells()
        args: list[Any] = []
        at = row + 8
        for a in t.arg_types:
            kinds = self.signature.leaves(a)
            args.append(conversion.value(self.leaves(at, kinds), a))
            at += 8 * len(kinds)
        value = result_of(function(*args), t, self.signature.definitions)
        kinds = self.signature.leaves(t.ret_type)
        for i, (v, kind) in enumerate(zip(conversion.leaves(value, t.ret_type), kinds, strict=True)):
            put(row + 8 * i, kind, v)
        conversion.cells = known

    def leaves(self, at: int, kinds: Sequence[str]) -> list[Any]:
        """What is in a row."""
        return [get(at + 8 * i, kind) for i, kind in enumerate(kinds)]
