"""Every operator agrees with a truth from outside, at the ends of its range, in both executors."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from mpmath import mp

import relay
from relay.op.base import FLOATING, sample
from relay.op.derivative import const_like
from relay.op.family import Elementwise
from relay.op.kind import Derivative
from relay.op.registry import operator, registry
from truths.base import TRUTHS
from truths.pointwise import pointwise
from truths.programs import failures

HERE = Path(__file__).parent
MODULES = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("test_"))
"""The modules of this folder, of which most declare truths."""
AT_ONCE = 16
"""Operators that one program computes."""

for module in MODULES:
    import_module(f"truths.{module}")


def batches(names: Iterable[str]) -> list[Any]:
    """Return names a few at a time, as parameters of a test; a single one has its own."""
    all_names = list(names)
    some = [all_names[i : i + AT_ONCE] for i in range(0, len(all_names), AT_ONCE)]
    return [pytest.param(names, id=",".join(names)) for names in some]


@pytest.mark.parametrize("names", batches(TRUTHS))
@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.long, id="long")])
def test_operators_agree_with_their_truths(names: list[str], long: bool) -> None:
    lines = failures(names, long)
    if lines:
        pytest.fail("\n".join(lines))


def test_every_operator_has_a_truth() -> None:
    assert sorted(registry.keys() ^ TRUTHS.keys()) == []


def test_the_gate_stops_a_naive_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    def value(x: Any) -> Any:
        root = mp.sqrt(x * x + 4)
        return (x + root) / 2 if x > 0 else 2 / (root - x)

    def slope(x: Any) -> Any:
        return value(x) / mp.sqrt(x * x + 4)

    @operator("naive.smooth_relu")
    class SmoothRelu(Elementwise):
        """`(x + sqrt(x * x + 4)) / 2`, which cancels below 0 and overflows."""

        dtypes = FLOATING
        derivative = Derivative.PARTIALS
        samples = (sample("3x5 float32"),)

        def reference(self, np: Any, data: Any) -> Any:
            return (data + np.sqrt(data * data + data.dtype.type(4))) / data.dtype.type(2)

        def native(self, b: Any, data: Any) -> Any:
            root = b.function("sqrt", b.add(b.multiply(data, data), b.const(4, data)))
            return b.multiply(b.add(data, root), b.const(0.5, data))

        def partials(self, y: Any, data: Any) -> tuple[Any, ...]:
            root = relay.subtract(relay.multiply(const_like(2, y), y), data)
            return (relay.divide(y, root),)

    monkeypatch.setitem(TRUTHS, "naive.smooth_relu", [])
    assert failures(["naive.smooth_relu"]) == ["naive.smooth_relu: no case has derivatives"]
    pointwise("naive.smooth_relu", value, slope, dtypes=("float32",))
    lines = failures(["naive.smooth_relu"])
    titles = [line.split(" of float32")[0] for line in lines]
    assert titles == [
        f"naive.smooth_relu ({executor}){part}"
        for executor, parts in (
            ("debug", ["", ", derivative 0", ", tangent"]),
            ("native", ["", ", derivative 0"]),
        )
        for part in parts
    ]
    assert "(-1.0000000150474662e+30): inf, right is 9.99999985e-31" in lines[0]
