"""Values as JSON, on the command line and in `.json` files.

A tensor is a number, a truth value or a string, or lists of such; a tuple is the list of its fields; a `List`
is the list of its elements.  A record is an object with its fields: `{"w": [1.0], "b": 2.0}`.  An instance of
another data type is the name of its constructor, where that has no fields, or an object with the name and the
fields: `"Leaf"`, `{"Node": [1, "Leaf", "Leaf"]}`, `{"Node": {"left": "Leaf", "right": "Leaf"}}`.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeGuard

import numpy as np

from relay.diagnostic import Span, fail
from relay.interpreter.value import ConstructorValue, is_tensor, is_tuple
from relay.ir.dtype import dtype_name, is_float, rounded, to_numpy
from relay.ir.expr import Constructor
from relay.ir.module import IRModule, TypeData
from relay.ir.subst import substitute_type
from relay.ir.type import GlobalTypeVar, TensorType, TupleType, Type, TypeCall

CELL, END = "Cons", "Nil"
"""The constructors of lists, in `std/list`."""
DTYPES = {"b": "bool", "i": "int32", "u": "int32", "f": "float32", "U": "string"}
"""The dtypes of values where the program takes any, by NumPy's kind of what JSON has."""


# --- reading


def parsed(text: str, span: Span) -> Any:
    """What a text of JSON says (`bad-json-value`)."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        _wrong(f"this is not JSON: {error.msg} at column {error.colno}", span)
    except RecursionError:
        _wrong(
            "this JSON is nested too deep", span, "the reader takes about a thousand levels; pass a tensor"
        )


def is_listed(x: Any) -> TypeGuard[list[Any]]:
    """Whether a value of JSON is a list."""
    return isinstance(x, list)


def is_object(x: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a value of JSON is an object."""
    return isinstance(x, dict)


def value_of_json(data: Any, t: Type | None, mod: IRModule, span: Span) -> Any:
    """The value of JSON for a parameter of a type (`bad-json-value`)."""
    made: list[Any] = []
    stack: list[Callable[[], None]] = []

    def join(count: int, whole: Whole) -> None:
        fields = made[len(made) - count :]
        del made[len(made) - count :]
        made.append(whole(fields))

    def visit(x: Any, t: Type | None) -> None:
        types, whole, fields = parts(x, t, mod, span)
        stack.append(lambda: join(len(fields), whole))
        for field, of in zip(reversed(fields), reversed(types), strict=True):
            stack.append(lambda field=field, of=of: visit(field, of))

    visit(data, t)
    while stack:
        stack.pop()()
    return made[0]


Whole = Callable[[Sequence[Any]], Any]


def parts(
    x: Any, t: Type | None, mod: IRModule, span: Span
) -> tuple[Sequence[Type | None], Whole, Sequence[Any]]:
    """The types of what a value is made of, how it is made of that, and the parts in JSON."""
    if isinstance(t, TensorType):
        return (), lambda _: tensor(x, t, span), ()
    if isinstance(t, TupleType):
        if not is_listed(x) or len(x) != len(t.fields):
            _wrong(
                f"a list of {len(t.fields)} fields is needed here, not {_kind(x)}", span, f"the type is {t}"
            )
        return t.fields, tuple, x
    header, args = (t.func, t.args) if isinstance(t, TypeCall) else (t, ())
    if not isinstance(header, GlobalTypeVar) or header not in mod.type_definitions:
        _wrong(f"a value of type {t} cannot be given as JSON", span, "write it as in the language")
    data = mod.type_definitions[header]
    by = dict(zip(data.type_vars, args, strict=False))
    if is_list(data) and is_listed(x):
        element = substitute_type(data.constructors[0].inputs[0], by)
        together = scalars(x, element)
        if together is not None:
            return (), lambda _: chain(together, data), ()
        return [element] * len(x), lambda found: chain(found, data), x
    c, fields = constructor_of(x, data, span)
    types = [substitute_type(i, by) for i in c.inputs]
    return types, lambda found: ConstructorValue(c, tuple(found)), fields


