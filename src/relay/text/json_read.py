"""Programs from the node graph of the JSON format.

Nodes refer to each other by index, in any order.  They are built children first on an explicit stack; one
that refers to itself, or to an index there is none for, is a diagnostic.  Shared nodes stay shared.
"""

import json
import linecache
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

from relay.diagnostic import RelayError, Source, Span, counted, fail
from relay.ir import dim
from relay.ir.expr import Op, RelayExpr
from relay.op.attribute import Size, attribute_types
from relay.op.registry import registry
from relay.text.device_names import device_name
from relay.text.json_arrays import decode
from relay.text.json_schema import CALL, FIELDS, IGNORED, is_dimension, is_reference, short_key
from relay.text.literals import short

COLUMNS_PER_LINE = 1 << 20
ELSEWHERE = frozenset(
    {"Source", "SourceMap", "SequentialSpan", "Target", "GlobalInfo", "Executor", "Runtime"}
)
"""What says where another compiler found a program, and how it is to run it."""
_CONTAINERS = ("Array", "Map", "StrMap")
MAX_LISTED_FUNCTIONS = 3


class LineSource(Source):
    """A source of which only lines and columns are known; an offset is both of them in one number."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        """`name` is a path, perhaps of a file that exists."""
        super().__init__(name, "")

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        return max(offset // COLUMNS_PER_LINE, 1), max(offset % COLUMNS_PER_LINE, 1)

    def line_text(self, line: int) -> str:
        """The line, if the file is there."""
        return linecache.getline(self.name, line).rstrip("\n")


def bad(message: str, hint: str = "") -> NoReturn:
    """Report JSON that has the wrong type."""
    fail("bad-json", message, hint=hint or "the text must be what `save_json` wrote, whole and unchanged")


def refuse_graph(nodes: list[Any]) -> NoReturn:
    """Report a graph of compiled functions, which beside its parameters is all that a deployed model has."""
    named = [cast("dict[str, Any]", n).get("attrs") for n in nodes if isinstance(n, dict)]
    attrs = [cast("dict[str, Any]", a) for a in named if isinstance(a, dict)]
    functions = {str(a["func_name"]) for a in attrs if "func_name" in a}
    listed = ", ".join([f"`{short(name)}`" for name in sorted(functions)[:MAX_LISTED_FUNCTIONS]])
    more = ", …" if len(functions) > MAX_LISTED_FUNCTIONS else ""
    fail(
        "compiled-graph",
        "this is a graph of compiled functions, not a program: it calls "
        + f"{counted(len(functions), 'function')} of a library"
        + (f", {listed}{more}" if listed else ""),
        hint="the library has their machine code alone: import the model again, or read its text or JSON",
    )


class Reader:
    """One JSON text and what has been built of it."""

    def __init__(self, text: str, makers: "Makers", arrays: Sequence[Any] | None = None) -> None:
        """`arrays` are the data of constants where the text does not have them itself."""
        try:
            top = json.loads(text)
        except (ValueError, RecursionError) as error:
            bad(f"the text is not JSON: {str(error) or 'it nests too deeply'}")
        if not isinstance(top, dict) or not isinstance(cast("dict[str, Any]", top).get("nodes"), list):
            bad("the JSON has no list of `nodes`")
        parts = cast("dict[str, Any]", top)
        if "arg_nodes" in parts and "heads" in parts:
            refuse_graph(parts["nodes"])
        blobs = parts.get("b64ndarrays", [])
        if not all(isinstance(n, dict) for n in parts["nodes"]) or not isinstance(blobs, list):
            bad("`nodes` must be objects, and `b64ndarrays` a list of texts")
        self.root: Any = parts.get("root")
        self.nodes: list[Any] = parts["nodes"]
        self.blobs = cast("list[Any]", blobs)
        self.makers = makers
        self.arrays = arrays
        self.decoded: dict[int, Any] = {}
        self.built: dict[int, Any] = {}
        self.sources: dict[str, LineSource] = {}
        self.nowhere = Span(LineSource("<json>"), 0, 0)

    def read(self) -> Any:
        """What the root is."""
        if type(self.root) is not int:
            bad("`root` is not the index of a node")
        return self.build(self.root)

    # --- references -----------------------------------------------------------------------------------------

    def index(self, value: Any, what: str = "a reference") -> int:
        """An attribute or datum as the index of a node."""
        if isinstance(value, str):
            if value in ("null", "(nullptr)", ""):
                return 0
            value = int(value) if value.isdecimal() and len(value) < 12 else -1
        if type(value) is not int or not 0 <= value < len(self.nodes):
            bad(f"{what} of the JSON does not refer to a node")
        return value

    def attrs(self, i: int) -> dict[str, Any]:
        """The attributes of a node."""
        found = self.nodes[i].get("attrs", {})
        if not isinstance(found, dict):
            bad(f"node {i} has attributes that are not an object")
        return cast("dict[str, Any]", found)

    def key(self, i: int) -> str:
        """What a node is, without the name space."""
        key = self.nodes[i].get("type_key", "")
        if not isinstance(key, str):
            bad(f"node {i} has no type key")
        return f"tir.{short_key(key)}" if key.startswith("tir.") else short_key(key)

    def get(self, i: int, name: str) -> Any:
        """The built node that attribute `name` of node `i` refers to; None for no reference."""
        attrs = self.attrs(i)
        return self.built[self.index(attrs[name], f"`{name}` of node {i}")] if name in attrs else None

    def plain(self, i: int, name: str, default: str | None = None) -> str:
        """An attribute that stands for itself."""
        value = self.attrs(i).get(name, default)
        if not isinstance(value, str):
            bad(f"node {i} has no `{name}`")
        return value

    def integer(self, i: int, name: str, default: str | None = None) -> int:
        """An attribute that is an integer."""
        try:
            return int(self.plain(i, name, default))
        except ValueError:
            bad(f"`{name}` of node {i} is not an integer")

    def name(self, i: int, field: str = "name_hint") -> str:
        """A name: in a node of its own, or in the attribute itself, as older files have it."""
        value = self.plain(i, field)
        if value.isdecimal() and len(value) < 12 and int(value) < len(self.nodes):
            text = self.string(int(value))
            if text is not None:
                return text
        return value

    def string(self, i: int) -> str | None:
        """The text that node `i` is, the name of a device too; None for anything else."""
        node = self.nodes[i]
        if self.key(i) == "VirtualDevice":
            return device_name(self.attrs(i))
        if self.key(i) not in ("String", "runtime.String"):
            return None
        text = node.get("repr_str", "")
        if "repr_b64" in node:
            from base64 import b64decode

            try:
                raw = b64decode(node["repr_b64"])
                text = raw[8:].decode("utf-8", "replace") if len(raw) > 8 else ""
            except (ValueError, TypeError):
                bad(f"node {i} is not base64")
        return text if isinstance(text, str) else None

    def span(self, i: int) -> Span:
        """Where a node comes from, as far as the file says."""
        value = self.attrs(i).get("span")
        at = self.index(value, f"`span` of node {i}") if value is not None else 0
        if not at or self.key(at) != "Span":
            return self.nowhere
        source_at = self.index(self.attrs(at).get("source_name"), "the source of a span")
        name = self.nodes[source_at].get("repr_str") or "<json>"
        source = self.sources.setdefault(str(name), LineSource(str(name)))
        places = [max(self.integer(at, f, "0"), 0) for f in ("line", "column", "end_line", "end_column")]
        line, column, end_line, end_column = places
        return Span(
            source,
            line * COLUMNS_PER_LINE + min(column, COLUMNS_PER_LINE - 1),
            end_line * COLUMNS_PER_LINE + min(end_column, COLUMNS_PER_LINE - 1),
        )

    def data(self, i: int) -> tuple[Any, str | None]:
        """The array of constant `i`, and its dtype where the blob says it."""
        at = self.integer(i, "data")
        if self.arrays is not None:
            if not 0 <= at < len(self.arrays):
                bad(f"the constant of node {i} has no data")
            return self.arrays[at]
        if not 0 <= at < len(self.blobs):
            bad(f"the constant of node {i} has no data")
        if at not in self.decoded:
            self.decoded[at] = decode(self.blobs[at])
        return self.decoded[at]

    # --- building -------------------------------------------------------------------------------------------

    def build(self, root: int) -> Any:
        """Node `root`, and before it all that it refers to."""
        root = self.index(root, "`root`")
        built = self.built
        stack = [root]
        open_: set[int] = set()
        while stack:
            i = stack[-1]
            if i in built:
                stack.pop()
                continue
            waiting = [d for d in self.needs(i) if d not in built]
            if not waiting:
                built[i] = self.make(i)
                open_.discard(i)
                stack.pop()
                continue
            if i in open_ and any(d in open_ for d in waiting):
                bad(f"node {i} of the JSON is inside itself")
            open_.add(i)
            stack += reversed(waiting)
        return built[root]

    def needs(self, i: int) -> list[int]:
        """The nodes that node `i` refers to; for a call first the operator, then what attributes need."""
        node, key = self.nodes[i], self.key(i)
        if key in _CONTAINERS:
            data = node.get("data", [])
            if not isinstance(data, list):
                bad(f"node {i} has no list of data")
            return [self.index(d, f"an item of node {i}") for d in cast("list[Any]", data)]
        attrs = self.attrs(i)
        if key == "Call":
            first = [self.index(attrs[f], f"`{f}` of node {i}") for f in CALL if f in attrs]
            if not all(d in self.built for d in first):
                return first
            return [*first, *self.attribute_needs(i)]
        fields = FIELDS.get(key.removeprefix("tir."), ())
        return [self.index(attrs[f], f"`{f}` of node {i}") for f in fields if f in attrs]

    def attribute_needs(self, call: int) -> list[int]:
        """The nodes that the attributes of a call refer to."""
        at = self.index(self.attrs(call).get("attrs", "0"), f"`attrs` of node {call}")
        op = self.get(call, "op")
        if not at or self.key(at) in ("DictAttrs", "Map", "StrMap") or type(op) is not Op:
            return [at] if at else []
        return self.references(at, op.name)

    def references(self, at: int, op: str) -> list[int]:
        """The nodes that the attributes of an operator in node `at` refer to."""
        hints = attribute_types(registry[op])
        return [
            self.index(v[1:] if is_dimension(v, hints[k]) else v, f"`{k}` of node {at}")
            for k, v in self.attrs(at).items()
            if k in hints and (is_reference(op, k, hints[k]) or is_dimension(v, hints[k]))
        ]

    def call_attributes(self, call: int) -> dict[str, Any]:
        """The attributes of a call as a dict."""
        at = self.index(self.attrs(call).get("attrs", "0"), f"`attrs` of node {call}")
        op = self.get(call, "op")
        if not at:
            return dict(registry[op.name].tvm_attributes) if type(op) is Op else {}
        if at in self.built and (type(op) is not Op or isinstance(self.built[at], dict)):
            found = self.built[at]
            return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        return self.operator_attributes(at, op.name)

    def operator_attributes(self, at: int, op: str) -> dict[str, Any]:
        """The attributes of an operator in node `at`, all they refer to being built."""
        hints = attribute_types(registry[op])
        values: dict[str, Any] = dict(registry[op].tvm_attributes)
        for k, v in self.attrs(at).items():
            if k in IGNORED:
                continue
            if k not in hints:
                if v not in ("", "0", "null", "(nullptr)") and not self._is_operand(v):
                    values[k] = v
            elif is_dimension(v, hints[k]):
                values[k] = self.built[self.index(v[1:])]
            elif is_reference(op, k, hints[k]):
                found = self.built[self.index(v)]
                if not _has_expr(found) and (found is not None or _optional(hints[k])):
                    values[k] = found
            elif (found := self.attribute(v, hints[k])) is not None:
                values[k] = found
        return values

    def _is_operand(self, v: Any) -> bool:
        """Whether an attribute leads to an expression that is an operand as well."""
        at = int(v) if isinstance(v, str) and v.isdecimal() and len(v) < 12 else -1
        return 0 <= at < len(self.nodes) and (
            self.built.get(at) is not None and isinstance(self.built[at], RelayExpr)
        )

    def attribute(self, v: Any, hint: Any) -> Any:
        """An attribute that stands for itself, by its annotation; None where it says nothing."""
        if not isinstance(v, str):
            bad("an attribute of the JSON is not a text")
        if v in ("null", "(nullptr)"):
            return None
        try:
            if hint is bool:
                return v.lower() in ("1", "true")
            if hint in (int, Size):
                return int(v)
            if hint is float:
                return float(v)
        except ValueError:
            bad(f"the attribute `{v}` of the JSON is not a number")
        if v.isdecimal() and len(v) < 12 and int(v) < len(self.nodes):
            text = self.string(int(v))
            v = v if text is None else text
        return None if v == "" and not _allows_empty(hint) else v

    def make(self, i: int) -> Any:
        """The thing that node `i` is, all it refers to being built."""
        key = self.key(i)
        if key in ("", "None"):
            return None
        maker = self.makers.get(key) or self.makers.get(key.removeprefix("tir."))
        if maker is None:
            if key.endswith("Attrs"):
                return StoredAttributes(self, i)
            if key in ELSEWHERE:
                return None
            bad(f"node {i} is a `{self.nodes[i].get('type_key')}`, which Relay does not have")
        try:
            return maker(self, i)
        except RelayError:
            raise
        except (TypeError, ValueError, AttributeError, KeyError, AssertionError, OverflowError) as error:
            bad(f"node {i} of the JSON, a `{self.nodes[i].get('type_key')}`, does not fit together: {error}")


Makers = Mapping[str, Callable[[Reader, int], Any]]
"""What makes the things of each kind of node, all they refer to being built."""


class StoredAttributes(dict[str, Any]):
    """The attributes of some call in a node, as texts until it is known of which operator they are."""

    def __init__(self, reader: Reader, at: int) -> None:
        """Node `at` of what is read."""
        super().__init__({k: v for k, v in reader.attrs(at).items() if k not in IGNORED})
        self.reader = reader
        self.at = at

    def of(self, op: str) -> dict[str, Any]:
        """The attributes as those of an operator."""
        for i in self.reader.references(self.at, op):
            self.reader.build(i)
        return self.reader.operator_attributes(self.at, op)


def _has_expr(v: Any) -> bool:
    several = cast("Sequence[Any]", v) if isinstance(v, list | tuple) else (v,)
    return any(isinstance(x, RelayExpr) for x in several)


def _optional(hint: Any) -> bool:
    from types import NoneType
    from typing import get_args

    return NoneType in get_args(hint)


def _allows_empty(hint: Any) -> bool:
    from typing import Literal, get_args, get_origin

    return (
        hint is str
        or any(get_origin(a) is Literal and "" in get_args(a) for a in get_args(hint))
        or "" in get_args(hint)
    )


def dimension(op: str) -> Callable[[Reader, int], Any]:
    """What builds a dimension from an arithmetic node."""
    return lambda r, i: dim.arithmetic(op, r.get(i, "a"), r.get(i, "b"))
