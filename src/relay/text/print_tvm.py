"""Version 0.0.5 text: one call a line, no signs, tensors in the metadata section.

What that format has no words for is a diagnostic, `dialect-cannot-express`: open literals, kinds but
`Type`, `where`, symbolic dimensions, mutual recursion, derivatives, constants as definitions, odd names of
definitions.  Imports print as what they brought in.  Type arguments are left out, since inference finds
them; a local variable with an odd name gets a similar plain one.
"""

# What a file holds has no static type.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from relay.diagnostic import Span, fail
from relay.ir.expr import Call, Constant, Constructor, Function, Grad, LetRec, Op, Var, replace
from relay.ir.module import IRModule, TypeData
from relay.ir.same import constant_type
from relay.ir.type import DimCall, DimExpr, GlobalTypeVar, IncompleteType, Kind, Type, TypeRelation, TypeVar
from relay.text import names
from relay.text.print_literals import scalar_text
from relay.text.print_scope import Steps
from relay.text.print_types import TypeText
from relay.text.printer import Printer
from relay.text.survey import Survey

LARGEST = 1 << 28
"""Elements of the largest tensor that is written out in full."""


def cannot(what: str, span: Span | None = None, hint: str = "") -> NoReturn:
    """Report what the format has no words for."""
    fail("dialect-cannot-express", f"version 0.0.5 has no way to write {what}", span, hint=hint)


class TvmTypes(TypeText):
    """Types in the words of version 0.0.5."""

    def parameters(self, params: Sequence[TypeVar]) -> str:
        for p in params:
            if p.kind is not Kind.Type:
                cannot(
                    f"a type parameter of kind {p.kind.value}, `{p.name_hint}`",
                    hint="specialise the function first, or write `?` for a dimension",
                )
        return super().parameters(params)

    def constraints(self, relations: Sequence[TypeRelation]) -> str:
        if relations:
            cannot("a `where` clause")
        return ""

    def any_kind(self, t: Any) -> str:
        return self(t)

    def _leaf(self, t: Type) -> str | None:
        if isinstance(t, IncompleteType):
            cannot("a type that is not known yet", hint="infer types first")
        if isinstance(t, GlobalTypeVar) and not names.is_plain(t.name_hint):
            cannot(f"the name of the data type `{t.name_hint}`")
        return super()._leaf(t)

    def _open(self, t: Type) -> list[Any]:
        if isinstance(t, DimExpr | DimCall):
            cannot("a symbolic dimension", hint="write `?`")
        if isinstance(t, TypeRelation):
            cannot("a `where` clause")
        return super()._open(t)


