"""Programs that use a model: what is written beside its step, and the weights as such a program has them."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.ir.module import IRModule
from relay.models.program import specialised
from relay.models.settings import unsupported
from relay.models.values import Made, value_of


def steps(prefix: str, numbers: str, sizes: Mapping[str, int]) -> str:
    """`@step_all`, which gives scores after each token of one row; with a prefix, `@draft_step`."""
    heads, size, vocabulary = sizes["kv"], sizes["size"], sizes["vocab"]
    cache = f"Cache[b, {heads}, {size}]"
    if prefix:
        return f"""
type DraftWeights = Model[{numbers}];
def @draft_step<b: Dim, t: Dim>(
  %weights: DraftWeights, %tokens: Tensor[(b, t), int32], %cache: {cache}, %position: Tensor[(b,), int32]
) -> (Tensor[(b, {vocabulary}), float32], {cache}) {{ @step_of(%weights, %tokens, %cache, %position) }}
"""
    return f"""
def @step_all<t: Dim>(
  %weights: Weights, %tokens: Tensor[(1, t), int32], %cache: Cache[1, {heads}, {size}],
  %position: Tensor[(1,), int32]
) -> (Tensor[(t, {vocabulary}), float32], Cache[1, {heads}, {size}]) {{
  let (%x, %cache) = @hidden(%weights, %tokens, %cache, %position);
  (@scores(%x, %weights), %cache)
}}
"""


def ragged(sizes: Mapping[str, int]) -> str:
    """`@read`, the step of rows that end at places of their own."""
    cache = f"Cache[b, {sizes['kv']}, {sizes['size']}]"
    return f"""
def @read<b: Dim, t: Dim>(
  %weights: Weights, %tokens: Tensor[(b, t), int32], %cache: {cache}, %position: Tensor[(b,), int32],
  %ends: Tensor[(b,), int32]
) -> (Tensor[(b, {sizes["vocab"]}), float32], {cache}) {{
  @read_of(%weights, %tokens, %cache, %position, %ends)
}}
"""


def extended(model: Any, every: Sequence[Made], text: str, draft: Any) -> tuple[IRModule, Any]:
    """The program of a model that has such weights, with more definitions; and the weights of a draft model
    or None.

    The text may use `@step` and, of one row, `@step_all`; `@read`, if the model has `reads_ragged`; and with
    a draft model `@draft_step` and `DraftWeights`.
    """
    whole = model.text + steps("", "", model.sizes) + (ragged(model.sizes) if model.reads_ragged else "")
    used = model.used(every)
    others = None
    if draft is not None:
        if draft.family != model.family:
            unsupported(f"a draft of the family {draft.family}")
        whole += steps("draft", ", ".join(str(n) for n in draft.sizes.values()), draft.sizes)
        others = draft.made
        used |= draft.used([others])
    mod = specialised(whole + text, used, "model", model.activations)
    return mod, None if others is None else value_of(others, mod.constructors())
