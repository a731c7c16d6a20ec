"""Functions of PyTorch, a few of each family, with inputs: what the tests of its operators run."""

import torch
import torch.nn.functional as F
from torch import nn

G = torch.Generator().manual_seed(0)


def f(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=G)


def p(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=G) * 0.8 + 0.1


def i(*shape: int, below: int = 5, least: int = 0) -> torch.Tensor:
    return torch.randint(least, below, shape, generator=G)


def b(*shape: int) -> torch.Tensor:
    return f(*shape) > 0


def three_ways(reduce):
    return lambda x: (reduce(x), reduce(x, 1), reduce(x, 1, keepdim=True))


def put_columns(x, i, value):
    y = x.clone()
    y[:, i] = value
    y[1:3, 0] = x[0, :2]
    return y


ELEMENTWISE = [
    *[
        (n, getattr(torch, n), f(2, 5))
        for n in [
            "abs",
            "ceil",
            "floor",
            "trunc",
            "sign",
            "exp",
            "sin",
            "cos",
            "tan",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "erf",
            "sigmoid",
            "neg",
            "round",
            "square",
            "isnan",
            "isinf",
            "isfinite",
            "logical_not",
            "signbit",
            "expm1",
            "exp2",
            "erfc",
            "frac",
            "nan_to_num",
            "deg2rad",
            "sgn",
        ]
    ],
    *[
        (n, getattr(torch, n), p(2, 5))
        for n in [
            "log",
            "log2",
            "log10",
            "sqrt",
            "rsqrt",
            "asin",
            "acos",
            "atanh",
            "log1p",
            "reciprocal",
            "logit",
        ]
    ],
    ("acosh", torch.acosh, p(3) + 1),
    ("round to decimals", lambda x: torch.round(x, decimals=2), f(4)),
    ("float of integers", lambda x: (torch.exp(x), torch.sqrt(x), 1 / (x + 1)), i(4)),
    ("bitwise", lambda x, y: (~x, x & y, x | y, x ^ y, x << 1, y >> 1), i(4), i(4)),
    ("truths", lambda x, y: (~x, x & y, x | y, x ^ y, x + y, x * y, x.sum(), x.float()), b(4), b(4)),
    *[
        (n, getattr(F, n), f(2, 6) * 3)
        for n in [
            "relu",
            "relu6",
            "silu",
            "gelu",
            "leaky_relu",
            "elu",
            "celu",
            "selu",
            "softplus",
            "logsigmoid",
            "mish",
            "hardtanh",
            "hardsigmoid",
            "hardswish",
            "hardshrink",
            "softshrink",
            "tanhshrink",
            "softsign",
            "glu",
        ]
    ],
    ("gelu by tanh", lambda x: F.gelu(x, approximate="tanh"), f(5)),
    ("threshold", lambda x: F.threshold(x, 0.1, 20.0), f(5)),
    ("prelu", F.prelu, f(2, 3, 4), f(3)),
    ("softplus with beta", lambda x: F.softplus(x, 2.0, 5.0), f(6) * 4),
    (
        "clamp",
        lambda x, y: (x.clamp(-0.5, 0.5), x.clamp(min=0.1), x.clamp(max=y), x.clamp_min(0)),
        f(5),
        f(5),
    ),
    ("clamp of integers", lambda x: x.clamp(1, 3), i(6)),
    ("base types", lambda x: (x.to(torch.float64), x.int(), x.bool(), x.half().float()), f(5) * 3),
    ("bfloat16", lambda x: (x.bfloat16() * 2).float(), f(5)),
    ("dropout", lambda x: F.dropout(x, 0.5, training=False), f(5)),
]