def is_list(data: TypeData) -> bool:
    """Whether a data type is the list of `std/list`, by its name and constructors."""
    return [c.name_hint for c in data.constructors] == [CELL, END] and all(map(is_of_list, data.constructors))


def is_of_list(c: Constructor) -> bool:
    """Whether a constructor makes lists: another data type may have a `Cons` of its own."""
    if c.belong_to.name_hint != "List" or c.name_hint not in (CELL, END):
        return False
    if c.name_hint == END:
        return not c.inputs
    rest = c.inputs[1] if len(c.inputs) == 2 else None
    return c.belong_to == (rest.func if isinstance(rest, TypeCall) else rest)


def chain(elements: Sequence[Any], data: TypeData) -> ConstructorValue:
    """A list of elements."""
    cell, end = data.constructors
    found = ConstructorValue(end, ())
    for e in reversed(elements):
        found = ConstructorValue(cell, (e, found))
    return found


def constructor_of(x: Any, data: TypeData, span: Span) -> tuple[Constructor, Sequence[Any]]:
    """The constructor that JSON names, or whose fields it names, and the fields for it."""
    if is_object(x) and (c := record_of_fields(x, data)) is not None:
        return c, [x[name] for name in c.field_names]
    known = {c.name_hint: c for c in data.constructors}
    name: Any = x
    fields: Any = []
    if is_object(x) and len(x) == 1:
        ((name, fields),) = x.items()
    c = known.get(name) if isinstance(name, str) else None
    if c is None or not (is_listed(fields) or (is_object(fields) and c.field_names)):
        what = f"a value of `{data.header.name_hint}` is needed here, not {_kind(x)}"
        _wrong(what, span, f"it is written {' or '.join(map(form, data.constructors))}")
    if is_listed(fields):
        if len(fields) != len(c.inputs):
            _wrong(f"`{c.name_hint}` takes {len(c.inputs)} fields, not {len(fields)}", span)
        return c, fields
    if not is_object(fields) or set(fields) != set(c.field_names):
        _wrong(f"`{c.name_hint}` has other fields than {_kind(fields)}", span, f"write {form(c)}")
    return c, [fields[n] for n in c.field_names]


def record_of_fields(x: dict[str, Any], data: TypeData) -> Constructor | None:
    """The constructor whose fields an object names: of several the one with the name of the data type."""
    found = [c for c in data.constructors if c.field_names and set(c.field_names) == set(x)]
    named = [c for c in found if is_plain_record(c)]
    return found[0] if len(found) == 1 else named[0] if named else None


def is_plain_record(c: Constructor) -> bool:
    """Whether instances are written without the name of the constructor, which is that of the data type."""
    return bool(c.field_names) and c.name_hint == c.belong_to.name_hint


def form(c: Constructor) -> str:
    """How an instance is written."""
    if not c.inputs:
        return f'"{c.name_hint}"'
    fields = "{" + ", ".join([f'"{n}": …' for n in c.field_names]) + "}" if c.field_names else "[…]"
    return fields if is_plain_record(c) else f'{{"{c.name_hint}": {fields}}}'


def tensor(x: Any, t: TensorType, span: Span) -> Any:
    """A tensor of numbers, in the dtype of a type (`bad-json-value`)."""
    try:
        given = np.asarray(x)
    except ValueError:
        _wrong("the lists of a tensor have different lengths", span)
    if not is_of_shape(given.shape, t):
        _wrong(f"a tensor of type {t} is needed here, not one of shape {given.shape}", span)
    dtype = t.dtype if isinstance(t.dtype, str) else DTYPES.get(given.dtype.kind, "")
    takes = "U" if dtype == "string" else "b" if dtype == "bool" else "iuf" if is_float(dtype) else "iu"
    if given.size and given.dtype.kind not in takes:
        _wrong(f"{'numbers' if 'i' in takes else 'values'} of {dtype} are needed here, not {_kind(x)}", span)
    with np.errstate(over="ignore"):
        found = rounded(given, to_numpy(dtype))
    if "f" not in takes and not np.array_equal(found, given):
        _wrong(f"{_kind(x)} is beyond the numbers of {dtype}", span)
    return found[()]


