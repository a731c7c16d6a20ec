"""Programs to be batched: products, networks, branches and loops, other transformations."""

from typing import Any

from batching.vmap_case import case, definite, integer, positive, real, square

# --- products ---


@case("matrix and vector", real(3, 4), real(4))
def _(u: Any, x: Any, y: Any) -> Any:
    return x @ y


@case("vector and shared matrix", real(4), real(4, 3), in_axes=(0, None))
def _(u: Any, x: Any, y: Any) -> Any:
    return x @ y


@case("shared vector and matrix", real(4), real(4, 3), in_axes=(None, 0))
def _(u: Any, x: Any, y: Any) -> Any:
    return x @ y


@case("matrix of three axes and shared one", real(2, 3, 4), real(4, 5), in_axes=(0, None))
def _(u: Any, x: Any, y: Any) -> Any:
    return x @ y


@case("stacks that broadcast", real(2, 3, 4), real(4, 5))
def _(u: Any, x: Any, y: Any) -> Any:
    return x @ y


@case("rows along other axes", real(3, 4), real(4, 2), in_axes=(1, 2), out_axes=1)
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.tanh(x @ y)


@case("rows along the last axes", real(3, 4), real(4), in_axes=(-1, -1), out_axes=-1)
def _(u: Any, x: Any, y: Any) -> Any:
    return x * y


@case("outer product", real(3), real(4))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.linalg.outer(x, y) ** 2


@case("tensordot", real(2, 3, 4), real(4, 3, 5))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.tensordot(x, y, axes=([1, 2], [1, 0]))


@case("vecdot", real(2, 3), real(2, 3))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.vecdot(x, y)


@case("einsum of two", real(2, 3, 4), real(3, 5))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.einsum("abc,bd->adc", x, y)


@case("einsum with a shared one", real(2, 3), real(3, 3), real(3), in_axes=(0, None, 0))
def _(u: Any, x: Any, y: Any, z: Any) -> Any:
    return u.einsum("ab,bc,c->ac", x, y, z)


@case("cross product", real(2, 3), real(2, 3))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.np.linalg.cross(x, y)


# --- convolutions and pools ---


@case("convolution of rows", real(1, 2, 6, 5), real(3, 2, 3, 3), in_axes=(0, None))
def _(u: Any, x: Any, w: Any) -> Any:
    return u.conv(x, w, (1, 1), [(1, 1), (0, 1)])


@case("convolution by a weight of each row", real(2, 2, 6, 5), real(3, 2, 3, 3))
def _(u: Any, x: Any, w: Any) -> Any:
    return u.conv(x, w, (2, 1), [(1, 1), (0, 1)])


@case("convolution of shared data", real(1, 2, 6, 5), real(3, 2, 3, 3), in_axes=(None, 0))
def _(u: Any, x: Any, w: Any) -> Any:
    return u.conv(x, w, (1, 1), [(1, 1), (1, 1)])


@case("convolution in groups", real(1, 4, 5, 5), real(6, 2, 3, 3))
def _(u: Any, x: Any, w: Any) -> Any:
    return u.conv(x, w, (1, 1), [(1, 1), (1, 1)], groups=2)


@case("convolution along one axis, dilated", real(2, 3, 9), real(4, 3, 3))
def _(u: Any, x: Any, w: Any) -> Any:
    return u.conv(x, w, (1,), [(2, 1)], dilation=2)


@case("depthwise convolution", real(1, 3, 6, 6), real(3, 1, 3, 3))
def _(u: Any, x: Any, w: Any) -> Any:
    return u.conv(x, w, (1, 1), [(1, 1), (1, 1)], groups=3)


@case("max pool", real(1, 2, 6, 6))
def _(u: Any, x: Any) -> Any:
    return u.max_pool(x) ** 2


@case("average pool", real(1, 2, 5, 5))
def _(u: Any, x: Any) -> Any:
    return u.avg_pool(x) ** 2


# --- linear algebra ---


@case("solve", square(4), real(4))
def _(u: Any, a: Any, b: Any) -> Any:
    return u.np.linalg.solve(a, b)


@case("solve by a shared matrix", square(4), real(4, 2), in_axes=(None, 0))
def _(u: Any, a: Any, b: Any) -> Any:
    return u.np.linalg.solve(a, b)


@case("inverse", square(3))
def _(u: Any, a: Any) -> Any:
    return u.np.linalg.inv(a)


