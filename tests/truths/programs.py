"""Programs that compute the cases of truths, and what their results are away from the right ones."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host import compiler
from relay.backend.native.llvm.codegen import compile_tasks
from relay.backend.native.llvm.modules import Effort, Module
from relay.ir.build import const
from relay.ir.dtype import dtype_name, is_float
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.op.arrays import array_type
from relay.op.kind import Derivative
from relay.op.registry import registry
from truths.base import TRUTHS, Case
from truths.computed import directions
from truths.distance import distances, is_apart

SHOWN = 6
"""Elements that a message names."""


def cases_of(names: Sequence[str], long: bool) -> list[tuple[str, Case]]:
    """Return the cases of some operators."""
    return [(name, case) for name in names for cases in TRUTHS[name] for case in cases(long)]


def failures(names: Sequence[str], long: bool = False) -> list[str]:
    """Return a line for each result of some operators that is too far from the truth.

    Unless it is to be `long`, machine code computes derivatives of float32 alone, which other dtypes share,
    and none in forward mode; kernels are optimised as always, what calls them less.
    """
    cases = cases_of(names, long)
    lines = [f"{name}: no case has derivatives" for name in names if _lacks_slopes(name, cases)]
    lines += _run("debug", cases, is_forward=True)
    if not long:
        cases = [(name, case if _is_single(case) else _without_slopes(case)) for name, case in cases]
        cases = [(name, case) for name, case in cases if case.value is not None or case.slopes is not None]
    with pytest.MonkeyPatch.context() as patch:
        if not long:
            patch.setattr(compiler, "compile_tasks", _tasks_of_less_effort)
        return [*lines, *_natively(cases, long)]


def _tasks_of_less_effort(parts: Sequence[Module], elsewhere: Collection[str] = ()) -> Any:
    """Return tasks that compile the modules of a program, the entries with less effort."""
    less = [p._replace(effort=Effort.LOOPS) if p.effort is Effort.ALL else p for p in parts]
    return compile_tasks(less, elsewhere)


def _natively(cases: Sequence[tuple[str, Case]], long: bool) -> Iterator[str]:
    """Compare the results of machine code, on one thread and on more where cases say so."""
    yield from _run("native", cases, is_forward=long)
    more = [(name, case) for name, case in cases if case.threads != (1,)]
    for threads in sorted({n for _, case in more for n in case.threads} - {1}):
        yield from _run("native", [(name, case) for name, case in more if threads in case.threads], threads)


def _is_single(case: Case) -> bool:
    """Return whether the operands that are floating are all float32."""
    dtypes = {dtype_name(np.asarray(x).dtype) for operand in case.operands for x in _leaves(operand)}
    return not any("float" in name and name != "float32" for name in dtypes)


def _without_slopes(case: Case) -> Case:
    return replace(case, slopes=None, weights=None)


def _lacks_slopes(name: str, cases: Sequence[tuple[str, Case]]) -> bool:
    """Return whether an operator is differentiable, and no case of it has derivatives; integers have none."""
    own = [case for other, case in cases if other == name]
    is_compared = any(case.slopes is not None for case in own)
    is_whole = all(np.asarray(v).dtype.kind in "biu" for case in own for v in _leaves(case.value))
    return registry[name].derivative is not Derivative.ZERO and not (own and is_whole) and not is_compared


def _run(
    executor: str, cases: Sequence[tuple[str, Case]], threads: int = 1, is_forward: bool = False
) -> Iterator[str]:
    """Compare the results of cases that are computed together, and those of forward mode."""
    mod, main, arguments = IRModule(), [], []
    for i, (name, case) in enumerate(cases):
        results, params, values = _declared(mod, i, name, case, is_forward)
        main.append((results, params))
        arguments += values
    mod["main"] = Function(tuple(p for _, ps in main for p in ps), Tuple(tuple(r for r, _ in main)))
    if executor == "native":
        results = relay.build(mod, threads=threads, cache=False)(*arguments)
    else:
        results = relay.create_executor(executor, mod).evaluate()(*arguments)
    where = executor if threads == 1 else f"{executor}, {threads} threads"
    for (name, case), result in zip(cases, results, strict=True):
        yield from _compared(f"{name} ({where})", case, result)


def _declared(
    mod: IRModule, number: int, name: str, case: Case, is_forward: bool
) -> tuple[Expr, list[Var], list[Any]]:
    """Add the functions of a case to a module; return a call of them, its parameters and arguments."""
    values = [x for i, x in enumerate(case.operands) if i not in case.fixed]
    fresh = iter([Var(f"x{number}_{i}", array_type(x)) for i, x in enumerate(values)])
    xs = [const(x) if i in case.fixed else next(fresh) for i, x in enumerate(case.operands)]
    params = [x for x in xs if isinstance(x, Var)]
    call = Call(Op.get(name), tuple(xs), dict(case.attrs))
    if case.slopes is None:
        return call, params, values
    weights = [] if case.weights is None else _leaves(case.weights)
    ws = [Var(f"w{number}_{i}", array_type(w)) for i, w in enumerate(weights) if w is not None]
    function = GlobalVar(f"weighed{number}")
    mod[function.name_hint] = Function((*params, *ws), _weighed(call, case.weights, iter(ws)))
    results = [call, TupleGetItem(Call(Grad("grad", function), (*params, *ws)), 1)]
    more, values = [*params, *ws], [*values, *[w for w in weights if w is not None]]
    if is_forward:
        plain = GlobalVar(f"plain{number}")
        mod[plain.name_hint] = Function(tuple(params), call)
        along = [d for i, d in enumerate(_directions(case)) if i not in case.fixed]
        ds = [Var(f"d{number}_{i}", array_type(d)) for i, d in enumerate(along)]
        results.append(TupleGetItem(Call(Grad("jvp", plain), (Tuple(tuple(params)), Tuple(tuple(ds)))), 1))
        more, values = [*more, *ds], [*values, *along]
    return Tuple(tuple(results)), more, values


def _directions(case: Case) -> tuple[Any, ...]:
    """Return the direction of each operand in forward mode: 0 of those that have no derivative."""
    if case.tangents is not None:
        return case.tangents.directions
    assert case.slopes is not None
    pairs = zip(case.operands, case.slopes, strict=True)
    return tuple([np.zeros_like(x) if slope is None else directions(x) for x, slope in pairs])


def _weighed(call: Expr, weights: Any, ws: Iterator[Var]) -> Expr:
    if weights is None:
        return call
    if not isinstance(weights, tuple):
        return relay.multiply(call, next(ws))
    parts = [relay.multiply(TupleGetItem(call, i), next(ws)) for i, w in enumerate(weights) if w is not None]
    return Tuple(tuple(parts))


def _leaves(x: Any) -> list[Any]:
    return list(x) if isinstance(x, tuple) else [x]


def _compared(title: str, case: Case, result: Any) -> Iterator[str]:
    """Compare the result of one case, and its derivatives."""
    value, slopes, *tangents = (result, ()) if case.slopes is None else result
    if case.value is not None:
        yield from _apart(title, case, value, case.value, case.scale, case.ulps)
    if case.slopes is None:
        return
    places = iter(slopes)
    for i, right in enumerate(case.slopes):
        slope = None if i in case.fixed else next(places)
        if right is not None:
            scale = None if case.slope_scales is None else case.slope_scales[i]
            yield from _apart(f"{title}, derivative {i}", case, slope, right, scale, case.slope_ulps)
    for tangent in tangents:
        value, right, scale = _tangents(case, tangent)
        # A term of each operand is rounded too, and added.
        bound = case.slope_ulps + len(case.operands)
        yield from _apart(f"{title}, tangent", case, value, right, scale, bound)


def _tangents(case: Case, tangent: Any) -> tuple[Any, Any, Any]:
    """Return a result of forward mode, or its weighed sum, and the right one with its scale."""
    if case.tangents is not None:
        return tangent, case.tangents.right, case.tangents.scale
    results = [*map(np.asarray, _leaves(tangent))]
    weights = [1] * len(results) if case.weights is None else _leaves(case.weights)
    pairs = [(t, w) for t, w in zip(results, weights, strict=True) if w is not None]
    total = sum(np.sum(t * w, dtype=t.dtype) for t, w in pairs if is_float(dtype_name(t.dtype)))
    pairs = zip(case.slopes or (), _directions(case), strict=True)
    terms = [slope * d.astype("float64") for slope, d in pairs if slope is not None]
    right, scale = (sum(np.sum(f(x)) for x in terms) for f in (np.asarray, np.abs))
    return total, right, scale


def _apart(title: str, case: Case, value: Any, right: Any, scale: Any, ulps: float) -> Iterator[str]:
    """Yield a line if one of the elements is too far away."""
    if isinstance(right, tuple):
        scales = scale if isinstance(scale, tuple) else (None,) * len(right)
        for i, (v, r, s) in enumerate(zip(value, right, scales, strict=True)):
            if r is not None:
                yield from _apart(f"{title}.{i}", case, v, r, s, ulps)
        return
    value, right = np.asarray(value), np.asarray(right)
    if value.shape != right.shape:
        yield f"{title}{_attributes(case)}: the shape is {value.shape}, right is {right.shape}"
        return
    wrong = np.argwhere(is_apart(value, right, ulps, scale))
    if not len(wrong):
        return
    yield (
        f"{title}{_attributes(case)} of {dtype_name(value.dtype)}: {len(wrong)} of {value.size} elements are "
        f"over {ulps:g} ulps away:" + "".join(_worst(case, value, right, scale, wrong))
    )


def _worst(case: Case, value: Any, right: Any, scale: Any, wrong: Any) -> Iterator[str]:
    """Describe the elements that are furthest away."""
    places = [tuple(int(i) for i in place) for place in wrong]
    is_number = value.dtype.kind not in "biuSUO"
    away = distances(value, right, scale) if is_number else np.zeros(value.shape)
    for place in sorted(places, key=lambda p: -away[p])[:SHOWN]:
        shown = ", ".join(_operand(x, place, value.shape) for x in case.operands)
        distance = f" ({away[place]:.3g} ulps)" if is_number else ""
        yield f"\n    at {place} of ({shown}): {value[place]}, right is {_short(right[place])}{distance}"


def _operand(x: Any, place: tuple[int, ...], shape: tuple[int, ...]) -> str:
    array = None if isinstance(x, tuple) else np.asarray(x)
    if array is not None and array.shape == shape:
        return repr(array[place].item())
    return "..." if array is None or array.size > 12 else str(array.tolist())


def _short(x: Any) -> str:
    try:
        return f"{np.longdouble(x):.9g}" if not hasattr(x, "_mpf_") else f"{float(x):.9g}"
    except (TypeError, ValueError, OverflowError):
        return str(x)


def _attributes(case: Case) -> str:
    return f" {dict(case.attrs)}" if case.attrs else ""
