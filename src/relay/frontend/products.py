"""Products of matrices as NumPy and its followers define them."""

from relay.frontend.value import Value, call


def matmul(x: Value, y: Value) -> Value:
    """The product of (stacks of) matrices; a vector is a row on the left, a column on the right."""
    if y.rank == 1:
        return call("squeeze", matmul(x, call("expand_dims", y, axis=1)), axis=(max(x.rank - 1, 0),))
    if x.rank == 1:
        return call("squeeze", matmul(call("expand_dims", x, axis=0), y), axis=(y.rank - 2,))
    return call("nn.matmul", x, y)
