"""Imported modules: the standard ones, and files below the folder of the program; each is loaded once,
those of this package once in a process.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from relay.diagnostic import RelayError, Span, fail
from relay.ir import hooks
from relay.ir.module import IRModule

STANDARD = "std/"
SUFFIX = ".relay"
FORMER_SUFFIX = ".rly"
"""How files of version 0.0.5 name standard modules."""
MAX_IMPORT_DEPTH = 100
Parse = Callable[[str, str, "Loader"], IRModule]
PACKAGE = Path(str(resources.files("relay"))).resolve()
_packaged: dict[str, IRModule] = {}
"""The modules of this package that are loaded: standard ones by name, others by path."""


@dataclass(slots=True)
class Loaded:
    """What one run has loaded, and what it is loading now (outermost first)."""

    parse: Parse
    root: Path | None
    modules: dict[str, IRModule | None] = field(default_factory=dict[str, Any])
    loading: list[str] = field(default_factory=list[str])
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files, by path, whose text is not that on disk: an editor has it."""


@dataclass(slots=True)
class Loader:
    """Loads for the file in `folder`; None for a text that is not a file."""

    loaded: Loaded
    folder: Path | None

    def load(self, name: str, span: Span) -> IRModule | None:
        """The module of that name; None if it is one that failed before.

        Codes: `import-not-found`, `import-outside-root`, `import-cycle`, and whatever is wrong in the module.
        """
        if name.startswith(STANDARD):
            return self._standard(name.removesuffix(SUFFIX), span)
        short = name.removesuffix(FORMER_SUFFIX)
        if short != name and short in standard_names():
            return self._standard(STANDARD + short, span)
        path = self._path(name, span)
        key = str(path)
        if key in _packaged:
            return _packaged[key]
        inner = Loader(self.loaded, path.parent)
        found = self._once(key, name, span, lambda: self._text(path, name, span), inner)
        return self._kept(key, found) if path.is_relative_to(PACKAGE) else found

    def _text(self, path: Path, name: str, span: Span) -> str:
        known = self.loaded.texts.get(str(path))
        return _read_import(path, name, span) if known is None else known

    def home_hint(self, name: str, span: Span) -> str:
        """A hint which standard module has that definition (`@map`), data type or constructor; or nothing."""
        if self.loaded.loading and self.loaded.loading[-1].startswith(STANDARD):
            return ""
        for short in standard_names():
            module = self.load(STANDARD + short, span)
            if module is not None and name in _own_names(module):
                return f'`{name}` is in the standard library: import "{STANDARD}{short}"'
        return ""

    def _standard(self, name: str, span: Span) -> IRModule | None:
        if name in _packaged:
            return _packaged[name]
        short = name.removeprefix(STANDARD)
        known = standard_names()
        if short not in known:
            fail(
                "import-not-found",
                f'there is no standard module "{name}"',
                span,
                hint=_nearest_module(short, known, STANDARD)
                or f"standard modules are {', '.join(STANDARD + k for k in known)}",
            )

        found = self._once(name, name, span, lambda: standard_text(short), Loader(self.loaded, None))
        return self._kept(name, found)

    def _kept(self, key: str, module: IRModule | None) -> IRModule | None:
        """A module of this package, as the whole process has it from now on."""
        return None if module is None else _packaged.setdefault(key, module)

    def _path(self, name: str, span: Span) -> Path:
        root = self.loaded.root
        if root is None or self.folder is None:
            fail(
                "import-not-found",
                f'"{name}" is a file, and this text is not in one',
                span,
                hint='a text without a file imports standard modules only, as "std/list"',
            )
        try:
            path = (self.folder / name).resolve()
            if path.suffix != SUFFIX:
                path = path.with_name(path.name + SUFFIX)
        except (OSError, ValueError) as error:
            fail("import-not-found", f"there cannot be a file {name!r}: {error}", span)
        if Path(name).is_absolute() or not path.is_relative_to(root):
            fail(
                "import-outside-root",
                f'"{name}" is outside of the folder of the program',
                span,
                hint="move the file below it; a path is relative to the importing file",
            )
        return path

    def _once(
        self, key: str, name: str, span: Span, read: Callable[[], str], inner: "Loader"
    ) -> IRModule | None:
        """The module under that key, loaded if it is not yet."""
        loaded = self.loaded
        if key in loaded.modules:
            return loaded.modules[key]
        if key in loaded.loading:
            chain = " imports ".join(
                [Path(k).name for k in (*loaded.loading[loaded.loading.index(key) :], key)]
            )
            fail(
                "import-cycle",
                f'"{name}" imports itself',
                span,
                label=chain,
                hint="put what both need into a third module",
            )
        if len(loaded.loading) >= MAX_IMPORT_DEPTH:
            fail("import-cycle", f"imports nest more than {MAX_IMPORT_DEPTH} levels", span)
        loaded.loading.append(key)
        try:
            module = _typed(loaded.parse(read(), name if name.startswith(STANDARD) else _shown(key), inner))
        except BaseException:
            loaded.modules[key] = None
            raise
        finally:
            loaded.loading.pop()
        loaded.modules[key] = module
        return module


