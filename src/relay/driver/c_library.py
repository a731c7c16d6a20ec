"""Programs compiled for other languages: libraries with an interface in C."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from relay.backend.native.llvm.processors import NATIVE
from relay.diagnostic import fail
from relay.driver.arguments import with_params
from relay.driver.compilation import named_entries, with_batching
from relay.ir.module import IRModule, expect_module
from relay.transform.passes.choose_precision import precision_named
from relay.typecheck.infer import infer


def write_library(
    mod: IRModule,
    path: str | Path,
    *,
    params: Mapping[str, Any] | None = None,
    entries: Sequence[str] | str | None = None,
    target: str = NATIVE,
    opt_level: int | None = None,
    precision: str | None = None,
    batch: str | None = None,
) -> Path:
    """Write a module as a library that C calls, without Python or LLVM; returns the path of its header.

    The name says what it is: a shared library (`libmodel.so`), a static one (`libmodel.a`) or an object file
    (`model.o`); functions of C begin with that name, and the header, `model.h`, is beside it.  Of
    `libmy-net.2.so` they begin with `my_net_2_`, and the header is `my-net.2.h`.  `target` is this machine's
    processor (`"native"`), another of x86-64 (`"x86-64-v3"`), or another kind of machine
    (`"aarch64-linux-gnu"`; `"apple-m1"`, for object files alone).  The rest is as for `relay.build`.  A
    shared library takes a C compiler, whose command the environment variable `CC` may name.

    Raises `no-library`, `no-linker`, `library-name`, `unknown-target`, `cannot-write`, and what `relay.build`
    raises.
    """
    from relay.backend.native.library.c_library import (
        KIND_BY_SUFFIX,
        check_kind,
        compile_library,
        prefix_of,
    )
    from relay.backend.native.library.targets import target_named

    kind = KIND_BY_SUFFIX.get(Path(path).suffix)
    if kind is None:
        endings = ", ".join(KIND_BY_SUFFIX)
        fail("library-name", f"`{path}` is not the name of a library: it ends in none of {endings}")
    prefix, machine = prefix_of(str(path)), target_named(target)
    check_kind(kind, machine)
    mod = expect_module(mod)
    mod = infer(with_params(mod, params) if params else mod)
    if precision is not None:
        precision_named(precision)
    names = named_entries(mod, entries)
    if batch is not None:
        mod = with_batching(mod, names, batch)
    made = compile_library(mod, names, machine, prefix, opt_level=opt_level, precision=precision)
    return made.write(kind, str(path))
