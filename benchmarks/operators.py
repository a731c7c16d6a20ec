"""Operators one by one as machine code, NumPy and PyTorch: milliseconds, and how much quicker ours are.

Each has about a million elements to do.  All take turns, the median of all rounds counts.  A `-` is where a
peer has no such operator.  On one thread, or as many as
`RELAY_NUM_THREADS` says.  Usage: `python benchmarks/operators.py [--rounds 15] [NAME ...]`.
"""

import argparse
import os
import time
from collections.abc import Callable
from importlib import import_module
from statistics import median
from typing import Any, NamedTuple

os.environ |= {
    name: os.environ.get("RELAY_NUM_THREADS", "1")
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RELAY_NUM_THREADS")
}

import numpy as np

import relay

torch: Any = import_module("torch")
torch.set_num_threads(int(os.environ["RELAY_NUM_THREADS"]))
F: Any = torch.nn.functional
rng = np.random.default_rng(0)
Way = Callable[..., Any]


class Case(NamedTuple):
    """A program in Relay, what it is called with, and peers that compute the same; None has no such thing."""

    body: str
    values: list[Any]
    numpy: Way | None = None
    torch: Way | None = None


def floats(*shape: int, dtype: str = "float32") -> Any:
    """Random numbers."""
    return rng.standard_normal(shape).astype(dtype)


def whole(high: int, *shape: int, dtype: str = "int64") -> Any:
    """Random integers from 0 on."""
    return rng.integers(0, high, shape).astype(dtype)


N = 1 << 20
LINE, ROWS, MANY, IMAGE = floats(N), floats(1024, 1024), floats(16384, 64), floats(1, 64, 128, 128)
LAST = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
VIDEO, SOUND = floats(1, 16, 16, 64, 64), floats(1, 64, 16384)
PLACES, BIG = whole(N, N), whole(1000, N)
DEPTH, DEEP = floats(64, 1, 3, 3), floats(3, 3, 64, 1)
MASK = LINE > 0


def last(x: Any) -> Any:
    """A tensor of PyTorch with the channels last in memory."""
    return x.permute(0, 3, 1, 2)


