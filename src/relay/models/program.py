"""Programs of models: the text of a family, specialised to the sizes of a model and to what it is made of."""

from collections.abc import Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from relay.ir.collector import paused
from relay.ir.expr import Clause, Constructor, Expr, Match, replace
from relay.ir.module import IRModule
from relay.ir.pattern import Pattern, PatternConstructor, PatternTuple
from relay.ir.walk import rewrite
from relay.text.parser import parse_module

FOLDER = Path(str(resources.files("relay.models")))
ROUNDED = """
def @data<n: Dim, i: Dim>(%x: Tensor[(n, i), float32]) -> Tensor[(n, i), float32] { round_groups(%x) }
"""
"""What becomes of data before products with weights in blocks, where these multiply integers."""
SHARED = ("List", "Option")
"""Data types that are left as they are."""


def specialised(text: str, used: Collection[str], name: str, activations: str = "float32") -> IRModule:
    """The program of a text that imports those of this folder, without alternatives that a model has not;
    with `activations` "int8", data is rounded before it is multiplied with weights in blocks.

    Of each data type whose constructors are among `used`, the others are left out, and with them the clauses
    of matches for them: a model without biases has no code for biases.
    """
    mod = parse_module(text, name, path=FOLDER / f"{name}.relay")
    if activations == "int8" and any(v.name_hint == "data" for v in mod.functions):
        mod["data"] = parse_module(ROUNDED, name)["data"]
    with paused():
        return _without_alternatives(mod, used)


def _without_alternatives(mod: IRModule, used: Collection[str]) -> IRModule:
    """The module without constructors that are not used, of data types others of which are."""
    kept: dict[Constructor, Constructor | None] = {}
    out = mod.copy()
    for header, data in mod.type_definitions.items():
        wanted = [c for c in data.constructors if c.name_hint in used]
        if header.name_hint in SHARED or not wanted or len(wanted) == len(data.constructors):
            continue
        new = {c: replace(c, tag=i) for i, c in enumerate(wanted)}
        kept |= {c: new.get(c) for c in data.constructors}
        out[header] = replace(data, constructors=tuple(new.values()))
    if not kept:
        return mod
    for v, e in mod.functions.items():
        out[v] = rewrite(e, lambda x: _with_constructors(x, kept))
    return out


def _with_constructors(e: Expr, kept: Mapping[Constructor, Constructor | None]) -> Expr | None:
    """A match without clauses for constructors that are gone, and other constructors as they are now."""
    # Constructors are equal by name, so what holds one is made anew here.
    children = tuple([_constructor(c, kept) for c in e.children])
    if any(new is not old for new, old in zip(children, e.children, strict=True)):
        return e.rebuild(children)
    if not isinstance(e, Match):
        return None
    clauses: list[Clause] = []
    for c in e.clauses:
        pattern = _pattern(c.lhs, kept)
        if pattern is not None:
            clauses.append(c if pattern is c.lhs else replace(c, lhs=pattern))
    return replace(e, clauses=tuple(clauses))


def _constructor(e: Expr, kept: Mapping[Constructor, Constructor | None]) -> Expr:
    """A constructor as it is now; anything else as it is."""
    new = kept.get(e) if isinstance(e, Constructor) else None
    return e if new is None else new


def _pattern(root: Pattern, kept: Mapping[Constructor, Constructor | None]) -> Pattern | None:
    """A pattern with constructors as they are now; None if one is gone.  These patterns are shallow."""
    if not isinstance(root, PatternConstructor | PatternTuple):
        return root
    parts = [_pattern(p, kept) for p in root.patterns]
    if any(p is None for p in parts):
        return None
    new: dict[str, Any] = {"patterns": tuple(parts)}
    if isinstance(root, PatternConstructor):
        constructor = kept.get(root.constructor, root.constructor)
        if constructor is None:
            return None
        new["constructor"] = constructor
    return replace(root, **new)


def text_of(family: str, sizes: Mapping[str, int], layers: int, empty: str) -> str:
    """What is written for one model: the type of its weights, and its entry functions.

    `empty` is the part of a layer in a cache before the first of `%tokens`.
    """
    numbers = ", ".join(str(n) for n in sizes.values())
    heads, size, vocabulary = sizes["kv"], sizes["size"], sizes["vocab"]
    return f"""// A model of {layers} layers: {", ".join(f"{k} {n}" for k, n in sizes.items())}.
import "{family}"

type Weights = Model[{numbers}];

// Scores of the token after the last of each row, and the cache with those that were given, which stand from
// `%position` of their row on.
attributes @step {{ donate: "cache" }}
def @step<b: Dim, t: Dim>(
  %weights: Weights, %tokens: Tensor[(b, t), int32], %cache: Cache[b, {heads}, {size}],
  %position: Tensor[(b,), int32]
) -> (Tensor[(b, {vocabulary}), float32], Cache[b, {heads}, {size}]) {{
  @step_of(%weights, %tokens, %cache, %position)
}}

// Scores of the tokens after each.
def @logits<b: Dim, t: Dim>(
  %weights: Weights, %tokens: Tensor[(b, t), int32]
) -> Tensor[(b, t, {vocabulary}), float32] {{
  @logits_of(%weights, %tokens, @empty_cache(%weights.layers, {empty}))
}}
"""
