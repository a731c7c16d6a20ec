"""Functions of Python as closures of compiled code, and operators that Python computes.

Such a closure holds the address of a function for its type, which leads to Python, and a number by which
Python knows what to call.
"""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from relay.analysis.annotated_regions import compiler_of
from relay.backend.native.host.context import Context, read_leaf, write_leaf
from relay.backend.native.host.signature import Signature
from relay.backend.native.host.values import Conversion
from relay.backend.native.memory.layout import CALLBACK_OFFSET, SAVED_STACK_POINTER_OFFSET
from relay.backend.native.memory.objects import REFERENCES, REGIONS, header, layout
from relay.diagnostic import RelayError, fail
from relay.interpreter.conversion import convert, result_of
from relay.interpreter.effects import effect_function
from relay.interpreter.operators import CheckedOperator
from relay.interpreter.regions import RegionCode
from relay.interpreter.tensor_conversion import MisfitError
from relay.ir.expr import Function
from relay.ir.type import FuncType, Type
from relay.op.debugging import Effect

CLOSURE = layout(["i64", "i64", "i64"])
"""The address of the code, that of the function that leads to Python, and the number."""
TABLE = "relay.callbacks"


class Callbacks:
    """What compiled code may call of Python."""

    def __init__(
        self, signature: Signature, address: Callable[[str], int], contexts: Mapping[int, Context]
    ) -> None:
        """`address` says where the tables of the program are: the code of closures, and what operators call
        that Python computes.
        """
        self.signature = signature
        self.table = address(TABLE)
        self.contexts = contexts
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        parts = signature.parts
        self.ways = {t: kind(partial(self.called, partial(self.function, t))) for t in parts.callbacks}
        taken = [(i, fn) for i, fn in enumerate(parts.references) if compiler_of(fn)]
        self.regions = {i: RegionCode(fn, f"@{fn.attrs['global_symbol']}") for i, fn in taken}
        """What other compilers have made, by the numbers of what stands for it."""
        acts = [
            self.region(i) if i in self.regions else self.reference(fn)
            for i, fn in enumerate(parts.references)
        ]
        self.references = [kind(partial(self.called, act)) for act in acts]
        for i, way in enumerate(self.references):
            write_leaf(address(REFERENCES) + 8 * i, "ptr", ctypes.cast(way, ctypes.c_void_p).value)
        for i, region in self.regions.items():
            write_leaf(address(REGIONS) + 8 * i, "ptr", region.address)
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
        write_leaf(p, "ptr", header(self.signature.layouts.number(CLOSURE)))
        code = read_leaf(self.table + 8 * self.signature.parts.callbacks.index(t), "ptr")
        way = ctypes.cast(self.ways[t], ctypes.c_void_p).value
        for at, v in zip(CLOSURE.offsets, (code, way, number), strict=True):
            write_leaf(p + at, "ptr", v)
        return p

    def forget(self, conversion: Conversion) -> None:
        """No closure is left that a call has been given."""
        for number in self.made.pop(conversion, ()):
            del self.functions[number]

    def called(self, compute: Callable[[Conversion, int], None], context: int) -> int:
        """Compiled code calls a function of Python, which puts its result into the row of the arguments: 0 if
        there is one, 1 if it has raised.
        """
        # Memory that is asked for here has a way back of its own.
        back = read_leaf(context + SAVED_STACK_POINTER_OFFSET, "ptr")
        try:
            compute(self.contexts[context].conversion, read_leaf(context + CALLBACK_OFFSET, "ptr"))
        except BaseException as error:
            self.raised[context] = error
            return 1
        finally:
            write_leaf(context + SAVED_STACK_POINTER_OFFSET, "ptr", back)
        return 0

    def function(self, t: FuncType, conversion: Conversion, row: int) -> None:
        """Call a function with what is in a row behind its closure (`argument-type`)."""
        known, conversion.cells = conversion.cells, conversion.given_cells()
        function = self.functions[read_leaf(read_leaf(row, "ptr") + CLOSURE.offsets[2], "i64")]
        args = self.arguments(conversion, row + 8, t.arg_types)
        self.give(conversion, row, result_of(function(*args), t, self.signature.definitions), t.ret_type)
        conversion.cells = known

    def reference(self, fn: Function) -> Callable[[Conversion, int], None]:
        """What computes an operator on what is in a row: its type relation is checked on types that are open,
        and that the result is of its type (`shape-check`, `argument-type`).
        """
        call: Any = fn.body
        if isinstance(call.attrs, Effect):
            return self.effect(effect_function(call.attrs), fn)
        name, types = call.op.name, [p.type_annotation for p in call.args]
        result = fn.ret_type
        assert result is not None, "calls of operators have types"
        compute = call.attrs.compile_reference(types)
        if not all(t.is_closed for t in types):
            compute = CheckedOperator(call.attrs, compute)

        def run(conversion: Conversion, row: int) -> None:
            args = self.arguments(conversion, row, types)
            env: dict[Any, Any] = {}
            try:
                for x, t in zip(args, types, strict=True):
                    convert(x, t, env, {})
                with np.errstate(all="ignore"):
                    value = convert(compute(*args), result, env, {})
            except MisfitError as misfit:
                message = f"the reference of `{name}` does not give what its type says: {misfit.message}"
                fail("argument-type", message, fn.span, label=f"found {misfit.found}", hint=misfit.hint)
            except RelayError as error:
                raise located(error, fn) from None
            self.give(conversion, row, value, result)

        return run

    def region(self, number: int) -> Callable[[Conversion, int], None]:
        """What computes a function that another compiler takes on what is in a row."""
        region = self.regions[number]
        fn = region.fn
        types = [p.type_annotation for p in fn.params if p.type_annotation is not None]
        result = fn.ret_type
        assert result is not None

        def run(conversion: Conversion, row: int) -> None:
            known, conversion.cells = conversion.cells, conversion.given_cells()
            self.give(conversion, row, region(*self.arguments(conversion, row, types)), result)
            conversion.cells = known

        return run

    def effect(self, act: Callable[..., Any], fn: Function) -> Callable[[Conversion, int], None]:
        """What does what an operator with an effect does, on what is in a row."""
        types = [p.type_annotation for p in fn.params if p.type_annotation is not None]

        def run(conversion: Conversion, row: int) -> None:
            known, conversion.cells = conversion.cells, conversion.given_cells()
            try:
                act(*self.arguments(conversion, row, types))
            except RelayError as error:
                raise located(error, fn) from None
            finally:
                conversion.cells = known

        return run

    def arguments(self, conversion: Conversion, at: int, types: Sequence[Type]) -> list[Any]:
        """Values of these types that are in a row."""
        found: list[Any] = []
        for t in types:
            kinds = self.signature.leaves(t)
            leaves = [read_leaf(at + 8 * i, kind) for i, kind in enumerate(kinds)]
            found.append(conversion.value(leaves, t))
            at += 8 * len(kinds)
        return found

    def give(self, conversion: Conversion, row: int, value: Any, t: Type) -> None:
        """Put a result into a row."""
        kinds = self.signature.leaves(t)
        for i, (v, kind) in enumerate(zip(conversion.leaves(value, t), kinds, strict=True)):
            write_leaf(row + 8 * i, kind, v)


def located(error: RelayError, fn: Function) -> RelayError:
    """What Python has raised, at the place of the call."""
    return RelayError([replace(d, span=d.span or fn.span) for d in error.diagnostics])
