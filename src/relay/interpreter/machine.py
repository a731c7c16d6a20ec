"""The reference interpreter: the value of an expression over the definitions of a module."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from relay.analysis.annotated_regions import compiler_of
from relay.diagnostic import fail
from relay.interpreter.arguments import arrange, convert_arguments, inputs
from relay.interpreter.backtrace import Frame, located
from relay.interpreter.binding import hidden_parameters
from relay.interpreter.code import Code
from relay.interpreter.functions import ConstructorFunction, OperatorValue
from relay.interpreter.limits import default_depth
from relay.interpreter.loop import Cell, execute
from relay.interpreter.lower import lower_constant, lower_function
from relay.interpreter.operators import operator_function, operator_value
from relay.interpreter.regions import RegionCode
from relay.interpreter.unit import Unit
from relay.interpreter.value import (
    Closure,
    FunctionValue,
    Value,
    is_array,
    is_tensor,
    is_tuple,
    type_of_value,
)
from relay.ir import hooks
from relay.ir.collector import seldom
from relay.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Grad, Op, Var, VMap
from relay.ir.module import IRModule
from relay.ir.type import FuncType, Kind, Type
from relay.ir.vars import free_vars
from relay.ir.walk import post_order
from relay.typecheck.query import type_of

EXPRESSION = GlobalVar("<expression>", span=None)
"""The name under which an expression that is not a definition is inferred."""


class Interpreter:
    """Evaluates expressions over a module; what it knows of one holds while that stays the same object.

    Inference runs on demand, on the definitions that are reached.  A global constant is evaluated once.
    `max_depth` is the maximum number of active calls; the default is the module's option of that name.
    `prepare` is a pass that annotated definitions go through; it leaves alone what it has prepared already.
    """

    def __init__(
        self,
        mod: IRModule | None = None,
        *,
        max_depth: int | None = None,
        prepare: Callable[[IRModule], IRModule] | None = None,
    ) -> None:
        self.mod = IRModule() if mod is None else mod
        self.max_depth = max_depth or self.mod.options.get("max_depth") or default_depth()
        self.prepare = prepare
        self._forget()

    def _forget(self) -> None:
        self._sources: dict[GlobalVar, Expr] = {}
        """The definitions that have been inferred, as they stand in the module."""
        self.inferred = IRModule()
        """The definitions of `mod` that have been reached, annotated."""
        self.checked: set[Any] = set()
        """The functions and argument types whose `where` clauses have been checked."""
        self._types: Any = None
        self._differentiates = False
        self._codes: dict[GlobalVar, Code] = {}
        self._cells: dict[GlobalVar, Cell] = {}
        self._last: tuple[Any, Any] = (None, None)

    # --- what people call

    def evaluate(self, what: Expr | str | GlobalVar, /, *args: Any, **named: Any) -> Value:
        """The value of an expression, applied to `args` if there are any; a definition is given by its name.

        A function that is named, or applied to arguments, is called; a function expression is a closure.
        Python numbers, lists, nested tuples and arrays of any library become values by the parameters' types.
        """
        if isinstance(what, str):
            what = self.mod.get_global_var(what.removeprefix("@"))
            value = self.value_of(what)
            return (
                self.apply(value, args, named)
                if isinstance(self.mod[what], Function) or args or named
                else value
            )
        value = self.value_of(what)
        return self.apply(value, args, named) if args or named else value

    def value_of(self, e: Expr) -> Value:
        """The value of an expression; of a function, a closure."""
        with quiet():
            return self._value_of(e)

    def _value_of(self, e: Expr) -> Value:
        if isinstance(e, GlobalVar):
            self._prepare(e)
            code = self.global_code(e)
            if code is not None:
                return Closure(code, (None,) * len(code.hidden), self)
            cell = self.global_cell(e)
            if not cell.ready:
                self._run(cell_reader(cell), [])
            return thawed(cell.value)
        if e is not self._last[0] or self._changed():
            code = self._prepare_expression(e)
            self._last = (e, code)
        code = self._last[1]
        if isinstance(e, Function):
            return Closure(code, (None,) * len(code.hidden), self)
        return thawed(self._run(code, [None] * len(code.hidden)))

    def apply(
        self, function: Value, args: tuple[Any, ...] = (), named: dict[str, Any] | None = None
    ) -> Value:
        """A function value applied to Python arguments, which are converted and checked first.

        Raises `argument-count`, `argument-type`, and whatever the function fails with.
        """
        if not isinstance(function, FunctionValue):
            fail(
                "not-a-function",
                "arguments are given to a value that is not a function",
                hint="only functions take arguments",
            )
        if isinstance(function, (OperatorValue, ConstructorFunction)):
            if named:
                fail(
                    "argument-count", f"the operands of `{function}` have no names", hint="give them in order"
                )
            with quiet():
                return thawed(function(*args))
        assert isinstance(function, Closure)
        code = function.code
        given = arrange(code, *inputs(args, named or {}))
        values, hidden = convert_arguments(code, given, self)
        env = function.env if not hidden else (*hidden, *function.env[len(hidden) :])
        return thawed(self._run(code, [*values, *env]))

    # --- what lowering and the loop ask

    def global_code(self, name: GlobalVar) -> Code | None:
        """The code of a global function, to be lowered when it is first called; None for a constant."""
        code = self._codes.get(name)
        if code is None:
            fn = self._definition(name)
            if not isinstance(fn, Function):
                return None
            code = self._codes[name] = self._code(f"@{name.name}", fn)
        return code

    def global_cell(self, name: GlobalVar) -> Cell:
        """The cell of a global constant."""
        cell = self._cells.get(name)
        if cell is None:
            value = self._definition(name)
            cell = self._cells[name] = Cell(Code(f"@{name.name}", None, 0))
            cell.code.lower = partial(lower_constant, self, cell, value)
        return cell

    def type_of(self, e: Expr) -> Type | None:
        """The static type of an expression."""
        return self._types.type_of(e)

    def datatype_size(self, constructor: Constructor) -> int:
        """How many constructors a data type has, of the program or of its derivatives."""
        return len(self.inferred.type_definitions[constructor.belong_to].constructors)

    def operator(self, e: Call) -> Callable[..., Any]:
        """What to apply to the operands of an operator call."""
        return operator_function(self, e)

    def operator_value(self, op: Op) -> OperatorValue:
        """An operator as a first-class value."""
        return operator_value(op)

    def region(self, fn: Function, name: str) -> Callable[..., Any] | None:
        """What computes a function that another compiler takes; None for one whose body is evaluated."""
        return RegionCode(fn, name) if compiler_of(fn) and not free_vars(fn) else None

    def arrange(self, unit: Unit) -> None:
        """Leave the instructions of a function as they are."""

    def fault(self, error: BaseException, stack: Sequence[Frame]) -> BaseException:
        """What to raise for an error, with the place in the program and the calls that led there."""
        return located(error, stack)

    # --- preparation

    def _definition(self, name: GlobalVar) -> Expr:
        found = self.inferred.functions.get(name)
        if found is None:
            self.mod.get_global_var(name.name)
            raise AssertionError(f"{name!r} was not prepared")
        return found

    def _code(self, name: str, fn: Function) -> Code:
        code = Code(name, fn, len(fn.params))
        code.lower = partial(lower_function, self, code, fn)
        code.hidden = hidden_parameters(fn)
        code.captures = len(code.hidden)
        return code

    def _changed(self) -> bool:
        """Whether a definition that was prepared has been replaced; if so, forget everything."""
        current = self.mod.functions
        if all(current.get(v) is e for v, e in self._sources.items()):
            return False
        self._forget()
        return True

    def _prepare(self, name: GlobalVar) -> None:
        """Infer a definition and what it reaches, unless that has been done."""
        self._changed()
        if name not in self._sources:
            self._infer({name: self.mod[self.mod.get_global_var(name.name)]})

    def _prepare_expression(self, e: Expr) -> Code:
        """Infer an expression, and what it reaches; the code that evaluates it."""
        self._changed()
        fn = e if isinstance(e, Function) else Function((), e, span=e.span)
        self._infer({EXPRESSION: fn})
        typed = self.inferred.functions.pop(EXPRESSION)
        assert isinstance(typed, Function)
        code = self._code("fn" if fn is e else "", typed)
        lower_function(self, code, code.function)
        return code

    def _infer(self, roots: dict[GlobalVar, Expr]) -> None:
        """Infer `roots` and what they reach, where that has not been done, and expand derivatives in it."""
        from relay.typecheck.infer import infer
        from relay.typecheck.query import Types

        found = dict(roots)
        found |= self._reached(roots.values())
        part = self.mod.copy()
        part.functions = {**self.inferred.functions, **found}
        part.type_definitions = {**self.inferred.type_definitions, **part.type_definitions}
        if self._differentiates:
            from relay.expansion.expand import expand_grad

            self._differentiates = False
            part = expand_grad(part, reserved=self.mod.functions)
        self.inferred = infer(part) if self.prepare is None else self.prepare(infer(part))
        if self.inferred is part or self.inferred.functions is part.functions:
            self.inferred = self.inferred.copy()
        self._types = Types(self.inferred)
        self._sources.update({v: e for v, e in found.items() if v != EXPRESSION})

    def _reached(self, roots: Iterable[Expr]) -> dict[GlobalVar, Expr]:
        """The new definitions that expressions mention, directly or through others."""
        found: dict[GlobalVar, Expr] = {}
        stack = list(roots)
        while stack:
            for e in post_order(stack.pop()):
                if type(e) in (Grad, VMap):
                    self._differentiates = True
                if isinstance(e, GlobalVar) and e not in found and e not in self._sources:
                    if e not in self.mod.functions:
                        self._unknown(e)
                    found[e] = self.mod.functions[e]
                    stack.append(found[e])
        return found

    def _unknown(self, e: GlobalVar) -> None:
        from relay.typecheck.messages import undefined

        message, hint = undefined(e.name, [v.name_hint for v in self.mod.functions])
        fail("unknown-global", message, e.span, hint=hint)

    def _run(self, code: Code, frame: list[Any]) -> Value:
        with quiet():
            return execute(code, frame, self.max_depth, self)


def cell_reader(cell: Cell) -> Code:
    """Code that evaluates a global constant."""
    from relay.interpreter import code as op

    code = Code("", None, 0)
    code.instructions[:] = [(op.GLOBAL, 0, cell, 0, 0), (op.RETURN, 0, None, 0, 0), *code.instructions]
    code.spans[:] = [None] * 3
    code.rest[:] = [None]
    return code


def thawed(value: Value) -> Value:
    """A result as Python may have it: an array that is a constant is copied, to be writable."""
    if is_array(value):
        if not value.flags.writeable and 0 not in value.strides:
            return value.copy()
    elif is_tuple(value) and any(is_array(v) for v in value):
        return tuple([thawed(v) if is_array(v) else v for v in value])
    return value


@contextmanager
def quiet() -> Generator[None]:
    """Arithmetic without NumPy's warnings, and a cyclic collector that seldom looks at deep stacks."""
    with seldom(), np.errstate(all="ignore"):
        yield