def scalars(x: list[Any], t: Type) -> list[Any] | None:
    """The elements of a list of numbers, converted together: one by one they take 20 times as long.

    None where one of them is not a number of the dtype: the caller then checks each for its own message.
    """
    if not isinstance(t, TensorType) or t.shape != () or not isinstance(t.dtype, str):
        return None
    takes = {int, float} if is_float(t.dtype) else {int}
    if t.dtype in ("bool", "string") or not {*map(type, x)} <= takes:
        return None
    given = np.asarray(x)
    if given.dtype == object:
        return None
    with np.errstate(over="ignore"):
        found = rounded(given, to_numpy(t.dtype))
    return [*found] if is_float(t.dtype) or np.array_equal(found, given) else None


def is_of_shape(found: tuple[int, ...], t: TensorType) -> bool:
    """Whether a shape has the rank of a type, and the sizes that it knows."""
    if not isinstance(t.shape, tuple):
        return True
    known = zip(t.shape, found, strict=False)
    return len(t.shape) == len(found) and all(not isinstance(d, int) or d == n for d, n in known)


def _kind(x: Any) -> str:
    if is_listed(x):
        return f"a list of {len(x)}"
    if is_object(x):
        return f"an object with {', '.join([f'`{k}`' for k in [*x][:3]]) or 'nothing'}"
    return f"`{json.dumps(x)}`"


def _wrong(message: str, span: Span, hint: str = "") -> NoReturn:
    fail("bad-json-value", message, span, hint=hint)


# --- writing


def as_json(value: Any) -> str:
    """A value in JSON (`not-tensors`, where it holds a function or a reference)."""
    out: list[str] = []
    stack: list[Any] = [value]
    while stack:
        x = stack.pop()
        if isinstance(x, _Piece):
            out.append(x.text)
        elif isinstance(x, ConstructorValue) and is_of_list(x.constructor):
            stack += _bracketed("[", _elements(x), "]")
        elif isinstance(x, ConstructorValue):
            stack += _instance(x)
        elif is_tuple(x):
            stack += _bracketed("[", x, "]")
        elif isinstance(x, str) or is_tensor(x):
            out.append(json.dumps(_plain(x)))
        else:
            message = "the result has a function or a reference in it, which JSON cannot hold"
            fail("not-tensors", message, hint="return what the program computes with it")
    return "".join(out) + "\n"


class _Piece:
    """A part of the text on the stack of `as_json`."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _instance(x: ConstructorValue) -> list[Any]:
    """What is to be written of an instance, last first."""
    c = x.constructor
    name = json.dumps(c.name_hint)
    if not c.field_names:
        return _bracketed(f"{{{name}: [", x.fields, "]}") if x.fields else [_Piece(name)]
    opening, closing = ("{", "}") if is_plain_record(c) else (f"{{{name}: {{", "}}")
    return _bracketed(opening, x.fields, closing, [f"{json.dumps(n)}: " for n in c.field_names])


def _bracketed(opening: str, items: Sequence[Any], closing: str, labels: Sequence[str] = ()) -> list[Any]:
    """What is to be written, last first."""
    found: list[Any] = [_Piece(closing)]
    for i, x in reversed(list(enumerate(items))):
        found.append(x)
        if labels:
            found.append(_Piece(labels[i]))
        if i:
            found.append(_Piece(", "))
    return [*found, _Piece(opening)]


def _elements(x: ConstructorValue) -> list[Any]:
    found: list[Any] = []
    while x.fields:
        found.append(x.fields[0])
        x = x.fields[1]
    return found


def _plain(x: Any) -> Any:
    """A tensor as JSON has it: floats as the shortest numbers that are read back."""
    array: np.ndarray[Any, Any] = np.asarray(x, object if isinstance(x, str) else None)
    if is_float(dtype_name(array.dtype)):
        return (
            array.astype("float32" if array.itemsize < 4 else array.dtype)
            .astype("U")
            .astype("float64")
            .tolist()
        )
    return array.astype("int64").tolist() if array.dtype.kind not in "biuO" else array.tolist()
