"""From a module to a library for C: object code, an archive or a shared library, and a header."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from relay.backend.native.host.compiler import Compiler, pack_constant
from relay.backend.native.library.archive import archive
from relay.backend.native.library.header import header_text, identifier
from relay.backend.native.library.interface import Entry, entries_of
from relay.backend.native.library.linker import shared_library
from relay.backend.native.library.object_code import library_object
from relay.backend.native.library.tables import Tables
from relay.backend.native.library.targets import ELF, MACH_O, OBJECT, SHARED, STATIC, Target
from relay.backend.native.library.weights import Weights, constant_tables
from relay.backend.native.llvm.jit import compiling_for
from relay.backend.native.memory.tensors import TENSOR
from relay.diagnostic import fail
from relay.ir.module import IRModule
from relay.pipelines import optimize_for_native
from relay.text.files import write_atomically
from relay.version import VERSION

KIND_BY_SUFFIX = {".so": SHARED, ".a": STATIC, ".o": OBJECT}
SECTIONS = {ELF: '".data.rel.ro"', MACH_O: '"__DATA,__const"'}
"""Where data are that have addresses in them: only the loader writes there."""
FUNCTIONS = (
    "create", "destroy", "entry_count", "entry_name", "input_count", "output_count", "input", "output", "run",
    "run_into", "error_code", "error_text", "version",
)  # fmt: skip
"""The functions of the interface, without prefix."""


@dataclass(frozen=True)
class CLibrary:
    """A program as an object file for C, with its header."""

    prefix: str
    target: Target
    code: bytes
    entries: Sequence[Entry]

    @property
    def version(self) -> str:
        """The version of Relay, and what the code is for."""
        return version_of(self.target)

    @property
    def header(self) -> str:
        """The text of the header."""
        return header_text(self.prefix, self.version, self.entries)

    def content(self, kind: str, name: str) -> bytes:
        """The bytes of a file of a kind, `shared`, `static` or `object`, with a name (`no-linker`)."""
        if kind == OBJECT:
            return self.code
        if kind == SHARED:
            return shared_library(self.code, self.target, name)
        symbols = [f"{self.prefix}_{f}" for f in FUNCTIONS]
        return archive(f"{self.prefix}.o", self.code, symbols)

    def write(self, kind: str, path: str) -> Path:
        """Write a file, and the header beside it, whose path is returned (`cannot-write`, `no-linker`)."""
        made = self.content(kind, Path(path).name)
        header = Path(path).with_name(f"{stem_of(path)}.h")
        write_atomically(path, lambda out: out.write(made))
        write_atomically(str(header), lambda out: out.write(self.header.encode()))
        return header


def compile_library(
    mod: IRModule,
    entries: Sequence[str],
    target: Target,
    prefix: str,
    *,
    opt_level: int | None = None,
    precision: str | None = None,
) -> CLibrary:
    """Compile what some definitions need; functions of the library begin with `prefix`.

    Raises `no-library`, `no-native-code`, `unsupported-processor`.
    """
    with compiling_for(target.processor):
        made = Compiler(optimize_for_native(mod, entries, opt_level, precision), entries, for_python=False)
        program = made.program
        offered = entries_of(made)
        weights, tables, section = Weights(), Tables(SECTIONS[target.format]), SECTIONS[target.format]
        number = program.layouts.number(TENSOR)
        images = [pack_constant(e, number) for e in program.constants]
        constants = constant_tables(images, program.table, weights, section)
        counts = program.results, made.slots, int(program.keeps)
        said = tables.program(offered, program.sites, version_of(target), counts)
        code = library_object(made, "\n".join([weights.room(), constants, said]), f"{prefix}_")
    return CLibrary(prefix, target, weights.fill(code), offered)


def check_kind(kind: str, target: Target) -> None:
    """Refuse a kind of file that is not made for a target (`unknown-target`)."""
    if kind != OBJECT and target.format == MACH_O:
        fail(
            "unknown-target",
            f"no {kind} library is made for `{target.name}`: Apple's own tools archive, link and sign",
            hint="write an object file (`--emit object`, `model.o`); on a Mac, `cc main.c model.o` links it",
        )


def version_of(target: Target) -> str:
    """The version of Relay, and what code is for."""
    return f"{VERSION} for {target.triple}, {target.processor.name}"


def stem_of(path: str) -> str:
    """What the header of a library is called, suffix aside: the library's name without `lib` and suffix."""
    return Path(path).stem.removeprefix("lib")


def prefix_of(path: str) -> str:
    """What the functions of a library begin with: its name without `lib` and suffix, with `_` for each
    character that names in C do not have (`library-name`).
    """
    name = identifier(stem_of(path))
    if not name[:1].isalpha():
        hint = "begin it with a letter: `-o libmodel.so`"
        fail("library-name", f"`{Path(path).name}` gives no name for functions of C", hint=hint)
    return name
