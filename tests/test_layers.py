"""Imports point the right way: a module imports from its own layer and from those above it."""

import ast
from pathlib import Path

import relay

ROOT = Path(relay.__file__).parent
LAYERS = [
    ("version", "diagnostic", "hints"), ("ir",), ("op",), ("text",), ("typecheck",), ("std",), ("analysis",),
    ("pattern",),
    ("transform.rewriting",), ("autodiff",), ("interpreter",), ("transform",), ("backend",),
    ("driver", "tracing", "building"),
    ("optim", "testing"), ("frontend",), ("errors", "cli"),
]  # fmt: skip
LAYER = {name: i for i, names in enumerate(LAYERS) for name in names}
PUBLIC = len(LAYERS)
"""Modules beside the layers (`relay.expr`, `relay.prelude`, `relay` itself) only pass names on."""


def layer_of(module: str) -> int:
    parts = module.split(".")[1:]
    return next((LAYER[k] for n in (2, 1) if (k := ".".join(parts[:n])) in LAYER), PUBLIC)


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


HOOKS_OUTSIDE_IR = {"infer": ("text/imports.py",)}
"""Hooks that `ir` is not alone to read: what a text imports is typed by itself, while it is parsed."""


def test_hooks_answer_for_nodes_and_serve_no_layer_between():
    """`str(e)`, `x + y`, `e.checked_type`, `mod.evaluate(…)`: `ir` alone reads `ir/hooks.py`.

    Any other code imports what it calls, from its own layer or one above.
    """
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            is_read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
            is_hook = is_read and isinstance(node.value, ast.Name) and node.value.id == "hooks"
            if is_hook and not name.startswith("ir/") and name not in HOOKS_OUTSIDE_IR.get(node.attr, ()):
                wrong.append(f"{name}:{node.lineno} calls hooks.{node.attr}")
            if isinstance(node, ast.ImportFrom) and node.module == "relay.ir.hooks":
                wrong.append(f"{name}:{node.lineno} imports {', '.join(a.name for a in node.names)}")
    assert not wrong, "\n".join(wrong)
