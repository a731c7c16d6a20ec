"""Values from Python, of any type: tuples, instances of data types, functions, references, tensors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay.diagnostic import fail
from relay.interpreter.tensor_conversion import MisfitError, convert_tensor, describe
from relay.interpreter.value import (
    ConstructorValue,
    FunctionValue,
    RefValue,
    Value,
    is_array,
    is_sequence,
    is_tuple,
    type_of_value,
)
from relay.ir.dtype import to_numpy
from relay.ir.expr import Constructor
from relay.ir.module import TypeData
from relay.ir.subst import substitute_type
from relay.ir.type import FuncType, GlobalTypeVar, RefType, TensorType, TupleType, Type, TypeCall, TypeVar
from relay.op.records import quoted, record_of

Datatypes = Mapping[Any, TypeData]
OPAQUE = (FunctionValue, RefValue, ConstructorValue)


def convert(x: Any, t: Type | None, env: dict[Any, Any], datatypes: Datatypes) -> Value:
    """A Python value as a value of type `t`, whose parameters are bound in `env` on the way.

    Goes as deep as the value does, on a stack of its own.  `MisfitError` if it is not such a value.
    """
    return Conversion(env, datatypes).run(x, t)


def untyped_values(args: Sequence[Any]) -> list[Value]:
    """Python values for operators and constructors, which say nothing of their types (`argument-type`)."""
    try:
        return [convert(x, None, {}, {}) for x in args]
    except MisfitError as misfit:
        fail("argument-type", misfit.message, label=f"found {misfit.found}", hint=misfit.hint)


class PythonFunction(FunctionValue):
    """A function of Python, whose results become values."""

    __slots__ = ("datatypes", "function", "type")

    def __init__(self, function: Callable[..., Any], t: FuncType, datatypes: Datatypes) -> None:
        """`t` is the type that it is used at."""
        self.function = function
        self.type = t
        self.datatypes = datatypes

    def __call__(self, *args: Any) -> Value:
        return result_of(self.function(*args), self.type, self.datatypes)


def result_of(x: Any, t: FuncType, datatypes: Datatypes) -> Value:
    """What a function of Python has given as a value of the type that is wanted (`argument-type`)."""
    try:
        return convert(x, t.ret_type, {}, datatypes)
    except MisfitError as misfit:
        message = f"a function that gives {t.ret_type} is wanted: {misfit.message}"
        fail("argument-type", message, label=f"found {misfit.found}", hint=misfit.hint)


class Conversion:
    """The stack of `convert`: values to be converted, and what is to be built of the parts that are done."""

    def __init__(self, env: dict[Any, Any], datatypes: Datatypes) -> None:
        self.env = env
        self.datatypes = datatypes
        self.done: list[Value] = []
        self.stack: list[tuple[Any, Any, Any]] = []
        self.fields_of: dict[tuple[Any, Any], Sequence[Any]] = {}
        self.plans: dict[tuple[Any, Any], list[Any]] = {}
        """What `fits` has found of types: a record of many arrays asks for the same few at each part."""

    def run(self, x: Any, t: Type | None) -> Value:
        """Convert one value."""
        self.stack.append((x, t, None))
        done = self.done
        while self.stack:
            x, t, build = self.stack.pop()
            if build is None:
                self.convert(x, self.env.get(t, t) if isinstance(t, TypeVar) else t)
                continue
            count, make = build
            parts = done[len(done) - count :]
            del done[len(done) - count :]
            done.append(make(parts))
        return done[0]

    def convert(self, x: Any, t: Type | None) -> None:
        """Convert a value that has no parts, or put its parts on the stack."""
        if isinstance(t, TensorType):
            self.done.append(convert_tensor(x, t, self.env))
        elif isinstance(t, TupleType):
            if not is_sequence(x) or len(x) != len(t.fields):
                n = len(t.fields)
                raise MisfitError(
                    f"a tuple of {n} fields is wanted", describe(x), f"give a tuple of {n} values"
                )
            self.push(x, t.fields, tuple)
        elif isinstance(t, TypeCall) and isinstance(t.func, GlobalTypeVar):
            self.instance(x, t)
        elif isinstance(t, FuncType):
            if not callable(x):
                raise MisfitError(
                    "a function is wanted", describe(x), "a closure that a program returned is one"
                )
            self.done.append(x if isinstance(x, FunctionValue) else PythonFunction(x, t, self.datatypes))
        elif isinstance(t, RefType):
            if not isinstance(x, RefValue):
                raise MisfitError("a reference is wanted", describe(x), "relay.RefValue(x) makes one")
            self.done.append(x)
        elif isinstance(x, OPAQUE):
            self.done.append(x)
        elif is_tuple(x):
            self.push(x, (None,) * len(x), lambda parts: self.bind(t, (*parts,)))
        else:
            self.done.append(self.bind(t, convert_tensor(x, None, self.env)))

    def bind(self, t: Type | None, value: Value) -> Value:
        """A value whose type nothing says, which binds a type parameter if it can."""
        found = type_of_argument(value) if isinstance(t, TypeVar) else None
        if found is not None:
            self.env[t] = found
        return value

    def push(self, parts: Sequence[Any], types: Sequence[Any], make: Callable[[list[Value]], Value]) -> None:
        """Put parts on the stack, and what is made of them."""
        self.stack.append((None, None, (len(parts), make)))
        self.stack += [(part, t, None) for part, t in zip(reversed(parts), reversed(types), strict=True)]

    def instance(self, x: Any, t: TypeCall) -> None:
        """An instance of a data type; a Python list may stand for a linked one, a dict for a record."""
        if is_sequence(x) or is_array(x):
            x = as_list(x, t, self.datatypes)
        elif isinstance(x, Mapping):
            x = as_record(x, t, self.datatypes)  # pyright: ignore[reportUnknownArgumentType]
        if not isinstance(x, ConstructorValue) or x.constructor.belong_to is not t.func:
            raise MisfitError(
                f"a value of the data type {t} is wanted",
                describe(x),
                f'its constructors make one: mod.get_type("{t.func}")',
            )
        if not x.fields or (t.is_closed and fits(x, t, self.datatypes, self.plans)):
            self.done.append(x)
            return
        key = (x.constructor, t)
        types = self.fields_of.get(key)
        if types is None:
            types = self.fields_of[key] = field_types(x, t, self.datatypes)
        self.push(x.fields, types, _Rebuild(x))


class _Rebuild:
    """Puts converted fields into an instance; the same object if they are what they were."""

    __slots__ = ("value",)

    def __init__(self, value: ConstructorValue) -> None:
        self.value = value

    def __call__(self, parts: list[Value]) -> ConstructorValue:
        same = all(a is b for a, b in zip(parts, self.value.fields, strict=True))
        return self.value if same else ConstructorValue(self.value.constructor, tuple(parts))


def fits(
    x: ConstructorValue, t: TypeCall, datatypes: Datatypes, plans: dict[tuple[Any, Any], list[Any]]
) -> bool:
    """Whether an instance of a closed type is in order as it is; quick, but it may refuse a good one."""
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


def field_types(x: ConstructorValue, t: TypeCall, datatypes: Datatypes) -> Sequence[Any]:
    """The types of the fields of an instance of `t`, as the module that it is passed to declares them."""
    data = datatypes.get(t.func)
    declared = x.constructor if data is None else _declared(x, data)
    if len(x.fields) != len(declared.inputs):
        raise MisfitError(f"`{declared.name}` has {len(declared.inputs)} fields", f"one with {len(x.fields)}")
    by = {} if data is None else dict(zip(data.type_vars, t.args, strict=True))
    return [substitute_type(f, by) for f in declared.inputs]


def _declared(x: ConstructorValue, data: TypeData) -> Constructor:
    """The constructor of an instance in the data type, which another module may have declared otherwise."""
    at = x.constructor.tag
    if at >= len(data.constructors) or data.constructors[at].name != x.constructor.name:
        raise MisfitError(
            f"`{data.header.name}` has no constructor `{x.constructor.name}` in that place", describe(x)
        )
    return data.constructors[at]


def as_list(x: Any, t: TypeCall, datatypes: Datatypes) -> Any:
    """A Python list as a linked one, if `t` has an empty constructor and one of an element and the rest."""
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


def as_record(x: Mapping[Any, Any], t: TypeCall, datatypes: Datatypes) -> Any:
    """A dict as a record, if `t` has one constructor, and the dict has its fields."""
    data = datatypes.get(t.func)
    c = None if data is None else record_of(data)
    if c is None:
        return x
    if {*x} != {*c.field_names}:
        message = f"a record with the fields {quoted(c.field_names)} is wanted"
        raise MisfitError(message, f"a dict with {', '.join(map(repr, x)) or 'nothing'}")
    return ConstructorValue(c, tuple([x[name] for name in c.field_names]))


def type_of_argument(value: Value) -> Type | None:
    """The type of a tensor, or of a tuple of such; None where something else is inside."""
    stack = [value]
    while stack:
        v = stack.pop()
        if is_tuple(v):
            stack += v
        elif isinstance(v, OPAQUE):
            return None
    return type_of_value(value)