@case("determinant and its logarithm", square(3))
def _(u: Any, a: Any) -> Any:
    return u.np.linalg.det(a) + u.np.linalg.slogdet(a)[1]


@case("Cholesky", definite(4))
def _(u: Any, a: Any) -> Any:
    return u.np.linalg.cholesky((a + a.T) / 2)


@case("eigenvalues", definite(3))
def _(u: Any, a: Any) -> Any:
    return u.np.linalg.eigvalsh((a + a.T) / 2)


@case("singular values", real(4, 3))
def _(u: Any, a: Any) -> Any:
    return u.np.linalg.svdvals(a)


@case("powers of a matrix", real(3, 3))
def _(u: Any, a: Any) -> Any:
    return u.np.linalg.matrix_power(a, 3)


# --- networks ---


@case("softmax", real(3, 4))
def _(u: Any, x: Any) -> Any:
    return u.softmax(x, axis=-1) * u.softmax(x, axis=0)


@case("cross-entropy of a class", real(5), integer(5))
def _(u: Any, x: Any, i: Any) -> Any:
    return -u.log_softmax(x)[i]


@case("cross-entropy of one-hot classes", real(4, 5), integer(5, 4))
def _(u: Any, x: Any, i: Any) -> Any:
    return -u.np.mean(u.np.sum(u.log_softmax(x, axis=-1) * u.one_hot(i, 5, x * 0 + 1), axis=-1))


@case("Huber loss", real(4), real(4))
def _(u: Any, x: Any, y: Any) -> Any:
    away = u.np.abs(x - y)
    return u.np.mean(u.np.where(away < 1, 0.5 * away * away, away - 0.5))


@case("layer norm", real(3, 6), real(6), real(6), in_axes=(0, None, None))
def _(u: Any, x: Any, gamma: Any, beta: Any) -> Any:
    away = x - u.np.mean(x, axis=-1, keepdims=True)
    return away / u.np.sqrt(u.np.mean(away * away, axis=-1, keepdims=True) + 1e-5) * gamma + beta


@case("attention", real(4, 3), real(5, 3), real(5, 2))
def _(u: Any, q: Any, k: Any, v: Any) -> Any:
    return u.softmax(q @ k.T / 3**0.5, axis=-1) @ v


@case("causal attention of heads", real(2, 4, 3), real(2, 4, 3))
def _(u: Any, q: Any, v: Any) -> Any:
    scores = u.einsum("hqd,hkd->hqk", q, q)
    seen = u.np.tril(u.np.ones((4, 4), dtype=u.np.bool))
    return u.einsum("hqk,hkd->hqd", u.softmax(u.np.where(seen, scores, -1e9), axis=-1), v)


@case("perceptron", real(4), real(6, 4), real(6), real(2, 6), in_axes=(0, None, None, None))
def _(u: Any, x: Any, w: Any, b: Any, v: Any) -> Any:
    return v @ u.np.tanh(w @ x + b)


@case("perceptrons of each row", real(4), real(6, 4), real(2, 6))
def _(u: Any, x: Any, w: Any, v: Any) -> Any:
    return v @ u.relu(w @ x)


@case("embedding", real(7, 3), integer(7, 4), in_axes=(None, 0))
def _(u: Any, table: Any, words: Any) -> Any:
    return u.np.mean(u.np.take(table, words, axis=0) ** 2, axis=0)


# --- branches and loops ---


@case("cond of each row", real())
def _(u: Any, x: Any) -> Any:
    return u.cond(x > 0, lambda v: u.np.sin(v), lambda v: v * v, x)


@case("cond of a shared condition", real(3), real(), in_axes=(0, None))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.cond(y > 0, lambda v: u.np.sin(v), lambda v: v * v, x)


@case("cond within cond", real(3))
def _(u: Any, x: Any) -> Any:
    def outer(v: Any) -> Any:
        return u.cond(v[1] > 0, lambda w: w * 2, lambda w: w**3, v)

    return u.cond(x[0] > 0, outer, lambda v: u.np.exp(v), x)


@case("switch", real(3), integer(3))
def _(u: Any, x: Any, i: Any) -> Any:
    return u.switch(i, [lambda v: v * 2, lambda v: v**3, lambda v: u.np.sin(v)], x)


