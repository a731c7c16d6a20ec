"""The Python array API standard over Relay's operators: `relay.numpy`.

Its functions compute at once on arrays, and are recorded in a function that is traced; operators of arrays
promote dtypes as the standard says.
"""

# ruff: noqa: I001 - a module's names in one statement, each `as` itself: that makes them public

from math import e as e, inf as inf, nan as nan, pi as pi
from sys import modules as _modules
from types import FunctionType as _FunctionType

from relay.numpy import (
    creation, elementwise, fft as fft, linalg as linalg, linear_algebra, manipulation, searching, statistics,
)  # fmt: skip
from relay.numpy.array import VERSIONS, Array as Array, functions as _functions
from relay.numpy.creation import (
    arange as arange, asarray as asarray, astype as astype, broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes, broadcast_to as broadcast_to, empty as empty, empty_like as
    empty_like, eye as eye, from_dlpack as from_dlpack, full as full, full_like as full_like, linspace
    as linspace, meshgrid as meshgrid, ones as ones, ones_like as ones_like, result_type as result_type,
    tril as tril, triu as triu, zeros as zeros, zeros_like as zeros_like,
)  # fmt: skip
from relay.numpy.dtypes import (
    bfloat16 as bfloat16, bool as bool, can_cast as can_cast, finfo as finfo, float16 as float16,
    float32 as float32, float64 as float64, iinfo as iinfo, int16 as int16, int32 as int32, int64 as
    int64, int8 as int8, isdtype as isdtype, uint16 as uint16, uint32 as uint32, uint64 as uint64, uint8
    as uint8,
)  # fmt: skip
from relay.numpy.elementwise import (
    abs as abs, acos as acos, acosh as acosh, add as add, asin as asin, asinh as asinh, atan as atan,
    atan2 as atan2, atanh as atanh, bitwise_and as bitwise_and, bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift, bitwise_or as bitwise_or, bitwise_right_shift as
    bitwise_right_shift, bitwise_xor as bitwise_xor, ceil as ceil, clip as clip, conj as conj, copysign
    as copysign, cos as cos, cosh as cosh, divide as divide, equal as equal, exp as exp, expm1 as expm1,
    floor as floor, floor_divide as floor_divide, greater as greater, greater_equal as greater_equal,
    hypot as hypot, imag as imag, isfinite as isfinite, isinf as isinf, isnan as isnan, less as less,
    less_equal as less_equal, log as log, log10 as log10, log1p as log1p, log2 as log2, logaddexp as
    logaddexp, logical_and as logical_and, logical_not as logical_not, logical_or as logical_or,
    logical_xor as logical_xor, maximum as maximum, minimum as minimum, multiply as multiply, negative
    as negative, nextafter as nextafter, not_equal as not_equal, positive as positive, pow as pow, real
    as real, reciprocal as reciprocal, remainder as remainder, round as round, sign as sign, signbit as
    signbit, sin as sin, sinh as sinh, sqrt as sqrt, square as square, subtract as subtract, tan as tan,
    tanh as tanh, trunc as trunc,
)  # fmt: skip
from relay.numpy.info import __array_namespace_info__ as __array_namespace_info__
from relay.numpy.linear_algebra import matmul as matmul, tensordot as tensordot, vecdot as vecdot
from relay.numpy.manipulation import (
    concat as concat, expand_dims as expand_dims, flip as flip, matrix_transpose as matrix_transpose,
    moveaxis as moveaxis, permute_dims as permute_dims, repeat as repeat, reshape as reshape, roll as
    roll, squeeze as squeeze, stack as stack, take as take, take_along_axis as take_along_axis, tile as
    tile, unstack as unstack,
)  # fmt: skip
from relay.numpy.searching import (
    argmax as argmax, argmin as argmin, argsort as argsort, isin as isin, nonzero as nonzero,
    searchsorted as searchsorted, sort as sort, unique_all as unique_all, unique_counts as
    unique_counts, unique_inverse as unique_inverse, unique_values as unique_values, where as where,
)  # fmt: skip
from relay.numpy.statistics import (
    all as all, any as any, count_nonzero as count_nonzero, cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum, diff as diff, max as max, mean as mean, min as min, prod as prod,
    std as std, sum as sum, var as var,
)  # fmt: skip
from relay.op.namespace import public_function as _public_function

newaxis = None
"""A new axis, in an index."""
__array_api_version__ = VERSIONS[-1]

for _module in (_modules[__name__], linalg, fft):
    for _name, _value in [*vars(_module).items()]:
        if not isinstance(_value, _FunctionType) or _name.startswith("_"):
            continue
        if _name in globals() or _value.__module__ == _module.__name__:
            setattr(_module, _name, _public_function(_value, f"{_module.__name__}.{_name}"))
for _part in (creation, elementwise, linear_algebra, manipulation, searching, statistics):
    _functions.update(vars(_part))