CASES: dict[str, Case] = {
    "sort": Case("sort(%0)", [LINE], np.sort, lambda x: torch.sort(x)),
    "sort rows": Case("sort(%0)", [ROWS], np.sort, lambda x: torch.sort(x)),
    "sort columns": Case(
        "sort(%0, axis=0)", [ROWS], lambda x: np.sort(x, axis=0), lambda x: torch.sort(x, 0)
    ),
    "sort int64": Case("sort(%0)", [PLACES], np.sort, lambda x: torch.sort(x)),
    "argsort": Case(
        "argsort(%0)", [LINE], lambda x: np.argsort(x, kind="stable"), lambda x: torch.argsort(x, stable=True)
    ),
    "argsort rows": Case(
        "argsort(%0)", [MANY], lambda x: np.argsort(x, kind="stable"), lambda x: torch.argsort(x, stable=True)
    ),
    "topk 10": Case(
        "topk(%0, k=10)", [LINE], lambda x: np.argpartition(x, -10)[-10:], lambda x: torch.topk(x, 10)
    ),
    "topk 5 rows": Case(
        "topk(%0, k=5)", [ROWS], lambda x: np.argpartition(x, -5)[:, -5:], lambda x: torch.topk(x, 5)
    ),
    "unique": Case(
        "unique(%0)",
        [BIG],
        lambda x: np.unique(x, return_index=True, return_inverse=True),
        lambda x: torch.unique(x, return_inverse=True),
    ),
    "searchsorted": Case(
        "searchsorted(%0, %1)",
        [np.sort(floats(65536)), LINE],
        np.searchsorted,
        lambda s, x: torch.searchsorted(s, x),
    ),
    "cumsum": Case("cumsum(%0, axis=0)", [LINE], np.cumsum, lambda x: torch.cumsum(x, 0)),
    "cumsum rows": Case(
        "cumsum(%0, axis=1)", [ROWS], lambda x: np.cumsum(x, 1), lambda x: torch.cumsum(x, 1)
    ),
    "cumsum columns": Case(
        "cumsum(%0, axis=0)", [ROWS], lambda x: np.cumsum(x, 0), lambda x: torch.cumsum(x, 0)
    ),
    "cumprod rows": Case(
        "cumprod(%0, axis=1)", [ROWS], lambda x: np.cumprod(x, 1), lambda x: torch.cumprod(x, 1)
    ),
    "linear_scan": Case("linear_scan(%0, %1, axis=0)", [np.abs(ROWS) % 1, ROWS]),
    "scatter_elements": Case(
        "scatter_elements(%0, %1, %2)",
        [LINE, PLACES, LINE],
        lambda x, i, u: np.put_along_axis(x.copy(), i, u, 0),
        lambda x, i, u: torch.scatter(x, 0, i, u),
    ),
    "scatter_elements add": Case(
        'scatter_elements(%0, %1, %2, reduction="add")',
        [LINE, PLACES, LINE],
        lambda x, i, u: np.add.at(x.copy(), i, u),
        lambda x, i, u: torch.scatter_add(x, 0, i, u),
    ),
    "scatter_elements rows": Case(
        'scatter_elements(%0, %1, %2, axis=1, reduction="add")',
        [ROWS, whole(1024, 1024, 1024), ROWS],
        None,
        lambda x, i, u: torch.scatter_add(x, 1, i, u),
    ),
    "scatter_nd rows": Case(
        'scatter_nd(%0, %1, %2, mode="add")',
        [MANY, whole(16384, 1, 16384), MANY],
        lambda x, i, u: np.add.at(x.copy(), i[0], u),
        lambda x, i, u: x.index_add(0, i[0], u),
    ),
    "gather": Case(
        "gather(%0, %1, axis=1)",
        [ROWS, whole(1024, 1024, 1024)],
        lambda x, i: np.take_along_axis(x, i, 1),
        lambda x, i: torch.gather(x, 1, i),
    ),
    "gather_nd": Case(
        "gather_nd(%0, %1)", [ROWS, whole(1024, 2, N)], lambda x, i: x[i[0], i[1]], lambda x, i: x[i[0], i[1]]
    ),
    "take rows": Case(
        "take(%0, %1, axis=0)",
        [MANY, whole(16384, 16384)],
        lambda x, i: x[i],
        lambda x, i: torch.index_select(x, 0, i),
    ),
    "one_hot": Case(
        'one_hot(%0, 1.0, 0.0, depth=64, dtype="float32")',
        [whole(64, 16384)],
        lambda i: np.eye(64, dtype="float32")[i],
        lambda i: F.one_hot(i, 64),
    ),
    "argwhere": Case("argwhere(%0)", [MASK], np.argwhere, torch.argwhere),
    "invert_permutation": Case("invert_permutation(%0)", [rng.permutation(N)], np.argsort, torch.argsort),
    "unravel_index": Case(
        "unravel_index(%0, [1024i64, 1024i64])",
        [PLACES],
        lambda i: np.unravel_index(i, (1024, 1024)),
        lambda i: torch.unravel_index(i, (1024, 1024)),
    ),
    "split": Case(
        "split(%0, indices_or_sections=4, axis=1)",
        [ROWS],
        lambda x: [p.copy() for p in np.split(x, 4, 1)],
        lambda x: [p.contiguous() for p in torch.split(x, 256, 1)],
    ),
    "concatenate": Case(
        "concatenate((%0, %1), axis=1)",
        [ROWS, ROWS],
        lambda x, y: np.concatenate((x, y), 1),
        lambda x, y: torch.cat((x, y), 1),
    ),
    "stack": Case(
        "stack((%0, %1), axis=-1)",
        [ROWS, ROWS],
        lambda x, y: np.stack((x, y), -1),
        lambda x, y: torch.stack((x, y), -1),
    ),
    "transpose": Case("transpose(%0)", [ROWS], lambda x: x.T.copy(), lambda x: x.T.contiguous()),
    "layout_transform": Case(
        'layout_transform(%0, src_layout="NCHW", dst_layout="NHWC")',
        [IMAGE],
        lambda x: x.transpose(0, 2, 3, 1).copy(),
        lambda x: x.permute(0, 2, 3, 1).contiguous(),
    ),
    "layout_transform 4c": Case(
        'layout_transform(%0, src_layout="NCHW", dst_layout="NCHW4c")',
        [IMAGE],
        lambda x: x.reshape(1, 16, 4, 128, 128).transpose(0, 1, 3, 4, 2).copy(),
        lambda x: x.reshape(1, 16, 4, 128, 128).permute(0, 1, 3, 4, 2).contiguous(),
    ),
    "reverse": Case(
        "reverse(%0, axis=1)", [ROWS], lambda x: x[:, ::-1].copy(), lambda x: torch.flip(x, (1,))
    ),
    "pad": Case(
        "nn.pad(%0, 0.0, pad_width=((1, 1), (1, 1)))",
        [ROWS],
        lambda x: np.pad(x, 1),
        lambda x: F.pad(x, (1, 1, 1, 1)),
    ),
    "tile": Case(
        "tile(%0, reps=(2, 2))", [floats(512, 512)], lambda x: np.tile(x, (2, 2)), lambda x: x.repeat(2, 2)
    ),
    "repeat": Case(
        "repeat(%0, repeats=4, axis=1)",
        [floats(1024, 256)],
        lambda x: np.repeat(x, 4, 1),
        lambda x: torch.repeat_interleave(x, 4, 1),
    ),
    "strided_slice": Case(
        "strided_slice(%0, begin=(0, 0), end=(1024, 1024), strides=(1, 2))",
        [floats(1024, 2048)],
        lambda x: x[:, ::2].copy(),
        lambda x: x[:, ::2].contiguous(),
    ),
    "max_pool2d": Case(
        "nn.max_pool2d(%0, pool_size=(3, 3), strides=2, padding=1)",
        [IMAGE],
        None,
        lambda x: F.max_pool2d(x, 3, 2, 1),
    ),
    "max_pool2d NHWC": Case(
        'nn.max_pool2d(%0, pool_size=(3, 3), strides=2, padding=1, layout="NHWC")',
        [LAST],
        None,
        lambda x: F.max_pool2d(last(x), 3, 2, 1),
    ),
    "max_pool2d 2": Case(
        "nn.max_pool2d(%0, pool_size=(2, 2), strides=2)", [IMAGE], None, lambda x: F.max_pool2d(x, 2)
    ),
    "max_pool2d NHWC 2": Case(
        'nn.max_pool2d(%0, pool_size=(2, 2), strides=2, layout="NHWC")',
        [LAST],
        None,
        lambda x: F.max_pool2d(last(x), 2),
    ),
    "max_pool2d 3, 1": Case(
        "nn.max_pool2d(%0, pool_size=(3, 3), padding=1)", [IMAGE], None, lambda x: F.max_pool2d(x, 3, 1, 1)
    ),
    "avg_pool2d": Case(
        "nn.avg_pool2d(%0, pool_size=(3, 3), padding=1)",
        [IMAGE],
        None,
        lambda x: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
    ),
    "avg_pool2d NHWC": Case(
        'nn.avg_pool2d(%0, pool_size=(3, 3), padding=1, layout="NHWC")',
        [LAST],
        None,
        lambda x: F.avg_pool2d(last(x), 3, 1, 1, count_include_pad=False),
    ),
    "max_pool1d": Case(
        "nn.max_pool1d(%0, pool_size=3, strides=2, padding=1)",
        [SOUND],
        None,
        lambda x: F.max_pool1d(x, 3, 2, 1),
    ),
    "max_pool3d": Case(
        "nn.max_pool3d(%0, pool_size=2, strides=2)", [VIDEO], None, lambda x: F.max_pool3d(x, 2)
    ),
    "avg_pool3d": Case("nn.avg_pool3d(%0, pool_size=3)", [VIDEO], None, lambda x: F.avg_pool3d(x, 3, 1)),
    "adaptive_avg_pool2d": Case(
        "nn.adaptive_avg_pool2d(%0, output_size=(7, 7))", [IMAGE], None, lambda x: F.adaptive_avg_pool2d(x, 7)
    ),
    "adaptive_max_pool2d NHWC": Case(
        'nn.adaptive_max_pool2d(%0, output_size=(7, 7), layout="NHWC")',
        [LAST],
        None,
        lambda x: F.adaptive_max_pool2d(last(x), 7),
    ),
    "global_avg_pool2d": Case(
        "nn.global_avg_pool2d(%0)", [IMAGE], lambda x: x.mean((2, 3)), lambda x: x.mean((2, 3))
    ),
    "global_avg_pool2d NHWC": Case(
        'nn.global_avg_pool2d(%0, layout="NHWC")', [LAST], lambda x: x.mean((1, 2)), lambda x: x.mean((1, 2))
    ),
    "max_pool2d_grad": Case(
        "nn.max_pool2d_grad(%1, %0, pool_size=(3, 3), strides=2, padding=1)",
        [IMAGE, floats(1, 64, 64, 64)],
        None,
        None,
    ),
    "max_pool2d_grad NHWC": Case(
        'nn.max_pool2d_grad(%1, %0, pool_size=(3, 3), strides=2, padding=1, layout="NHWC")',
        [LAST, floats(1, 64, 64, 64)],
        None,
        None,
    ),
    "avg_pool2d_grad NHWC": Case(
        'nn.avg_pool2d_grad(%1, %0, pool_size=(2, 2), strides=2, layout="NHWC")',
        [LAST, floats(1, 64, 64, 64)],
        None,
        None,
    ),
    "upsampling": Case(
        "nn.upsampling(%0, scale_h=2.0, scale_w=2.0)",
        [floats(1, 64, 64, 64)],
        None,
        lambda x: F.interpolate(x, scale_factor=2),
    ),
    "upsampling bilinear": Case(
        'nn.upsampling(%0, scale_h=2.0, scale_w=2.0, method="bilinear", align_corners=True)',
        [floats(1, 64, 64, 64)],
        None,
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
    ),
    "upsampling bilinear NHWC": Case(
        'nn.upsampling(%0, scale_h=2.0, scale_w=2.0, method="bilinear", align_corners=True, layout="NHWC")',
        [floats(1, 64, 64, 64)],
        None,
        lambda x: F.interpolate(last(x), scale_factor=2, mode="bilinear", align_corners=True),
    ),
    "depthwise": Case(
        "nn.conv2d(%0, %1, padding=(1, 1), groups=64)",
        [IMAGE, DEPTH],
        None,
        lambda x, w: F.conv2d(x, w, None, 1, 1, 1, 64),
    ),
    "depthwise NHWC": Case(
        'nn.conv2d(%0, %1, padding=(1, 1), groups=64, data_layout="NHWC", kernel_layout="HWOI")',
        [LAST, DEEP],
        None,
        lambda x, w: F.conv2d(last(x), w.permute(2, 3, 0, 1), None, 1, 1, 1, 64),
    ),
    "batch_norm": Case(
        "nn.batch_norm(%0, %1, %1, %1, %1).0",
        [IMAGE, np.abs(floats(64))],
        None,
        lambda x, w: F.batch_norm(x, w, w, w, w),
    ),
    "layer_norm": Case(
        "nn.layer_norm(%0, %1, %1)", [ROWS, floats(1024)], None, lambda x, w: F.layer_norm(x, (1024,), w, w)
    ),
    "group_norm": Case(
        "nn.group_norm(%0, %1, %1, num_groups=8)",
        [IMAGE, floats(64)],
        None,
        lambda x, w: F.group_norm(x, 8, w, w),
    ),
    "instance_norm": Case(
        "nn.instance_norm(%0, %1, %1)",
        [IMAGE, floats(64)],
        None,
        lambda x, w: F.instance_norm(x, None, None, w, w),
    ),
    "lrn": Case("nn.lrn(%0)", [IMAGE], None, lambda x: F.local_response_norm(x, 5)),
    "softmax columns": Case("nn.softmax(%0, axis=0)", [ROWS], None, lambda x: torch.softmax(x, 0)),
    "argmax rows": Case("argmax(%0, axis=1)", [ROWS], lambda x: x.argmax(1), lambda x: x.argmax(1)),
    "argmax columns": Case("argmax(%0, axis=0)", [ROWS], lambda x: x.argmax(0), lambda x: x.argmax(0)),
    "where": Case(
        "where(%0 > 0.0, %0, %1)",
        [ROWS, ROWS],
        lambda x, y: np.where(x > 0, x, y),
        lambda x, y: torch.where(x > 0, x, y),
    ),
    "dropout": Case(
        "nn.dropout(%0)",
        [ROWS],
        lambda x: (x.copy(), np.ones_like(x)),
        lambda x: (x.clone(), torch.ones_like(x)),
    ),
    "trilu": Case("trilu(%0, 0)", [ROWS], np.triu, torch.triu),
    "arange": Case(
        'arange(0f, 1048576f, 1f, dtype="float32")',
        [],
        lambda: np.arange(N, dtype="float32"),
        lambda: torch.arange(N, dtype=torch.float32),
    ),
    "random.uniform": Case(
        "random.uniform(%0, 0f, 1f, out_shape=(1048576,)).1",
        [np.arange(10, dtype="uint64")],
        lambda k: rng.random(N, "float32"),
        lambda k: torch.rand(N),
    ),
    "random.normal": Case(
        "random.normal(%0, 0f, 1f, out_shape=(1048576,)).1",
        [np.arange(10, dtype="uint64")],
        lambda k: rng.standard_normal(N, "float32"),
        lambda k: torch.randn(N),
    ),
    "cast": Case('cast(%0, dtype="float16")', [ROWS], lambda x: x.astype("float16"), lambda x: x.half()),
    "sliding_window": Case(
        "sliding_window(%0, axis=1, window_shape=(4,), strides=(4,))",
        [ROWS],
        lambda x: x.reshape(1024, 256, 4).copy(),
        lambda x: x.unfold(1, 4, 4).contiguous(),
    ),
    "reverse_sequence": Case("reverse_sequence(%0, %1, seq_axis=1, batch_axis=0)", [ROWS, whole(1024, 1024)]),
    "sequence_mask": Case("sequence_mask(%0, %1, axis=1)", [ROWS, whole(1024, 1024)]),
    "meshgrid": Case(
        'meshgrid((%0, %1), indexing="ij")',
        [floats(1024), floats(1024)],
        lambda x, y: np.meshgrid(x, y, indexing="ij", copy=True),
        lambda x, y: [g.contiguous() for g in torch.meshgrid(x, y, indexing="ij")],
    ),
    "strided_set": Case(
        "strided_set(%0, %1, [0, 0], [1024, 1024], [1, 2])", [ROWS, floats(1024, 512)], None, None
    ),
    "depth_to_space": Case(
        "nn.depth_to_space(%0, block_size=2)", [IMAGE], None, lambda x: F.pixel_shuffle(x, 2)
    ),
}


