"""`tvm.testing`: comparison of arrays, and decorators of tests that say where they run."""

import inspect
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np

from relay.compat.tvm.devices import Device, device
from relay.compat.tvm.values import given

__all__ = [
    "assert_allclose", "device_enabled", "enabled_targets", "exclude_targets", "fixture",
    "known_failing_targets", "main", "parameter", "parametrize_targets", "requires_cuda", "requires_gpu",
    "requires_llvm", "requires_metal", "requires_opencl", "requires_rocm", "requires_vulkan", "requires_x86",
    "skip_if_32bit", "slow", "uses_gpu",
]  # fmt: skip

FIXTURES = ("-p", "relay.compat.tvm.fixtures")
"""Options of pytest that give tests `target` and `dev`."""
TARGETS = ("llvm",)
"""The targets that programs run on."""


def assert_allclose(
    actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True
) -> None:
    """Demand that two arrays agree to `atol + rtol * |desired|` (`AssertionError`)."""
    actual, desired = np.asanyarray(given(actual)), np.asanyarray(given(desired))
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=verbose)


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets that programs run on, with their devices."""
    return [(target, device(target)) for target in TARGETS]


def device_enabled(target: Any) -> bool:
    """Whether programs run on a target."""
    return device(str(target).partition(" ")[0]).exist


def parametrize_targets(*targets: Any) -> Any:
    """Run a test, which takes `target` and `dev`, for each of these targets that programs run on."""
    if len(targets) == 1 and callable(targets[0]):
        return parametrize_targets(*TARGETS)(targets[0])
    is_listed = len(targets) == 1 and isinstance(targets[0], list | tuple)
    names = cast("Sequence[Any]", targets[0] if is_listed else targets)
    return _for_each([t for t in names if device_enabled(t)])


def exclude_targets(*targets: Any) -> Any:
    """Run a test for each target that programs run on, but for those that are named."""
    return _for_each([t for t in TARGETS if t not in targets])


def known_failing_targets(*targets: Any) -> Any:
    """Run a test for each target that programs run on; it may fail on those that are named."""
    return _for_each(TARGETS, failing=targets)


def _for_each(targets: Sequence[Any], failing: Sequence[Any] = ()) -> Callable[[Any], Any]:
    pytest = import_module("pytest")
    marks = [pytest.mark.xfail(reason=f"fails on {t}") if t in failing else () for t in targets]

    def decorate(test: Any) -> Any:
        known = {"target": targets, "dev": [device(str(t).partition(" ")[0]) for t in targets]}
        taken = [name for name in known if name in inspect.signature(test).parameters]
        values = zip(*[known[name] for name in taken], strict=True)
        rows = [pytest.param(*row, marks=m) for row, m in zip(values, marks, strict=False)]
        return pytest.mark.parametrize(taken, rows)(test) if taken else test

    return decorate


def parameter(*values: Any, ids: Sequence[str] | None = None, by_dict: Any = None) -> Any:
    """What each test that takes it runs with each value of: `shape = tvm.testing.parameter((1, 3), (4,))`."""
    if by_dict is not None:
        ids, values = tuple(by_dict), tuple(by_dict.values())

    def value(request: Any) -> Any:
        return request.param

    return import_module("pytest").fixture(params=values, ids=ids)(value)


def fixture(function: Any = None, *, cache_return_value: bool = False) -> Any:
    """What tests take by the name of a function, which makes it."""
    pytest = import_module("pytest")
    make = pytest.fixture(scope="session") if cache_return_value else pytest.fixture
    return make if function is None else make(function)


def _needs(what: str) -> Callable[..., Any]:
    """A mark for tests that need what is not here: they are skipped."""

    def mark(test: Any = None, **_: Any) -> Any:
        skip = import_module("pytest").mark.skip(reason=f"programs do not run on {what}")
        return skip if test is None else skip(test)

    return mark


def _as_it_is(test: Any = None, **_: Any) -> Any:
    """A mark for tests that need nothing more than is here."""
    return _as_it_is if test is None else test


requires_gpu = _needs("GPUs")
requires_cuda = _needs("CUDA")
requires_opencl = _needs("OpenCL")
requires_vulkan = _needs("Vulkan")
requires_metal = _needs("Metal")
requires_rocm = _needs("ROCm")
requires_llvm = requires_x86 = uses_gpu = slow = skip_if_32bit = _as_it_is


def run_script_tests() -> None:
    """Run the tests of the script that is running."""
    script = sys.modules["__main__"].__file__
    raise SystemExit(import_module("pytest").main([*FIXTURES, str(script), *sys.argv[1:]]))


main = run_script_tests
