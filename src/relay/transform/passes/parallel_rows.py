"""Dense layers of different rows by one weight as a single product, which reads the weight once."""

from collections.abc import Hashable, Mapping, Sequence

from relay.ir.expr import Call, Expr, GlobalVar, Let
from relay.ir.module import IRModule
from relay.ir.scope import places
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.op.nn.dense import Dense
from relay.transform.passes.graph_form import without_lets
from relay.transform.passes.parallel_calls import joined, split, substituted
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.purity import Purity
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import call, is_data
from relay.typecheck.query import Types


@module_pass("combine_rows", keeps=(ANF,), opt_level=2, public="CombineRows")
def combine_rows(mod: IRModule, *, min_num_branches: int = 2, max_rows: int = 8) -> IRModule:
    """Combine independent dense layers with the same weight into one product, and split its rows.

    An unrolled recurrent network multiplies the input of each step by the same weight; the combined product
    reads the weight once.  Layers that depend on an earlier step are left alone, and so are layers of more
    than `max_rows` rows, which would gain nothing.

    >>> show(combine_rows, '''
    ... def @main(%x: Tensor[(1, 4), float32], %y: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {
    ...   (nn.dense(%x, %w), nn.dense(%y, %w))
    ... }''')
    def @main(
      %x: Tensor[(1, 4), float32], %y: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]
    ) -> (Tensor[(1, 3), float32], Tensor[(2, 3), float32]) {
      %0 = split(nn.dense(concatenate((%x, %y)), %w), indices_or_sections=(1,));
      (%0.0, %0.1)
    }
    """
    types, purity = Types(mod), Purity(mod)
    new: dict[GlobalVar, Expr] = {}
    for v, e in mod.functions.items():
        found = join_layers(e, types, purity, min_num_branches, max_rows)
        new[v] = anf(found, types) if found is not e and ANF.is_known_of(mod, v) else found
    return with_definitions(mod, new)


def join_layers(root: Expr, types: Types, purity: Purity, least: int, most: int) -> Expr:
    """A definition with its groups as one product each."""
    order = list(post_order(root))
    values: dict[Expr, Expr] = {e.var: e.value for e in order if isinstance(e, Let)}
    if not alike(of_steady(layers_of(order, types, most), order, values), order, values, {}, least):
        return root
    graph = without_lets(root, types, purity)
    order, where = list(post_order(graph)), places(graph).where
    instead: dict[Expr, Expr] = {}
    for group in alike(of_steady(layers_of(order, types, most), order, {}), order, {}, where, least):
        by_data = {e.args[0]: e for e in group}  # what is computed more than once takes one part
        parts = dict(zip(by_data, row_parts(list(by_data.values()), types), strict=True))
        instead.update({e: parts[e.args[0]] for e in group})
    return substituted(graph, instead) if instead else root


def alike(
    layers: Sequence[Call],
    order: Sequence[Expr],
    values: Mapping[Expr, Expr],
    where: Mapping[Expr, Hashable],
    least: int,
) -> list[list[Call]]:
    """Groups of layers with one weight in one place, of at least so many different data, none of which needs
    another; `values` are those of variables that stand for them.
    """
    by_weight: dict[Expr, list[Call]] = {}
    for e in layers:
        by_weight.setdefault(values.get(e.args[1], e.args[1]), []).append(e)
    found: list[list[Call]] = []
    for several in by_weight.values():
        if len(several) < least:
            continue
        levels = level(order, set(several), values)
        groups: dict[Hashable, list[Call]] = {}
        for e in several:
            groups.setdefault((where.get(e), levels[e], e.attrs), []).append(e)
        found += [group for group in groups.values() if len({data_of(e, values) for e in group}) >= least]
    return found


def data_of(layer: Call, values: Mapping[Expr, Expr]) -> Expr:
    """The data of a layer; `values` are those of variables that stand for them."""
    return values.get(layer.args[0], layer.args[0])


def layers_of(order: Sequence[Expr], types: Types, most: int) -> list[Call]:
    """The dense layers of few rows, of known sizes."""
    found: list[Call] = []
    for e in order:
        if isinstance(e, Call) and isinstance(e.target, Dense):
            t = types(e.args[0])
            shape = t.concrete_shape if isinstance(t, TensorType) and t.is_closed else ()
            if len(shape) == 2 and shape[0] <= most:
                found.append(e)
    return found


def of_steady(layers: Sequence[Call], order: Sequence[Expr], values: Mapping[Expr, Expr]) -> list[Call]:
    """The layers whose operands are there from the start, or moved from what is; `values` are those of
    variables that stand for them.
    """
    if not layers:
        return []
    bound: set[Expr] = {e.var for e in order if isinstance(e, Let)}
    steady: set[Expr] = set()
    for e in order:
        if e in values:
            is_steady = values[e] in steady
        elif e.children:
            is_steady = is_data(e) and all(c in steady for c in e.children)
        else:
            is_steady = e not in bound
        if is_steady:
            steady.add(e)
    return [e for e in layers if all(a in steady for a in e.args)]


def level(order: Sequence[Expr], layers: set[Call], values: Mapping[Expr, Expr]) -> dict[Expr, int]:
    """How many of some layers each node is behind; `values` are those of variables that stand for them."""
    found: dict[Expr, int] = {}
    for e in order:
        behind = [found.get(values[e], 0)] if e in values else [found[c] for c in e.children]
        found[e] = max(behind, default=0) + (e in layers)
    return found


def row_parts(several: Sequence[Call], types: Types) -> list[Expr]:
    """What layers become: rows of one product."""
    first = several[0]
    sizes = [t.concrete_shape[0] for e in several if isinstance(t := types(e.args[0]), TensorType)]
    made = call(first.attrs, (joined([e.args[0] for e in several], 0, first), first.args[1]), first)
    return split(made, sizes, 0)
