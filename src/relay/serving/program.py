"""A program of Relay as a model: compiled, and where its types allow joined calls, compiled for these too."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from relay.analysis.lints import row_by_row
from relay.analysis.row_dependence import leading, row_dependence
from relay.diagnostic import RelayError, Span, fail
from relay.driver.compilation import build
from relay.interpreter.arguments import check_constraints, convert_argument
from relay.ir.build import vmap
from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Function, GlobalVar, Var
from relay.ir.module import IRModule
from relay.ir.subst import substitute_type
from relay.ir.type import Kind, TensorType, TupleType, Type, TypeVar
from relay.serving.datatypes import NAMES
from relay.serving.model import Array, Joining, TensorSpec, fits
from relay.transform.passes.expand_composites import expand_composites
from relay.transform.passes.partial_evaluation import partial_evaluate
from relay.transform.passes.static_shapes import dynamic_to_static
from relay.typecheck.infer import infer

AUTO, BY_ROWS, OFF = JOIN_CHOICES = ("auto", "rows", "off")
"""What may be asked: to join requests where that is shown to change nothing; because whoever serves the model
says that its rows do not depend on each other; never.
"""
STACKED = "stacked"
"""The name of the definition for stacked requests."""


class ProgramModel:
    """A compiled program; `why_alone` says why its requests are not joined, if they are not."""

    platform = "relay"

    def __init__(self, built: Any, entry: str, output_names: Sequence[str] = ()) -> None:
        """`built` is what `relay.build` and `relay.load_module` give (`serve-model`)."""
        self.built = built
        self.header: Function = built.header(entry)
        self.name = f"@{entry}"
        self.function: Any = built[entry]
        self.many: Any = None
        self.joining = Joining.ALONE
        self.why_alone = ""
        self.inputs = [param_spec(p) for p in self.header.params]
        self.outputs = output_specs(self.header.ret_type, output_names, self.header.span)
        self.mod = IRModule(type_definitions=dict(built.datatypes))
        self.checked: set[Any] = set()

    def check(self, arrays: Sequence[Array]) -> None:
        """Raise `argument-type` for arrays that are not of the types of the parameters."""
        if not fits(arrays, self.inputs) or self.header.constraints:
            env: dict[Any, Any] = {}
            given = zip(self.header.params, arrays, strict=True)
            values = [convert_argument(self.name, p, x, env, self.mod) for p, x in given]
            if self.header.constraints:
                check_constraints(self.name, self.header, values, self.mod, self.checked)

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """The outputs (what the program fails with)."""
        return self.arrays_of(self.function(*arrays))

    def stacked(self, arrays: Sequence[Array]) -> list[Array]:
        """The outputs of many requests."""
        return self.arrays_of(self.many(*arrays))

    def arrays_of(self, found: Any) -> list[Array]:
        """Results of a call as arrays, those in tuples one after the other."""
        flat: list[Any] = []
        pending = [found]
        while pending:
            x = pending.pop()
            if type(x) is tuple:
                pending += reversed(cast("tuple[Any, ...]", x))
            else:
                flat.append(x)
        return [np.asarray(x, to_numpy(spec.dtype)) for x, spec in zip(flat, self.outputs, strict=True)]


def program_model(
    mod: IRModule,
    entry: str = "main",
    output_names: Sequence[str] = (),
    join: str = AUTO,
    *,
    threads: int | None = None,
    precision: str | None = None,
) -> ProgramModel:
    """A definition of a program as a model (`serve-model`, and what is wrong with the program).

    With `join="auto"` requests are joined along their first axis where it is shown that rows do not depend
    on each other; else they are stacked for `vmap`, unless that computes them one by one.
    """
    mod = infer(mod)
    check_servable(mod, entry)
    options: dict[str, Any] = {"threads": threads, "precision": precision}
    made = ProgramModel(build(mod, entries=[entry], **options), entry, output_names)
    if join == BY_ROWS:
        expect_rows(made)
        made.joining = Joining.ROWS
    elif join == AUTO:
        why = why_dependent(mod, entry)
        if not why:
            made.joining = Joining.ROWS
        elif made.inputs:
            made.many, made.why_alone = stacked_program(mod, entry, why, options)
            made.joining = Joining.ALONE if made.many is None else Joining.STACKED
    return made


def compiled_model(built: Any, entry: str = "main", join: str = AUTO) -> ProgramModel:
    """A compiled file as a model: without its source, nothing shows that requests may be joined."""
    made = ProgramModel(built, entry)
    made.why_alone = "a compiled file does not say whether rows depend on each other"
    if join == BY_ROWS:
        expect_rows(made)
        made.joining, made.why_alone = Joining.ROWS, ""
    return made


def check_servable(mod: IRModule, entry: str) -> None:
    """Refuse a definition of other types than tensors before it is compiled (`serve-model`)."""
    fn = mod[mod.get_global_var(entry)]
    if not isinstance(fn, Function):
        fail("serve-model", f"`@{entry}` is not a function", fn.span, hint="requests are its arguments")
    for p in fn.params:
        param_spec(p)
    output_specs(fn.ret_type, (), fn.span)


def param_spec(p: Var) -> TensorSpec:
    """A parameter as the protocol describes it (`serve-model`)."""
    return spec_of(p.name_hint, p.type_annotation, f"parameter `%{p.name_hint}`", p.span)


def spec_of(name: str, t: Type | None, what: str, span: Span | None) -> TensorSpec:
    """A tensor as the protocol describes it (`serve-model`)."""
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple):
        fail("serve-model", f"the {what} is of type {t}, and requests have tensors", span, hint=HINT)
    if t.dtype not in NAMES:
        fail("serve-model", f"the {what} is of {t.dtype}, which the protocol does not have", span, hint=HINT)
    return TensorSpec(name, str(t.dtype), tuple([d if isinstance(d, int) else str(d) for d in t.shape]))


HINT = "serve a definition around it, by `--entry`, that takes and gives what the protocol has"


def output_specs(t: Type | None, names: Sequence[str], span: Span | None) -> list[TensorSpec]:
    """The results, which are one tensor or tuples of them."""
    leaves: list[Type | None] = []
    pending = [t]
    while pending:
        one = pending.pop()
        if isinstance(one, TupleType):
            pending += reversed(one.fields)
        else:
            leaves.append(one)
    if len(names) != len(leaves):
        names = ["output"] if not isinstance(t, TupleType) else [f"output{i}" for i in range(len(leaves))]
    return [spec_of(name, leaf, "result", span) for name, leaf in zip(names, leaves, strict=True)]


def expect_rows(model: ProgramModel) -> None:
    """Demand that inputs and outputs can be joined along their first axes (`serve-model`)."""
    types = [p.type_annotation for p in model.header.params]
    sizes = {leading(t) for t in types} | {spec.shape[0] if spec.shape else None for spec in model.outputs}
    names = {None if d is None else str(d) for d in sizes}
    if not types or len(names) != 1 or None in names or isinstance(model.outputs[0].shape[0], int):
        message = "requests cannot be joined along the first axis: not all tensors have one open size there"
        fail("serve-model", message, hint="omit `--join rows`")


def why_dependent(mod: IRModule, entry: str) -> str:
    """Why rows of a definition may depend on each other; an empty text where they do not."""
    if entry != "main":
        mod = mod.copy()
        mod["main"] = mod[entry]
    try:
        flat = expand_composites(dynamic_to_static(partial_evaluate(mod)))
    except RelayError as error:
        return f"it cannot be evaluated in part ({error.codes[0]})"
    return row_dependence(flat, "main")


def stacked_program(mod: IRModule, entry: str, why: str, options: dict[str, Any]) -> tuple[Any, str]:
    """A function of stacked arguments, or None and the reason."""
    fn = mod[entry]
    assert isinstance(fn, Function)
    fresh = {v: TypeVar(v.name, Kind.Dim) for v in fn.type_params}
    rows = TypeVar("rows", Kind.Dim)
    params: list[Var] = []
    for p in fn.params:
        t = substitute_type(p.type_annotation, fresh)
        params.append(Var(p.name_hint, TensorType((rows, *t.shape), t.dtype)))
    mod = mod.copy()
    call = Call(vmap(GlobalVar(entry)), tuple(params))
    mod[STACKED] = Function(tuple(params), call, type_params=(rows, *fresh.values()))
    try:
        mod = infer(mod)
        by_row = row_by_row(mod)
        if by_row:
            return None, f"{why}, and `vmap` computes `{by_row[0].attrs.name}` row by row"
        return cast("Any", build(mod, entries=[STACKED], **options))[STACKED], ""
    except RelayError as error:
        return None, f"{why}, and `vmap` does not take it ({error.codes[0]})"
