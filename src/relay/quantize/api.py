"""`quantize`: a program, and examples of its input, to a program in small integers."""

from collections.abc import Iterable, Mapping
from typing import Any

from relay.ir.module import IRModule, expect_module
from relay.quantize.compat import chosen
from relay.quantize.config import Config, Static, config_for
from relay.quantize.insertion import spans_of
from relay.quantize.prepare import prerequisite_optimize
from relay.quantize.report import Report
from relay.quantize.static import Plan, plan
from relay.quantize.taps import checked_examples
from relay.quantize.weights import WeightPlan, weight_plan


def quantize(
    mod: IRModule,
    params: Mapping[str, Any] | None = None,
    calibration: Iterable[Any] | None = None,
    config: Config | None = None,
    *,
    method: str | None = None,
    **options: Any,
) -> IRModule:
    """The module with quantised operators, as Relay that can be read.

    `params` are values of parameters of `@main`, by name.  `calibration` is an iterable of typical inputs:
    dicts by the names of the other parameters, tuples, or arrays where there is one.  `config` says how;
    instead, `method` and `options` name a method and other fields of `Static` or `WeightOnly`.  Without any
    of these, what `qconfig` says holds inside of its `with` block; `dataset` also names `calibration`.

    Static quantisation puts `qnn.quantize` and `qnn.dequantize` around products, of which the pass
    `FakeQuantizationToInteger` makes products of integers.  The methods "rtn", "gptq" and "awq" quantise
    weights of `nn.dense` and `nn.matmul` alone, which become `dequantize_groups` of packed numbers.

    Raises `nothing-to-quantize`, `missing-calibration`, `calibration-input`, `quantize-option`,
    `unknown-input`, `argument-type`.
    """
    calibration = options.pop("dataset", calibration)
    known = chosen() if config is None and method is None and not options else None
    if known is not None:
        return known.finished(static_plan(mod, params, calibration, known.static()).quantized())
    config = config_for(method, options) if config is None else config
    return plan_for(mod, params, calibration, config).quantized()


def report(
    mod: IRModule,
    params: Mapping[str, Any] | None = None,
    calibration: Iterable[Any] | None = None,
    config: Config | None = None,
    *,
    examples: Iterable[Any] | None = None,
    method: str | None = None,
    **options: Any,
) -> tuple[IRModule, Report]:
    """What `quantize` gives, and how far each quantised operator is from its float32.

    `examples` are the inputs that are compared on; without them, those of `calibration`.  Raises what
    `quantize` does.
    """
    calibration = None if calibration is None else list(checked_examples(calibration))
    config = config_for(method, options) if config is None else config
    plan = plan_for(mod, params, calibration, config)
    return plan.quantized(), plan.report(calibration if examples is None else examples)


def plan_for(
    mod: IRModule, params: Mapping[str, Any] | None, calibration: Iterable[Any] | None, config: Config
) -> Plan | WeightPlan:
    """What quantisation does to a module."""
    if isinstance(config, Static):
        return static_plan(mod, params, calibration, config)
    mod = expect_module(mod)
    skipped = spans_of(mod, [n for n in config.skip if n.startswith("@")])
    return weight_plan(prerequisite_optimize(mod, params), calibration, config, skipped)


def static_plan(
    mod: IRModule, params: Mapping[str, Any] | None, calibration: Iterable[Any] | None, config: Static
) -> Plan:
    """What static quantisation does to a module."""
    mod = expect_module(mod)
    skipped = spans_of(mod, [n for n in config.skip if n.startswith("@")])
    return plan(prerequisite_optimize(mod, params), calibration, config, skipped)
