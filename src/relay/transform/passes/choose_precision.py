"""Precision as a choice: of a whole program, or of a definition by its attribute `precision`."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from relay.analysis.annotated_regions import compiler_of
from relay.diagnostic import Span, did_you_mean, fail
from relay.ir.expr import Call, Expr, Function, GlobalVar, Op
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.op.kind import Precision
from relay.transform.passes.integer_weights import with_integer_weights
from relay.transform.passes.mixed_precision import narrowed
from relay.transform.passes.precision import Choices
from relay.transform.passes.precision_report import Place, PrecisionReport
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types

PRECISION = "precision"
"""The attribute of a definition that chooses for it."""
FLOAT_PRECISIONS: Mapping[str, str] = {"f16": "float16", "bf16": "bfloat16"}
"""Precisions that are a dtype of floats."""
INTEGER_BITS: Mapping[str, int] = {"int8": 8, "int4": 4}
"""Precisions in which constant matrices are integers."""
NAMES: Mapping[str, str] = {
    **{name: name for name in ("f32", *FLOAT_PRECISIONS, *INTEGER_BITS)},
    **{dtype: name for name, dtype in {**FLOAT_PRECISIONS, "f32": "float32"}.items()},
}
"""The precisions that there are, by what people call them."""


@module_pass("choose_precision", keeps=(ANF,), opt_level=0)
def choose_precision(mod: IRModule, *, precision: str = "f32") -> IRModule:
    """Compute the float32 products of a program in another `precision`: `bf16`, `f16`, `int8` or `int4`.

    Weights that are constants, and what products read, are stored as such numbers; sums, arithmetic between
    products, exponentials, normalisations, reductions and losses stay in float32.  The attribute `precision`
    of a definition, `f32` included, overrides that of the program.  Definitions keep their types.
    In `int8` and `int4`, the matrices of products that are constants are such integers.
    Raises `unknown-precision`.

    >>> text = "def @head(%x: Tensor[(9, 4), f32], %w: Tensor[(3, 4), f32]) { nn.dense(%x, %w) }"
    >>> text += 'attributes @head { precision: "bf16" }'
    >>> show(choose_precision, text)
    def @head(
      %x: Tensor[(9, 4), float32], %w: Tensor[(3, 4), float32], precision="bf16"
    ) -> Tensor[(9, 3), float32] {
      nn.dense(cast(%x, dtype=bfloat16), cast(%w, dtype=bfloat16), out_dtype=float32)
    }
    """
    return with_precision(mod, precision)[0]


def with_precision(mod: IRModule, precision: str) -> tuple[IRModule, PrecisionReport]:
    """A module in a precision (`unknown-precision`), and what has become of it; definitions that another
    compiler takes stay as they are.
    """
    whole = precision_named(precision)
    report = PrecisionReport()
    made = {name: Choices.of(dtype, "float32", keeps_thin=True) for name, dtype in FLOAT_PRECISIONS.items()}
    own = [(v, e) for v, e in mod.functions.items() if not compiler_of(e)]
    chosen = {v: precision_of(e) or whole for v, e in own}
    for v, name in chosen.items():
        if name == "f32":
            note_wide(mod.functions[v], v, f'precision is "{name}"', report)
    mod = narrowed(mod, lambda v: made.get(chosen.get(v, "")), True, report, splits_attention=False)
    types = Types(mod)
    new: dict[GlobalVar, Expr] = {}
    for v, name in chosen.items():
        if name in INTEGER_BITS:
            e = mod.functions[v]
            place = partial(Place, definition=v.name_hint)
            found = with_integer_weights(e, INTEGER_BITS[name], types, place, report)
            new[v] = anf(found, types) if found is not e and ANF.is_known_of(mod, v) else found
    return with_definitions(mod, new), report


def note_wide(definition: Expr, v: GlobalVar, reason: str, report: PrecisionReport) -> None:
    """Note the products of a definition that is not to be changed."""
    for e in post_order(definition):
        if isinstance(e, Call) and isinstance(e.op, Op) and e.attrs.precision is Precision.ALWAYS:
            report.keep(reason, Place(e.attrs.name, v.name_hint, e.span))


def precision_of(definition: Expr) -> str:
    """The precision that a definition chooses for itself; empty if it does not (`unknown-precision`)."""
    said = definition.attrs.get(PRECISION) if isinstance(definition, Function) else None
    return "" if said is None else precision_named(said, definition.span)


def precision_named(name: Any, span: Span | None = None) -> str:
    """The canonical name of a precision (`unknown-precision`)."""
    if not isinstance(name, str) or name not in NAMES:
        known = list(dict.fromkeys(NAMES.values()))
        fail(
            "unknown-precision",
            f"there is no precision `{name}`",
            span,
            hint=did_you_mean(str(name), NAMES) or f"there are {', '.join(f'`{n}`' for n in known)}",
        )
    return NAMES[name]


def has_choice(mod: IRModule) -> bool:
    """Whether a definition chooses a precision for itself."""
    return any(map(precision_of, mod.functions.values()))
