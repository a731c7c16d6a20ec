"""`relay.function`: Relay functions from Python ones, by running them on traced values."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from relay.diagnostic import fail, hide_own_frames
from relay.interpreter.arguments import arrange
from relay.interpreter.array_kinds import kind_of_arguments
from relay.interpreter.code import Code
from relay.interpreter.value import is_array, is_sequence, type_of_value
from relay.ir.expr import Call, Expr, Function, RelayExpr, TupleGetItem, Var
from relay.ir.expr import replace as replace_node
from relay.ir.module import IRModule
from relay.ir.traced import Traced
from relay.ir.type import Type
from relay.tracing.nested import argument_leaf, as_leaf, flattened, in_trace, traced, typed_leaf
from relay.tracing.pytree import LEAF, Tree, flatten, is_plain, parts_of, unflatten
from relay.tracing.signature import Header, header_of
from relay.tracing.trace import Specialised, trace
from relay.tracing.types import TypesOfTrace, current

MAX_KEPT = 128
"""How many specialisations of one function are kept; the one that was used longest ago goes first."""


Retyped = Callable[[Header, Sequence[Tree], Sequence[Type | None]], list[Type | None]]
"""The types that a function is traced for, by its header, and the structures and types of its arguments."""


class TracedFunction:
    """A Relay function made from a Python one.

    Called on arrays it runs; called on expressions or traced values it is a call of it.  Parameters that are
    not annotated take any nested values (tuples, lists, dicts, named tuples, dataclasses), and the Python
    function is traced once for each structure and types of them; the last `MAX_KEPT` traces are kept.
    """

    def __init__(self, python: Callable[..., Any], header: Header) -> None:
        """`python` takes the parameters of `header` by position, and its chosen values by name."""
        self.python = python
        self.header = header
        self._kept: OrderedDict[Any, Specialised] = OrderedDict()
        self._lock = Lock()
        self.__name__ = self.__qualname__ = header.name
        self.__doc__, self.__module__ = python.__doc__, python.__module__
        if header.is_annotated:
            self.general()

    def __reduce__(self) -> str:
        """A pickle names it, as it does a Python function."""
        return self.python.__qualname__

    @property
    def mod(self) -> IRModule:
        """A module in which it is `@main`, with its types inferred."""
        return self.general().mod

    @property
    def function(self) -> Function:
        """The function, with its types inferred; as general as its body where it is not annotated."""
        return self.mod["main"]

    def as_relay(self) -> Function:
        """The function as an expression, its types to be inferred where it stands."""
        return self.general().function

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        try:
            header, arguments = self.arranged(args, named)
            if current.get() is not None or any(map(is_staged, arguments)):
                a = self._applied(header, arguments)
                call = Call(a.function, a.args)
                return a.result(a.types.done(call) if a.made.has_effects and a.types is not None else call)
            specialised, values = self._for_values(header, arguments)
            return specialised.run(values, kind_of_arguments(tuple(arguments), {}))
        except Exception as error:
            hide_own_frames(error)
            raise

    def for_arguments(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Specialised, list[Any]]:
        """What is to run on these arguments, and its own (`argument-count`, `bad-argument`)."""
        return self._for_values(*self.arranged(args, named))

    def _for_values(self, header: Header, given: Sequence[Any]) -> tuple[Specialised, list[Any]]:
        trees: list[Tree] = []
        types: list[Type | None] = []
        values: list[Any] = []
        for p, x in zip(header.function.params, given, strict=True):
            tree, t = LEAF, None
            if p.type_annotation is None:
                x, tree = flatten(x, argument_leaf, p.name_hint)
                t = type_of_value(x)
            values.append(x)
            trees.append(tree)
            types.append(t)
        return self.specialised(header, trees, types), values

    def arranged(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Header, list[Any]]:
        """The header with the values chosen for parameters that are not traced, and the other arguments."""
        header = self.header
        other = {k: v for k, v in named.items() if k in header.chosen}
        if other:
            header = replace(header, chosen={**header.chosen, **other})
            named = {k: v for k, v in named.items() if k not in other}
        if header.is_open or header.by_name:
            header = header.of_call(len(args), named)
        code = Code(header.name, header.function, len(header.function.params))
        return header, arrange(code, args, named)

    def specialised(self, header: Header, trees: Sequence[Tree], types: Sequence[Type | None]) -> Specialised:
        """The function for parameters of these structures; None as a type is the one that is annotated."""
        chosen = tuple(map(static_key, header.chosen.values()))
        key = (tuple(trees), tuple(types), header.by_name, chosen)
        with self._lock:
            made = self._kept.get(key)
            if made is not None:
                self._kept.move_to_end(key)
                return made
        pairs = zip(header.function.params, types, strict=True)
        params = tuple([p if t is None else Var(p.name_hint, t, span=p.span) for p, t in pairs])
        typed = replace(header, function=replace_node(header.function, params=params))
        made = trace(self.python, typed, trees)
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return made

    def general(self) -> Specialised:
        """The function for any types that its annotations allow, every parameter a single value."""
        if self.header.is_open:
            fail(
                "bad-signature",
                f"how many arguments `{self.header.name}` takes is known when it is called",
                self.header.span,
                hint="call it, or give it to what calls it; or name each parameter",
            )
        count = len(self.header.function.params)
        return self.specialised(self.header, (LEAF,) * count, (None,) * count)

    def applied(
        self, args: Sequence[Any], chosen: Mapping[str, Any], retyped: Retyped | None = None
    ) -> "Application":
        """The function on traced values, to be called, or differentiated and called.

        `retyped` says for which types it is traced where these are not those of the arguments.
        """
        return self._applied(*self.arranged(args, chosen), retyped)

    def _applied(self, header: Header, given: Sequence[Any], retyped: Retyped | None = None) -> "Application":
        first = next((x for x in map(_first_staged, given) if isinstance(x, Traced)), None)
        is_tracing = first is not None or current.get() is not None
        of_trace = in_trace(first)
        exprs: list[Expr] = []
        trees: list[Tree] = []
        types: list[Type | None] = []
        for p, x in zip(header.function.params, given, strict=True):
            closed = p.type_annotation is None
            e, tree = flattened(x, typed_leaf if closed else as_leaf, p.name_hint)
            exprs.append(e)
            trees.append(tree if closed else LEAF)
            types.append(of_trace.get(e) if closed else None)
        if retyped is not None:
            types = retyped(header, trees, types)
        made = self.specialised(header, trees, types)
        return Application(made, tuple(exprs), of_trace if is_tracing else None)

    def __repr__(self) -> str:
        return f"<relay.function {self.__name__}>"

    def __str__(self) -> str:
        return str(self.function)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from relay.text.notebook import display

        return display(self.function)


class Application:
    """A function that is traced for some arguments, and the expressions of these."""

    def __init__(self, made: Specialised, args: tuple[Expr, ...], types: TypesOfTrace | None) -> None:
        """`types` are those of the trace at hand; None where the arguments are plain expressions."""
        self.made = made
        self.function: Expr = made.function
        self.args = args
        self.types = types

    def result(self, e: Expr) -> Any:
        """An expression of the type of the result, in its structure."""
        return self.in_tree(self.made.result, e)

    def argument(self, i: int, e: Expr) -> Any:
        """An expression of the type of an argument, in its structure."""
        return self.in_tree(self.made.arguments[i], e)

    def argument_like(self, i: int, leaf: Callable[[Expr], Expr]) -> Any:
        """What `leaf` makes of each tensor of an argument, in its structure."""
        tree = self.made.arguments[i]
        made = unflatten(tree, self.args[i], lambda e, _: leaf(e), TupleGetItem)
        return self.in_tree(tree, flattened(made, as_leaf, "argument")[0])

    def in_tree(self, tree: Tree, e: Expr) -> Any:
        """An expression in a structure: traced values while tracing, else expressions."""
        if self.types is not None:
            return traced(tree, e, self.types)
        return e if is_plain(tree) else unflatten(tree, e, lambda leaf, _: leaf, TupleGetItem)


def is_staged(x: Any) -> bool:
    """Whether an argument is known only when the program runs: an expression or a traced value is inside."""
    return _first_staged(x) is not None


def _first_staged(x: Any) -> Any:
    """A traced value or expression inside a nested value, traced ones first; None if there is none."""
    stack, found = [x], None
    while stack:
        x = stack.pop()
        if isinstance(x, Traced):
            return x
        if isinstance(x, RelayExpr | TracedFunction):
            found = x
        elif (parts := parts_of(x)) is not None:
            stack += parts[2]
    return found


def static_key(value: Any) -> Any:
    """What stands for a value that is not traced where traces are kept: equal only if traces are."""
    if is_array(value):
        return np.ndarray, value.dtype, value.shape, value.tobytes()
    if is_sequence(value):
        return type(value), tuple(map(static_key, value))
    if isinstance(value, dict):
        return dict, tuple([(static_key(k), static_key(v)) for k, v in value.items()])  # pyright: ignore[reportUnknownVariableType]
    try:
        hash(value)
    except TypeError:
        return Same(value)
    return type(value), value


class Same:
    """An object that is equal to itself alone."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def function(python: Callable[..., Any] | None = None) -> Any:
    """Make a Relay function of a Python one: it is run on traced values, and what it builds is the body.

    Annotations of parameters and of the result are types, or texts such as `"Tensor[(n, 4), float32]"`.  With
    all parameters annotated it is traced at once; else it is traced for the structures and types of the
    arguments of each call, of which the last `MAX_KEPT` are kept.  A parameter with a default value is not
    traced but has that value; a call that names another runs the Python function again.  Traced values have
    the operators and methods of NumPy arrays; Python's `if` and loops see Python values only: use
    `relay.cond`, `relay.switch`, `relay.while_loop`, `relay.fori` and `relay.scan`.

    Raises `traced-control-flow`, `traced-type`, `bad-signature`, `bad-argument`, and what the annotations and
    the expressions raise.
    """
    return function if python is None else as_function(python)


def as_function(python: Any) -> TracedFunction:
    """A Python function to be traced; one that is already comes back as it is (`bad-signature`)."""
    return python if isinstance(python, TracedFunction) else TracedFunction(python, header_of(python))


def is_python(what: Any) -> bool:
    """Whether something is a Python function, decorated or not, and no expression."""
    return callable(what) and not isinstance(what, RelayExpr | Traced)
