"""`ai.onnx.ml`: what comes before and after classical models, and trees."""

from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import ML, converts
from relay.frontend.support import cast, root_of
from relay.frontend.value import Value, call, constant


@converts("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(node: Node, x: Value, indices: Value) -> Value:
    """Elements along the last axis."""
    x = x if x.rank > 1 else call("expand_dims", x, axis=0)
    return call("take", x, call("reshape", indices, newshape=(-1,)), axis=x.rank - 1)


@converts("Binarizer", domain=ML)
def binarizer(node: Node, x: Value) -> Value:
    """1 above a threshold, else 0."""
    return cast(call("greater", x, node.float("threshold", 0.0)), x.dtype)


@converts("Scaler", domain=ML)
def scaler(node: Node, x: Value) -> Value:
    """`(x - offset) * scale`."""
    offset, scale = (constant(node.floats(n, [d]), "float32") for n, d in (("offset", 0.0), ("scale", 1.0)))
    return (cast(x, "float32") - offset) * scale


@converts("Normalizer", domain=ML)
def normalizer(node: Node, x: Value) -> Value:
    """Each row divided by its norm."""
    x, kind = cast(x, "float32"), node.text("norm", "MAX")
    how: dict[str, Any] = {"axis": (x.rank - 1,), "keepdims": True}
    if kind == "MAX":
        size = call("max", call("abs", x), **how)
    elif kind == "L1":
        size = call("sum", call("abs", x), **how)
    else:
        size = root_of(call("sum", x * x, **how))
    return x / call("where", call("equal", size, 0.0), constant(1.0, "float32"), size)


@converts("Imputer", domain=ML)
def imputer(node: Node, x: Value) -> Value:
    """Missing elements replaced."""
    if x.is_float:
        new, old = node.floats("imputed_value_floats"), node.float("replaced_value_float", 0.0)
        missing = call("isnan", x) if np.isnan(old) else call("equal", x, old)
    else:
        new, old = node.ints("imputed_value_int64s"), node.int("replaced_value_int64", 0)
        missing = call("equal", x, old)
    return call("where", missing, constant(new, x.dtype), x)


@converts("FeatureVectorizer", domain=ML)
def feature_vectorizer(node: Node, *xs: Value) -> Value:
    """Columns side by side, as float32."""
    rows = [x if x.rank > 1 else call("expand_dims", x, axis=1) for x in xs]
    return call("concatenate", tuple([cast(x, "float32") for x in rows]), axis=1)


@converts("LinearRegressor", domain=ML)
def linear_regressor(node: Node, x: Value) -> Value:
    """A linear function of each row, and what becomes of it."""
    targets = node.int("targets", 1)
    weight = constant(np.asarray(node.floats("coefficients")).reshape(targets, -1), "float32")
    found = call("nn.dense", cast(x, "float32"), weight)
    found = found + constant(node.floats("intercepts", [0.0] * targets), "float32")
    return _post(node, found, node.text("post_transform", "NONE"))


@converts("LabelEncoder", domain=ML)
def label_encoder(node: Node, x: Value) -> Value:
    """For each key its value."""
    keys, values, default = _table(node)
    at = call("equal", call("expand_dims", x, axis=x.rank), constant(keys, x.dtype))
    if keys.dtype.kind == "f" and np.isnan(keys).any():
        gap = call(
            "logical_and", call("isnan", call("expand_dims", x, axis=x.rank)), constant(np.isnan(keys))
        )
        at = call("logical_or", at, gap)
    place = call("argmax", at, axis=x.rank)
    found = call("take", constant(values), place, axis=0)
    return call("where", call("any", at, axis=(x.rank,)), found, constant(default.reshape(()), found.dtype))


def _table(node: Node) -> tuple[Any, Any, Any]:
    """Keys, values, and what stands for keys that are not among them."""
    if node.has("keys_tensor") or node.has("values_tensor"):
        keys = node.tensor("keys_tensor", None)
        keys = _listed(node, "keys") if keys is None else keys
        values = node.tensor("values_tensor", None)
        values = _listed(node, "values") if values is None else values
        default = node.tensor("default_tensor", None)
        return keys, values, _default(node, values) if default is None else default
    values = _listed(node, "values")
    return _listed(node, "keys"), values, _default(node, values)


def _listed(node: Node, what: str) -> Any:
    if node.has(f"{what}_strings"):
        return np.asarray(node.texts(f"{what}_strings"), object)
    if node.has(f"{what}_floats"):
        return np.asarray(node.floats(f"{what}_floats"), "float32")
    return np.asarray(node.ints(f"{what}_int64s"), "int64")


def _default(node: Node, values: Any) -> Any:
    if values.dtype == object:
        return np.asarray(node.text("default_string", "_Unused"), object)
    if values.dtype.kind == "f":
        return np.asarray(node.float("default_float", -0.0), values.dtype)
    return np.asarray(node.int("default_int64", -1), "int64")


@converts("TreeEnsemble", domain=ML)
def tree_ensemble(node: Node, x: Value) -> Value:
    """Trees of decisions, walked for all rows at once, level by level; the leaves' weights are combined."""
    modes = node.tensor("nodes_modes").astype("int64")
    splits, features = node.tensor("nodes_splits"), np.asarray(node.ints("nodes_featureids"))
    trues, falses = np.asarray(node.ints("nodes_truenodeids")), np.asarray(node.ints("nodes_falsenodeids"))
    true_leaf, false_leaf = (
        np.asarray(node.ints("nodes_trueleafs")),
        np.asarray(node.ints("nodes_falseleafs")),
    )
    missing = np.asarray(node.ints("nodes_missing_value_tracks_true", [0] * len(modes)))
    count = len(modes)
    # Leaves are numbered behind the inner nodes, and lead to themselves.
    yes = np.concatenate(
        [np.where(true_leaf != 0, trues + count, trues), np.arange(len(node.ints("leaf_targetids"))) + count]
    )
    no = np.concatenate([np.where(false_leaf != 0, falses + count, falses), yes[count:]])
    total = len(yes)
    tests = _outcomes(node, x, modes, splits, features, missing)  # (rows, inner nodes)
    padded = call("nn.pad", cast(tests, "int8"), pad_width=((0, 0), (0, total - count)))
    of_row = cast(call("take", padded, constant(0, "int64"), axis=1), "int64")
    targets = np.asarray(node.ints("leaf_targetids"))
    weights = node.tensor("leaf_weights")
    n_targets, how = node.int("n_targets", 1), node.int("aggregate_function", 1)
    sums: Value | None = None
    roots = node.ints("tree_roots")
    for root in roots:
        at = call("full_like", of_row, constant(root, "int64"))
        for _ in range(_depth(root, yes, no, count)):
            taken = call("gather", padded, call("expand_dims", at, axis=1), axis=1)
            up = call("not_equal", call("squeeze", taken, axis=(1,)), constant(0, "int8"))
            at = call(
                "where", up, call("take", constant(yes), at, axis=0), call("take", constant(no), at, axis=0)
            )
        leaf = at - count
        weight = call("take", constant(weights), leaf, axis=0)
        to = call("expand_dims", call("take", constant(targets), leaf, axis=0), axis=1)
        here = call("equal", to, constant(np.arange(n_targets)))
        none = {2: np.inf, 3: -np.inf}.get(how, 0.0)
        term = call("where", here, call("expand_dims", weight, axis=1), constant(none, weight.dtype))
        name = {2: "minimum", 3: "maximum"}.get(how, "add")
        sums = term if sums is None else call(name, sums, term)
    if sums is None:
        return node.fail("it has no trees")
    after: int = node.int("post_transform", 0)
    return _post(node, sums / len(roots) if how == 0 else sums, POSTS[after])


def _outcomes(node: Node, x: Value, modes: Any, splits: Any, features: Any, missing: Any) -> Value:
    """Whether each inner node's test holds for each row."""
    seen = call("take", x, constant(features, "int64"), axis=1)
    edge = constant(splits, x.dtype)
    names = ("less_equal", "less", "greater_equal", "greater", "equal", "not_equal")
    found: Value | None = None
    for k, name in enumerate(names):
        if (modes == k).any():
            part = call("logical_and", call(name, seen, edge), constant(modes == k))
            found = part if found is None else call("logical_or", found, part)
    if (modes == 6).any():
        part = _members(node, seen, modes)
        found = part if found is None else call("logical_or", found, part)
    assert found is not None
    if missing.any():
        found = call("logical_or", found, call("logical_and", call("isnan", seen), constant(missing != 0)))
    return found


def _members(node: Node, seen: Value, modes: Any) -> Value:
    """Whether what a node sees is in its set; sets are given one after another, ended by NaN."""
    sets: list[list[float]] = [[]]
    for v in node.tensor("membership_values").tolist():
        if np.isnan(v):
            sets.append([])
        else:
            sets[-1].append(v)
    columns: list[Value] = []
    given = iter(sets)
    for i, mode in enumerate(modes.tolist()):
        column = call("strided_slice", seen, begin=(i,), end=(i + 1,), axes=(1,))
        values = next(given) if mode == 6 else [np.inf]
        hit = call(
            "any", call("equal", column, constant(values or [np.nan], seen.dtype)), axis=(1,), keepdims=True
        )
        columns.append(hit if mode == 6 else call("logical_and", hit, constant(False)))
    return call("concatenate", tuple(columns), axis=1)


def _depth(root: int, yes: Any, no: Any, count: int) -> int:
    """The length of the longest way from a root to a leaf."""
    level, steps = {root}, 0
    while any(i < count for i in level):
        level = {int(t[i]) for i in level if i < count for t in (yes, no)}
        steps += 1
        if steps > count:
            break  # a cycle among the nodes
    return steps


POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""What may become of sums, by the numbers that trees have for it."""


def _post(node: Node, x: Value, kind: str) -> Value:
    """What becomes of the sums."""
    match kind:
        case "NONE":
            return x
        case "SOFTMAX":
            return call("nn.softmax", x, axis=-1)
        case "LOGISTIC":
            return call("sigmoid", x)
        case _:
            return node.fail(f"unsupported `post_transform` {kind}")
