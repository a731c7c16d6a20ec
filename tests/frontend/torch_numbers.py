"""Functions of PyTorch that compute with numbers, with inputs."""

from math import inf, nan

import torch
import torch.nn.functional as F

from frontend.torch_operands import b, f, i, p


def three_ways(reduce):
    return lambda x: (reduce(x), reduce(x, 1), reduce(x, 1, keepdim=True))


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
    (
        "NaN and infinities",
        lambda x: (
            F.threshold(x, 0.1, 20.0),
            F.hardshrink(x),
            torch.log1p(x),
            torch.logaddexp(x, x),
            torch.xlogy(torch.zeros(5), x),
            torch.xlogy(x, x),
        ),
        torch.tensor([nan, inf, -inf, 0.3, -0.5]),
    ),
    (
        "signs",
        lambda x: (
            torch.sign(x),
            torch.sgn(x),
            torch.signbit(x),
            torch.copysign(torch.ones(5), x),
            x.double().signbit(),
        ),
        torch.tensor([nan, inf, -inf, 0.0, -0.0]),
    ),
    ("erfc where it is small", lambda x: (torch.erfc(x).log(), torch.erfc(x.double()).log()), f(40) * 2 + 5),
    ("erfc of all", torch.erfc, torch.tensor([nan, inf, -inf, 0.0, -9.0, 30.0])),
    ("nan_to_num of integers", torch.nan_to_num, i(4)),
    ("prelu", F.prelu, f(2, 3, 4), f(3)),
    ("softplus with beta", lambda x: F.softplus(x, 2.0, 5.0), f(6) * 4),
    (
        "clamp",
        lambda x, y: (x.clamp(-0.5, 0.5), x.clamp(min=0.1), x.clamp(max=y), x.clamp_min(0)),
        f(5),
        f(5),
    ),
    ("clamp of integers", lambda x: x.clamp(1, 3), i(6)),
    ("dtypes", lambda x: (x.to(torch.float64), x.int(), x.bool(), x.half().float()), f(5) * 3),
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
        "addbmm",
        lambda x, y: (
            torch.addbmm(torch.full((3, 5), nan), x, y, beta=0),
            torch.addbmm(torch.ones(3, 5), x, y, beta=2, alpha=0.5),
        ),
        f(2, 3, 4),
        f(2, 4, 5),
    ),
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
    ("topk of none", lambda x: (*x.topk(0), *x.topk(0, 0)), f(3, 4)),
    ("median", lambda x, y: (x.median(), x[0].median(), y.median(), x.T.median(0)[0]), f(3, 4), i(5)),
    (
        "median with NaN",
        lambda x: (x.median(), *x.median(1), *x.median(0, keepdim=True)),
        torch.tensor([[1.0, nan, 2.0, nan], [3.0, 1.0, 2.0, 0.0]]),
    ),
    ("unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), i(3, 4)),
    (
        "unique parts",
        lambda x: (
            torch.unique(x, True, True, True, dim=0),
            torch.unique(x, True, True, True, dim=1),
            torch.unique(x.float() - 1, dim=2),
            torch.unique(x > 1, dim=0),
        ),
        i(5, 3, 2) % 2,
    ),
    (
        "unique_consecutive",
        lambda x, none: (
            torch.unique_consecutive(x, True, True),
            torch.unique_consecutive(x, True, True, dim=1),
            torch.unique_consecutive(x),
            torch.unique_consecutive(none, True, True),
            torch.unique_consecutive(x.float() / 0),
        ),
        i(2, 7) % 2,
        i(0),
    ),
    ("unique alone", torch.unique, i(3, 4)),
    ("unique of floats", torch.unique, torch.tensor([2.5, -1.0, 2.5])),
    ("unique and places", lambda x: torch.unique(x, return_inverse=True), i(3, 4)),
    ("unique and counts", lambda x: torch.unique(x, return_counts=True), i(3, 4)),
    ("rrelu", lambda x: torch.nn.functional.rrelu(x, 0.1, 0.5), torch.tensor([-2.0, 0.0, 3.0])),
    (
        "bincount",
        lambda x, w: (torch.bincount(x), torch.bincount(x, minlength=9), torch.bincount(x, w)),
        i(7),
        f(7),
    ),
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
