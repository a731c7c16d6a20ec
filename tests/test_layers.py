"""Imports point the right way: a module imports from its own layer and from those above it, a room of the
native backend from itself and from those to its left, and there is no circle.

All imports count, those inside functions too.  Imports for type checking alone may point anywhere within
their own package.
"""

import ast
from functools import cache
from pathlib import Path

import relay

ROOT = Path(relay.__file__).parent
LAYERS = [
    ("version", "diagnostic", "hints"), ("ir",), ("op",), ("text",), ("typecheck",), ("std",), ("analysis",),
    ("pattern",),
    ("transform.rewriting",), ("autodiff",), ("batching",), ("expansion",), ("interpreter",),
    ("transform", "debugger"), ("backend",),
    ("pipelines",), ("picture",), ("backend.native.host", "backend.native.library", "backend.xla"),
    ("driver", "tracing"), ("numpy",),
    ("optim", "testing", "training", "decoding", "serving"), ("quantize",), ("frontend", "models"),
    ("errors", "cli", "lsp", "playground", "lint", "reduction", "notebook", "compat"),
]  # fmt: skip
LAYER = {name: i for i, names in enumerate(LAYERS) for name in names}
PUBLIC = len(LAYERS)
"""Modules beside the layers (`relay.expr`, `relay.prelude`, `relay` itself) only pass names on."""

NATIVE = "relay.backend.native."
ROOMS = [
    ("llvm",), ("memory", "math"), ("runtime",), ("loops",), ("kernels",), ("program",), ("host",),
    ("library",),
]  # fmt: skip
ROOM = {name: i for i, names in enumerate(ROOMS) for name in names}
"""The rooms of the native backend; those in one place do not import each other."""

MODULES = {
    ".".join(["relay", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}


def layer_of(module: str) -> int:
    parts = module.split(".")[1:]
    return next((LAYER[k] for n in (3, 2, 1) if (k := ".".join(parts[:n])) in LAYER), PUBLIC)


BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of statements that have statements inside."""


@cache
def imports(path: Path) -> list[tuple[str, int, bool]]:
    """Each module that a file imports, with the line, and whether it is for type checking alone."""
    found: list[tuple[str, int, bool]] = []
    pending: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text()), False)]
    while pending:
        node, is_typing = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            pending += [(child, True) for child in node.body] + [(child, is_typing) for child in node.orelse]
            continue
        pending += [(child, is_typing) for block in BLOCKS for child in getattr(node, block, ())]
        if isinstance(node, ast.Import):
            found += [(a.name, node.lineno, is_typing) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            assert node.module is not None
            for a in node.names:
                inner = f"{node.module}.{a.name}"
                found.append((inner if inner in MODULES else node.module, node.lineno, is_typing))
    return found


def package(module: str) -> str:
    return module.rpartition(".")[0]


def edges() -> dict[str, set[str]]:
    """What each module of the package imports, but for imports for type checking within its own package."""
    return {
        module: {
            name
            for name, _, is_typing in imports(path)
            if name in MODULES and not (is_typing and package(name) == package(module))
        }
        for module, path in MODULES.items()
    }


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """What can be reached from a module, itself only if it is on a circle."""
    seen: set[str] = set()
    pending = [start]
    while pending:
        new = graph[pending.pop()] - seen
        seen |= new
        pending += new
    return seen


def test_every_import_points_to_its_own_layer_or_one_above():
    wrong = []
    for module, path in MODULES.items():
        if layer_of(module) == PUBLIC:
            continue
        wrong += [
            f"{path.relative_to(ROOT)}:{line} ({module.split('.')[1]}) imports {name}"
            for name, line, _ in imports(path)
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
        text = path.read_text()
        for node in ast.walk(ast.parse(text if "hooks" in text else "")):
            is_read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
            is_hook = is_read and isinstance(node.value, ast.Name) and node.value.id == "hooks"
            if is_hook and not name.startswith("ir/") and name not in HOOKS_OUTSIDE_IR.get(node.attr, ()):
                wrong.append(f"{name}:{node.lineno} calls hooks.{node.attr}")
            if isinstance(node, ast.ImportFrom) and node.module == "relay.ir.hooks":
                wrong.append(f"{name}:{node.lineno} imports {', '.join(a.name for a in node.names)}")
    assert not wrong, "\n".join(wrong)


def test_the_engine_of_passes_imports_no_pass():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted((ROOT / "transform" / "rewriting").glob("*.py"))
        for name, line, _ in imports(path)
        if name.startswith("relay.transform.") and not name.startswith("relay.transform.rewriting")
    ]
    assert not wrong, "\n".join(wrong)


def room_of(module: str) -> str:
    return module.removeprefix(NATIVE).partition(".")[0] if module.startswith(NATIVE) else ""


def test_every_import_in_the_native_backend_points_to_its_own_room_or_one_before():
    backward = set()
    for module, path in MODULES.items():
        room = room_of(module)
        if room:
            others = {name for name, _, _ in imports(path) if room_of(name) not in ("", room)}
            backward |= {(module, name) for name in others if ROOM[room_of(name)] >= ROOM[room]}
    assert not backward


def test_every_module_of_the_native_backend_is_in_a_room():
    modules = [m for m in MODULES if m.startswith(NATIVE)]
    assert {room_of(m) for m in modules} == set(ROOM)


def test_the_native_backend_searches_no_text_that_it_emits():
    folder = ROOT / "backend" / "native"
    found = [
        f"{file.relative_to(folder)}:{line}"
        for file in sorted(folder.rglob("*.py"))
        for module, line, _ in imports(file)
        if module in ("re", "regex")
    ]
    assert not found, f"regular expressions, where functions carry what they refer to: {', '.join(found)}"


def test_no_modules_import_each_other():
    graph = edges()
    within = {module: reachable(graph, module) for module in graph}
    circles = {
        frozenset(other for other in found if module in within[other])
        for module, found in within.items()
        if module in found
    }
    assert not circles
