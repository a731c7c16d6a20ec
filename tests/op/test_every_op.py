"""What holds for every registered operator: types and values agree, examples are true, text goes round."""

import pickle

import numpy as np
import pytest

import relay
from op.concrete import fits, infer
from op.operands import operands_of, samples_of
from relay.ir.equal import structural_equal
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule
from relay.op.arrays import array_type, unboxed
from relay.op.base import Operator, Sample
from relay.op.kind import Derivative
from relay.op.registry import builders, instance, registry

NAMES = sorted(registry)


@pytest.mark.parametrize("name", NAMES)
def test_inferred_type_is_that_of_the_computed_value(name: str) -> None:
    cls = registry[name]
    for s in samples_of(cls):
        operands = operands_of(s)
        value = instance(name, s.attrs).evaluate(*operands)
        assert value is unboxed(value) or isinstance(value, tuple)
        found = array_type(value)
        program = relay.infer(module_of(name, s, operands))["main"].ret_type
        for inferred in (infer(name, *[array_type(x) for x in operands], **s.attrs), program):
            assert fits(found, inferred), f"{s}: inferred {inferred!r}, computed {found!r}"


def module_of(name: str, s: Sample, operands: list[object]) -> IRModule:
    """A module whose `@main` is the operator on parameters of the sample's types."""
    params = tuple(Var(f"x{i}", array_type(x)) for i, x in enumerate(operands))
    return IRModule.from_expr(Function(params, Call(Op.get(name), params, dict(s.attrs))))


@pytest.mark.parametrize("name", NAMES)
def test_text_goes_round(name: str) -> None:
    for s in registry[name].samples:
        mod = module_of(name, s, operands_of(s))
        for m in (mod, relay.infer(mod)):
            text = m.astext()
            again = relay.parse(text)
            assert structural_equal(m, again), text
            assert again.astext() == text


def examples(cls: type[Operator]) -> list[tuple[str, str]]:
    """The examples of a docstring: what is typed, and what is printed."""
    found: list[tuple[str, str]] = []
    lines = iter([*(line.strip() for line in (cls.__doc__ or "").splitlines()), ""])
    for line in lines:
        while line.startswith("relay> "):
            typed, printed = line.removeprefix("relay> "), ""
            for line in lines:
                if not line or line.startswith("relay> "):
                    break
                printed += line + "\n"
            found.append((typed, printed.strip()))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_the_docstring_are_true(name: str) -> None:
    from relay.interpreter.show import show

    found = examples(registry[name])
    assert found
    for typed, printed in found:
        assert show(relay.run(relay.parse(typed), "main", [])).split() == printed.split(), typed


@pytest.mark.parametrize("name", NAMES)
def test_what_an_evaluator_compiles_gives_the_same_value(name: str) -> None:
    for s in registry[name].samples:
        operands = operands_of(s)
        op = instance(name, s.attrs)
        with np.errstate(all="ignore"):
            found = op.compile_reference([array_type(x) for x in operands])(*operands)
        assert same(found, op.evaluate(*operands)), s


