"""`quantize`: a program, and examples of its input, to a program in small integers."""

from collections.abc import Iterable, Mapping
from typing import Any

from relay.ir.module import IRModule, expect_module
from relay.op.nn.dense import Dense
from relay.quantize.compat import QConfig, chosen
from relay.quantize.config import Config, Static, config_for
from relay.quantize.insertion import spans_of
from relay.quantize.prepare import prerequisite_optimize
from relay.quantize.report import Report
from relay.quantize.sites import expect_named
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
    Weights with numbers that are not finite, or without any, stay as they are.

    Static quantisation puts `qnn.quantize` and `qnn.dequantize` around products, of which the pass
    `FakeQuantizationToInteger` makes products of integers.  The methods "rtn", "gptq" and "awq" quantise
    weights of `nn.dense` and `nn.matmul` alone, which become `dequantize_groups` of packed numbers.

    Raises `nothing-to-quantize`, `missing-calibration`, `calibration-input`, `quantize-option`,
    `unknown-input`, `argument-type`.
    """
    known, config, calibration = asked(config, method, options, calibration)
    made = plan_for(mod, params, calibration, config, demand_skipped=known is None).quantized()
    return made if known is None else known.finished(made)


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
    known, config, calibration = asked(config, method, options, calibration)
    calibration = None if calibration is None else list(checked_examples(calibration))
    plan = plan_for(mod, params, calibration, config, demand_skipped=known is None)
    found = plan.report(calibration if examples is None else examples)
    made = plan.quantized()
    return (made if known is None else known.finished(made)), found


def asked(
    config: Config | None, method: str | None, options: dict[str, Any], calibration: Iterable[Any] | None
) -> tuple[QConfig | None, Config, Iterable[Any] | None]:
    """The `qconfig` around where that holds, the configuration, and the examples (`quantize-option`)."""
    rest = {k: v for k, v in options.items() if k != "dataset"}
    calibration = options.get("dataset", calibration)
    known = chosen() if config is None and method is None and not rest else None
    return known, config_for(config, method, rest) if known is None else known.static(), calibration


def plan_for(
    mod: IRModule,
    params: Mapping[str, Any] | None,
    calibration: Iterable[Any] | None,
    config: Config,
    *,
    demand_skipped: bool = True,
) -> Plan | WeightPlan:
    """What quantisation does to a module; with `demand_skipped`, what `skip` names is there."""
    mod = expect_module(mod)
    skipped = spans_of(mod, [n for n in config.skip if n.startswith("@")])
    prepared = prerequisite_optimize(mod, params)
    if demand_skipped:
        operators = config.operators if isinstance(config, Static) else (Dense.name,)
        expect_named(prepared, operators, "skip", config.skip)
    if isinstance(config, Static):
        return plan(prepared, calibration, config, skipped)
    if isinstance(config.eight_bits, tuple):
        expect_named(prepared, (Dense.name,), "eight_bits", config.eight_bits)
    return weight_plan(prepared, calibration, config, skipped)