def program(case: Case) -> Way:
    """The case as machine code."""
    body, params = case.body, list[str]()
    for i, v in enumerate(case.values):
        body = body.replace(f"%{i}", f"%p{i}")
        shape = "".join([f"{d}, " for d in v.shape])
        params.append(f"%p{i}: Tensor[({shape}), {v.dtype}]")
    return relay.build(relay.parse(f"def @main({', '.join(params)}) {{ {body} }}"))["main"]


def milliseconds(f: Way, values: list[Any]) -> float:
    """How long a call takes."""
    begin = time.perf_counter()
    f(*values)
    return (time.perf_counter() - begin) * 1e3


def measured(case: Case, rounds: int) -> list[float | None]:
    """The medians of ours, NumPy and PyTorch."""
    tensors = [torch.from_numpy(v) for v in case.values]
    ways = [(program(case), case.values), (case.numpy, case.values), (case.torch, tensors)]
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds + 2):
        for (f, values), row in zip(ways, times, strict=True):
            if f is not None:
                row.append(milliseconds(f, values))
    return [median(row[2:]) if row else None for row in times]


def main() -> None:
    """Print the table."""
    args = argparse.ArgumentParser()
    args.add_argument("names", nargs="*")
    args.add_argument("--rounds", type=int, default=15)
    options = args.parse_args()
    print(f"{'':26}{'ms':>9}{'numpy':>9}{'torch':>9}{'x numpy':>10}{'x torch':>9}")
    for name in options.names or CASES:
        ours, *others = measured(CASES[name], options.rounds)
        assert ours is not None
        cells = [f"{t:9.3f}" if t else f"{'-':>9}" for t in (ours, *others)]
        ratios = [f"{t / ours:9.2f}" if t else f"{'-':>9}" for t in others]
        print(f"{name:26}{''.join(cells)} {''.join(ratios)}", flush=True)


if __name__ == "__main__":
    with torch.no_grad():
        main()
