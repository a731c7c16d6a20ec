"""Calls of compiled graphs: tensors in by their addresses, results out as tensors of the same memory."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay.frontend.torch.arrays import array_of, tensor_of
from relay.frontend.torch.library import pytorch
from relay.frontend.torch_compile.draws import Draw
from relay.frontend.torch_compile.imported import ImportedGraph, Result
from relay.frontend.torch_compile.sizes import SizesOfCall

Convert = Callable[[Any], Any]


def into(traced: Any) -> Convert:
    """What makes an argument of the compiled program of a tensor or a number of PyTorch, without a copy where
    the elements lie one after another.
    """
    if not hasattr(traced, "shape"):
        return as_it_is
    name = str(traced.dtype).removeprefix("torch.")
    if traced.is_complex() or traced.layout != pytorch().strided:
        return array_of
    if not hasattr(np, name):
        return array_of if traced.dim() else scalar_of_bits
    return number_of if traced.dim() == 0 else dense_array


def as_it_is(x: Any) -> Any:
    """A number."""
    return x


def number_of(x: Any) -> Any:
    """A tensor of rank 0 as a number."""
    return x.item()


def scalar_of_bits(x: Any) -> Any:
    """A tensor of rank 0 of a dtype that NumPy does not have."""
    return array_of(x)[()]


def dense_array(x: Any) -> Any:
    """A tensor as an array, of the same memory unless its elements are apart."""
    x = x.detach()
    return (x if x.is_contiguous() else x.contiguous()).numpy()


def out_of(traced: Any) -> Convert:
    """What makes a tensor of an array, of the same memory, or a number."""
    if not hasattr(traced, "shape"):
        return as_number
    name = str(traced.dtype).removeprefix("torch.")
    if hasattr(np, name) and traced.dim() > 0 and not traced.is_complex():
        return pytorch().from_numpy
    return lambda a: tensor_of(a, traced)


def as_number(x: Any) -> Any:
    """A number of Python."""
    return np.asarray(x).item()


def is_dense(traced: Any) -> bool:
    """Whether elements lie one after another in row-major order; numbers do."""
    if not hasattr(traced, "shape"):
        return True
    expected: Any = 1
    for size, stride in zip(reversed(traced.shape), reversed(traced.stride()), strict=True):
        if not isinstance(size, int) or size != 1:
            if str(stride) != str(expected):
                return False
            expected = expected * size
    return True


def result(r: Result, computed: Sequence[Any], given: Sequence[Any]) -> Any:
    """A result, of those of `@main` and the arguments."""
    match r.kind:
        case "computed":
            return computed[r.value]
        case "argument":
            return given[r.value]
        case "view":
            like = r.traced
            return computed[r.value].as_strided(like.shape, like.stride(), like.storage_offset())
        case _:
            return r.value


class GraphCall:
    """A compiled graph as AOTAutograd calls it: with a list of arguments, which it empties."""

    def __init__(
        self,
        graph: ImportedGraph,
        function: Callable[..., Any],
        traced: Sequence[Any],
        draws: Sequence[Draw],
        seen: int,
    ) -> None:
        """`traced` is what PyTorch traced of the arguments, and `seen` how many of the results, the first
        ones, programs may see.
        """
        self._boxed_call = True
        self.function = function
        self.draws = draws
        self.taken = list(zip(graph.taken, map(into, graph.traced), strict=True))
        self.sizes = SizesOfCall(traced)
        self.makers = [out_of(t) for t in graph.computed]
        self.results = graph.results
        shown = {r.value for r in graph.results[:seen] if r.kind in ("computed", "view")}
        self.rearranged = [(i, t) for i, t in enumerate(graph.computed) if i in shown and self.lies_apart(t)]

    def __call__(self, args: list[Any]) -> list[Any]:
        """The results."""
        given = [*args, *[draw(args) for draw in self.draws]] if self.draws else args
        found = self.function(*[convert(given[i]) for i, convert in self.taken])
        made = [make(x) for make, x in zip(self.makers, found, strict=True)]
        for i, traced in self.rearranged:
            made[i] = self.strided(made[i], traced, args)
        results = [result(r, made, given) for r in self.results]
        args.clear()
        return results

    def lies_apart(self, traced: Any) -> bool:
        """Whether a result has strides of its own, which the arguments decide."""
        return not is_dense(traced) and all(map(self.sizes.knows, (*traced.shape, *traced.stride())))

    def strided(self, x: Any, traced: Any, args: Sequence[Any]) -> Any:
        """A tensor with the strides that PyTorch traced, which views of it rely on."""
        shape, strides = (self.sizes.numbers(n, args) for n in (traced.shape, traced.stride()))
        return pytorch().empty_strided(shape, strides, dtype=x.dtype).copy_(x)
