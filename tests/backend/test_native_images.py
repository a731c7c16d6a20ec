"""Convolutions of a number of images that is open, against the interpreter and the program for one image."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.kernels.images import Images

Case = tuple[tuple[int, ...], tuple[int, ...], str, str]
"""The shapes of an image and of the weight, the operator, its attributes."""
CASES: dict[str, Case] = {
    "fewer products": ((9, 8, 32), (3, 3, 32, 48), "nn.conv2d", "padding=1"),
    "rows in place": ((7, 7, 72), (1, 1, 72, 100), "nn.conv2d", ""),
    "rows moved": ((9, 13, 40), (3, 3, 40, 33), "nn.conv2d", "padding=(1, 0, 1, 2), strides=(1, 2)"),
    "windows that overlap": ((23, 23, 3), (7, 7, 3, 24), "nn.conv2d", "padding=3, strides=2"),
    "two groups": ((8, 8, 32), (3, 3, 16, 48), "nn.conv2d", "groups=2, padding=1"),
    "small groups": ((9, 9, 32), (3, 3, 4, 32), "nn.conv2d", "groups=8, padding=1"),
    "one axis": ((40, 6), (5, 6, 17), "nn.conv1d", "padding=2"),
    "three axes": ((5, 6, 7, 4), (3, 3, 3, 4, 20), "nn.conv3d", "padding=1"),
    "transposed": ((7, 6, 32), (3, 3, 32, 33), "nn.conv2d_transpose", ""),
    "transposed, strides": ((7, 6, 9), (4, 4, 9, 8), "nn.conv2d_transpose", "strides=2, padding=1"),
}
FOLLOWING = {
    "bias and activation": "nn.relu(nn.bias_add({y}, %b, axis=3))",
    "a residual": "nn.relu({y} * %b + %r)",
    "a result too": "let %y = {y}; (nn.relu(%y), %y)",
    "the mean": "mean({y}, axis=[1, 2])",
    "turned": "transpose({y} + %r, axes=[0, 3, 1, 2])",
}
rng = np.random.default_rng(0)


def call(case: Case) -> str:
    """A convolution as text."""
    _, weight, op, attrs = case
    axes = {3: "W", 4: "HW", 5: "DHW"}[len(weight)]
    return f'{op}(%x, %w, {attrs}{", " * bool(attrs)}data_layout="N{axes}C", kernel_layout="{axes}IO")'


def compiled(text: str, weight: Any = None, **options: Any) -> NativeProgram:
    """A program, with a weight that is known before if there is one."""
    mod = relay.parse(text)
    if weight is not None:
        mod = relay.IRModule.from_expr(relay.bind_params_by_name(mod["main"], {"w": weight}))
    return NativeProgram(mod, **options)


def numbers(*shape: int) -> Any:
    """Random numbers."""
    return rng.standard_normal(shape).astype("float32")


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("name", list(CASES))
def test_each_image_is_convolved_as_alone(name: str, is_constant: bool) -> None:
    case = CASES[name]
    image, weight, *_ = case
    w = numbers(*weight)
    head = "def @main{}(%x: Tensor[{}, float32], %w: Tensor[{}, float32]) {{ {} }}"
    own = [] if is_constant else [w]
    sizes = ", ".join(map(str, image))
    texts = [head.format(n, f"({m}, {sizes})", weight, call(case)) for n, m in (("[n: Dim]", "n"), ("", 1))]
    several, one = (compiled(text, w if is_constant else None) for text in texts)
    reference = relay.infer(relay.parse(texts[0]))
    for n in (3, 1, 0):
        x = numbers(n, *image)
        found, wanted = several(x, *own), reference.evaluate("main", x, w)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=3e-6 * np.abs(wanted).max(initial=1.0))
        if is_constant:
            alone = [one(x[i : i + 1], *own) for i in range(n)]
            assert found.tobytes() == b"".join([y.tobytes() for y in alone])


@pytest.mark.parametrize("is_constant", [True, False])
@pytest.mark.parametrize("case", ["fewer products", "rows moved", "small groups"])
@pytest.mark.parametrize("name", list(FOLLOWING))
def test_what_follows_is_done_image_by_image(name: str, case: str, is_constant: bool) -> None:
    image, weight, *_ = CASES[case]
    out = {"fewer products": (9, 8, 48), "rows moved": (9, 7, 33), "small groups": (9, 9, 32)}[case]
    sizes, result = (", ".join(map(str, shape)) for shape in (image, out))
    text = f"""def @main[n: Dim](%x: Tensor[(n, {sizes}), float32], %w: Tensor[{weight}, float32],
        %b: Tensor[({out[-1]},), float32], %r: Tensor[(n, {result}), float32]) {{
        {FOLLOWING[name].format(y=call(CASES[case]))} }}"""
    w, b = numbers(*weight), numbers(out[-1])
    programs = [compiled(text, w if is_constant else None, threads=n) for n in (1, 2)]
    for n in (2, 0):
        x, r = numbers(n, *image), numbers(n, *out)
        args = [x, b, r] if is_constant else [x, w, b, r]
        found, other = (fields(p(*args)) for p in programs)
        wanted = fields(relay.infer(relay.parse(text)).evaluate("main", x, w, b, r))
        for a, c, y in zip(found, other, wanted, strict=True):
            np.testing.assert_allclose(a, y, rtol=0, atol=3e-6 * np.abs(y).max(initial=1.0))
            assert a.tobytes() == c.tobytes()


def test_small_images_are_convolved_together(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Images] = []
    monkeypatch.setattr(Images, "write", lambda s, *a, f=Images.write: (used.append(s), f(s, *a))[1])
    for size, count in ((3, 0), (4, 1)):
        text = f"""def @main[n: Dim](%x: Tensor[(n, {size}, {size}, 16), float32],
            %w: Tensor[(1, 1, 16, 16), float32]) {{
            nn.conv2d(%x, %w, data_layout="NHWC", kernel_layout="HWIO") }}"""
        x, w = numbers(3, size, size, 16), numbers(1, 1, 16, 16)
        np.testing.assert_allclose(compiled(text)(x, w), x @ w[0, 0], rtol=0, atol=2e-5)
        assert len(used) == count


def fields(x: Any) -> list[Any]:
    """The arrays of a result."""
    return list(x) if isinstance(x, tuple) else [x]
