"""Programs that use a model: what is written beside its step, and the weights as such a program has them."""

from collections.abc import Mapping
from typing import Any

from relay.ir.module import IRModule
from relay.models.program import specialised, text_of
from relay.models.settings import unsupported
from relay.models.values import parts_of, value_of


def step_all(prefix: str, numbers: str, sizes: Mapping[str, int]) -> str:
    """`@step_all`, which gives scores after each token of one row; with a prefix, `@draft_step`."""
    heads, size, vocabulary = sizes["kv"], sizes["size"], sizes["vocab"]
    cache = f"Cache[b, m, {heads}, {size}]"
    if prefix:
        return f"""
type DraftWeights = Model[{numbers}];
def @draft_step<b: Dim, t: Dim, m: Dim>(
  %weights: DraftWeights, %tokens: Tensor[(b, t), int32], %cache: {cache}, %position: Tensor[(b,), int32]
) -> (Tensor[(b, {vocabulary}), float32], {cache}) {{ @step_of(%weights, %tokens, %cache, %position) }}
"""
    return f"""
def @step_all<t: Dim, m: Dim>(
  %weights: Weights, %tokens: Tensor[(1, t), int32], %cache: Cache[1, m, {heads}, {size}],
  %position: Tensor[(1,), int32]
) -> (Tensor[(t, {vocabulary}), float32], Cache[1, m, {heads}, {size}]) {{
  let (%x, %cache) = @hidden(%weights, %tokens, %cache, %position);
  (@scores(%x, %weights), %cache)
}}
"""


def extended(
    family: str,
    sizes: Mapping[str, int],
    layers: int,
    every: Mapping[str | None, Any],
    text: str,
    draft: Any,
    activations: str,
) -> tuple[IRModule, dict[str | None, Any], Any]:
    """The program of a model with more definitions, its weights by name, and those of a draft model or None.

    The text may use `@step`, `@step_all` and, with a draft model, `@draft_step` and `DraftWeights`; data is
    rounded by `activations` in both models.
    """
    whole = text_of(family, sizes, layers) + step_all("", "", sizes)
    used = {part.name for part in parts_of([*every.values()])} | {"KeysValues", "Cons", "Nil"}
    others = None
    if draft is not None:
        other, draft_sizes, others = draft.written
        if other != family:
            unsupported(f"a draft of the family {other}")
        whole += step_all("draft", ", ".join(str(n) for n in draft_sizes.values()), draft_sizes)
        used |= {part.name for part in parts_of(others)}
    mod = specialised(whole + text, used, "model", activations)
    constructors = mod.constructors()
    weights = {name: value_of(made, constructors) for name, made in every.items()}
    return mod, weights, None if others is None else value_of(others, constructors)
