"""Pickles: a module is its text, an expression or type its node graph, with spans and constants as buffers.

Reading one runs nothing but our own reader of that text, at any depth.  Identity is kept within one pickled
object: variables and type parameters of two objects that are pickled side by side are different afterwards.
`copy` and `deepcopy` return the node itself, since nodes do not change.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from relay.diagnostic import PythonSource, Source, Span
from relay.ir import hooks
from relay.ir.dtype import to_numpy
from relay.ir.expr import (
    Clause,
    Constant,
    Constructor,
    Function,
    GlobalVar,
    Let,
    LetRec,
    Match,
    Node,
    Op,
    Pattern,
    Tuple,
    Var,
)
from relay.ir.module import Import, IRModule, TypeData
from relay.ir.pattern import BINDING, PatternLiteral
from relay.ir.same import constant_type
from relay.ir.type import TensorType, Type
from relay.text.json_build import read_json
from relay.text.json_read import LineSource
from relay.text.json_write import Writer
from relay.text.printer import module_text

Array = tuple[str, tuple[int, ...], bytes]
"""The dtype, shape and data of a constant."""
_SOURCES: dict[str, Any] = {"text": Source, "python": PythonSource, "lines": LineSource}
_set = object.__setattr__


def pickle_node(node: Any) -> tuple[Any, ...]:
    """What `pickle` stores for an expression, pattern, clause, data type or module."""
    if isinstance(node, IRModule):
        return _pickle_module(node)
    text, arrays = _graph(node)
    return load_node, (text, arrays, *_spans(_places(node)))


def pickle_type(t: Type) -> tuple[Any, ...]:
    """What `pickle` stores for a type."""
    return load_node, (*_graph(t), [], b"")


def _graph(node: Any) -> tuple[str, list[Array]]:
    arrays: list[Array] = []

    def keep(value: Any, dtype: str) -> int:
        arrays.append((dtype, value.shape, np.ascontiguousarray(value).tobytes()))
        return len(arrays) - 1

    return Writer(keep).write(node), arrays


def load_node(text: str, arrays: list[Array], sources: list[tuple[str, str, str]], spans: bytes) -> Any:
    """The inverse of `pickle_node` and `pickle_type`."""
    node = read_json(text, [(_restore_array(a), a[0]) for a in arrays])
    _restore(_places(node) if isinstance(node, Node) else (), sources, spans)
    return node


def _restore_array(a: Array) -> Any:
    dtype, shape, data = a
    return np.frombuffer(data, to_numpy(dtype)).reshape(shape)


class Description(NamedTuple):
    """All that tells a module from others, but for what it has imported: its text, the larger constants, and
    the places of its nodes.
    """

    text: str
    constants: list[Constant]
    sources: list[tuple[str, str, str]]
    spans: bytes


def described(mod: IRModule) -> Description:
    """The stored parts of a module."""
    kept: list[Constant] = []

    def keep(c: Constant) -> str:
        kept.append(c)
        return f"meta[relay.Constant][{len(kept) - 1}]"

    whole = mod.copy()
    whole.imports, whole.imported = [], set()
    text = module_text(whole, keep=keep)
    return Description(text, kept, *_spans(_module_places(mod)))


def _pickle_module(mod: IRModule) -> tuple[Any, ...]:
    said = described(mod)
    arrays: list[Array] = []
    for c in said.constants:
        t = constant_type(c)
        assert t is not None, "an open literal is always in the text"
        arrays.append((str(t.dtype), c.value.shape, np.ascontiguousarray(c.value).tobytes()))
    imports = [i.path for i in mod.imports], sorted(mod.imported)
    return load_module, (said.text, arrays, *imports, said.sources, said.spans)


def load_module(
    text: str,
    arrays: list[Array],
    imports: list[str],
    imported: list[str],
    sources: list[tuple[str, str, str]],
    spans: bytes,
) -> IRModule:
    """The inverse of `pickle_node` for a module."""
    from relay.text.parser import parse_module

    constants = [Constant(_restore_array(a), TensorType(a[1], a[0])) for a in arrays]
    mod = parse_module(text, "<pickle>", init_meta={"relay.Constant": constants})
    mod.imports += [Import(path) for path in imports]
    mod.imported |= set(imported)
    _restore(_module_places(mod), sources, spans)
    return mod


# --- spans --------------------------------------------------------------------------------------------------


def _module_places(mod: IRModule) -> Iterator[Node]:
    for data in sorted(mod.type_definitions.values(), key=lambda d: d.header.name_hint):
        yield data
        yield from data.constructors
    for var, e in sorted(mod.functions.items(), key=lambda item: item[0].name_hint):
        yield var
        yield from _places(e)


def _places(root: Any) -> Iterator[Node]:
    """Every node that has a span of its own, in an order that equal programs share.

    Names and constants come once for each mention, whether they are one object or many.
    """
    seen: set[Any] = set()
    stack: list[Any] = [root]
    while stack:
        e = stack.pop()
        if isinstance(e, Op | Constructor) and e is not root:
            continue
        if not _is_leaf(e):
            if e in seen:
                continue
            seen.add(e)
        yield e
        match e:
            case Pattern():
                stack += reversed(e.children)
                if isinstance(e, BINDING):
                    stack.append(e.var)
                elif isinstance(e, PatternLiteral):
                    stack.append(e.value)
            case Clause():
                stack += (*reversed(e.parts), e.lhs)
            case Match():
                stack += (*reversed(e.clauses), e.data)
            case TypeData():
                stack += reversed(e.constructors)
            case Constructor():
                pass
            case _:
                stack += reversed(e.children)
                stack += reversed(_binders(e))


def _is_leaf(e: Any) -> bool:
    """Whether one object or many makes no difference."""
    return isinstance(e, GlobalVar | Constant | Pattern) or (isinstance(e, Tuple) and not e.fields)


def _binders(e: Any) -> tuple[Var, ...]:
    match e:
        case Let():
            return (e.var,)
        case LetRec():
            return e.vars
        case Function():
            return e.params
        case _:
            return ()


def _spans(places: Iterable[Node]) -> tuple[list[tuple[str, str, str]], bytes]:
    """The sources of all spans, and for each node the number of its source (-1 for none), start and end."""
    numbers: dict[Source, int] = {}
    table: list[int] = []
    for e in places:
        if e.span is None:
            table += (-1, 0, 0)
        else:
            table += (numbers.setdefault(e.span.source, len(numbers)), e.span.start, e.span.end)
    kinds = {cls: kind for kind, cls in _SOURCES.items()}
    return [(kinds.get(type(s), "text"), s.name, s.text) for s in numbers], np.array(table, "<i8").tobytes()


def _restore(places: Iterable[Node], sources: list[tuple[str, str, str]], spans: bytes) -> None:
    """Give freshly read nodes the spans of those that were pickled."""
    made = [
        _SOURCES[kind](name, text) if kind == "text" else _SOURCES[kind](name) for kind, name, text in sources
    ]
    rows = np.frombuffer(spans, "<i8").reshape(-1, 3).tolist()
    for e, (source, start, end) in zip(places, rows, strict=False):
        _set(e, "span", None if source < 0 else Span(made[source], start, end))


hooks.pickle_node = pickle_node
hooks.pickle_type = pickle_type
