"""A module imports only from its own layer and from those before it; third parties stay where they belong."""

import ast
from pathlib import Path

import pytest
from support import ROOT

SOURCE = ROOT / "src" / "relay"
LAYERS = ["diagnostic", "ir", "op", "text", "typecheck", "std", "analysis", "pattern", "interpreter", "transform",
          "driver", "optim", "testing", "frontend", "errors", "cli"]
THIRD_PARTIES = {"safetensors", "click", "rich", "onnx", "torch", "jax", "sklearn"}


def layer(module: str) -> int:
    """The place of `relay.x.y` in the order; the files beside the folders compose them and come with the driver."""
    name = (module.split(".") + [""])[1]
    return LAYERS.index(name) if name in LAYERS else LAYERS.index("driver")


def imports(path: Path) -> list[tuple[str, bool]]:
    """The modules a file imports, each with whether that happens when the file is loaded."""
    tree = ast.parse(path.read_text())
    inside = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
    inside |= {id(n) for c in ast.walk(tree) if isinstance(c, ast.If) and "TYPE_CHECKING" in ast.unparse(c.test)
               for n in ast.walk(c)}
    found: list[tuple[str, bool]] = []
    for n in ast.walk(tree):
        if isinstance(n, ast.Import):
            found += [(alias.name, id(n) not in inside) for alias in n.names]
        elif isinstance(n, ast.ImportFrom) and n.module:
            found.append((n.module, id(n) not in inside))
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_module_imports_from_its_own_layer_or_an_earlier_one(path: Path) -> None:
    module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    own = layer(module)
    for name, at_load in imports(path):
        if name.startswith("relay.") and at_load:
            assert layer(name) <= own, f"{module} imports {name}"
        if at_load and name.partition(".")[0] in THIRD_PARTIES:
            assert module.startswith("relay.cli") or name.partition(".")[0] in module, f"{module} loads {name}"
