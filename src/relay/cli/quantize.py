"""`relay quantize FILE`: a program in small integers."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from relay.cli.files import read_module
from relay.cli.inputs import Input, check_size, read_weights, weights_of_main
from relay.cli.progress import progress
from relay.diagnostic import RelayError, did_you_mean, fail
from relay.ir.expr import Function, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType

METHODS = ("minmax", "percentile", "entropy", "mse", "rtn", "gptq", "awq")
EXAMPLES = """\b
Examples:
  relay quantize model.relay --calibration data.npz -o int8.relay
  relay quantize model.relay --calibration data.npz --method entropy --report
  relay quantize net.relay --weights net.safetensors --calibration a.npz --calibration b.npz
"""


@click.command("quantize", epilog=EXAMPLES)
@click.option(
    "-o", "--output", metavar="FILE", help="The file to write; its weights go to a file next to it."
)
@click.option("--weights", metavar="FILE", help="A .safetensors or .npz file of parameters.")
@click.option(
    "--calibration",
    "data",
    multiple=True,
    metavar="FILE",
    help="A .npz or .safetensors file of typical inputs, by the names of parameters.",
)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="minmax",
    help="How ranges are chosen, or weights alone rounded (rtn, gptq, awq).",
)
@click.option("--percentile", type=float, help="The percentage of activations that a range holds.")
@click.option("--activations", type=click.Choice(("int8", "uint8")), help="The dtype of activations.")
@click.option("--symmetric", is_flag=True, help="Put 0 in the middle of the range of activations.")
@click.option("--per-tensor", is_flag=True, help="One scale for each weight, not for each channel.")
@click.option("--bits", type=click.Choice(("2", "4", "8")), help="Bits of a weight, for rtn, gptq, awq (4).")
@click.option("--group-size", type=int, help="Weights that share a scale, for rtn, gptq and awq (32).")
@click.option("--order", is_flag=True, help="GPTQ begins with the inputs that matter most.")
@click.option(
    "--eight-bits",
    type=float,
    metavar="SHARE",
    help="The share of weights, those of the most noise, in 8 bits.",
)
@click.option("--reduce-range", is_flag=True, help="Weights in 7 bits, which others add without saturating.")
@click.option("--skip", multiple=True, metavar="NAME", help="A site, an operator or a definition left alone.")
@click.option("--smooth", type=float, metavar="ALPHA", help="The strength of SmoothQuant, from 0 to 1.")
@click.option("--bias-correction", is_flag=True, help="Take the mean error of each channel out of the bias.")
@click.option("--integers", is_flag=True, help="Compute in integers what lies between quantised values.")
@click.option("--report", is_flag=True, help="Print how far each operator is from its float32.")
@click.argument("file")
def quantize(
    file: str,
    output: str | None,
    weights: str | None,
    data: Sequence[str],
    report: bool,
    integers: bool,
    **chosen: Any,
) -> None:
    """Quantise the program in FILE (`-` is standard input), and print or save it.

    An array of a calibration file is one input, or has an axis more than the parameter: then it is many.
    Products get int8 weights and 8-bit activations, whose ranges calibration chooses; or weights alone are
    quantised, in groups of few bits.
    """
    if output is not None and not output.endswith(".relay"):
        raise click.BadParameter("the name must end in .relay", param_hint="--output")
    from relay.quantize.api import quantize as quantized
    from relay.quantize.api import report as reported
    from relay.typecheck.infer import infer

    with progress("checking"):
        mod = infer(read_module(file))
        params = {} if weights is None else weights_of_main(mod, weights)
        examples = [e for name in data for e in examples_of(mod, name, params)]
    options = options_of(chosen)
    with progress("quantising"):
        if report:
            made, found = reported(mod, params, examples or None, **options)
            click.echo(str(found).rstrip("\n"))
        else:
            made = quantized(mod, params, examples or None, **options)
        if integers:
            made = in_integers(made)
    write(made, output, report)


def options_of(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The options of quantisation that the command line gives."""
    found = {k: v for k, v in chosen.items() if v is not None and v is not False and v != ()}
    if found.pop("per_tensor", False):
        found["per_channel"] = False
    if "bits" in found:
        found["bits"] = int(found["bits"])
    return found


def in_integers(mod: IRModule) -> IRModule:
    """The program with integer operators."""
    from relay.transform.passes.fake_quantization import fake_quantization_to_integer

    return fake_quantization_to_integer(mod, use_qat=True)


def write(mod: IRModule, output: str | None, report: bool) -> None:
    """Save the program, or print it where nothing else has been."""
    if output is not None:
        from relay.text.weights import save

        save(mod, output)
    elif not report:
        click.echo(mod.astext().rstrip("\n"))


def examples_of(mod: IRModule, name: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The inputs in a file (`calibration-input`)."""
    main = mod["main"]
    wanted = {p.name_hint: p for p in main.params} if isinstance(main, Function) else {}
    given = read_weights(name)
    used = {k: v for k, v in given.items() if k in wanted and k not in params}
    missing = [k for k in wanted if k not in used and k not in params]
    if missing:
        holds = ", ".join([f"`{k}`" for k in list(given)[:6]]) or "nothing"
        near = did_you_mean(missing[0], given).replace("did you mean", "is it the array")
        message = f"`{name}` has no array `{missing[0]}`"
        fail(
            "calibration-input",
            message,
            hint=near or f"it has {holds}; weights go to --weights",
        )
    counts = {k: stack_of(wanted[k].type_annotation, v.shape or ()) for k, v in used.items()}
    stacks = {c for c in counts.values() if c is not None}
    if len(stacks) > 1 or (stacks and None in counts.values()):
        each = ", ".join([f"`{k}` {v.shape}" for k, v in used.items()])
        message = f"the arrays of `{name}` are not one number of inputs: {each}"
        fail("calibration-input", message, hint="give all of them one more axis, of one size, or none")
    arrays = {k: example_array(v, wanted[k], is_stack=counts[k] is not None) for k, v in used.items()}
    if not stacks:
        return [arrays]
    return [{k: v[i] for k, v in arrays.items()} for i in range(stacks.pop())]


def example_array(x: Input, p: Var, is_stack: bool) -> Any:
    """The array of an input, or of many, read only if one is not larger than the parameter
    (`calibration-input`).
    """
    shape = x.shape or ()
    try:
        check_size(shape[1:] if is_stack else shape, p, f"{x.origin}[0]" if is_stack else x.origin)
    except RelayError as error:
        first = error.diagnostics[0]
        fail("calibration-input", first.message, first.span, hint=first.hint)
    return x.array


def stack_of(t: Any, shape: tuple[int, ...]) -> int | None:
    """How many inputs an array holds along an axis that the parameter has not; None if it is one."""
    if isinstance(t, TensorType) and isinstance(t.shape, tuple) and len(shape) == len(t.shape) + 1:
        return shape[0]
    return None
