"""`relay.vmap`: functions of one example as functions of many, whose arguments and results are nested values.

The rows of each part of an argument lie along the axis that `in_axes` gives it.  A function is traced for the
types of one row, and the trace is batched.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from operator import index
from typing import Any, NamedTuple, SupportsIndex

from relay.diagnostic import caller_span, fail
from relay.ir import build
from relay.ir.axes import Axes, expect_axes, names_an_axis
from relay.ir.expr import Call, Function, Var, VMap
from relay.ir.expr import replace as replace_node
from relay.ir.type import Dim, Kind, TupleType, Type, TypeVar
from relay.ir.walk import run
from relay.tracing.function import TracedFunction, as_function, is_python
from relay.tracing.pytree import LEAF, Node, Path, Tree, Where, parts_of
from relay.tracing.signature import Header, renamed
from relay.typecheck.goals import Stuck
from relay.typecheck.messages import Fault
from relay.typecheck.vmaps import batched, row_type


def vmap(f: Any, in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None) -> Any:
    """`vmap(f)`: a function of one example as a function of many, whose rows lie along an axis.

    `in_axes` is an axis for all arguments, or a tuple with one entry for each: an axis, None where the rows
    share the argument, or axes for the parts of a nested value in its own containers.  `out_axes` says where
    the rows of the result lie, in the same way.  Arguments that are given by name alone have axis 0.
    `axis_size` is the number of rows, which may be left out if an argument has rows.

    Of an expression, the node; of a Python function, a function to call with arrays, to compile, and to
    differentiate.  Raises `batch-axes`, `batch-size`, `batch-type`, `axis-out-of-range` and what the batched
    program raises.
    """
    count = None if axis_size is None else _expect_count(axis_size)
    if not is_python(f):
        if count is not None:
            message = "`axis_size` is given for an expression, whose calls have the number of rows"
            hint = "leave it out, and write `vmap(f, in_axes=None)<8>(x)` in text"
            fail("batch-axes", message, caller_span(), hint=hint)
        return build.vmap(f, in_axes, out_axes)
    target = as_function(f)

    def many(*args: Any, **chosen: Any) -> Any:
        found: list[Axes] = []

        def of_one_row(header: Header, trees: Sequence[Tree], types: Sequence[Type | None]) -> list[Any]:
            placed = rows_of_arguments(in_axes, header, trees, types, count)
            found.extend([p.axes for p in placed])
            return [p.row for p in placed]

        a = target.applied(args, chosen, of_one_row)
        result = run(_placed(out_axes, a.made.result, None, "result", "out_axes", []))
        rows = () if count is None else (count,)
        call = Call(VMap(a.function, tuple(found), result.axes), a.args, None, rows)
        return a.result(a.types.done(call) if a.made.has_effects and a.types is not None else call)

    return TracedFunction(many, _header(target.header, in_axes))


def _expect_count(axis_size: Any) -> int:
    """Return `axis_size` as a number of rows (`attribute-type`, `attribute-value`)."""
    hint = "for example axis_size=8"
    if isinstance(axis_size, bool) or not isinstance(axis_size, SupportsIndex):
        message = f"`axis_size` of `vmap` is a number of rows, not {axis_size!r:.40}"
        fail("attribute-type", message, caller_span(), hint=hint)
    if index(axis_size) < 0:
        message = f"`axis_size` of `vmap` is at least 0, not {axis_size!r:.40}"
        fail("attribute-value", message, caller_span(), hint=hint)
    return index(axis_size)


class Placed(NamedTuple):
    """Where the rows of a value lie, and the type of one of them if that of the value is known."""

    axes: Axes
    row: Type | None


class Size(NamedTuple):
    """How many rows a part of an argument has."""

    where: Where
    axis: int
    rows: Dim


def rows_of_arguments(
    in_axes: Any,
    header: Header,
    trees: Sequence[Tree],
    types: Sequence[Type | None],
    axis_size: int | None = None,
) -> list[Placed]:
    """Return where the rows of each argument lie.

    Raises `batch-axes`, `batch-size`, `batch-type` and `axis-out-of-range`.
    """
    given = _by_argument(in_axes, header)
    sizes: list[Size] = []
    placed = [
        run(_placed(axes, tree, t, p.name_hint, "in_axes", sizes))
        for axes, p, tree, t in zip(given, header.function.params, trees, types, strict=True)
    ]
    if axis_size is None and not any(names_an_axis(p.axes) for p in placed):
        fail(
            "batch-axes",
            f"`in_axes` of `vmap({header.name})` names no axis: the rows share all arguments",
            caller_span(),
            hint="name an axis for what differs, give `axis_size`, or call the function itself",
        )
    known = [s for s in sizes if isinstance(s.rows, int)]
    if axis_size is not None and known and known[0].rows != axis_size:
        where, axis, rows = known[0]
        message = f"`{where}` has {rows} rows along axis {axis}, but `axis_size` is {axis_size}"
        fail("batch-size", message, caller_span(), hint="leave `axis_size` out if an argument has rows")
    other = next((s for s in known if s.rows != known[0].rows), None)
    if other is not None:
        fail(
            "batch-size",
            f"`{known[0].where}` has {known[0].rows} rows along axis {known[0].axis}, "
            f"`{other.where}` has {other.rows} along axis {other.axis}",
            caller_span(),
            hint="all that is batched has the same number of rows; None in `in_axes` shares an argument",
        )
    return placed


def _by_argument(in_axes: Any, header: Header) -> list[Any]:
    """The entry of `in_axes` for each argument."""
    by_name = len(header.by_name)
    count = len(header.function.params) - by_name
    if not isinstance(in_axes, list | tuple):
        return [in_axes] * (count + by_name)
    if len(in_axes) != count:  # pyright: ignore[reportUnknownArgumentType]
        several = "argument" if count == 1 else "arguments"
        fail(
            "batch-axes",
            f"`in_axes` is for {len(in_axes)}, but `{header.name}` takes {count} {several}",  # pyright: ignore[reportUnknownArgumentType]
            caller_span(),
            hint="give one entry for each argument, None where the rows share it",
        )
    return [*in_axes, *[0] * by_name]


def _placed(
    axes: Any, tree: Tree, t: Type | None, where: Where, name: str, sizes: list[Size]
) -> Generator[Any, Any, Placed]:
    """`axes`, which may stand for all parts of a value, for each part of it; its sizes go to `sizes`."""
    if axes is None or parts_of(axes) is None:
        axes = expect_axes(axes, name, caller_span())
    if axes is None:
        return Placed(None, t)
    node = tree if isinstance(tree, Node) else None
    if node is None and isinstance(t, TupleType):
        node = Node(tuple, (), (LEAF,) * len(t.fields))
    if node is not None:
        entries = [axes] * len(node.parts) if isinstance(axes, int) else _entries(axes, node, where, name)
        types = t.fields if isinstance(t, TupleType) else (None,) * len(node.parts)
        parts: list[Placed] = []
        for i, (a, part, u) in enumerate(zip(entries, node.parts, types, strict=True)):
            at = Path(where, node.kind, node.keys, i)
            parts.append((yield _placed(a, part, u, at, name, sizes)))
        row = None if t is None else TupleType([p.row for p in parts])  # pyright: ignore[reportArgumentType]
        return Placed(axes if isinstance(axes, int) else tuple([p.axes for p in parts]), row)
    if t is None:
        return Placed(expect_axes(axes, name, caller_span()), None)
    if not isinstance(axes, int):
        fail("batch-axes", f"`{name}` has {_described(axes)} for `{where}`, which is one value of type {t}",
             caller_span(), hint="give it one axis, or None to share it")  # fmt: skip
    return Placed(axes, _row(axes, t, where, sizes))


def _row(axis: int, t: Type, where: Where, sizes: list[Size]) -> Type:
    """The type of one row of a value that is not a tuple."""
    try:
        found: list[Dim] = []
        row = row_type(axis, t, found)
    except Fault as fault:
        fail(fault.code, f"`{where}`: {fault.message}", caller_span(), hint=fault.hint)
    except Stuck:
        return t
    sizes += [Size(where, axis, rows) for rows in found]
    return row


def _entries(axes: Any, node: Node, where: Where, name: str) -> Sequence[Any]:
    """The entries of axes that nest as a container does."""
    found = parts_of(axes)
    assert found is not None
    kind, keys, parts = found
    is_same = kind in (tuple, list) and (node.kind in (tuple, list) or hasattr(node.kind, "_make"))
    if (is_same or (kind == node.kind and keys == node.keys)) and len(parts) == len(node.parts):
        return parts
    what = _described_node(node.kind, node.keys, len(node.parts))
    fail("batch-axes", f"`{name}` has {_described(axes)} for `{where}`, which is {what}",
         caller_span(), hint="give one axis for all of it, or axes in the same containers")  # fmt: skip


def _described(axes: Any) -> str:
    """Axes in words."""
    found = parts_of(axes)
    return repr(axes) if found is None else _described_node(found[0], found[1], len(found[2]))


def _described_node(kind: Any, keys: Sequence[Any], count: int) -> str:
    """A container in words."""
    if kind is dict:
        return f"a dict with {', '.join(map(repr, keys)) or 'no keys'}"
    if kind is None:
        return "None"
    if kind in (tuple, list):
        return f"a {kind.__name__} of {count}"
    return f"a {getattr(getattr(kind, 'kind', kind), '__name__', kind)}"


def _header(header: Header, in_axes: Any) -> Header:
    """The header of the batched function: what is annotated has one axis more."""
    made = renamed(header, "vmap")
    rows = TypeVar("b", Kind.Dim)
    if made.is_open:
        bare = [None if v is None else Var(v.name_hint, span=v.span) for v in (made.rest, made.others)]
        fn = _with_types(made.function, [None] * len(made.function.params), ())
        return replace(made, function=fn, rest=bare[0], others=bare[1])
    given = _by_argument(in_axes, header)
    types: list[Type | None] = []
    for p, axes in zip(made.function.params, given, strict=True):
        t = p.type_annotation
        if t is not None:
            placed = run(_placed(axes, LEAF, None, p.name_hint, "in_axes", []))
            t = _batched(placed.axes, t, rows, p)
        types.append(t)
    return replace(made, function=_with_types(made.function, types, (rows,)))


def _batched(axes: Axes, t: Type, rows: TypeVar, p: Var) -> Type | None:
    """The type of a parameter for many rows; None where only a call knows it."""
    try:
        return batched(axes, t, rows)
    except Fault as fault:
        fail(fault.code, f"`{p.name_hint}`: {fault.message}", p.span, hint=fault.hint)
    except Stuck:
        return None


def _with_types(fn: Function, types: Sequence[Type | None], more: tuple[TypeVar, ...]) -> Function:
    """An empty function with parameters of those types."""
    params = [Var(p.name_hint, t, span=p.span) for p, t in zip(fn.params, types, strict=True)]
    return replace_node(fn, params=tuple(params), type_params=(*more, *fn.type_params))
