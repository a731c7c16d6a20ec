"""What definitions take from Python: values by position and name, and arrays on devices as they are."""

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np

from relay.backend.xla.data import flatten
from relay.backend.xla.device_arrays import ON_DEVICE, of_jax, placed, put_back, stand_ins, types_of
from relay.backend.xla.host_operators import is_on_device
from relay.backend.xla.layout import Layout
from relay.backend.xla.program import xla_context
from relay.diagnostic import did_you_mean, fail
from relay.interpreter.arguments import arrange, convert_argument, convert_arguments, inputs
from relay.interpreter.code import Code
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import Closure, Value
from relay.ir.expr import GlobalVar

MAX_TYPES = 256
"""How many types of arguments a definition keeps in mind."""


class Parameters:
    """The parameters of a definition."""

    def __init__(self, jax: Any, machine: Interpreter, name: GlobalVar, layout: Layout) -> None:
        """`machine` knows the definition, or one with the same parameters; `layout` says where arrays lie."""
        self.jax = jax
        self.machine = machine
        self.name = name
        self.layout = layout
        self.known_types: dict[Any, None] = {}
        """The types of arguments that are those of the parameters."""

    @property
    def definition(self) -> Value:
        """The value of the definition."""
        return self.machine.value_of(self.name)

    def values(
        self, definition: Closure, args: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[tuple[Value, ...], bool]:
        """The values of arguments, and whether results are to stay on the device.

        Raises `argument-count`, `argument-type`, `donated`.
        """
        code = definition.code
        is_asked = ON_DEVICE in named and all(p.name != ON_DEVICE for p in code.function.params)
        on_device = is_asked and bool(named[ON_DEVICE])
        if is_asked:
            named = {name: x for name, x in named.items() if name != ON_DEVICE}
        return self.converted(code, tuple(arrange(code, *inputs(args, named)))), on_device

    def converted(self, code: Code, arguments: tuple[Any, ...]) -> tuple[Value, ...]:
        """The values of arguments (`argument-type`, `donated`).

        Those that are arrays of types that were seen before are taken as they are: most calls of a program
        are on the same types, and to look at each array takes longer than to call a small program.
        """
        leaves, structure = flatten(arguments)
        if any(is_on_device(x) and x.is_deleted() for x in leaves):
            self.refuse_given_up([p.name for p in code.function.params], arguments)
        types = types_of(leaves, structure)
        if types is None:
            leaves = [of_jax(self.jax, x) for x in leaves]
            arguments, types = structure(*leaves), types_of(leaves, structure)
        if types is not None and types in self.known_types:
            return arguments
        given = [stand_ins(x) for x in arguments]
        values, _ = convert_arguments(code, [x for x, _ in given], self.machine)
        values = tuple([put_back(v, there) for v, (_, there) in zip(values, given, strict=True)])
        found, same = flatten(values)
        if types is not None and structure == same and all(map(is_, found, leaves)):
            if len(self.known_types) == MAX_TYPES:
                self.known_types.clear()
            self.known_types[types] = None
        return values

    def refuse_given_up(self, names: Sequence[str], arguments: Sequence[Any]) -> None:
        """Say which array was given up in an earlier call (`donated`)."""
        for name, x in zip(names, arguments, strict=True):
            if any(is_on_device(leaf) and leaf.is_deleted() for leaf in flatten(x)[0]):
                where = f"`%{name}` of `@{self.name.name_hint}`"
                message = f"the array for {where} was given up in an earlier call"
                hint = f"go on with the result of that call, or omit `%{name}` in `donate`"
                fail("donated", message, hint=hint)

    def put(self, named: Mapping[str, Any], *, are_parts: bool = False) -> tuple[Value, ...]:
        """Arguments by name on the devices where calls take them; or the parts of them that this process has
        (`unknown-input`, `argument-type`).
        """
        definition = self.definition
        params = {p.name: p for p in definition.function.params} if isinstance(definition, Closure) else {}
        sizes: dict[Any, Any] = {}
        values: list[Value] = []
        for name, x in named.items():
            if name not in params:
                names = ", ".join([f"`{p}`" for p in list(params)[:8]])
                hint = did_you_mean(name, params) or (
                    f"its parameters are {names}" if params else "it has none"
                )
                fail("unknown-input", f"the program has no parameter `{name}`", hint=hint)
            given, there = stand_ins(self.joined(x, name) if are_parts else of_jax(self.jax, x))
            where = f"@{self.name.name_hint}"
            value = convert_argument(where, params[name], given, sizes, self.machine.mod)
            values.append(self.placed(put_back(value, there), name))
        return tuple(values)

    def joined(self, x: Any, name: str) -> Any:
        """An argument of which each process has a part of its own."""
        leaves, structure = flatten((x,))
        return structure(*self.layout.joined(list(map(np.asarray, leaves)), structure, (name,)))[0]

    def placed(self, value: Value, name: str = "") -> Value:
        """A value, of a parameter or of none, with its tensors on the devices."""
        with xla_context(self.jax, self.layout.device):
            return placed(self.layout, value, name)
