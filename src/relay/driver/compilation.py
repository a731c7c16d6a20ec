"""Programs compiled for Python: `build`, `compile`, `load_module`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from relay.analysis.donation import DONATE, donated_params
from relay.analysis.sharding import MESH, SHARD
from relay.backend.native.host.artefact import Artefact, read_artefact
from relay.backend.native.host.cache import compile_cached, compile_instrumented
from relay.backend.native.host.compiled_module import CompiledModule, callable_module, own_entries
from relay.backend.native.llvm.jit import Processor, compiling_for
from relay.backend.stored import FOR_XLA, is_of_kind
from relay.diagnostic import fail
from relay.driver.arguments import XLA, first_word, with_params
from relay.driver.compiled_function import CompiledFunction
from relay.driver.devices import devices_of, host_target, placed
from relay.driver.targets import TARGETS, processors_of, refuse_native, refuse_xla
from relay.ir.expr import Expr, Function, Grad, RelayExpr, replace
from relay.ir.module import IRModule, expect_module
from relay.ir.type import FuncType
from relay.tracing.function import TracedFunction, as_function, is_python
from relay.transform.passes.choose_precision import precision_named
from relay.transform.passes.outline_blocks import BATCH
from relay.transform.rewriting.context import PassContext
from relay.typecheck.graph import scan
from relay.typecheck.infer import infer
from relay.typecheck.messages import undefined
from relay.typecheck.query import type_of

if TYPE_CHECKING:
    from relay.backend.native.host.profile import InstrumentedProgram
    from relay.backend.xla.built import XlaModule
    from relay.backend.xla.exported import ExportedModule
    from relay.transform.passes.precision_report import PrecisionReport


@overload
def build(  # pyright: ignore[reportOverlappingOverload]
    mod: IRModule | Expr,
    target: Literal["xla", "xla cpu", "xla gpu", "xla tpu"],
    *,
    params: Mapping[str, Any] | None = None,
    entries: Sequence[str] | str | None = None,
    opt_level: int | None = None,
    check_nan: bool = False,
    batch: str | None = None,
    precision: str | None = None,
    donate: Sequence[str] | str | None = None,
    mesh: Mapping[str, int] | None = None,
    shard: Mapping[str, Any] | None = None,
    host: bool = True,
    matmul_precision: str | None = None,
) -> "XlaModule": ...
@overload
def build(
    mod: IRModule | Expr,
    target: Any = "native",
    *,
    params: Mapping[str, Any] | None = None,
    entries: Sequence[str] | str | None = None,
    opt_level: int | None = None,
    threads: int | None = None,
    cache: bool = True,
    check_nan: bool = False,
    batch: str | None = None,
    precision: str | None = None,
    donate: Sequence[str] | str | None = None,
) -> CompiledModule: ...
@overload
def build(
    mod: Callable[..., Any],
    target: Any = "native",
    *,
    params: Mapping[str, Any] | None = None,
    entries: Sequence[str] | str | None = None,
    opt_level: int | None = None,
    threads: int | None = None,
    cache: bool = True,
    check_nan: bool = False,
    batch: str | None = None,
    precision: str | None = None,
    donate: Sequence[str] | str | None = None,
) -> Any: ...
def build(
    mod: Any,
    target: Any = "native",
    *,
    params: Mapping[str, Any] | None = None,
    entries: Sequence[str] | str | None = None,
    opt_level: int | None = None,
    threads: int | None = None,
    cache: bool = True,
    check_nan: bool = False,
    batch: str | None = None,
    precision: str | None = None,
    donate: Sequence[str] | str | None = None,
    mesh: Mapping[str, int] | None = None,
    shard: Mapping[str, Any] | None = None,
    host: bool | None = None,
    matmul_precision: str | None = None,
) -> Any:
    """A module as machine code; or an expression, whose value or function is `@main`.

    The code is for this processor, or for those that have what a `target` says: `"x86-64-v3"`,
    `"x86-64-v4+avx512vnni"`, or several, of which each machine takes the best that it can run when it loads
    the file that `export_library` writes.

    Of a Python function, as `relay.function` takes it, the program is a `CompiledModule` where its parameters
    are annotated, and its result is a tensor or a tuple; else a `CompiledFunction`, which compiles for the
    types of the arguments of its calls.

    `params` are values of parameters of `@main`, by name, which become part of it.  `entries` are the
    definitions that can be called: `@main`, or where there is none, all that the module defines.
    Passes of at most `opt_level` run before, or those that `PassContext` enables.  `threads` is how many the
    loops take; `RELAY_NUM_THREADS` says it otherwise, or the number of cores.  What was compiled before comes
    from the cache, unless `cache` is False.  With `check_nan`, the first operator that makes a NaN or an
    infinity fails with `not-finite`, derivatives included.  With `batch="dynamic"`, operators of many calls
    of a function, such as those on the nodes of trees, are computed together; it is the attribute `batch` of
    the entries.  `donate` names parameters whose arrays calls may overwrite, so that results can be those
    very arrays; it is the attribute `donate`.

    With `precision` "bf16" or "f16", products of float32 numbers are computed on such numbers: weights that
    are constants are stored as these, and sums and what loses digits stay in float32.  With "int8" and
    "int4", constant matrices are such integers.  Definitions choose for themselves by their attribute
    `precision`; `built.report()` says what became of the program.

    With the target "xla", "xla cpu", "xla gpu" or "xla tpu" the program is an `XlaModule`: XLA compiles its
    entries when they are called, for a device that JAX finds.  `mesh={"data": 4, "model": 2}` spreads them
    over so many devices, and `shard={"x": ("data", None)}` says of parameters along which axes of the mesh
    their own are split; these are the attributes `mesh` and `shard` of the entries.  With `host=False`, what
    XLA does not compute as a whole is `xla-unsupported`.  With `matmul_precision="fast"` products of float32
    numbers may lose digits where a device computes them faster so; by default, "highest", they keep them.

    With targets by names of devices, `{"cpu": "native", "gpu": "xla gpu"}`, each operator is computed on the
    device that `on_device` and `device_copy` say of its values, by the first where they say nothing; control
    flow is machine code.

    Raises `attribute-value`, `donated`, `unknown-precision`, `unknown-target`, `other-machine`,
    `unknown-device`, `device-conflict`, `unknown-input`, `argument-type`, `thread-count`, `no-native-code`,
    `no-xla`, `unknown-option`, `bad-mesh`, `bad-sharding`, and what is wrong with the program.
    """
    is_xla = isinstance(target, str) and first_word(target) == XLA
    devices = devices_of(target)
    if is_xla:
        refuse_native({"threads": threads})
    else:
        refuse_xla({"mesh": mesh, "shard": shard, "host": host, "matmul_precision": matmul_precision})
    processors = [] if is_xla else processors_of(target if devices is None else host_target(devices))
    if is_python(mod):
        options = {"target": target, "entries": entries, "opt_level": opt_level}
        options |= {"threads": threads, "cache": cache}
        options |= {"check_nan": check_nan, "batch": batch, "precision": precision}
        options |= {"donate": donate, "mesh": mesh, "host": host, "matmul_precision": matmul_precision}
        return _build_python(as_function(mod), params, shard, options)
    mod = checked(_module_of(mod) if isinstance(mod, RelayExpr) else expect_module(mod), params, check_nan)
    if precision is not None:
        precision_named(precision)
    names = named_entries(mod, entries)
    mod = with_batching(mod, names, batch) if batch is not None else mod
    mod = with_donation(mod, names, donate) if donate is not None else mod
    if is_xla:
        mod = with_attributes(mod, names, {MESH: mesh, SHARD: shard})
        options = {"host": host, "matmul_precision": matmul_precision}
        return _build_for_xla(mod, target, names, opt_level, precision, options)
    mod = placed(mod, devices, names, opt_level) if devices is not None else mod
    options = {"level": opt_level, "cache": cache, "precision": precision}
    return _build_native(mod, names, processors, threads, options)


def checked(mod: IRModule, params: Mapping[str, Any] | None, check_nan: bool) -> IRModule:
    """The module with parameters bound, and with checks for NaN and infinity."""
    mod = with_params(mod, params) if params else mod
    if not check_nan:
        return mod
    from relay.pipelines import with_nan_checks

    return with_nan_checks(mod)


def _build_native(
    mod: IRModule,
    names: Sequence[str],
    processors: Sequence[Processor],
    threads: int | None,
    options: Mapping[str, Any],
) -> CompiledModule:
    """A module as machine code for processors, one of which is here."""
    context = PassContext.current()

    def again() -> "InstrumentedProgram":
        with context:
            return compile_instrumented(mod, names, options["level"], options["precision"])

    def explain() -> "PrecisionReport":
        from relay.pipelines import in_precision

        with context:
            return in_precision(mod, names, options["level"], options["precision"])[1]

    made: list[Artefact] = []
    for processor in processors:
        with compiling_for(processor):
            made.append(compile_cached(mod, names, options["level"], options["cache"], options["precision"]))
    here = next(one for one in made if one.is_for_this_processor)
    others = [one for one in made if one is not here]
    return callable_module(here, threads, mod, again, explain, others)


def _build_for_xla(
    mod: IRModule,
    target: Any,
    names: Sequence[str],
    opt_level: int | None,
    precision: str | None,
    options: Mapping[str, Any],
) -> "XlaModule":
    """A module for XLA, with those options that are given."""
    from relay.backend.xla.built import build_for_xla

    given = {name: value for name, value in options.items() if value is not None}
    return build_for_xla(mod, target, names, opt_level, precision, **given)


def with_attributes(mod: IRModule, entries: Sequence[str], attrs: Mapping[str, Any]) -> IRModule:
    """The module with attributes of its entries that are given."""
    given = {k: v for k, v in attrs.items() if v is not None}
    out = mod.copy()
    for name in entries:
        v = out.get_global_var(name)
        f = out.functions[v]
        if isinstance(f, Function):
            out.functions[v] = replace(f, attrs={**f.attrs, **given})
    return out


def with_batching(mod: IRModule, entries: Sequence[str], batch: Any) -> IRModule:
    """The module with the attribute of its entries that says how calls are batched (`attribute-value`)."""
    from relay.pipelines import is_batched

    out = with_attributes(mod, entries, {BATCH: batch})
    for name in entries:
        is_batched(out[name])
    return out


def with_donation(mod: IRModule, entries: Sequence[str], donate: Sequence[str] | str) -> IRModule:
    """The module with the attribute of its entries that says what callers give up (`donated`)."""
    out = with_attributes(mod, entries, {DONATE: tuple(donate) if isinstance(donate, list) else donate})
    for name in entries:
        donated_params(out[name])
    return out


def _build_python(
    f: TracedFunction,
    params: Mapping[str, Any] | None,
    shard: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> Any:
    """A Python function, compiled at once where the types of its arguments are known."""
    made: Any = partial(build, **options)
    if f.header.is_annotated and f.general().is_plain:
        return made(f.mod, params=params, shard=shard)
    return CompiledFunction(f, made, params, shard)


def _module_of(e: Any) -> IRModule:
    """A module whose `@main` is an expression, which mentions no definitions (`unknown-global`)."""
    e = applicable(e)
    for v in scan(e).globals:
        message, hint = undefined(v.name, ())
        fail("unknown-global", message, v.span, hint=hint)
    return IRModule.from_expr(e)


def applicable(e: Any) -> Expr:
    """A derivative of a function as a function that takes its arguments; any other expression as it is."""
    if not isinstance(e, Grad):
        return e
    from relay.autodiff.closing import caller_of

    t = type_of(e)
    assert isinstance(t, FuncType)
    return caller_of(e, t)


def named_entries(mod: IRModule, chosen: Sequence[str] | str | None = None) -> tuple[str, ...]:
    """The entry functions: those that were chosen, else `@main`, else all that the module defines itself.

    Raises `unknown-global`, `no-entry`.
    """
    own = [v.name_hint for v, e in mod.functions.items() if isinstance(e, Function)]
    names = own_entries([n for n in own if n not in mod.imported], chosen)
    for name in names:
        mod.get_global_var(name)
    if not names:
        hint = "define `@main`, or name definitions: `entries=[…]`"
        fail("no-entry", "the module has no function of its own to compile", hint=hint)
    return names


@overload
def compile(
    what: IRModule | Expr,
    *,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    cache: bool = True,
    check_nan: bool = False,
    batch: str | None = None,
    precision: str | None = None,
    donate: Sequence[str] | str | None = None,
) -> CompiledModule: ...
@overload
def compile(
    what: Callable[..., Any],
    *,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    cache: bool = True,
    check_nan: bool = False,
    batch: str | None = None,
    precision: str | None = None,
    donate: Sequence[str] | str | None = None,
) -> Any: ...
def compile(
    what: Any,
    *,
    params: Mapping[str, Any] | None = None,
    threads: int | None = None,
    cache: bool = True,
    check_nan: bool = False,
    batch: str | None = None,
    precision: str | None = None,
    donate: Sequence[str] | str | None = None,
) -> Any:
    """A function as machine code: a Relay function, an expression over its free variables, a module with
    `@main`, or a Python function as `relay.function` takes it; `relay.build` says what comes of each.
    """
    options: dict[str, Any] = {"threads": threads, "cache": cache, "check_nan": check_nan}
    options |= {"precision": precision, "donate": donate}
    return build(what, TARGETS[0], params=params, batch=batch, **options)


def load_module(path: str | Path, *, threads: int | None = None) -> "CompiledModule | ExportedModule":
    """A compiled program from a file: machine code (`.rlo`), or a program for XLA (`.rlx`), which runs on a
    device of this machine that the file is for.

    Raises `cannot-read`, `bad-artefact`, `other-machine`, `thread-count`, `no-xla`, `unknown-option`.
    """
    if is_of_kind(path, FOR_XLA):
        from relay.backend.xla.exported import load_exported

        refuse_native({"threads": threads})
        return load_exported(path)
    return callable_module(read_artefact(path), threads)


def optimize(
    mod: IRModule, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, Any]:
    """The module with `params` bound to `@main`, as the passes that programs go through by default leave it,
    and the parameters left over: none.

    `PassContext` says which of the passes run.
    """
    del target
    from relay.pipelines import optimize as optimize_module

    return optimize_module(infer(with_params(mod, params) if params else mod)), {}
