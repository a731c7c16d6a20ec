"""What the standard (2025.12) has, by chapter, and the tables of `docs/numpy.md` that say what there is."""

import inspect
import re
from collections.abc import Iterator

import relay

xp = relay.numpy


def words(text: str) -> list[str]:
    return text.split()


STANDARD = {
    "Constants": "e inf nan newaxis pi",
    "Dtypes": """
        bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
    """,
    "Creation functions": """
        arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like
        tril triu zeros zeros_like
    """,
    "Functions of dtypes": "astype can_cast finfo iinfo isdtype result_type",
    "Functions of elements": """
        abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
        bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp
        expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal
        log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum
        multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit
        sin sinh square sqrt subtract tan tanh trunc
    """,
    "Indexing": "take take_along_axis",
    "Linear algebra": "matmul matrix_transpose tensordot vecdot",
    "Manipulation": """
        broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis permute_dims
        repeat reshape roll squeeze stack tile unstack
    """,
    "Searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "Sets": "isin unique_all unique_counts unique_inverse unique_values",
    "Sorting": "argsort sort",
    "Statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "Utilities": "all any diff",
    "Inspection": "__array_namespace_info__ __array_api_version__",
    "The array": """
        __abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__
        __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__
        __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__
        __setitem__ __sub__ __truediv__ __xor__ to_device dtype device mT ndim shape size T
    """,
    "linalg": """
        cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power
        matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot
        vector_norm
    """,
    "fft": "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift",
}
"""The names of each chapter; `linalg` and `fft` are extensions, in namespaces of their own."""
COMPLEX = "no complex dtypes: real and imaginary parts stand on a last axis of 2"
REASONS = {
    "complex64": COMPLEX,
    "complex128": COMPLEX,
    "fft": "its argument or result is complex, and Relay has no complex dtypes",
    "eig": "its results are complex, and Relay has no complex dtypes",
    "eigvals": "its results are complex, and Relay has no complex dtypes",
}
"""Why something is not there: a name, a name in an extension, or a whole extension."""


def home(chapter: str) -> object:
    """Where the names of a chapter are to be found."""
    if chapter == "The array":
        return xp.Array
    return getattr(xp, chapter, None) if chapter in ("linalg", "fft") else xp


def is_there(chapter: str, name: str) -> bool:
    return hasattr(home(chapter), name)


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Chapter, name, `yes` or `no`, and what it is or why it is not."""
    for chapter, names in STANDARD.items():
        for name in names.split():
            if is_there(chapter, name):
                yield chapter, name, "yes", about(chapter, name)
            else:
                reason = REASONS.get(chapter) or REASONS[name]
                yield chapter, name, "no", reason


def about(chapter: str, name: str) -> str:
    """The first sentence of its documentation, as a cell."""
    found = getattr(home(chapter), name)
    if chapter in ("Constants", "Dtypes", "Inspection") or name in SILENT:
        return ""
    text = " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.)  ?The operator|(?<=\.)  ?(?=[A-Z])", text)[0].replace("|", r"\|")


SILENT = frozenset(
    words("""
        __abs__ __add__ __and__ __bool__ __complex__ __eq__ __float__ __floordiv__ __ge__ __getitem__
        __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__
        __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ __dlpack__
        __dlpack_device__
    """)
)
"""Operators, which Python says what they are."""


def tables() -> str:
    """The tables of the page."""
    found = [there for _, _, there, _ in rows()]
    count = f"{found.count('yes')} of the {len(found)} names of the standard and its extensions are there."
    lines, last = [count], ""
    for chapter, name, there, text in rows():
        if chapter != last:
            lines += ["", f"### {TITLES.get(chapter, chapter)}", "", "| | | |", "|---|---|---|"]
            last = chapter
        lines.append(f"| `{name}` | {there} | {text} |")
    return "\n".join([*lines, ""])


TITLES = {"linalg": "The extension linalg", "fft": "The extension fft"}
