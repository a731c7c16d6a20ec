"""What a program consists of, how each of its operators is converted, and what cannot be."""

from collections import Counter, defaultdict
from typing import Any

from relay.diagnostic import Diagnostic, RelayError
from relay.frontend.named_nodes import ALL_NAMES, MAX_NAMED, paragraph, users
from relay.frontend.torch import exporting, registry
from relay.frontend.torch.node import all_nodes
from relay.frontend.torch.unused import DRAWS

NONE = "nothing"
COMPLEX = ("aten.linalg_eig", "aten.linalg_eigvals", "aten._linalg_eigvals")
"""Operators that make complex numbers of real ones."""


def unsupported(module: Any) -> dict[str, list[str]]:
    """The operators that have no conversion, with the names of their nodes."""
    found: dict[str, list[str]] = defaultdict(list)
    for fx in all_nodes(module):
        if registry.find(fx.target) is None and registry.find_in_place(fx.target) is None:
            found[registry.name_of(fx.target)].append(fx.name)
    return found


def check_supported(module: Any) -> None:
    """Raise one diagnostic for each operator that has no conversion (`torch-unsupported`)."""
    errors: list[Diagnostic] = []
    for name, nodes in unsupported(module).items():
        reason = reason_against(name)
        hint = f"add one: @relay.frontend.torch.converts({name!r}) over a function of a node and its operands"
        message = f"unsupported operator `{name}`, which {users(nodes)}"
        more = f"; {ALL_NAMES}" if len(nodes) > MAX_NAMED else ""
        errors.append(Diagnostic("torch-unsupported", message, hint=(reason or hint) + more))
    if errors:
        raise RelayError(errors)


def reason_against(name: str) -> str:
    """Why an operator is left out on purpose, and what to do instead."""
    if name.rpartition(".")[0] in DRAWS or name in DRAWS:
        return "it uses PyTorch's generator, which cannot be reproduced: pass the numbers as an input"
    if name.rpartition(".")[0] in COMPLEX:
        return "its results are complex numbers, and `linalg` is of real ones; symmetric matrices have `eigh`"
    return ""


def coverage(module: Any, name: str) -> str:
    """A table of the operators of a program: how many nodes each has, and what converts them."""
    counts: Counter[str] = Counter()
    good = 0
    ways: dict[str, str] = {}
    for fx in all_nodes(module):
        key = registry.name_of(fx.target)
        counts[key] += 1
        known = registry.find(fx.target) or registry.find_in_place(fx.target)
        ways[key] = NONE if known is None else "Relay"
        good += ways[key] != NONE
    rows = [("operator", "nodes", "converted by")]
    rows += [(k, str(counts[k]), ways[k]) for k in sorted(counts)]
    widths = [max(len(r[i]) for r in rows) for i in range(2)]
    lines = ["  ".join([r[0].ljust(widths[0]), r[1].rjust(widths[1]), r[2]]) for r in rows]
    missing: list[str] = []
    for operator, nodes in unsupported(module).items():
        missing += ["", f"unsupported operator `{operator}`, which {users(nodes)}", paragraph(nodes)]
    return "\n".join([f"{name}: {good} of {counts.total()} nodes can be converted", "", *lines, *missing])


def coverage_of_file(path: str) -> str:
    """The table of an exported program in a file (`torch-archive`, `cannot-read`)."""
    program = exporting.in_known_operators(exporting.exported(path, None, None, None, False))
    return coverage(program.graph_module, path)
