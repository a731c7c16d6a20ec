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
    *,
    gradient: Callable[..., Any] | Expr | None = None,
    mod: IRModule | None = None,
    seed: int = 0,
) -> None:
    """Compare the gradient of the sum of `func`'s floating-point results with central differences.

    `inputs` are arrays for the parameters, else they are drawn from a normal distribution (`mean`, `scale`);
    only with float64 do the tolerances make sense.  `test_inputs` are those of `inputs` to check, or their
    numbers, else all of floats.  `gradient` is what is checked: an expression or a Python function that gives
    the value and the gradients; without it, the gradient in that `mode`.  Raises `AssertionError`.
    """
    if mode not in ("higher_order", "first_order"):
        raise ValueError(f"mode is 'higher_order' or 'first_order', not {mode!r}")
    typed = infer(IRModule.from_expr(func) if mod is None else _with_main(mod, func))
    main = typed["main"]
    run = create_executor("debug", mod=typed).evaluate()
    xs = [np.asarray(x) for x in inputs] if inputs is not None else _random_inputs(main, scale, mean, seed)
    wanted = _numbers(inputs or xs, test_inputs)
    check = Grad("grad", GlobalVar("main")) if gradient is None else gradient
    differentiate: Callable[..., Any] = (
        create_executor("debug", mod=typed).evaluate(check)  # pyright: ignore[reportArgumentType]
        if isinstance(check, RelayExpr)
        else check
    )
    _, found = differentiate(*xs)
    for i, x in enumerate(xs):
        if x.dtype.kind != "f" or i not in wanted:
            continue
        want = _differences(run, xs, i, eps)
        np.testing.assert_allclose(
            np.asarray(found[i], "float64"),
            want,
            rtol=rtol,
            atol=atol,
            err_msg=f"gradient with respect to parameter {i}",
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


def _random_inputs(func: Function, scale: float | None, mean: float, seed: int) -> list[np.ndarray[Any, Any]]:
    """Random inputs of the types of the parameters; the scale is smaller the more numbers there are."""
    rng = np.random.default_rng(seed)
    drawn: list[np.ndarray[Any, Any]] = []
    for p in func.params:
        t = p.type_annotation
        assert isinstance(t, TensorType)
        assert isinstance(t.dtype, str)
        size = int(np.prod(t.concrete_shape))
        spread = 10 / max(1, size) if scale is None else scale
        numbers = rng.standard_normal(t.concrete_shape) * spread + mean
        drawn.append(np.asarray(numbers if is_float(t.dtype) else np.rint(numbers)).astype(to_numpy(t.dtype)))
    return drawn


def _differences(
    run: Callable[..., Any], xs: list[np.ndarray[Any, Any]], i: int, eps: float
) -> np.ndarray[Any, Any]:
    """`(f(x + eps) - f(x - eps)) / (2 eps)` for each element of parameter `i`."""
    slopes = np.zeros(xs[i].shape, "float64")
    for place in np.ndindex(*xs[i].shape):
        sides: list[float] = []
        for step in (eps, -eps):
            moved = xs[i].copy()
            moved[place] += step
            sides.append(_total(run(*xs[:i], moved, *xs[i + 1 :])))
        slopes[place] = (sides[0] - sides[1]) / (2 * eps)
    return slopes


def _total(value: Any) -> float:
    """The sum of all floating-point numbers in a value of tensors and tuples."""
    if isinstance(value, tuple):
        return sum(_total(v) for v in value)  # pyright: ignore[reportUnknownVariableType]
    return float(np.sum(value, dtype="float64")) if np.asarray(value).dtype.kind == "f" else 0.0
