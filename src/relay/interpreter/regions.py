"""Code from elsewhere: functions that other compilers take, and what these make of them."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay.analysis.annotated_regions import compiler_of
from relay.diagnostic import RelayError, did_you_mean, fail
from relay.interpreter.conversion import convert
from relay.interpreter.tensor_conversion import MisfitError
from relay.interpreter.value import Value, is_tuple
from relay.ir.dtype import to_numpy
from relay.ir.expr import Function
from relay.ir.tensor_parts import nested, tensor_parts
from relay.ir.type import TensorType, TupleType, Type
from relay.ir.walk import type_post_order

Generate = Callable[[Function], Any]
generators: dict[str, Generate] = {}
"""The code generators of other compilers, by the names of these."""
POINTERS = ctypes.POINTER(ctypes.c_void_p)
C_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, POINTERS, POINTERS)
"""`int f(const void *const *inputs, void *const *outputs)`."""
FunctionPointer: Any = C_FUNCTION.__mro__[1]
"""The class of all functions of C that `ctypes` has."""


def register_compiler(name: str, generate: Generate | None = None) -> Any:
    """Say who makes code of the functions whose attribute `Compiler` is `name`.

    `generate(function)` is given a `relay.Function` with all types, once for each program that has it, and
    returns one of:

    - a function of Python: of as many NumPy arrays as there are parameters, a tuple for a tuple; it returns
      arrays of the shapes and dtypes that the type of the result says.  Arguments are only to be read.
    - a function of C, as `ctypes` has it, or its address:
      `int f(const void *const *inputs, void *const *outputs)`.  It gets the tensors of the parameters in
      order, dense and row-major, and writes those of the result; it returns 0 if all is well.  All sizes have
      to be known.  Compiled programs call it without Python, from several threads at once if the program is
      called so; what it needs has to stay alive.

    A compiler may be told more behind its name: `Compiler="name cpu"` is for `name cpu` if that is
    registered, and else for `name`.

    Without a function, the one that is decorated is registered; a name that is registered again gets the new
    one, for programs that are built from then on.
    """

    def register(function: Generate) -> Generate:
        generators[name] = function
        return function

    return register if generate is None else register(generate)


class RegionCode:
    """What computes a function that another compiler takes: called with values, it gives the value."""

    def __init__(self, fn: Function, symbol: str) -> None:
        """Have the code made; messages call the function by its symbol (`no-code-generator`,
        `code-generator`).
        """
        self.fn = fn
        self.symbol = symbol
        self.compiler = compiler_of(fn)
        self.address = 0
        """Where the function of C is; 0 for one of Python."""
        made = self.generated()
        if isinstance(made, FunctionPointer | int) and not isinstance(made, bool):
            self.kept = made
            self.address = made if isinstance(made, int) else ctypes.cast(made, ctypes.c_void_p).value or 0
            self.leaves = [self.parts(p.type_annotation) for p in fn.params]
            self.results = self.parts(fn.ret_type)
            self.run: Callable[..., Any] = self.called_in_c
            self.function: Any = C_FUNCTION(self.address)
        elif callable(made):
            self.run = self.called_in_python
            self.function = made
        else:
            hint = "it returns a function of Python, or the address of one of C"
            self.refuse(f"the code generator of `{self.compiler}` returned {made!r:.60}", hint)

    def generated(self) -> Any:
        """What the code generator makes of the function."""
        generate = generators.get(self.compiler) or generators.get(self.compiler.partition(" ")[0])
        if generate is None:
            near = did_you_mean(self.compiler, generators)
            near = near or f'relay.backend.register_compiler("{self.compiler}", generate) registers one'
            fail(
                "no-code-generator",
                f"`{self.symbol}` is for the compiler `{self.compiler}`, which is not registered",
                self.fn.span,
                hint=near + "; relay.transform.MarkCompilerFunctionsAsExtern() has it computed here",
            )
        try:
            return generate(self.fn)
        except RelayError:
            raise
        except Exception as error:
            self.refuse(f"the code generator of `{self.compiler}` failed: {said(error)}", cause=error)

    def refuse(self, what: str, hint: str = "", cause: Exception | None = None) -> Any:
        """Say that there is no code (`code-generator`)."""
        try:
            fail("code-generator", what, self.fn.span, label=f"`{self.symbol}` is left to it", hint=hint)
        except RelayError as error:
            raise error from cause

    def failed(self, what: str, label: str = "", hint: str = "", cause: Exception | None = None) -> Any:
        """Say what is wrong with a call (`region-failed`)."""
        try:
            message = f"the code of `{self.compiler}` for `{self.symbol}` {what}"
            fail("region-failed", message, self.fn.span, label=label, hint=hint)
        except RelayError as error:
            raise error from cause

    def parts(self, t: Type | None) -> list[TensorType]:
        """The tensors of a type, whose sizes a function of C has to know (`code-generator`)."""
        if not is_of_known_sizes(t):
            hint = "return a function of Python, or name the sizes in the program"
            self.refuse(f"a function of C takes and gives tensors of known sizes, not {t}", hint)
        return [part for _, part in tensor_parts(t)]

    def __call__(self, *args: Value) -> Value:
        """The value on values of the types of the parameters (`region-failed`)."""
        found = self.run(*args)
        env: dict[Any, Any] = {}
        try:
            for p, x in zip(self.fn.params, args, strict=True):
                if p.type_annotation is not None and not p.type_annotation.is_closed:
                    convert(x, p.type_annotation, env, {})
            return convert(found, self.fn.ret_type, env, {})
        except MisfitError as misfit:
            self.failed(
                f"gave another value than {self.fn.ret_type}: {misfit.message}", f"found {misfit.found}"
            )

    def called_in_python(self, *args: Value) -> Any:
        """What a function of Python gives."""
        try:
            return self.function(*args)
        except RelayError:
            raise
        except Exception as error:
            self.failed(f"failed: {said(error)}", cause=error)

    def called_in_c(self, *args: Value) -> Any:
        """What a function of C writes."""
        given = [np.ascontiguousarray(x) for a in args for x in arrays_in(a)]
        made = [np.empty(t.concrete_shape, to_numpy(str(t.dtype))) for t in self.results]
        status = self.function(pointers(given), pointers(made))
        if status:
            self.failed(f"returned {status}", hint="0 is for all is well")
        assert self.fn.ret_type is not None
        return nested(self.fn.ret_type, iter([x if x.ndim else x[()] for x in made]))


def is_of_known_sizes(t: Type | None) -> bool:
    """Whether a value is tensors of numbers whose sizes are known."""
    if t is None or not t.is_closed:
        return False
    parts = type_post_order(t)
    return all(isinstance(p, TupleType) or (isinstance(p, TensorType) and p.dtype != "string") for p in parts)


def said(error: Exception) -> str:
    """An exception in a line."""
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def arrays_in(value: Value) -> list[Any]:
    """The tensors of a value, in order."""
    found: list[Any] = []
    stack = [value]
    while stack:
        x = stack.pop()
        if is_tuple(x):
            stack += reversed(x)
        else:
            found.append(x)
    return found


def pointers(arrays: Sequence[Any]) -> Any:
    """Where the elements of arrays are."""
    return (ctypes.c_void_p * max(1, len(arrays)))(*[x.ctypes.data for x in arrays])