class TvmPrinter(Printer):
    """Programs in the words of version 0.0.5."""

    version = "0.0.5"
    sugar = False
    name_each_call = True

    def type_printer(self, taken: Sequence[str]) -> TypeText:
        return TvmTypes(attribute_text, taken)

    # --- names ----------------------------------------------------------------------------------------------

    def begin(self, survey: Survey) -> None:
        super().begin(survey)
        self.fresh = names.Fresh([*[v.name_hint for v in survey.bound], *self.free.values()])
        for v in (*survey.bound, *self.free):
            if not names.is_plain(v.name_hint):
                self.renamed.add(v)
                self.var_texts[v] = f"%{self.fresh(_plain(v))}"

    def free_vars(self, several: list[Var]) -> list[str]:
        fresh = names.Fresh(self.free.values())
        for v in several:
            if not names.is_plain(self.free[v]):
                self.free[v] = fresh(_plain(v))
        return super().free_vars(several)

    def leaf(self, e: Any) -> str:
        if isinstance(e, Constructor):
            if not e.inputs:
                cannot(f"the constructor `{e.name_hint}` as a function", e.span)
            return self.constructor(e)
        text = super().leaf(e)
        if '"' in text and not isinstance(e, Constant):
            cannot(f"the name `{text}`", e.span)
        return text

    def constructor(self, e: Constructor) -> str:
        if not names.is_plain(e.name_hint):
            cannot(f"the name of the constructor `{e.name_hint}`", e.span)
        return e.name_hint

    # --- expressions ----------------------------------------------------------------------------------------

    def constant(self, e: Constant) -> str:
        t = constant_type(e)
        if t is None or not isinstance(t.dtype, str):
            cannot("a literal whose base type is open", e.span, "infer types first")
        if t.dtype == "string":
            cannot("a text as a value", e.span)
        if e.is_scalar and (t.dtype == "bool" or bool(np.isfinite(e.value.astype(np.float64)))):
            text = scalar_text(e.value[()], t.dtype)
            return text.removesuffix("i32") if t.dtype == "int32" else text
        if e.value.size > LARGEST:
            cannot(f"a constant of {e.value.size} elements", e.span)
        return self.keep(e)

    def metadata(self) -> list[str]:
        self.large = [
            replace(c, value=np.ascontiguousarray(c.value).reshape(c.value.shape)) for c in self.large
        ]
        return super().metadata()

    def call(self, e: Call, room: int) -> Steps:
        if type(e.op) is not Op and e.attrs:
            cannot("attributes of a call that is no operator's", e.span)
        return super().call(replace(e, type_args=()) if e.type_args else e, room)

    def fast(self, e: Any, room: int) -> str | None:
        if type(e) is Call and type(e.op) is not Op and e.attrs:
            cannot("attributes of a call that is no operator's", e.span)
        return super().fast(e, room)

    def operator_attributes(self, op: Any) -> str:
        return ", ".join([f"{k}={attribute_text(v)}" for k, v in op.changed_attributes().items()])

    def let_rec(self, e: LetRec) -> Steps:
        cannot(
            "functions that call each other inside an expression",
            e.span,
            "make them definitions of the module",
        )
        yield

    def special(self, e: Any, room: int) -> Steps:
        if isinstance(e, Grad):
            cannot(f"`{e.kind}`", e.span)
        return super().special(e, room)

    def header(self, e: Function, start: str, room: int) -> Any:
        for v in e.attrs.values():
            attribute_text(v)
        return super().header(e, start, room)

    # --- items ----------------------------------------------------------------------------------------------

    def module(self, mod: IRModule) -> list[list[str]]:
        if mod.attrs or mod.options:
            cannot("attributes of a module")
        whole = mod.copy()
        whole.imports, whole.imported = [], set()
        for v, e in mod.functions.items():
            if not isinstance(e, Function) or v in mod.constant_types:
                cannot(
                    f"the constant definition `@{v.name_hint}`",
                    v.span,
                    "make it a function without parameters",
                )
            if not names.is_plain(v.name_hint):
                cannot(f"the name of the definition `@{v.name_hint}`", v.span)
        return super().module(whole)

    def type_data(self, data: TypeData) -> list[str]:
        if not names.is_plain(data.header.name_hint):
            cannot(f"the name of the data type `{data.header.name_hint}`", data.span)
        return super().type_data(data)


def _plain(v: Var) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", v.name_hint) or "x"
    return plain if names.is_plain(plain) else f"v{plain}"


def attribute_text(value: Any) -> str:
    """An attribute in the words of version 0.0.5: lists for tuples, `f` behind floats."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, str):
        return names.quote(value)
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        if not np.isfinite(value):
            cannot("an infinite attribute")
        return f"{str(float(value)).replace('e+', 'e').removesuffix('.0')}f"
    if isinstance(value, list | tuple) and not any(isinstance(v, list | tuple | dict) for v in value):  # pyright: ignore[reportUnknownVariableType]
        return f"[{', '.join([attribute_text(v) for v in value])}]"  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple) and all(isinstance(v, list | tuple) for v in value):  # pyright: ignore[reportUnknownVariableType]
        rows = [attribute_text(v) for v in value if not any(isinstance(x, list | tuple) for x in v)]  # pyright: ignore[reportUnknownVariableType]
        if len(rows) == len(value):  # pyright: ignore[reportUnknownArgumentType]
            return f"[{', '.join(rows)}]"
    cannot(f"an attribute of class {type(value).__name__}")
