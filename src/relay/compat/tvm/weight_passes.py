"""Passes that give functions other parameters: sizes of batches, weights transposed or sparse."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay.ir.bind import substitute
from relay.ir.expr import Call, Expr, Function, Var, replace
from relay.ir.module import IRModule
from relay.ir.type import ANY, TensorType
from relay.ir.walk import rewrite
from relay.op.nn.conv import Conv2D
from relay.op.nn.dense import Dense
from relay.op.registry import builders
from relay.op.reshape import Transpose
from relay.transform.rewriting.context import PassInfo
from relay.transform.rewriting.pipeline import Pass
from relay.transform.rewriting.user_passes import FunctionPass
from relay.transform.weights.sparse_conv2d import with_sparse_constants

__all__ = [
    "ChangeBatch", "Conv2dToSparse", "Conv2dToSparse2", "DenseToSparse", "FlexibleShapeDispatch",
    "SimplifyFCTranspose",
]  # fmt: skip

New = Mapping[Var, Sequence[Var]]
"""What becomes of parameters."""


def _with_parameters(
    name: str, new: Callable[[Var, TensorType], Sequence[Var] | None], change: Callable[[Expr, New], Expr]
) -> Pass:
    """A pass that gives functions the parameters that `new` says of some of tensors, and their bodies to
    `change`.
    """

    def run(fn: Function, mod: IRModule, context: Any) -> Function:
        del mod, context
        found: dict[Var, Sequence[Var]] = {}
        for p in fn.params:
            t = p.type_annotation
            several = new(p, t) if isinstance(t, TensorType) else None
            if several is not None:
                found[p] = several
        params = [v for p in fn.params for v in found.get(p, (p,))]
        return Function(params, change(fn.body, found), None, fn.type_params, fn.attrs) if found else fn

    return FunctionPass(run, PassInfo(name))


def ChangeBatch(data: Mapping[Var | str, int], batch_size: int = 16) -> Pass:  # noqa: N802
    """A pass that gives parameters another size in one axis: `ChangeBatch({data: 0}, batch_size=8)`."""
    axes = {v if isinstance(v, str) else v.name_hint: axis for v, axis in data.items()}

    def new(p: Var, t: TensorType) -> list[Var] | None:
        if p.name_hint not in axes:
            return None
        shape = list(t.concrete_shape)
        shape[axes[p.name_hint]] = batch_size
        return [Var(p.name_hint, TensorType(shape, t.dtype), span=p.span)]

    return _with_parameters(
        "ChangeBatch", new, lambda body, by: substitute(body, {p: several[0] for p, several in by.items()})
    )


def SimplifyFCTranspose(target_weight_name: Sequence[str]) -> Pass:  # noqa: N802
    """A pass that takes weights by these names transposed already, as `NAME.T`, where their transposes are
    read; `relay.analysis.search_fc_transpose` finds the names.
    """
    names = {str(name) for name in target_weight_name}

    def new(p: Var, t: TensorType) -> list[Var] | None:
        turned = TensorType(t.concrete_shape[::-1], t.dtype)
        return [Var(f"{p.name_hint}.T", turned, span=p.span)] if p.name_hint in names else None

    def change(body: Expr, by: New) -> Expr:
        def rule(e: Expr) -> Expr | None:
            match e:
                case Call(Transpose(), (Var() as w,)) if w in by:
                    return by[w][0]
                case _:
                    return None

        return rewrite(body, rule)

    return _with_parameters("SimplifyFCTranspose", new, change)


def _to_sparse(
    name: str,
    weight_name: Sequence[str],
    weight_shape: Sequence[Any],
    build: Callable[[Call, Any], Expr | None],
) -> Pass:
    """A pass that takes weights by these names as sparse ones in blocks: as `NAME.data`, `NAME.indices` and
    `NAME.indptr`, of the three shapes that `weight_shape` has for each; `build` makes calls that read them.
    """
    shapes = dict(zip([str(n) for n in weight_name], weight_shape, strict=True))

    def new(p: Var, t: TensorType) -> list[Var] | None:
        if p.name_hint not in shapes:
            return None
        parts = zip(
            ("data", "indices", "indptr"), shapes[p.name_hint], (t.dtype, "int32", "int32"), strict=True
        )
        return [Var(f"{p.name_hint}.{n}", TensorType(shape, d), span=p.span) for n, shape, d in parts]

    def change(body: Expr, by: New) -> Expr:
        def rule(e: Expr) -> Expr | None:
            match e:
                case Call(_, (_, Var() as w)) if w in by:
                    return build(e, tuple(by[w]))
                case _:
                    return None

        return rewrite(body, rule)

    return _with_parameters(name, new, change)


def DenseToSparse(weight_name: Sequence[str], weight_shape: Sequence[Any]) -> Pass:  # noqa: N802
    """A pass that takes weights of dense layers by these names as sparse ones."""

    def build(e: Call, weight: Any) -> Expr | None:
        return builders["nn.sparse_dense"](e.args[0], weight) if isinstance(e.target, Dense) else None

    return _to_sparse("DenseToSparse", weight_name, weight_shape, build)


def Conv2dToSparse(  # noqa: N802
    weight_name: Sequence[str], weight_shape: Sequence[Any], layout: str, kernel_size: int
) -> Pass:
    """A pass that takes weights of convolutions of that layout and size by these names as sparse ones."""

    def build(e: Call, weight: Any) -> Expr | None:
        if not isinstance(e.target, Conv2D) or e.target.data_layout != layout:
            return None
        size = (kernel_size, kernel_size)
        return builders["nn.sparse_conv2d"](e.args[0], weight, layout=layout, kernel_size=size)

    return _to_sparse("Conv2dToSparse", weight_name, weight_shape, build)


def Conv2dToSparse2(  # noqa: N802
    layout: str, kernel_size: int, blocksize: Sequence[int], sparsity_threshold: float
) -> Pass:
    """A pass that makes sparse matrices in blocks of the constant weights of convolutions of that layout and
    size, where at least the share `sparsity_threshold` is 0.
    """

    def run(fn: Function, mod: IRModule, context: Any) -> Function:
        del mod, context
        return with_sparse_constants(fn, layout, kernel_size, blocksize, sparsity_threshold)

    return FunctionPass(run, PassInfo("Conv2dToSparse2"))


def FlexibleShapeDispatch(  # noqa: N802
    buckets: Sequence[int],
    axis: int = 0,
    auto_pad: bool = True,
    pad_value: float = 0,
    input_indices: Sequence[int] | None = None,
    affects_output: bool = True,
) -> Pass:
    """A pass that leaves a size of parameters of `@main` open: all those at `input_indices` may have any size
    in `axis`, so that no bucket has to be chosen and nothing is padded.
    """
    del buckets, auto_pad, pad_value, affects_output

    def run(fn: Function, mod: IRModule, context: Any) -> Function:
        del context
        new: dict[Var, Expr] = {}
        for i, p in enumerate(fn.params if fn is mod["main"] else ()):
            t = p.type_annotation
            if isinstance(t, TensorType) and (input_indices is None or i in input_indices):
                shape: list[Any] = list(t.concrete_shape)
                shape[axis] = ANY
                new[p] = Var(p.name_hint, TensorType(shape, t.dtype), span=p.span)
        params = [new.get(p, p) for p in fn.params]
        return replace(fn, params=params, body=substitute(fn.body, new), ret_type=None) if new else fn

    return FunctionPass(run, PassInfo("FlexibleShapeDispatch"))
