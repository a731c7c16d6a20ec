"""Functions of arrays to be batched: elementwise, reductions, sorting, indexing, shapes."""

from typing import Any

from batching.vmap_case import case, integer, positive, real, unit

# --- elementwise ---


@case("exp of a product", real(4), real(4))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.exp(x * y) - y


@case("roots and logarithms", positive(4))
def _(u: Any, x: Any) -> Any:
    return u.np.sqrt(x) + u.np.log(x) * u.np.log1p(x) + u.np.log2(x) + u.np.log10(x) + 1 / x


@case("trigonometry", unit(4))
def _(u: Any, x: Any) -> Any:
    n = u.np
    return n.sin(x) * n.cos(x) + n.tan(x) + n.asin(x) - n.acos(x) + n.atan(x)


@case("hyperbolic", unit(4))
def _(u: Any, x: Any) -> Any:
    n = u.np
    return n.sinh(x) + n.cosh(x) * n.tanh(x) + n.asinh(x) + n.atanh(x) + n.acosh(x + 2)


@case("powers", positive(3), real(3))
def _(u: Any, x: Any, y: Any) -> Any:
    return x**y + x**3 + u.np.square(y) - u.np.hypot(x, y)


@case("scalars with a shared tensor", real(), real(2, 3), in_axes=(0, None))
def _(u: Any, x: Any, y: Any) -> Any:
    return x * y + u.np.tanh(x)


@case("rows of different ranks", real(2, 3), real(3), real())
def _(u: Any, x: Any, y: Any, z: Any) -> Any:
    return x * y + z


@case("maximum and clip", real(5), real(5))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.maximum(x, y) + u.np.minimum(x, 0.5) + u.np.clip(y, -0.5, 0.5)


@case("abs and sign", real(5))
def _(u: Any, x: Any) -> Any:
    return u.np.abs(x) * u.np.sign(x) + u.np.abs(x)


@case("atan2 and logaddexp", real(5), positive(5))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.atan2(x, y) + u.np.logaddexp(x, y) + u.np.expm1(x)


@case("where of each row's own", real(5), real(5))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.where(x > y, x * y, u.np.exp(y))


@case("rounding", real(5), slopes=False)
def _(u: Any, x: Any) -> Any:
    return u.np.floor(x) + 10 * u.np.ceil(x) + 100 * u.np.trunc(x)


@case("remainders", real(5), positive(5), slopes=False)
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.remainder(x, y) + u.np.floor_divide(x, y)


@case("integers", integer(50, 4), integer(9, 4), slopes=False)
def _(u: Any, x: Any, y: Any) -> Any:
    return (x * y) // (y + 1) + (x % (y + 1)) + (x & y) - (x ^ y)


@case("comparisons", real(5), real(5), slopes=False)
def _(u: Any, x: Any, y: Any) -> Any:
    return (x < y) | ((x > 0) & ~(y >= 0))


@case("error function and gelu", real(5))
def _(u: Any, x: Any) -> Any:
    return u.erf(x) + u.gelu(x) + u.sigmoid(x) + u.relu(x - 0.1)


# --- reductions and statistics ---


@case("sum along each axis", real(3, 4))
def _(u: Any, x: Any) -> Any:
    return u.np.sum(x * x, axis=0)[:3] + u.np.sum(x, axis=1)


@case("mean and variance", real(3, 4))
def _(u: Any, x: Any) -> Any:
    return u.np.mean(x, axis=-1) * u.np.var(x, axis=-1) + u.np.std(x)


@case("product", real(4))
def _(u: Any, x: Any) -> Any:
    return u.np.prod(x)


@case("greatest and least", real(3, 4))
def _(u: Any, x: Any) -> Any:
    return u.np.max(x, axis=1) - u.np.min(x, axis=1) * u.np.max(x)


@case("argmax and argmin", real(3, 4), slopes=False)
def _(u: Any, x: Any) -> Any:
    return u.np.argmax(x, axis=1) * 10 + u.np.argmin(x, axis=1)


@case("all, any and count", real(3, 4), slopes=False)
def _(u: Any, x: Any) -> Any:
    n = u.np
    return n.count_nonzero(x > 0, axis=1) + n.all(x > -1, axis=1) + n.any(x > 1, axis=1)


@case("logsumexp", real(3, 4))
def _(u: Any, x: Any) -> Any:
    return u.logsumexp(x, axis=1)


@case("keepdims", real(3, 4))
def _(u: Any, x: Any) -> Any:
    return x - u.np.mean(x, axis=0, keepdims=True) * u.np.max(x, axis=1, keepdims=True)


@case("norms", real(3, 4))
def _(u: Any, x: Any) -> Any:
    return u.np.linalg.vector_norm(x, axis=1) + u.np.linalg.matrix_norm(x)


@case("cumulative sum", real(3, 4))
def _(u: Any, x: Any) -> Any:
    return u.np.cumulative_sum(x * x, axis=1)


@case("cumulative product", positive(5))
def _(u: Any, x: Any) -> Any:
    return u.np.cumulative_prod(x)


@case("running maximum", real(6))
def _(u: Any, x: Any) -> Any:
    return u.cummax(x)