ARITHMETIC = [
    (
        "add",
        lambda x, y: (x + y, x + 1, 2 - x, torch.add(x, y, alpha=2), torch.sub(x, y, alpha=0.5)),
        f(2, 3),
        f(3),
    ),
    ("mul", lambda x, y: (x * y, x * 2, x / y, x / 3, 1 / y), f(2, 3), f(2, 1)),
    ("of integers", lambda x, y: (x + y, x * y, x // y, x % y, x / y, x - 0.5, x * 1.5), i(6), i(6, least=1)),
    ("mixed", lambda x, y: (x + y, x * y, y > x, x.int() + y, torch.maximum(x, y.float())), f(6), i(6)),
    ("with a scalar tensor", lambda x, y: (x + y, x * y, x > y), f(6), torch.tensor(2)),
    (
        "division rounded",
        lambda x, y: (
            torch.div(x, y, rounding_mode="floor"),
            torch.div(x, y, rounding_mode="trunc"),
            x // y,
            torch.remainder(x, y),
            torch.fmod(x, y),
            x % 3,
        ),
        f(6) * 5,
        p(6),
    ),
    (
        "integers rounded",
        lambda x, y: (
            torch.div(x, y, rounding_mode="floor"),
            torch.div(x, y, rounding_mode="trunc"),
            torch.fmod(x, y),
        ),
        i(6, least=-9, below=9),
        i(6, least=1),
    ),
    ("pow", lambda x, y: (x**2, x**3, x**0.5, x**-1, x**y, 2**x, x**2.5, x**-0.5), p(5), f(5)),
    (
        "of two",
        lambda x, y: (
            torch.maximum(x, y),
            torch.minimum(x, y),
            torch.atan2(x, y),
            torch.fmax(x, y),
            torch.hypot(x, y),
            torch.copysign(x, y),
            torch.logaddexp(x, y),
        ),
        f(5),
        f(5),
    ),
    ("compare", lambda x, y: (x == y, x != y, x < y, x <= y, x > 0, x >= 0.5), f(5), f(5)),
    (
        "logic",
        lambda x, y: (torch.logical_and(x, y), torch.logical_or(x, y), torch.logical_xor(x, y)),
        i(4),
        i(4),
    ),
    (
        "where",
        lambda c, x, y: (torch.where(c, x, y), torch.where(c, x, 0.0), x.masked_fill(c, -1e9)),
        b(2, 3),
        f(2, 3),
        f(3),
    ),
    (
        "addcmul",
        lambda x, y, z: (torch.addcmul(x, y, z, value=2), torch.addcdiv(x, y, z), torch.lerp(x, y, 0.3)),
        f(4),
        f(4),
        p(4),
    ),
    ("xlogy", torch.xlogy, torch.tensor([0.0, 1.0, 2.0]), p(3)),
    ("isclose", torch.isclose, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1])),
]

LINEAR = [
    ("matmul", lambda x, y: (x @ y, x[0] @ y, x @ y[0, :, 0], torch.bmm(x, y)), f(2, 3, 4), f(2, 4, 5)),
    (
        "mm",
        lambda x, y, z: (torch.mm(x, y), torch.addmm(z, x, y), torch.addmm(z, x, y, beta=0.5, alpha=2)),
        f(3, 4),
        f(4, 5),
        f(5),
    ),
    ("mv", lambda x, y: (torch.mv(x, y), torch.dot(y, y), torch.outer(y, y)), f(3, 4), f(4)),
    ("baddbmm", torch.baddbmm, f(2, 3, 5), f(2, 3, 4), f(2, 4, 5)),
    (
        "linear",
        lambda x, w, b: (F.linear(x, w, b), F.linear(x, w), F.linear(x[0, 0], w, b)),
        f(2, 3, 4),
        f(5, 4),
        f(5),
    ),
    (
        "einsum",
        lambda x, y: (torch.einsum("bij,bjk->bik", x, y), torch.einsum("...i,...i->...", x, x)),
        f(2, 3, 4),
        f(2, 4, 5),
    ),
    ("bilinear", F.bilinear, f(2, 3), f(2, 4), f(5, 3, 4)),
    ("cdist", torch.cdist, f(3, 4), f(5, 4)),
    ("tensordot", lambda x, y: torch.tensordot(x, y, 1), f(2, 3), f(3, 4)),
    (
        "attention",
        lambda q, k, v, m: (
            F.scaled_dot_product_attention(q, k, v),
            F.scaled_dot_product_attention(q, k, v, attn_mask=m),
            F.scaled_dot_product_attention(q, k, v, attn_mask=m > 0),
            F.scaled_dot_product_attention(q, k, v, is_causal=True),
            F.scaled_dot_product_attention(q, k, v, scale=0.3),
        ),
        f(2, 4, 3, 8),
        f(2, 4, 5, 8),
        f(2, 4, 5, 8),
        f(3, 5),
    ),
    (
        "attention of groups",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        f(1, 4, 3, 8),
        f(1, 2, 3, 8),
        f(1, 2, 3, 8),
    ),
]