def same(a: object, b: object) -> bool:
    """Whether two values are the same, type and bits; NaN is itself."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if type(a) is not type(b) or array_type(a) is not array_type(b):
        return False
    x, y = np.asarray(a), np.asarray(b)
    return x.tolist() == y.tolist() if x.dtype == object else x.tobytes() == y.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_has_samples_a_docstring_and_says_how_it_is_differentiated(name: str) -> None:
    cls = registry[name]
    assert cls.samples
    assert cls.__doc__
    assert isinstance(cls.derivative, Derivative)
    assert name in builders


@pytest.mark.parametrize("name", NAMES)
def test_a_pickle_finds_the_class_of_an_operator_by_its_name(name: str) -> None:
    assert pickle.loads(pickle.dumps(registry[name])) is registry[name]


NAMED = [
    "abs",
    "acos",
    "acosh",
    "add",
    "adv_index",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "broadcast_to_like",
    "cast",
    "cast_like",
    "ceil",
    "clip",
    "collapse_sum_like",
    "collapse_sum_to",
    "concatenate",
    "contrib_reverse_reshape",
    "copy",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "divide",
    "einsum",
    "equal",
    "erf",
    "erfc",
    "exp",
    "expand_dims",
    "expm1",
    "fixed_point_multiply",
    "fixed_point_multiply_per_axis",
    "floor",
    "floor_divide",
    "floor_mod",
    "full",
    "full_like",
    "gather",
    "gather_nd",
    "greater",
    "greater_equal",
    "hypot",
    "invert_permutation",
    "isfinite",
    "isinf",
    "isnan",
    "layout_transform",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matrix_set_diag",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "multiply",
    "ndarray_size",
    "ndtr",
    "negative",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "power",
    "prod",
    "reinterpret",
    "repeat",
    "reshape",
    "reshape_like",
    "reverse",
    "reverse_reshape",
    "reverse_sequence",
    "right_shift",
    "round",
    "rsqrt",
    "scatter_elements",
    "scatter_nd",
    "searchsorted",
    "sequence_mask",
    "shape_of",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "slice_like",
    "sliding_window",
    "sort",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "strided_set",
    "strided_slice",
    "subtract",
    "sum",
    "take",
    "tan",
    "tanh",
    "tile",
    "topk",
    "transpose",
    "trilu",
    "trunc",
    "trunc_divide",
    "trunc_mod",
    "unique",
    "unravel_index",
    "variance",
    "where",
    "zeros",
    "zeros_like",
    "nn.adaptive_avg_pool1d",
    "nn.adaptive_avg_pool2d",
    "nn.adaptive_avg_pool3d",
    "nn.adaptive_max_pool1d",
    "nn.adaptive_max_pool2d",
    "nn.adaptive_max_pool3d",
    "nn.avg_pool1d",
    "nn.avg_pool2d",
    "nn.avg_pool3d",
    "nn.batch_flatten",
    "nn.batch_matmul",
    "nn.batch_norm",
    "nn.batch_to_space_nd",
    "nn.bias_add",
    "nn.conv1d",
    "nn.conv1d_transpose",
    "nn.conv2d",
    "nn.conv2d_transpose",
    "nn.conv3d",
    "nn.conv3d_transpose",
    "nn.cross_entropy",
    "nn.cross_entropy_with_logits",
    "nn.dense",
    "nn.depth_to_space",
    "nn.dilate",
    "nn.dropout",
    "nn.global_avg_pool2d",
    "nn.global_max_pool2d",
    "nn.group_norm",
    "nn.instance_norm",
    "nn.l2_normalize",
    "nn.layer_norm",
    "nn.leaky_relu",
    "nn.log_softmax",
    "nn.lrn",
    "nn.matmul",
    "nn.max_pool1d",
    "nn.max_pool2d",
    "nn.max_pool3d",
    "nn.mirror_pad",
    "nn.nll_loss",
    "nn.pad",
    "nn.prelu",
    "nn.relu",
    "nn.softmax",
    "nn.space_to_batch_nd",
    "nn.space_to_depth",
    "nn.upsampling",
    "nn.upsampling3d",
    "random.multinomial",
    "random.normal",
    "random.threefry_generate",
    "random.threefry_split",
    "random.uniform",
]


def test_the_operators_people_know_are_there() -> None:
    assert [name for name in NAMED if name not in builders] == []


BUILDERS = {
    "reshape": "(data, newshape, allowzero=False)", "transpose": "(data, axes=None)",
    "expand_dims": "(data, axis, num_newaxis=1)", "squeeze": "(data, axis=None)", "add": "(lhs, rhs)",
    "take": "(data, indices, axis=None, batch_dims=0, mode='clip')", "cast": "(data, dtype)",
    "full": "(fill_value, shape=(), dtype=None)", "gather": "(data, axis, indices)",
    "where": "(condition, x, y)",
    "strided_slice": "(data, begin, end, strides=None, axes=None, slice_mode='end')", "exp": "(data)",
    "split": "(data, indices_or_sections, axis=0)", "concatenate": "(data, axis=0)",
    "stack": "(data, axis=0)",
    "scatter_elements": "(data, indices, updates, axis=0, reduction='update')", "clip": "(a, a_min, a_max)",
    "scatter_nd": "(data, indices, updates, mode='update')", "reverse_reshape": "(data, newshape)",
    "gather_nd": "(data, indices, batch_dims=0, index_rank=None)", "zeros": "(shape, dtype)",
    "layout_transform": "(data, src_layout, dst_layout)", "trilu": "(data, k, upper=True)",
    "one_hot": "(indices, on_value, off_value, depth, axis=-1, dtype='float32')",
    "sequence_mask": "(data, valid_length, mask_value=0.0, axis=0)", "tile": "(data, reps)",
    "reverse_sequence": "(data, seq_lengths, seq_axis=1, batch_axis=0)", "shape_of": "(data, dtype='int32')",
    "nn.depth_to_space": "(data, block_size, layout='NCHW', mode='DCR')", "broadcast_to": "(data, shape)",
    "nn.space_to_batch_nd": "(data, block_shape, paddings, pad_value=0.0)",
    "repeat": "(data, repeats, axis=None)",
    "nn.batch_to_space_nd": "(data, block_shape, crops)", "meshgrid": "(data, indexing='ij')",
    "nn.mirror_pad": "(data, pad_width, mode='SYMMETRIC')", "einsum": "(data, equation)",
    "matrix_set_diag": "(data, diagonal, k=0, align='RIGHT_LEFT')",
    "slice_like": "(data, shape_like, axes=None)",
}  # fmt: skip


@pytest.mark.parametrize("name", BUILDERS)
def test_builders_take_arguments_in_the_order_people_know(name: str) -> None:
    import inspect

    signature = inspect.signature(builders[name])
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    assert str(inspect.Signature(bare)) == BUILDERS[name]


def test_builders_of_another_form() -> None:
    x = relay.var("x", shape=(2, 3))
    whole = relay.arange(5, dtype="int32")
    assert not whole.args
    assert relay.infer_expr(relay.Function([], whole)).ret_type is relay.TensorType((5,), "int32")
    assert relay.arange(relay.const(1), relay.const(9), relay.const(2)).attrs.stop == 9
    assert len(relay.arange(relay.var("n", shape=(), dtype="int32"), dtype="int32").args) == 3
    assert len(relay.nn.pad(x, [[0, 1], [1, 0]]).args) == 1
    assert len(relay.nn.pad(x, [[0, 1], [1, 0]], 1.5).args) == 2
    assert len(relay.strided_set(x, x, [0, 0], [2, 3]).args) == 5
    assert relay.reshape(x, -1).attrs.newshape == (-1,)
    assert relay.tile(x, 2).attrs.reps == (2,)
    _, second = relay.split(x, 2)
    assert second.index == 1
