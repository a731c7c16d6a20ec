"""For each function of `relay.numpy`: random arguments, and what NumPy makes of them.

A case is a strategy of `(arguments, options)`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import relay

xp = relay.numpy
xps = make_strategies_namespace(xp)
Arguments = st.SearchStrategy[tuple[tuple[Any, ...], dict[str, Any]]]
FLOATS = xps.floating_dtypes()
NUMBERS = xps.real_dtypes()
INTEGERS = xps.integer_dtypes()
ANY = xps.boolean_dtypes() | NUMBERS
BOOL = xps.boolean_dtypes()


def words(text: str) -> list[str]:
    return text.split()


def shapes(least: int = 0, most: int = 3, side: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    return xps.array_shapes(min_dims=least, max_dims=most, min_side=side, max_side=4)


def arrays(dtypes: Any, shape: Any = None, elements: Any = None) -> st.SearchStrategy[Any]:
    return xps.arrays(dtypes, shapes() if shape is None else shape, elements=elements)


def case(*strategies: Any, **options: Any) -> Arguments:
    return st.tuples(st.tuples(*strategies), st.fixed_dictionaries(options))


def pair(dtypes: Any, second: Callable[[Any], Any] | None = None) -> Arguments:
    """Two arrays of one dtype whose shapes broadcast; `second` says what elements of its dtype may be."""

    @st.composite
    def draw(draw: Any) -> Any:
        a, b = draw(xps.mutually_broadcastable_shapes(2, max_dims=3, max_side=4)).input_shapes
        dtype = draw(dtypes)
        elements = None if second is None else second(dtype)
        return (draw(arrays(dtype, a)), draw(arrays(dtype, b, elements))), {}

    return draw()


def mixed() -> Arguments:
    """Two arrays of numbers of dtypes that promote to one of the standard."""

    @st.composite
    def draw(draw: Any) -> Any:
        a, b = draw(xps.mutually_broadcastable_shapes(2, max_dims=3, max_side=4)).input_shapes
        kind = draw(st.sampled_from([xps.floating_dtypes, xps.integer_dtypes, xps.unsigned_integer_dtypes]))
        pairs = [(x, y) for x in draw_all(kind()) for y in draw_all(kind()) if promotes(x, y)]
        x, y = draw(st.sampled_from(pairs))
        return (draw(arrays(x, a)), draw(arrays(y, b))), {}

    return draw()


def draw_all(strategy: Any) -> list[Any]:
    """The dtypes of the standard of the kind that a strategy samples."""
    names = [*xp.__array_namespace_info__().dtypes(kind="numeric").values()]
    of = {"floating": ("real floating",), "unsigned": ("unsigned integer",)}
    kind = next((k for word, k in of.items() if word in repr(strategy)), ("integral",))
    return [d for d in names if xp.isdtype(d, kind)]


def promotes(a: Any, b: Any) -> bool:
    return np.promote_types(a, b).kind == np.dtype(a).kind or np.promote_types(a, b).kind == np.dtype(b).kind


def nonzero(dtype: Any) -> Any:
    """Divisors: integers but 0, and any floats."""
    return None if dtype.kind == "f" else xps.from_dtype(dtype).filter(bool)


def exponents(dtype: Any) -> Any:
    return None if dtype.kind == "f" else st.integers(0, 6)


def shifts(dtype: Any) -> Any:
    return st.integers(0, dtype.itemsize * 8 - 1)


AXIS = object()
"""An axis of the first array, drawn for it."""


def along(dtypes: Any, least: int = 1, side: int = 0, several: bool = False, **options: Any) -> Arguments:
    """An array, and an axis of it, or several, or None where that is allowed."""

    @st.composite
    def draw(draw: Any) -> Any:
        x = draw(arrays(dtypes, shapes(least, side=side)))
        if several:
            axes = st.none() | xps.valid_tuple_axes(x.ndim)
            axis = draw(axes | st.integers(-x.ndim, x.ndim - 1) if x.ndim else axes)
        else:
            axis = draw(st.integers(-x.ndim, x.ndim - 1))
        return (x,), {"axis": axis, **{k: draw(v) for k, v in options.items()}}

    return draw()


@st.composite
def indexed(draw: Any, along_axis: bool = False) -> Any:
    """An array, places along an axis, and the axis."""
    x = draw(arrays(ANY, shapes(1, side=1)))
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    size = x.shape[axis]
    shape = list(x.shape) if along_axis else [draw(st.integers(0, 4))]
    if along_axis:
        shape[axis] = draw(st.integers(0, 4))
    places = draw(arrays(xp.int64, tuple(shape), st.integers(-size, size - 1)))
    return (x, places), {"axis": axis}


@st.composite
def several(draw: Any, differ: bool = False) -> Any:
    """Arrays of one shape, or that `differ` along one axis, and the axis."""
    shape = draw(shapes(1 if differ else 0))
    axis = draw(
        st.integers(-len(shape), len(shape) - 1) if differ else st.integers(-len(shape) - 1, len(shape))
    )
    dtype = draw(ANY)
    found = []
    for _ in range(draw(st.integers(1, 3))):
        own = list(shape)
        if differ:
            own[axis] = draw(st.integers(0, 3))
        found.append(draw(arrays(dtype, tuple(own))))
    return (found,), {"axis": axis}


@st.composite
def reshaped(draw: Any) -> Any:
    x = draw(arrays(ANY, shapes()))
    shape = draw(xps.reshape_shapes(x.shape) if hasattr(xps, "reshape_shapes") else st.just((x.size,)))
    return (x, draw(st.sampled_from([shape, x.shape, x.shape[::-1], (1, x.size)]))), {}


@st.composite
def broadcast(draw: Any) -> Any:
    x = draw(arrays(ANY, shapes(most=2)))
    return (x, tuple(draw(xps.broadcastable_shapes(x.shape, min_dims=x.ndim, max_dims=3)))), {}


@st.composite
def broadcastable_to(draw: Any) -> Any:
    """An array and a shape that it broadcasts to."""
    shape = draw(shapes())
    kept = draw(st.integers(0, len(shape)))
    own = tuple([draw(st.sampled_from([d, 1])) for d in shape[len(shape) - kept :]])
    return (draw(arrays(ANY, own)), shape), {}


@st.composite
def permuted(draw: Any) -> Any:
    x = draw(arrays(ANY, shapes()))
    return (x, tuple(draw(st.permutations(range(x.ndim))))), {}


@st.composite
def moved(draw: Any) -> Any:
    x = draw(arrays(ANY, shapes(1)))
    places = st.integers(-x.ndim, x.ndim - 1)
    return (x, draw(places), draw(places)), {}


@st.composite
def squeezed(draw: Any) -> Any:
    x = draw(arrays(ANY, st.lists(st.sampled_from([1, 1, 2]), max_size=3).map(tuple)))
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    return (x, tuple(draw(st.lists(st.sampled_from(ones), unique=True))) if ones else ()), {}


@st.composite
def rolled(draw: Any) -> Any:
    x = draw(arrays(ANY, shapes(1)))
    axis = draw(st.none() | xps.valid_tuple_axes(x.ndim, min_size=1))
    shift = st.integers(-5, 5)
    return (x, draw(shift) if axis is None else tuple([draw(shift) for _ in axis])), {"axis": axis}


@st.composite
def repeated(draw: Any) -> Any:
    x = draw(arrays(ANY, shapes(1)))
    axis = draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    size = x.size if axis is None else x.shape[axis]
    counts = arrays(xp.int64, (size,), st.integers(0, 3))
    return (x, draw(st.integers(0, 3) | counts)), {"axis": axis}


@st.composite
def products(draw: Any, core: str = "matrix") -> Any:
    """Operands of a product: small integers, and floats of them, which no order of sums changes."""
    dtype = draw(NUMBERS)
    elements = st.integers(0 if dtype.kind == "u" else -3, 3)
    elements = elements.map(float) if dtype.kind == "f" else elements
    m, k, n = [draw(st.integers(0, 3)) for _ in range(3)]
    if core == "vector":
        a, b = draw(xps.mutually_broadcastable_shapes(2, max_dims=2, max_side=3)).input_shapes
        a, b, options = (*a, k), (*b, k), {}
    elif core == "tensor":
        a, b, options = (
            (m, k, n),
            (k, n, m),
            {"axes": draw(st.sampled_from([0, 2, ((1, 2), (0, 1)), ((0,), (2,))]))},
        )
    else:
        a, b = draw(xps.mutually_broadcastable_shapes(2, max_dims=2, max_side=3)).input_shapes
        options = {}
        stacks = [((k,), (k,)), ((k,), (*b, k, n)), ((*a, m, k), (k,)), ((*a, m, k), (*b, k, n))]
        a, b = draw(st.sampled_from(stacks))
    return (draw(arrays(dtype, a, elements)), draw(arrays(dtype, b, elements))), options


@st.composite
def chosen(draw: Any) -> Any:
    """A condition and two arrays that broadcast."""
    a, b, c = draw(xps.mutually_broadcastable_shapes(3, max_dims=3, max_side=3)).input_shapes
    dtype = draw(ANY)
    return (draw(arrays(xp.bool, a)), draw(arrays(dtype, b)), draw(arrays(dtype, c))), {}


@st.composite
def sorted_and_values(draw: Any) -> Any:
    dtype = draw(NUMBERS)
    elements = st.integers(0, 9).map(float if dtype.kind == "f" else int)
    x = xp.sort(draw(arrays(dtype, shapes(1, 1), elements)))
    return (x, draw(arrays(dtype, shapes(), elements))), {"side": draw(st.sampled_from(["left", "right"]))}


@st.composite
def clipped(draw: Any) -> Any:
    dtype = draw(NUMBERS)
    x = draw(arrays(dtype))
    low, high = sorted(
        [draw(xps.from_dtype(dtype, **({"allow_nan": False} if dtype.kind == "f" else {}))) for _ in "ab"]
    )
    return (x, draw(st.sampled_from([low, None])), high), {}


def repeating(dtypes: Any) -> Any:
    """Arrays in which elements are often equal."""

    @st.composite
    def draw(draw: Any) -> Any:
        dtype = draw(dtypes)
        make = {"f": lambda n: float(n - 1), "b": lambda n: bool(n % 2)}.get(dtype.kind, int)
        elements = st.integers(0, 3).map(make)
        if dtype.kind == "f":
            elements |= st.sampled_from([float("nan"), float("inf"), -0.0])
        return draw(arrays(dtype, None, elements))

    return draw()


BOOLS = st.booleans()
OFTEN = case(repeating(ANY))
CASES: dict[str, Any] = {}
for _name in words("""
        acos acosh asin asinh atan atanh cos cosh sin sinh tan tanh exp expm1 log log1p log2 log10 sqrt
        reciprocal
    """):
    CASES[_name] = case(arrays(FLOATS))
for _name in words(
    "abs negative sign square positive conj real imag ceil floor trunc round isfinite isinf isnan"
):
    CASES[_name] = case(arrays(NUMBERS))
CASES["signbit"] = case(arrays(FLOATS))
for _name in words("add subtract multiply maximum minimum"):
    CASES[_name] = mixed()
for _name in words("equal not_equal less less_equal greater greater_equal"):
    CASES[_name] = pair(NUMBERS)
for _name in words("divide atan2 hypot logaddexp copysign nextafter"):
    CASES[_name] = pair(FLOATS)
for _name in words("floor_divide remainder"):
    CASES[_name] = pair(NUMBERS, nonzero)
for _name in words("logical_and logical_or logical_xor"):
    CASES[_name] = pair(BOOL)
for _name in words("bitwise_and bitwise_or bitwise_xor"):
    CASES[_name] = pair(INTEGERS) | pair(BOOL)
for _name in words("bitwise_left_shift bitwise_right_shift"):
    CASES[_name] = pair(INTEGERS, shifts)
for _name in words("sum prod all any count_nonzero mean std var"):
    _dtypes = (
        FLOATS
        if _name in ("mean", "std", "var")
        else ANY
        if _name in ("all", "any", "count_nonzero")
        else NUMBERS
    )
    CASES[_name] = along(_dtypes, 0, several=True, keepdims=BOOLS)
for _name in words("max min"):
    CASES[_name] = along(NUMBERS, 0, 1, several=True, keepdims=BOOLS)
for _name in words("argmax argmin"):
    CASES[_name] = along(NUMBERS, 1, 1, keepdims=BOOLS)
for _name in words("unique_all unique_counts unique_inverse unique_values"):
    CASES[_name] = OFTEN
for _name in words("cumulative_sum cumulative_prod"):
    CASES[_name] = along(NUMBERS, include_initial=BOOLS)
CASES |= {
    "pow": pair(NUMBERS, exponents),
    "logical_not": case(arrays(BOOL)),
    "bitwise_invert": case(arrays(INTEGERS)) | case(arrays(BOOL)),
    "clip": clipped(),
    "diff": along(NUMBERS, n=st.integers(0, 3)),
    "sort": along(NUMBERS, descending=BOOLS),
    "argsort": along(NUMBERS, descending=BOOLS),
    "flip": along(ANY, 0, several=True),
    "concat": several(differ=True),
    "stack": several(),
    "unstack": along(ANY),
    "expand_dims": along(ANY, 1),
    "squeeze": squeezed(),
    "reshape": reshaped(),
    "broadcast_to": broadcastable_to(),
    "broadcast_arrays": pair(ANY),
    "permute_dims": permuted(),
    "moveaxis": moved(),
    "matrix_transpose": case(arrays(ANY, shapes(2))),
    "roll": rolled(),
    "repeat": repeated(),
    "tile": case(arrays(ANY), st.lists(st.integers(0, 3), max_size=3).map(tuple)),
    "take": indexed(),
    "take_along_axis": indexed(along_axis=True),
    "matmul": products(),
    "vecdot": products("vector"),
    "tensordot": products("tensor"),
    "where": chosen(),
    "nonzero": case(arrays(ANY, shapes(1))),
    "searchsorted": sorted_and_values(),
    "isin": case(repeating(st.just(xp.float32)), repeating(st.just(xp.float32)), invert=BOOLS)
    | case(repeating(st.just(xp.int8)), repeating(st.just(xp.int8)), invert=BOOLS),
    "tril": case(arrays(ANY, shapes(2)), k=st.integers(-4, 4)),
    "triu": case(arrays(ANY, shapes(2)), k=st.integers(-4, 4)),
    "meshgrid": case(*[arrays(xp.int32, shapes(1, 1))] * 2, indexing=st.sampled_from(["xy", "ij"])),
    "zeros_like": case(arrays(ANY)),
    "ones_like": case(arrays(ANY)),
    "full_like": case(arrays(NUMBERS), st.just(3)),
}