SHAPE = [
    (
        "view",
        lambda x: (x.view(6, 4), x.reshape(2, -1), x.flatten(1), x.flatten(), x.unflatten(2, (2, 2))),
        f(2, 3, 4),
    ),
    (
        "permute",
        lambda x: (x.permute(2, 0, 1), x.transpose(0, 2), x.mT, x[0].t(), x.movedim(0, 2), x.swapaxes(0, 1)),
        f(2, 3, 4),
    ),
    (
        "squeeze",
        lambda x: (x.unsqueeze(0), x.squeeze(), x.squeeze(1), x.squeeze(0), x.unsqueeze(-1)),
        f(2, 1, 4),
    ),
    (
        "expand",
        lambda x: (x.expand(2, 3, 4), x.expand(-1, 3, -1), x.expand_as(x.expand(2, 3, 4))),
        f(2, 1, 4),
    ),
    ("repeat", lambda x: (x.repeat(2, 1), x.repeat(2, 2, 1), x.tile(2), x.repeat_interleave(2, 1)), f(2, 3)),
    (
        "pixel shuffle",
        lambda x: (F.pixel_shuffle(x, 2), F.pixel_unshuffle(x, 2), F.channel_shuffle(x, 2)),
        f(1, 4, 4, 6),
    ),
    (
        "cat",
        lambda x, y: (torch.cat([x, y]), torch.cat([x, y], 1), torch.stack([x, y], 1), torch.hstack([x, y])),
        f(2, 3),
        f(2, 3),
    ),
    (
        "split",
        lambda x: (*x.split(2), *x.split([1, 4]), *x.chunk(2, 1), *x.unbind(1), *torch.tensor_split(x, 2)),
        f(5, 4),
    ),
    (
        "slice",
        lambda x: (x[1:], x[:, 1:3], x[::2], x[-2:], x[..., -1], x[1], x[:, None, 2], x.narrow(1, 1, 2)),
        f(5, 4),
    ),
    (
        "flip and roll",
        lambda x: (x.flip(0), x.flip(0, 1), x.roll(1, 0), x.roll((1, -2), (0, 1)), x.roll(2)),
        f(3, 4),
    ),
    ("diagonal", lambda x: (x.diagonal(), x.diagonal(1), torch.diag_embed(x), x.triu(), x.tril(-1)), f(4, 5)),
    ("unfold", lambda x: (x.unfold(1, 2, 1), x.as_strided((2, 2), (1, 2), 1)), f(3, 5)),
    ("im2col", lambda x: F.unfold(x, 3, padding=1), f(1, 2, 5, 5)),
    ("fold", lambda x: F.fold(x, (4, 4), 2), f(1, 8, 9)),
    (
        "pad",
        lambda x: (
            F.pad(x, (1, 2)),
            F.pad(x, (1, 0, 2, 1), value=3.0),
            F.pad(x, (-1, 1)),
            F.pad(x, (1, 1), "reflect"),
            F.pad(x, (1, 1), "replicate"),
            F.pad(x, (2, 1), "circular"),
        ),
        f(2, 3, 4),
    ),
    ("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), f(3), f(4)),
    (
        "scatter of a slice",
        lambda x, y: (torch.slice_scatter(x, y, 0, 1, 3), torch.select_scatter(x, y[0], 0, 1)),
        f(4, 3),
        f(2, 3),
    ),
]

INDEX = [
    ("embedding", F.embedding, i(2, 3), f(5, 4)),
    (
        "index",
        lambda x, i, j: (x[i], x[:, j], x[i, j], x[i, :, j], x[:, i, j], x[i[:, None], j]),
        f(5, 5, 6),
        i(3),
        i(3),
    ),
    ("negative", lambda x, i: (x[i], x[-1], x.index_select(0, i + 5)), f(5, 2), i(3, least=-5, below=0)),
    (
        "mask",
        lambda x, m: (x[m], x[x > 0], torch.nonzero(x > 0), torch.masked_select(x, m[:, None])),
        f(5, 3),
        b(5),
    ),
    (
        "gather",
        lambda x, i: (x.gather(1, i), torch.take_along_dim(x, i, 1), torch.take(x, i)),
        f(3, 5),
        i(3, 4),
    ),
    (
        "scatter",
        lambda x, i, u: (x.scatter(1, i, u), x.scatter(1, i, 2.0), x.scatter_add(1, i, u)),
        f(3, 5),
        torch.tensor([[0, 1], [4, 2], [3, 0]]),
        f(3, 2),
    ),
    ("scatter of fewer", lambda x, i, u: x.scatter(0, i, u), f(4, 3), torch.tensor([[0, 1]]), f(2, 3)),
    (
        "scatter_reduce",
        lambda x, i, u: (
            *[x.scatter_reduce(0, i, u, r) for r in ("sum", "prod", "amax", "amin", "mean")],
            *[
                x.scatter_reduce(0, i, u, r, include_self=False)
                for r in ("sum", "prod", "amax", "amin", "mean")
            ],
        ),
        f(5),
        i(7),
        f(7),
    ),
    (
        "index_put",
        lambda x, i, u: (
            torch.index_put(x, (i,), u),
            torch.index_put(x, (i,), u, accumulate=True),
            torch.index_put(x, (i, i), torch.tensor(3.0)),
            torch.index_put(x, (x > 0,), torch.tensor(0.0)),
            put_columns(x, i, u[0, 0]),
        ),
        f(5, 4),
        torch.tensor([0, 3, 1]),
        f(3, 4),
    ),
    (
        "index_copy",
        lambda x, i, u: (x.index_copy(1, i, u), x.index_add(1, i, u, alpha=2), x.index_fill(1, i, 7.0)),
        f(2, 5),
        torch.tensor([3, 0]),
        f(2, 2),
    ),
    ("masked_scatter", lambda x, m, s: x.masked_scatter(m, s), f(3, 4), b(3, 4), f(12)),
    ("one_hot", lambda x: F.one_hot(x, 6), i(4)),
    (
        "searchsorted",
        lambda s, x: (torch.searchsorted(s, x), torch.bucketize(x, s, right=True)),
        f(6).sort()[0],
        f(4),
    ),
]

CREATE = [
    (
        "full",
        lambda x: (
            torch.full((2, 3), 4.0),
            torch.zeros(3),
            torch.ones(2, dtype=torch.int64),
            x.new_zeros(3),
            x.new_full((2,), 5.0),
            x.new_ones(2),
            torch.full_like(x, 3.0),
            torch.zeros_like(x),
            torch.ones_like(x),
            torch.eye(3),
            torch.tensor(2.0),
            torch.scalar_tensor(3),
        ),
        f(2, 2),
    ),
    (
        "arange",
        lambda x: (
            torch.arange(5),
            torch.arange(1, 9, 2),
            torch.arange(0.0, 1.0, 0.25),
            torch.linspace(0, 1, 5),
            torch.arange(x.shape[0]),
        ),
        f(2),
    ),
    ("tril_indices", lambda x: torch.tril_indices(3, 4), f(1)),
]

REDUCTION = [
    *[(n, three_ways(getattr(torch, n)), f(3, 4)) for n in ("sum", "mean", "prod")],
    (
        "over several",
        lambda x: (x.sum((0, 2)), x.mean((1, 2), keepdim=True), x.amax((0, 1)), x.amin(1)),
        f(2, 3, 4),
    ),
    (
        "extremes",
        lambda x: (x.max(), x.min(), *x.max(1), *x.min(0, keepdim=True), *torch.aminmax(x, dim=1)),
        f(3, 4),
    ),
    ("argmax", lambda x: (x.argmax(), x.argmax(1), x.argmin(0, keepdim=True), torch.argmax(x, -1)), f(3, 4)),
    ("any", lambda x: (x.any(), x.all(1), x.any(0, keepdim=True)), b(3, 4)),
    (
        "var",
        lambda x: (x.var(), x.var(1), x.std(1, keepdim=True), x.var(1, correction=0), *torch.var_mean(x, 0)),
        f(3, 4),
    ),
    (
        "norm",
        lambda x: (
            x.norm(),
            x.norm(dim=1),
            torch.linalg.vector_norm(x, 1, 1),
            torch.linalg.vector_norm(x, float("inf")),
        ),
        f(3, 4),
    ),
    ("logsumexp", lambda x: torch.logsumexp(x, 1), f(3, 4)),
    ("cumsum", lambda x: (x.cumsum(1), x.cumprod(0), x.int().cumsum(1)), f(3, 4)),
    (
        "of integers",
        lambda x: (x.sum(), x.float().mean(), x.prod(), (x > 2).sum(1), torch.count_nonzero(x)),
        i(3, 4),
    ),
    ("softmax", lambda x: (x.softmax(1), x.log_softmax(0), F.softmin(x, 1)), f(3, 4)),
    (
        "sort",
        lambda x: (
            *x.sort(),
            *x.sort(0, descending=True),
            x.argsort(1),
            *x.topk(2),
            *x.topk(2, 0, largest=False),
        ),
        f(3, 4),
    ),
    ("kthvalue", lambda x: (*x.kthvalue(2, 1), *x.median(1)), f(3, 5)),
    ("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), f(3, 4), f(3, 4)),
    (
        "losses",
        lambda x, y, t: (
            F.mse_loss(x, y),
            F.l1_loss(x, y),
            F.cross_entropy(x, t),
            F.smooth_l1_loss(x, y),
            F.binary_cross_entropy_with_logits(x, y.sigmoid()),
            F.kl_div(x, y.softmax(1)),
        ),
        f(3, 4),
        f(3, 4),
        i(3, below=4),
    ),
]

NORMALIZATION = [
    (
        "layer_norm",
        lambda x, w, b: (F.layer_norm(x, (4,), w, b), F.layer_norm(x, (4,)), F.layer_norm(x, (3, 4))),
        f(2, 3, 4),
        f(4),
        f(4),
    ),
    ("rms_norm", lambda x, w: (F.rms_norm(x, (4,), w), F.rms_norm(x, (4,), eps=1e-6)), f(2, 3, 4), f(4)),
    ("group_norm", lambda x, w, b: (F.group_norm(x, 2, w, b), F.group_norm(x, 4)), f(2, 4, 3, 3), f(4), f(4)),
    (
        "instance_norm",
        lambda x, w, b: (F.instance_norm(x), F.instance_norm(x, weight=w, bias=b)),
        f(2, 4, 3, 3),
        f(4),
        f(4),
    ),
    (
        "batch_norm",
        lambda x, m, v, w, b: (F.batch_norm(x, m, v, w, b), F.batch_norm(x, m, v)),
        f(2, 4, 3, 3),
        f(4),
        p(4),
        f(4),
        f(4),
    ),
    ("local_response_norm", lambda x: F.local_response_norm(x, 3), f(2, 4, 3, 3)),
    ("normalize", lambda x: F.normalize(x, dim=1), f(3, 4)),
]

CONVOLUTION = [
    (
        "conv1d",
        lambda x, w, b: (
            F.conv1d(x, w, b),
            F.conv1d(x, w, stride=2, padding=1, dilation=2),
            F.conv1d(x[0], w),
            F.conv1d(x, w, padding="same"),
        ),
        f(2, 4, 9),
        f(6, 4, 3),
        f(6),
    ),
    (
        "conv2d",
        lambda x, w, g: (
            F.conv2d(x, w, stride=(2, 1), padding=(1, 2)),
            F.conv2d(x, g, groups=4),
            F.conv2d(x, w, padding="valid"),
        ),
        f(2, 4, 6, 7),
        f(5, 4, 3, 3),
        f(4, 1, 3, 3),
    ),
    ("conv3d", lambda x, w: F.conv3d(x, w, padding=1), f(1, 2, 4, 5, 6), f(3, 2, 3, 3, 3)),
    (
        "conv_transpose1d",
        lambda x, w, b: F.conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1),
        f(2, 4, 5),
        f(4, 3, 3),
        f(3),
    ),
    (
        "conv_transpose2d",
        lambda x, w: (F.conv_transpose2d(x, w, stride=2), F.conv_transpose2d(x, w, groups=2, dilation=2)),
        f(1, 4, 5, 5),
        f(4, 3, 3, 3),
    ),
    ("conv_transpose3d", lambda x, w: F.conv_transpose3d(x, w, stride=2), f(1, 2, 3, 3, 3), f(2, 3, 2, 2, 2)),
    (
        "max_pool",
        lambda x, y: (
            F.max_pool2d(x, 2),
            F.max_pool2d(x, 3, 2, 1),
            F.max_pool2d(x, 2, ceil_mode=True),
            F.max_pool1d(y, 2, dilation=2),
            *F.max_pool2d(x, 2, return_indices=True),
            *F.adaptive_max_pool2d(x, 3, return_indices=True),
        ),
        f(1, 2, 7, 7),
        f(1, 2, 7),
    ),
    (
        "avg_pool",
        lambda x, y: (
            F.avg_pool2d(x, 2),
            F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            F.avg_pool1d(y, 3),
            F.avg_pool2d(x, 2, divisor_override=3),
        ),
        f(1, 2, 6, 6),
        f(1, 2, 7),
    ),
    ("pool3d", lambda x: (F.max_pool3d(x, 2), F.avg_pool3d(x, 2)), f(1, 2, 4, 4, 4)),
    (
        "adaptive",
        lambda x, y: (
            F.adaptive_avg_pool2d(x, 1),
            F.adaptive_avg_pool2d(x, (3, 2)),
            F.adaptive_max_pool2d(x, 3),
            F.adaptive_avg_pool1d(y, 3),
            F.adaptive_avg_pool2d(x, (None, 2)),
        ),
        f(1, 2, 7, 6),
        f(1, 2, 7),
    ),
    ("max_unpool", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), f(1, 2, 4, 4)),
    (
        "interpolate",
        lambda x: (
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, (7, 5)),
            F.interpolate(x, (7, 5), mode="bilinear"),
            F.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=True),
            F.interpolate(x, (7, 5), mode="bicubic"),
            F.interpolate(x, (3, 2), mode="nearest-exact"),
            F.interpolate(x, (3, 3), mode="area"),
            F.interpolate(x, (3, 2), mode="bilinear", antialias=True),
        ),
        f(1, 2, 5, 4),
    ),
    (
        "interpolate otherwise",
        lambda x, y: (
            F.interpolate(x, 7, mode="linear"),
            F.interpolate(y, scale_factor=2, mode="trilinear"),
            F.interpolate(y, scale_factor=2),
        ),
        f(1, 2, 5),
        f(1, 1, 2, 3, 2),
    ),
    (
        "grid_sample",
        lambda x, g: (
            F.grid_sample(x, g, align_corners=False),
            F.affine_grid(g[:, 0, :2, :1] * torch.ones(1, 2, 3), (1, 2, 3, 3), align_corners=False),
        ),
        f(1, 2, 5, 5),
        torch.tanh(f(1, 3, 4, 2)),
    ),
]

FAMILIES = {
    "elementwise": ELEMENTWISE,
    "arithmetic": ARITHMETIC,
    "linear": LINEAR,
    "shape": SHAPE,
    "index": INDEX,
    "create": CREATE,
    "reduction": REDUCTION,
    "normalization": NORMALIZATION,
    "convolution": CONVOLUTION,
}


class Calling(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *xs):
        return self.function(*xs)