def standard_names() -> list[str]:
    """The names of the standard modules, without `std/`."""
    return sorted(p.name.removesuffix(SUFFIX) for p in _library().iterdir() if p.name.endswith(SUFFIX))


def standard_text(name: str) -> str:
    """The source of a standard module, named without `std/`."""
    return _library().joinpath(name + SUFFIX).read_text(encoding="utf-8")


def _library() -> Traversable:
    """The folder of the standard modules; it is not a Python package, as `relay.std` is an operator."""
    return resources.files("relay").joinpath("std")


def _own_names(module: IRModule) -> set[str]:
    """What a module defines itself: `@` and the name of a definition, data types, their constructors."""
    own = {
        v.name_hint: data for v, data in module.type_definitions.items() if v.name_hint not in module.imported
    }
    constructors = {c.name_hint for data in own.values() for c in data.constructors}
    definitions = {f"@{v.name_hint}" for v in module.functions if v.name_hint not in module.imported}
    return own.keys() | constructors | definitions


def _typed(module: IRModule) -> IRModule:
    """With its types, as it depends on nothing else: so it is the same before and after inference of what
    imports it.  An ill-typed one stays as it is; inference then reports it with the program.
    """
    try:
        return hooks.infer(module)
    except RelayError:
        return module


def _shown(path: str) -> str:
    """A path as diagnostics show it: from the current folder, if it is inside of that."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (OSError, ValueError):
        return path


def _nearest_module(short: str, known: Iterable[str], folder: str) -> str:
    """`did you mean "folder/name"?` for the nearest name, or nothing."""
    near = get_close_matches(short, list(known), n=1)
    return f'did you mean "{folder}{near[0]}"?' if near else ""


def _read_import(path: Path, name: str, span: Span) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        try:
            folder = name.removesuffix(SUFFIX).removesuffix(path.stem)
            near = _nearest_module(path.stem, sorted(p.stem for p in path.parent.glob("*" + SUFFIX)), folder)
        except OSError:
            near = ""
        fail("import-not-found", f'there is no file "{name}"', span, hint=near)
    except UnicodeDecodeError:
        fail("import-not-found", f'"{name}" is not UTF-8 text', span)
    except OSError as error:
        fail("import-not-found", f'"{name}" cannot be read: {error.strerror or error}', span)


def loader(parse: Parse, path: Path | None, texts: Mapping[str, str] | None = None) -> Loader:
    """The loader of a program in file `path` (None: a text); `texts` stand in for files of these paths."""
    root = None if path is None else path.resolve().parent
    loaded = Loaded(parse, root, texts=texts or {})
    if path is not None:
        loaded.loading.append(str(path.resolve()))
    return Loader(loaded, root)
