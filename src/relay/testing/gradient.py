"""Derivatives checked against differences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay.driver.executor import create_executor
from relay.ir.dtype import is_float, to_numpy
from relay.ir.expr import Expr, Function, GlobalVar, Grad, RelayExpr
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.typecheck.infer import infer


def rand(dtype: str = "float32", *shape: int) -> np.ndarray[Any, Any]:
    """Numbers evenly from 0 up to 1."""
    return np.random.rand(*shape).astype(to_numpy(dtype))


def check_grad(
    func: Function,
    inputs: Sequence[Any] | None = None,
    test_inputs: Sequence[Any] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0.0,
    mode: str = "higher_order",
    target_devices: Sequence[tuple[Any, Any]] | None = None,
    executor_kind: str = "debug",
    *,
    gradient: Callable[..., Any] | Expr | None = None,
    mod: IRModule | None = None,
    seed: int = 0,
) -> None:
    """Compare the gradient of the sum of `func`'s floating-point results with central differences.

    `inputs` are arrays for the parameters, else they are drawn from a normal distribution (`mean`, `scale`,
    which is `10 * eps`).  Values are taken `eps` to either side; of dtypes narrower than float64, where those
    may be equal, also at a step that the dtype resolves, and each element has to agree at one of the two.
    `test_inputs` are those of `inputs` to check, or their numbers, else all of floats.  `target_devices`
    are pairs of a target and a device, each of which runs the program by an executor of `executor_kind`.
    `gradient` is what is checked: an expression or a Python function that gives the value and the gradients;
    without it, the gradient in that `mode`.

    Raises `AssertionError`, and `unknown-executor`, `unknown-target`.
    """
    if mode not in ("higher_order", "first_order"):
        raise ValueError(f"mode is 'higher_order' or 'first_order', not {mode!r}")
    typed = infer(IRModule.from_expr(func) if mod is None else _with_main(mod, func))
    main = typed["main"]
    spread = 10 * eps if scale is None else scale
    xs = [np.asarray(x) for x in inputs] if inputs is not None else _random_inputs(main, spread, mean, seed)
    wanted = _numbers(inputs or xs, test_inputs)
    check = Grad("grad", GlobalVar("main")) if gradient is None else gradient
    for target, device in target_devices or [(None, None)]:
        executor = create_executor(executor_kind, typed, device, target)
        run = executor.evaluate()
        differentiate: Callable[..., Any] = (
            executor.evaluate(check)  # pyright: ignore[reportArgumentType]
            if isinstance(check, RelayExpr)
            else check
        )
        _, found = differentiate(*xs)
        for i, x in enumerate(xs):
            if x.dtype.kind == "f" and i in wanted:
                _compare(np.asarray(found[i], "float64"), run, xs, i, _steps(x.dtype, eps), rtol, atol)


def _steps(dtype: np.dtype[Any], eps: float) -> list[float]:
    """How far to either side values are taken: by the cube root of what the dtype resolves, its rounding
    and the curvature matter equally.
    """
    return [eps] if dtype == np.float64 else [eps, float(np.cbrt(np.finfo(dtype).eps))]


def _compare(
    found: np.ndarray[Any, Any],
    run: Callable[..., Any],
    xs: list[np.ndarray[Any, Any]],
    i: int,
    steps: Sequence[float],
    rtol: float,
    atol: float,
) -> None:
    """Demand of each element of a gradient that it is as differences at one of the steps say."""
    wanted = _differences(run, xs, i, steps[0])
    for step in steps[1:]:
        if not np.allclose(found, wanted, rtol=rtol, atol=atol):
            other = _differences(run, xs, i, step)
            wanted = np.where(np.isclose(found, other, rtol=rtol, atol=atol), other, wanted)
    np.testing.assert_allclose(
        found, wanted, rtol=rtol, atol=atol, err_msg=f"gradient with respect to parameter {i}"
    )


def _numbers(inputs: Sequence[Any], chosen: Sequence[Any] | None) -> set[int]:
    """The positions of the chosen inputs, which are arrays among `inputs` or positions already."""
    if chosen is None:
        return set(range(len(inputs)))
    found = {c for c in chosen if isinstance(c, int)}
    arrays = [c for c in chosen if not isinstance(c, int)]
    found |= {i for i, x in enumerate(inputs) if any(x is a for a in arrays)}
    if len(found) < len(chosen):
        raise ValueError("test_inputs has an array that is none of the inputs")
    return found


def _with_main(mod: IRModule, func: Function) -> IRModule:
    new = mod.copy()
    new["main"] = func
    return new


def _random_inputs(func: Function, scale: float, mean: float, seed: int) -> list[np.ndarray[Any, Any]]:
    """Random inputs of the types of the parameters."""
    rng = np.random.default_rng(seed)
    drawn: list[np.ndarray[Any, Any]] = []
    for p in func.params:
        t = p.type_annotation
        assert isinstance(t, TensorType)
        assert isinstance(t.dtype, str)
        numbers = rng.standard_normal(t.concrete_shape) * scale + mean
        drawn.append(np.asarray(numbers if is_float(t.dtype) else np.rint(numbers)).astype(to_numpy(t.dtype)))
    return drawn


def _differences(
    run: Callable[..., Any], xs: list[np.ndarray[Any, Any]], i: int, eps: float
) -> np.ndarray[Any, Any]:
    """`(f(x + eps) - f(x - eps)) / (2 eps)` for each element of parameter `i`, by the distance of the two
    places as the dtype has them.
    """
    slopes = np.zeros(xs[i].shape, "float64")
    for place in np.ndindex(*xs[i].shape):
        rise = width = 0.0
        for sign in (1, -1):
            moved = xs[i].copy()
            moved[place] += sign * eps
            width += sign * float(moved[place])
            rise += sign * _total(run(*xs[:i], moved, *xs[i + 1 :]))
        slopes[place] = rise / width if width else 0.0
    return slopes


def _total(value: Any) -> float:
    """The sum of all floating-point numbers in a value of tensors and tuples."""
    if isinstance(value, tuple):
        return sum(_total(v) for v in value)  # pyright: ignore[reportUnknownVariableType]
    return float(np.sum(value, dtype="float64")) if np.asarray(value).dtype.kind == "f" else 0.0
