"""Arguments from Python: matched with parameters, converted by their types, and checked."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from relay.diagnostic import Diagnostic, RelayError, did_you_mean, fail
from relay.interpreter.code import Code
from relay.interpreter.value import ConstructorValue, FunctionValue, RefValue, Value, type_of_value
from relay.ir.dtype import dtype_name, integer_range, is_float, is_integer, to_numpy
from relay.ir.expr import Call, Function, Var
from relay.ir.module import TypeData
from relay.ir.subst import substitute_type
from relay.ir.type import (
    FuncType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)


def arrange(code: Code, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """One argument for each parameter, by position or name (`argument-count`)."""
    params = [p.name for p in code.function.params]
    if len(args) > len(params):
        _count(code, params, len(args) + len(named))
    given: list[Any] = [_MISSING] * len(params)
    given[: len(args)] = args
    for name, value in named.items():
        places = [i for i, p in enumerate(params) if p == name]
        if not places:
            fail(
                "argument-count",
                f"`{code.name}` has no parameter `%{name}`",
                code.function.span,
                hint=did_you_mean(name, params) or _takes(params),
            )
        if given[places[-1]] is not _MISSING:
            fail(
                "argument-count",
                f"`{code.name}` is given the parameter `%{name}` twice",
                code.function.span,
                hint="once by position and once by name",
            )
        given[places[-1]] = value
    if any(g is _MISSING for g in given):
        _count(code, params, len(args) + len(named))
    return given


_MISSING = object()


def _takes(params: Sequence[str]) -> str:
    names = ", ".join(f"`%{p}`" for p in params[:8]) + (", …" if len(params) > 8 else "")
    return f"its parameters are {names}" if params else "it takes no arguments"


def _count(code: Code, params: Sequence[str], count: int) -> NoReturn:
    plural = "argument" if len(params) == 1 else "arguments"
    fail(
        "argument-count",
        f"`{code.name or 'fn'}` takes {len(params) or 'no'} {plural}, not {count}",
        code.function.span,
        hint=_takes(params),
    )


def convert_arguments(code: Code, given: Sequence[Any], machine: Any) -> tuple[list[Value], tuple[Any, ...]]:
    """The values of all parameters, and what the hidden ones are bound to (`argument-type`)."""
    fn = code.function
    env: dict[Any, Any] = {}
    values: list[Value] = [None] * len(given)
    loose: list[int] = []
    for i, (param, x) in enumerate(zip(fn.params, given, strict=True)):
        if _is_loose(x) and param.type_annotation is not None and param.type_annotation.flags:
            loose.append(i)
        else:
            values[i] = _convert(code, param, x, env, machine)
    for i in loose:
        values[i] = _convert(code, fn.params[i], given[i], env, machine)
    if fn.constraints:
        _check_constraints(code, values, machine)
    hidden = tuple([to_numpy(env[p]) if p in env else None for p in code.hidden])
    return values, hidden


def _is_loose(x: Any) -> bool:
    """Whether an argument takes its base type from its surroundings: Python numbers, and lists and tuples of them."""
    while isinstance(x, list | tuple) and x:
        x = x[0]
    return isinstance(x, bool | int | float | list)


def _convert(code: Code, param: Var, x: Any, env: dict[Any, Any], machine: Any) -> Value:
    try:
        return convert(x, param.type_annotation, env, machine.mod.type_definitions, machine)
    except Misfit as misfit:
        expected = "" if param.type_annotation is None else f" is {param.type_annotation}"
        raise RelayError(
            Diagnostic(
                "argument-type",
                f"parameter `%{param.name}` of `{code.name or 'fn'}`{expected}: {misfit.message}",
                param.span,
                f"found {misfit.found}",
                hint=misfit.hint,
            )
        ) from None


class Misfit(Exception):
    """A Python value that does not become a value of the wanted type."""

    def __init__(self, message: str, found: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.found = found
        self.hint = hint


def convert(
    x: Any, t: Type | None, env: dict[Any, Any], datatypes: Mapping[Any, TypeData], machine: Any = None
) -> Value:
    """A Python value as a value of type `t`, whose parameters are bound in `env` on the way; `Misfit` if it is none.

    Goes as deep as the value does, on a stack of its own: `None` on it builds what lies done.
    """
    done: list[Value] = []
    stack: list[tuple[Any, Any, Any]] = [(x, t, None)]
    fields_of: dict[tuple[Any, Any], list[Any]] = {}
    while stack:
        x, t, build = stack.pop()
        if build is not None:
            count, make = build
            parts = done[len(done) - count :]
            del done[len(done) - count :]
            done.append(make(parts))
            continue
        if isinstance(t, TypeVar):
            t = env.get(t, t)
        if isinstance(t, TupleType):
            if not isinstance(x, list | tuple) or len(x) != len(t.fields):
                raise Misfit(f"a tuple of {len(t.fields)} fields is wanted", describe(x))
            stack.append((None, None, (len(x), tuple)))
            stack += [(f, ft, None) for f, ft in zip(reversed(x), reversed(t.fields), strict=True)]
        elif isinstance(t, TypeCall):
            if isinstance(x, list | tuple | np.ndarray):
                x = as_list(x, t, datatypes)
            if not isinstance(x, ConstructorValue) or x.constructor.belong_to is not t.func:
                raise Misfit(f"a value of the data type {t} is wanted", describe(x))
            if t.is_closed and fits(x, t, datatypes):
                done.append(x)
                continue
            key = (x.constructor, t)
            types = fields_of.get(key)
            if types is None:
                types = fields_of[key] = field_types(x, t, datatypes)
            if x.fields:
                stack.append((None, None, (len(types), _Rebuild(x))))
                stack += [(f, ft, None) for f, ft in zip(reversed(x.fields), reversed(types), strict=True)]
            else:
                done.append(x)
        elif isinstance(t, FuncType):
            if not isinstance(x, FunctionValue):
                raise Misfit("a function is wanted", describe(x), "a closure that a program returned is one")
            done.append(x)
        elif isinstance(t, RefType):
            if not isinstance(x, RefValue):
                raise Misfit("a reference is wanted", describe(x))
            done.append(x)
        elif isinstance(t, TensorType):
            done.append(convert_tensor(x, t, env))
        else:
            done.append(free_value(x, t, env))
    return done[0]


def fits(x: ConstructorValue, t: TypeCall, datatypes: Mapping[Any, TypeData]) -> bool:
    """Whether an instance of a closed type is in order as it is: a quick look, which may say no to a good one."""
    plans: dict[tuple[Any, Any], list[Any]] = {}
    seen: set[int] = set()
    stack: list[tuple[Any, Any]] = [(x, t)]
    while stack:
        x, t = stack.pop()
        if type(x) is not ConstructorValue or x.constructor.belong_to is not t.func:
            return False
        plan = plans.get((x.constructor, t))
        if plan is None:
            plan = plans[x.constructor, t] = [_plan(f) for f in field_types(x, t, datatypes)]
        if len(plan) != len(x.fields):
            return False
        if len(plan) > 1 and sum(type(p) is TypeCall for p in plan) > 1:
            if id(x) in seen:
                continue
            seen.add(id(x))
        for f, wanted in zip(x.fields, plan, strict=True):
            if type(wanted) is TypeCall:
                stack.append((f, wanted))
            elif type(f) is not wanted:
                return False
    return True


def _plan(t: Type) -> Any:
    """What `fits` compares a field with: the class of a scalar, or the type of an instance."""
    if isinstance(t, TensorType) and t.shape == () and isinstance(t.dtype, str):
        return to_numpy(t.dtype).type
    return t if isinstance(t, TypeCall) else None


class _Rebuild:
    """Puts converted fields into an instance; the same object if they are what they were."""

    __slots__ = ("value",)

    def __init__(self, value: ConstructorValue) -> None:
        self.value = value

    def __call__(self, parts: list[Value]) -> ConstructorValue:
        same = all(a is b for a, b in zip(parts, self.value.fields, strict=True))
        return self.value if same else ConstructorValue(self.value.constructor, tuple(parts))


def field_types(x: ConstructorValue, t: TypeCall, datatypes: Mapping[Any, TypeData]) -> list[Any]:
    """The types of the fields of an instance of `t`."""
    data = datatypes.get(t.func)
    by = {} if data is None else dict(zip(data.type_vars, t.args, strict=True))
    types = [substitute_type(f, by) for f in x.constructor.inputs]
    if len(x.fields) != len(types):
        raise Misfit(f"`{x.constructor.name}` has {len(types)} fields", f"one with {len(x.fields)}")
    return types


def as_list(x: Any, t: TypeCall, datatypes: Mapping[Any, TypeData]) -> Any:
    """A Python list as a linked list, where `t` has an empty constructor and one of an element and the rest."""
    data = datatypes.get(t.func)
    if data is None or len(data.constructors) != 2:
        return x
    nil, cons = sorted(data.constructors, key=lambda c: len(c.inputs))
    if nil.inputs or len(cons.inputs) != 2 or cons.inputs[1] is not data.type_call:
        return x
    value = ConstructorValue(nil)
    for item in reversed(list(x)):
        value = ConstructorValue(cons, (item, value))
    return value


def free_value(x: Any, t: Any, env: dict[Any, Any]) -> Value:
    """A value for a parameter whose type says nothing: it is taken as it is, and binds a type parameter if it can."""
    if isinstance(x, FunctionValue | RefValue | ConstructorValue):
        return x
    if isinstance(x, tuple):
        value: Value = tuple([free_value(v, None, env) for v in x])  # pyright: ignore[reportUnknownVariableType]
    else:
        value = convert_tensor(x, None, env)
    if isinstance(t, TypeVar) and not _holds_functions(value):
        env[t] = type_of_value(value)
    return value


def _holds_functions(value: Value) -> bool:
    return isinstance(value, tuple) and any(
        isinstance(v, FunctionValue | RefValue | ConstructorValue) or _holds_functions(v) for v in value
    )


def convert_tensor(x: Any, t: TensorType | None, env: dict[Any, Any]) -> Value:
    """A number, a list, or an array of any library as a tensor of type `t`."""
    if isinstance(x, np.ndarray | np.generic):
        array = np.asarray(x)
        exact = True
    else:
        array, exact = as_array(x)
    try:
        found = dtype_name(array.dtype)
    except ValueError:
        raise Misfit("a tensor is wanted", describe(x)) from None
    dtype = found if t is None else env.get(t.dtype, t.dtype)
    if isinstance(dtype, Type):
        dtype = found if exact else default_name(array, found)
        env[t.dtype] = dtype  # pyright: ignore[reportOptionalMemberAccess]
    elif not exact and t is None:
        dtype = default_name(array, found)
    if dtype != found:
        if exact or not loosely(array, found, dtype):
            raise Misfit(
                f"its base type is {found}, not {dtype}",
                f"a tensor of {found}" if array.ndim else f"a scalar of {found}",
                f'convert it first: x.astype("{dtype}")'
                if exact
                else ""
                if found == "string"
                else f"a number that {dtype} has is wanted",
            )
        array = array.astype(to_numpy(dtype))
    if t is not None:
        check_shape(array.shape, t, env)
    return array if array.ndim else array[()]


def as_array(x: Any) -> tuple[np.ndarray[Any, Any], bool]:
    """What a Python object that is not from NumPy holds, and whether its base type is meant exactly."""
    if isinstance(x, bool | int | float):
        if type(x) is int and not -(2**63) <= x < 2**64:
            raise Misfit("it does not fit in 64 bits", f"the number {x}")
        return np.asarray(x), isinstance(x, bool)
    if isinstance(x, str):
        return np.asarray(x, object), True
    if isinstance(x, list | tuple):
        try:
            array = np.asarray(x)
        except (ValueError, TypeError):
            raise Misfit(
                "its rows have different lengths, or not all of it is numbers", describe(x)
            ) from None
        if array.dtype.kind in "US":
            return array.astype(object), True
        return array, array.dtype.kind == "b"
    if hasattr(x, "__dlpack__"):
        try:
            return np.from_dlpack(x), True
        except (BufferError, RuntimeError, TypeError):
            pass
    if hasattr(x, "__array__"):
        return np.asarray(x), True
    raise Misfit("a tensor is wanted", describe(x), "numbers, lists and arrays are tensors")


def default_name(array: np.ndarray[Any, Any], found: str) -> str:
    """The base type of Python numbers that nothing decides."""
    if is_float(found):
        return "float32"
    if is_integer(found):
        fits = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
        return "int32" if fits else "int64"
    return found


def loosely(array: np.ndarray[Any, Any], found: str, wanted: str) -> bool:
    """Whether Python numbers may become `wanted`: as literals do, integers within range, or floats."""
    if array.size == 0:
        return True
    if is_float(wanted):
        return is_float(found) or is_integer(found)
    if is_integer(wanted) and is_integer(found):
        low, high = integer_range(wanted)
        return bool(array.min() >= low and array.max() <= high)
    return False


def check_shape(shape: tuple[int, ...], t: TensorType, env: dict[Any, Any]) -> None:
    """Compare a shape with that of a type; its parameters are bound on the way."""
    wanted = env.get(t.shape, t.shape)
    if isinstance(wanted, Type):
        if isinstance(wanted, TypeVar):
            env[wanted] = shape
        return
    if len(wanted) != len(shape):
        raise Misfit(f"its rank is {len(shape)}, not {len(wanted)}", _shape(shape))
    for axis, (d, size) in enumerate(zip(wanted, shape, strict=True)):
        if isinstance(d, TypeVar):
            known = env.setdefault(d, size)
            if known != size:
                raise Misfit(f"its axis {axis} has size {size}, but `{d.name}` is {known}", _shape(shape))
        else:
            expected = substitute_type(d, env)
            if isinstance(expected, int) and expected != size:
                raise Misfit(f"its axis {axis} has size {size}, not {expected}", _shape(shape))


def _shape(shape: tuple[int, ...]) -> str:
    return f"the shape ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def describe(x: Any) -> str:
    """A Python value in a few words."""
    if isinstance(x, np.ndarray | np.generic):
        return f"an array of {x.dtype} with {_shape(x.shape)}" if x.ndim else f"a scalar of {x.dtype}"
    if isinstance(x, tuple):
        return f"a tuple of {len(x)}"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(x, list):
        return f"a list of {len(x)}"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(x, ConstructorValue):
        return f"an instance of {x.constructor.belong_to.name}"
    if isinstance(x, FunctionValue):
        return "a function"
    return "nothing (None)" if x is None else f"a Python {type(x).__name__}"


def _check_constraints(code: Code, values: Sequence[Value], machine: Any) -> None:
    """Check the relations that a polymorphic function requires, on the types of its arguments."""
    fn: Function = code.function
    if code.captures > len(code.hidden):
        return
    args: list[Var] = []
    for param, value in zip(fn.params, values, strict=True):
        t = type_of_argument(value)
        if t is None:
            return
        args.append(Var(param.name, t, span=param.span))
    key = (fn, tuple([a.type_annotation for a in args]))
    if key in machine.checked:
        return
    from relay.typecheck.infer import infer_expr

    try:
        infer_expr(Call(fn, tuple(args), span=fn.span), machine.inferred)
    except RelayError as error:
        first = error.diagnostics[0]
        raise RelayError(
            Diagnostic(
                "argument-type",
                f"`{code.name or 'fn'}` cannot take these arguments: {first.message}",
                first.span,
                first.label,
                hint=first.hint,
            )
        ) from None
    machine.checked.add(key)


def type_of_argument(value: Value) -> Type | None:
    """The type of tensors and tuples of them; None where something else is inside."""
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, tuple):
            stack += v
        elif isinstance(v, FunctionValue | RefValue | ConstructorValue):
            return None
    return type_of_value(value)
