"""Imports point the right way: a module imports from its own layer and from those above it."""

import ast
from pathlib import Path

import relay

ROOT = Path(relay.__file__).parent
LAYERS = [
    ("version", "diagnostic", "hints"), ("ir",), ("op",), ("text",), ("typecheck",), ("std",), ("analysis",),
    ("pattern",),
    ("interpreter",), ("transform",), ("autodiff",), ("backend",), ("driver", "tracing", "building"),
    ("optim", "testing"), ("frontend",), ("errors", "cli"),
]  # fmt: skip
LAYER = {name: i for i, names in enumerate(LAYERS) for name in names}
PUBLIC = len(LAYERS)
"""Modules beside the layers (`relay.expr`, `relay.prelude`, `relay` itself) only pass names on."""


def layer_of(module: str) -> int:
    parts = module.split(".")
    return LAYER.get(parts[1], PUBLIC) if len(parts) > 1 else PUBLIC


def imports(path: Path):
    """Each module that a file imports, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((a.name, node.lineno) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            assert node.module is not None
            if node.module == "relay":
                yield from ((f"relay.{a.name}", node.lineno) for a in node.names)
            else:
                yield node.module, node.lineno


def test_every_import_points_to_its_own_layer_or_one_above():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        module = ".".join(["relay", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
        if layer_of(module) == PUBLIC:
            continue
        wrong += [
            f"{path.relative_to(ROOT)}:{line} ({module.split('.')[1]}) imports {name}"
            for name, line in imports(path)
            if name.startswith("relay.") and layer_of(name) > layer_of(module)
        ]
    assert not wrong, "\n".join(wrong)


def test_every_folder_has_its_place_in_the_table():
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    assert folders <= set(LAYER)


def test_the_engine_of_passes_imports_no_pass():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted((ROOT / "transform" / "rewriting").glob("*.py"))
        for name, line in imports(path)
        if name.startswith("relay.transform.") and not name.startswith("relay.transform.rewriting")
    ]
    assert not wrong, "\n".join(wrong)