@case("while as long as a row wants", real(3), slopes=False)
def _(u: Any, x: Any) -> Any:
    return u.while_loop(lambda v: u.np.sum(v * v) < 100, lambda v: v * 1.5 + 0.1, x)


@case("while with a counter", positive(), slopes=False)
def _(u: Any, x: Any) -> Any:
    zero = u.np.asarray(0, dtype=u.np.int32)
    return u.while_loop(lambda s: s[1] < 20, lambda s: (s[0] + 1, s[1] * 2 + 1), (zero, x))[0]


@case("Newton's square root", positive(), slopes=False)
def _(u: Any, x: Any) -> Any:
    return u.while_loop(lambda y: u.np.abs(y * y - x) > 1e-4 * x, lambda y: (y + x / y) / 2, x)


@case("fori", real(3))
def _(u: Any, x: Any) -> Any:
    return u.fori(0, 4, lambda i, v: u.np.sin(v) + x, x)


@case("fori up to a number of each row", real(3), integer(6), slopes=False)
def _(u: Any, x: Any, n: Any) -> Any:
    return u.fori(0, n, lambda i, v: v * 1.25 + 0.1, x)


@case("scan", real(3), real(5, 3))
def _(u: Any, h: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = u.np.tanh(h * 0.5 + x)
        return h, u.np.sum(h)

    return u.scan(step, h, xs)[1]


@case("recurrent network", real(4), real(5, 2), real(4, 4), real(4, 2), in_axes=(None, 0, None, None))
def _(u: Any, h: Any, xs: Any, w: Any, v: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = u.np.tanh(w @ h + v @ x)
        return h, h

    return u.scan(step, h, xs)[0]


@case("scan with a condition of each row", real(), real(6))
def _(u: Any, s: Any, xs: Any) -> Any:
    def step(s: Any, x: Any) -> Any:
        s = u.cond(x > 0, lambda v: v + x, lambda v: v * 0.5, s)
        return s, s * s

    return u.scan(step, s, xs)[1]


# --- transformations inside ---


@case("vmap of vmap", real(3), real(4))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.vmap(lambda a: u.vmap(lambda b: u.np.sin(a) * b * b)(y))(x)


@case("vmap over the other axis inside", real(3, 4), real(3))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.vmap(lambda a: u.np.sum(a * y) ** 2, in_axes=1)(x)


@case("inner vmap with a shared matrix", real(4), real(5, 4), in_axes=(0, None))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.vmap(lambda row: u.np.tanh(row @ x))(y)


@case("kernel matrix", real(3, 2), real(4, 2))
def _(u: Any, x: Any, y: Any) -> Any:
    def likeness(a: Any, b: Any) -> Any:
        return u.np.exp(-u.np.sum((a - b) ** 2))

    return u.vmap(lambda a: u.vmap(lambda b: likeness(a, b))(y))(x)


@case("gradient inside", real(4), real(4))
def _(u: Any, x: Any, y: Any) -> Any:
    return u.grad(lambda v: u.np.sum(u.np.sin(v) * y))(x) * y


@case("jvp inside", real(4), real(4))
def _(u: Any, x: Any, v: Any) -> Any:
    return u.jvp(lambda a: u.np.sin(a) * a[::-1], x, v)


@case("vjp inside", real(4), real(4))
def _(u: Any, x: Any, v: Any) -> Any:
    return u.vjp(lambda a: u.np.cumulative_sum(a * a), x, v)


@case("Hessian times vector", real(4), real(4))
def _(u: Any, x: Any, v: Any) -> Any:
    return u.jvp(u.grad(lambda a: u.np.sum(u.np.exp(a) * a[::-1])), x, v)


@case("Jacobian", real(4))
def _(u: Any, x: Any) -> Any:
    return u.jacobian(lambda a: u.np.sin(a[:3]) * a[1:])(x)


@case("gradient through vmap inside", real(3, 4), real(4))
def _(u: Any, x: Any, w: Any) -> Any:
    return u.grad(lambda w: u.np.sum(u.vmap(lambda row: u.np.tanh(row @ w))(x)))(w)


@case("a part without derivative", real(4))
def _(u: Any, x: Any) -> Any:
    return u.stop(x * x) * x


@case("checkpoint", real(4))
def _(u: Any, x: Any) -> Any:
    return u.checkpoint(lambda v: u.np.sin(u.np.cos(v)))(x)
