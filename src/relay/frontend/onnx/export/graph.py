"""The graph that is being written: its nodes, its constants, and names that are given once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from relay.frontend.onnx.export.kinds import refuse, result_dtypes
from relay.frontend.onnx.tensors import NUMBERS
from relay.ir.dtype import dtype_name, to_numpy
from relay.ir.type import Dim, TensorType, Type

MAX_SHARED_CONSTANT_BYTES = 64
"""Equal constants up to this size become one initialiser."""


@dataclass(frozen=True)
class Value:
    """A tensor in the graph: its name, its type, and its elements where they are known."""

    name: str
    type: TensorType
    array: np.ndarray[Any, Any] | None = None

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The sizes."""
        if not isinstance(self.type.shape, tuple):
            refuse("a rank that is not known")
        return self.type.shape

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> str:
        """The dtype."""
        if not isinstance(self.type.dtype, str):
            refuse("a dtype that is not known")
        return self.type.dtype

    def sizes(self) -> tuple[int, ...]:
        """The sizes, which must be numbers."""
        return static(self.shape)

    def size(self, axis: int) -> int:
        """One size, which must be a number."""
        return static((self.shape[axis],))[0]


def static(dims: Sequence[Dim]) -> tuple[int, ...]:
    """Sizes that are numbers."""
    found = tuple([d for d in dims if isinstance(d, int)])
    if len(found) < len(dims):
        refuse("a size that is not known")
    return found


class Groups(NamedTuple):
    """The operator and operands of a weight in groups."""

    op: Any
    data: Value
    scale: Value
    zero: Value | None


class Graph:
    """Nodes in their order, constants, and what made each name."""

    def __init__(self, contributed: bool = False) -> None:
        """An empty graph; with `contributed`, operators of ONNX Runtime's own may be in it."""
        self.contributed = contributed
        self.groups: dict[str, Groups] = {}
        """What weights in groups were made of."""
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.producers: dict[str, Any] = {}
        self.dtypes: dict[str, str] = {}
        """The dtype of each name."""
        self.out: Type
        """The type of the result of the call at hand."""
        self._taken: dict[str, int] = {}
        self._shared: dict[tuple[Any, ...], str] = {}

    def fresh(self, hint: str) -> str:
        """A name that nothing has yet."""
        while True:
            count = self._taken.get(hint, 0)
            self._taken[hint] = count + 1
            name = f"{hint}_{count}" if count else hint
            if not count or name not in self._taken:
                self._taken.setdefault(name, 1)
                return name

    def add(self, kind: str, *inputs: Value | str | None, outputs: int = 1, **attributes: Any) -> Any:
        """A node; the name of its result, or a tuple of names.

        With a `domain` it is not of ONNX itself: its results have the dtype of its first input.
        """
        from onnx import helper

        given = ["" if x is None else x if isinstance(x, str) else x.name for x in inputs]
        while given and not given[-1]:
            given.pop()
        dtypes = [self.dtypes.get(name, "") for name in given]
        is_standard = "domain" not in attributes
        found = result_dtypes(kind, dtypes, outputs, attributes) if is_standard else dtypes[:1] * outputs
        names = [self.fresh(kind.lower()) for _ in range(outputs)]
        node = helper.make_node(kind, given, names, **attributes)
        self.nodes.append(node)
        for name, dtype in zip(names, found, strict=True):
            self.producers[name] = node
            self.dtypes[name] = dtype
        return names[0] if outputs == 1 else tuple(names)

    def constant(self, value: Any, dtype: str | None = None, hint: str = "constant") -> str:
        """A tensor that is known."""
        array = np.asarray(value, None if dtype is None else to_numpy(dtype))
        number_of(dtype_name(array.dtype))
        key = (
            (array.dtype.name, array.shape, array.tobytes())
            if array.nbytes <= MAX_SHARED_CONSTANT_BYTES
            else None
        )
        if key is not None and key in self._shared:
            return self._shared[key]
        name = self.fresh(hint)
        self.constants[name] = array
        self.dtypes[name] = dtype_name(array.dtype)
        if key is not None:
            self._shared[key] = name
        return name

    def ints(self, values: Iterable[int]) -> str:
        """A vector of int64: sizes, axes, places."""
        return self.constant(np.asarray(list(values), "int64"))

    def known(self, name: str) -> np.ndarray[Any, Any] | None:
        """The elements of a constant."""
        return self.constants.get(name)

    def value(self, name: str, t: TensorType) -> Value:
        """A name with its type."""
        return Value(name, t, self.constants.get(name))

    @property
    def result(self) -> Value:
        """The type of the result of the call at hand, as a value without a name."""
        if not isinstance(self.out, TensorType):
            refuse("a result that is not a tensor")
        return Value("", self.out)

    def cast(self, x: Value | str, dtype: str) -> str:
        """`x` in a dtype; itself if it has that."""
        name = x if isinstance(x, str) else x.name
        return name if self.dtypes[name] == dtype else self.add("Cast", name, to=number_of(dtype))

    def reshaped(self, x: Value | str, sizes: Sequence[int]) -> str:
        """`x` under a shape of numbers; of a constant, another constant."""
        name = x if isinstance(x, str) else x.name
        array = self.constants.get(name)
        if array is not None and -1 not in sizes:
            return self.constant(array.reshape(tuple(sizes)), hint=f"{name}_reshaped")
        flags = {"allowzero": 1} if 0 in sizes else {}
        return self.add("Reshape", name, self.ints(sizes), **flags)

    def transposed(self, x: Value | str, axes: Sequence[int]) -> str:
        """`x` with its axes in another order; of a constant, another constant."""
        name = x if isinstance(x, str) else x.name
        if list(axes) == list(range(len(axes))):
            return name
        array = self.constants.get(name)
        if array is not None:
            return self.constant(np.ascontiguousarray(array.transpose(axes)), hint=f"{name}_transposed")
        return self.add("Transpose", name, perm=list(axes))

    def scalar(self, value: Any, like: Value) -> str:
        """A number in the dtype of a value."""
        return self.constant(value, like.dtype)

    def sizes_as_value(self, dims: Sequence[Dim], *sources: Value) -> str:
        """Sizes as a vector; those that are symbolic are read off a source that has them."""
        if all(isinstance(d, int) for d in dims):
            return self.ints(static(dims))
        parts = [self.ints([d]) if isinstance(d, int) else self._size(d, sources) for d in dims]
        return self.add("Concat", *parts, axis=0)

    def _size(self, d: Dim, sources: Sequence[Value]) -> str:
        for x in sources:
            if d in x.shape:
                at = x.shape.index(d)
                return self.add("Shape", x, start=at, end=at + 1)
        refuse("a size that is computed")


def number_of(dtype: str) -> int:
    """ONNX's number of a dtype."""
    if dtype not in NUMBERS:
        refuse(f"the dtype {dtype}")
    return NUMBERS[dtype]


def tensor_of(array: np.ndarray[Any, Any], name: str) -> Any:
    """A `TensorProto`."""
    from onnx import numpy_helper

    number_of(dtype_name(array.dtype))
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