@case("differences", real(6))
def _(u: Any, x: Any) -> Any:
    return u.np.diff(x) ** 2


# --- sorting and searching ---


@case("sort", real(3, 5))
def _(u: Any, x: Any) -> Any:
    return u.np.sort(x, axis=1) * u.np.sort(x, axis=0)


@case("argsort", real(6), slopes=False)
def _(u: Any, x: Any) -> Any:
    return u.np.argsort(x)


@case("median by sorting", real(7))
def _(u: Any, x: Any) -> Any:
    return u.np.sort(x)[3]


@case("take in order", real(6), real(6))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.take(x, u.np.argsort(y), axis=0)


@case("searchsorted in a shared table", real(4), slopes=False)
def _(u: Any, x: Any) -> Any:
    return u.np.searchsorted(u.np.asarray([-1.0, 0.0, 0.5, 2.0], dtype=x.dtype), x)


@case("searchsorted in each row's", real(5), real(4), slopes=False)
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.searchsorted(u.np.sort(x), y)


# --- indexing ---


@case("slices and reversals", real(4, 5))
def _(u: Any, x: Any) -> Any:
    return x[1:3, ::2] * x[::-1, :3][:2] + x[0, 1]


@case("new axes and ellipsis", real(3, 4))
def _(u: Any, x: Any) -> Any:
    return x[..., None, :2] * x[:, 2:, None]


@case("rows at numbers", real(5, 2), integer(5, 3))
def _(u: Any, x: Any, i: Any) -> Any:
    return x[i] ** 2


@case("rows of a shared table", real(5, 2), integer(5, 3), in_axes=(None, 0))
def _(u: Any, x: Any, i: Any) -> Any:
    return x[i] ** 2


@case("an element at a number", real(5), integer(5))
def _(u: Any, x: Any, i: Any) -> Any:
    return x[i] * x


@case("two lists of numbers", real(4, 5), integer(4, 3), integer(5, 3))
def _(u: Any, x: Any, i: Any, j: Any) -> Any:
    return x[i, j] ** 2


@case("a list beside a slice", real(4, 5, 2), integer(5, 3))
def _(u: Any, x: Any, i: Any) -> Any:
    return x[1:, i, 0] ** 2


@case("along an axis", real(3, 4), integer(4, 3, 2))
def _(u: Any, x: Any, i: Any) -> Any:
    return u.np.take_along_axis(x, i, axis=1) ** 2


@case("set at a number", real(5), real(), integer(5))
def _(u: Any, x: Any, y: Any, i: Any) -> Any:
    return x.at[i].set(y * y) * x


@case("add at numbers", real(5), real(7), integer(5, 7))
def _(u: Any, x: Any, y: Any, i: Any) -> Any:
    return x.at[i].add(y * y) ** 2


@case("add rows of a shared tensor", real(5, 2), real(3, 2), integer(5, 3), in_axes=(None, 0, 0))
def _(u: Any, x: Any, y: Any, i: Any) -> Any:
    return x.at[i].add(y) ** 2


@case("set a slice", real(4, 5), real(2, 2))
def _(u: Any, x: Any, y: Any) -> Any:
    return x.at[1:3, ::3].set(y) ** 2


@case("set at shared numbers", real(6), real(3), integer(2, 3), in_axes=(0, 0, None))
def _(u: Any, x: Any, y: Any, i: Any) -> Any:
    return x.at[2 * u.np.arange(3) + i].set(y) ** 2


@case("histogram", real(8), integer(4, 8))
def _(u: Any, x: Any, i: Any) -> Any:
    return u.np.zeros(4, dtype=x.dtype).at[i].add(x) ** 2


# --- shapes ---


@case("reshape and permute", real(2, 3, 4))
def _(u: Any, x: Any) -> Any:
    return u.np.reshape(u.np.permute_dims(x, (2, 0, 1)), (4, 6)) ** 2


@case("concat and stack", real(2, 3), real(3))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.concat([u.np.stack([y, y * y]), x * y], axis=1)


@case("tile and repeat", real(2, 3))
def _(u: Any, x: Any) -> Any:
    return u.np.tile(x, (2, 1)) * u.np.repeat(x, 2, axis=0)


@case("roll and flip", real(2, 5))
def _(u: Any, x: Any) -> Any:
    return u.np.roll(x, 2, axis=1) * u.np.flip(x, axis=0) + u.np.roll(x, 3)


@case("broadcast", real(3), real(2, 1))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.broadcast_to(x, (2, 3)) * u.np.broadcast_to(y, (4, 2, 3))


@case("squeeze and moveaxis", real(2, 1, 3, 4))
def _(u: Any, x: Any) -> Any:
    return u.np.moveaxis(u.np.squeeze(x, axis=1), 0, -1) ** 2


@case("triangles", real(4, 4))
def _(u: Any, x: Any) -> Any:
    return u.np.tril(x) * 2 + u.np.triu(x, k=1) ** 2


@case("diagonal and trace", real(4, 4))
def _(u: Any, x: Any) -> Any:
    return u.np.linalg.diagonal(x) * u.np.linalg.trace(x)


@case("grids", real(3), real(4))
def _(u: Any, x: Any, y: Any) -> Any:
    a, b = u.np.meshgrid(x, y)
    return a * b
