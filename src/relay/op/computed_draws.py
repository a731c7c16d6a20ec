"""Random numbers whose shape has dimensions, in terms of random words of a shape that is computed."""

from collections.abc import Sequence
from typing import Any

from relay.ir.expr import Expr, Tuple, TupleGetItem
from relay.op.computed_sizes import Values, axis_size, rule, vector
from relay.op.numeric import apply, dims
from relay.op.random import Draw, Multinomial
from relay.op.random_keys import ThreefryGenerate


@rule(ThreefryGenerate)
def _words(op: ThreefryGenerate, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    return drawn(args[0], vector(op.out_shape, values))


def drawn(key: Expr, shape: Expr) -> Expr:
    """The next key and random words."""
    return apply("dyn.random.threefry_generate", key, shape)


@rule(Draw)
def _numbers(op: Any, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    words = drawn(args[0], vector((*op.words_shape, *op.out_shape), values))
    return Tuple((TupleGetItem(words, 0), op.values(TupleGetItem(words, 1), len(op.out_shape), *args[1:])))


@rule(Multinomial)
def _chosen(op: Multinomial, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    key, probs = args
    rank = len(dims(types[1]))
    sizes = [axis_size(probs, k) for k in range(rank - 1)]
    words = drawn(key, apply("stack", (*sizes, values(op.num_samples)), axis=0))
    return Tuple((TupleGetItem(words, 0), op.places(TupleGetItem(words, 1), probs, types[1].dtype)))
