"""Functions of PyTorch that are layers of networks, with inputs."""

import torch
import torch.nn.functional as F

from frontend.torch_operands import f, p

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
            F.avg_pool2d(x, (3, 2), (2, 3), 1, ceil_mode=True, divisor_override=5),
            F.avg_pool2d(x[0], 4, 3, ceil_mode=True, divisor_override=5),
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