def evaluate(mod: IRModule, what: Expr | str, /, *args: Any, **named: Any) -> Any:
    """The value of an expression over `mod`, or of a definition applied to `args`.

    What was prepared is kept with `mod`.
    """
    interpreter = mod.facts.get("interpreter")
    if interpreter is None or interpreter.mod is not mod:
        interpreter = mod.facts["interpreter"] = Interpreter(mod)
    return interpreter.evaluate(what, *args, **named)


def applied(function: Expr, args: tuple[Any, ...]) -> Any:
    """The value of a function that needs no definitions on arguments from Python.

    A derivative depends on dtypes: that of a function of any is taken at those of the arguments.
    """
    interpreter, t = Interpreter(), type_of(function)
    if isinstance(t, FuncType) and any(p.kind is Kind.BaseType for p in t.type_params):
        by_type = Function([Var("x", a, span=function.span) for a in t.arg_types], function, t.ret_type)
        code = Code("the derivative", by_type, len(by_type.params))
        args = tuple(convert_arguments(code, arrange(code, args, {}), interpreter)[0])
        if all(is_tensor(x) or is_tuple(x) for x in args):
            params = [Var("x", type_of_value(x), span=function.span) for x in args]
            function = Function(params, Call(function, params, span=function.span))
    return interpreter.evaluate(function, *args)


hooks.evaluate = evaluate
hooks.apply = applied
