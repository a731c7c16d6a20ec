"""Version 0.0.5 text: one call a line, no signs, tensors in the metadata section.

What that format has no words for is a diagnostic, `dialect-cannot-express`: open literals, kinds but `Type`,
`where`, symbolic dimensions, mutual recursion inside an expression, derivatives, constants as definitions,
strings as values, odd names of what is defined.  All of a module are found in one run.  Imports print as what
they brought in.  Type arguments are left out, since inference finds them; a local variable with an odd name
gets a similar plain one, slashes being kept.
"""

import re
from collections.abc import Sequence
from dataclasses import replace as changed
from typing import Any

import numpy as np

from relay.diagnostic import RelayError, Report, Span
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Grad,
    LetRec,
    Op,
    Pattern,
    Var,
    VMap,
    replace,
)
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import is_lowered
from relay.ir.same import constant_type
from relay.ir.type import TensorType
from relay.op.base import BOOLEAN, Operator
from relay.op.reduce import Accumulating
from relay.text import names
from relay.text.print_items import Printer
from relay.text.print_literals import scalar_text
from relay.text.print_scope import Key, Steps
from relay.text.print_types import TypeText
from relay.text.survey import Survey
from relay.text.tvm_words import TvmTypes, attribute_text, cannot, plain_name, tvm_key_text

MAX_WRITTEN_ELEMENTS = 1 << 28
"""Elements of the largest tensor that is written out in full."""
_SUFFIXED = frozenset({"int32", "int64", "float32", "float64", "bool"})
"""Dtypes whose scalars stand in the text; others are tensors of rank 0 in the metadata."""


class TvmPrinter(Printer):
    """Programs in the words of version 0.0.5."""

    version = "0.0.5"
    sugar = False
    name_each_call = True

    def __init__(self, **options: Any) -> None:
        """As for any printer."""
        super().__init__(**options)
        self.report = Report()

    def type_printer(self, taken: Sequence[str]) -> TypeText:
        return TvmTypes(attribute_text, taken)

    # --- names ----------------------------------------------------------------------------------------------

    def begin(self, survey: Survey) -> None:
        super().begin(survey)
        odd = [v for v in survey.bound if not names.is_plain(v.name_hint)]
        odd += [v for v, name in self.free.items() if not names.is_plain(name)]
        if odd:
            plain = [v.name_hint for v in survey.bound if names.is_plain(v.name_hint)]
            self.fresh = names.Fresh([*plain, *self.free.values()])
            for v in odd:
                self.renamed.add(v)
                kept = names.is_path(v.name_hint) and v not in self.free
                self.var_texts[v] = f"%{self.fresh(v.name_hint if kept else _similar(v))}"

    def free_vars(self, several: list[Var]) -> list[str]:
        fresh = names.Fresh(self.free.values())
        for v in several:
            if not names.is_plain(self.free[v]):
                self.free[v] = fresh(_similar(v))
        return super().free_vars(several)

    def leaf(self, e: Any) -> str:
        if isinstance(e, Constructor) and not e.inputs:
            cannot(f"the constructor `{e.name_hint}` as a function", e.span)
        if isinstance(e, GlobalVar):
            plain_name(e.name_hint, "the definition", e.span)
        return self.constructor(e) if isinstance(e, Constructor) else super().leaf(e)

    def constructor(self, e: Constructor) -> str:
        return plain_name(e.name_hint, "the constructor", e.span, names.constructor)

    def operator(self, e: Op) -> str:
        if e.name in self.hidden:
            cannot(f"the operator `{e.name}` beside a constructor of that name", e.span)
        return e.name

    # --- expressions ----------------------------------------------------------------------------------------

    def constant(self, e: Constant) -> str:
        t = constant_type(e)
        if t is None or not isinstance(t.dtype, str):
            cannot("a literal whose dtype is open", e.span, "infer types first")
        if t.dtype == "string":
            cannot("a text as a value", e.span)
        self.types(t)
        if e.is_scalar and t.dtype in _SUFFIXED and bool(np.isfinite(e.value)):
            text = scalar_text(e.value[()], t.dtype)
            return text.removesuffix("i32") if t.dtype == "int32" else text
        if e.value.size > MAX_WRITTEN_ELEMENTS:
            cannot(f"a constant of {e.value.size} elements", e.span)
        return self.keep(e)

    def metadata(self) -> list[str]:
        whole = [np.ascontiguousarray(c.value).reshape(c.value.shape) for c in self.large]
        self.large = [replace(c, value=value) for c, value in zip(self.large, whole, strict=True)]
        return super().metadata()

    def call(self, e: Call, room: int) -> Steps:
        _check_call(e)
        return super().call(replace(e, type_args=()) if e.written_type_args else e, room)

    def fast(self, e: Any, room: int) -> str | None:
        if type(e) is Call:
            _check_call(e)
        return super().fast(e, room)

    def operator_attributes(self, op: Any) -> str:
        attrs = {k: v for k, v in op.changed_attributes().items() if k not in op.tvm_attributes}
        return ", ".join([f"{k}={attribute_text(v)}" for k, v in attrs.items()])

    def pattern(self, root: Pattern) -> str:
        if not is_lowered(root):
            cannot("literals, alternatives and names for parts in patterns", root.span, "infer types first")
        return super().pattern(root)

    def guard(self, e: Any, key: Key) -> Steps:
        cannot("guards of clauses", e.span, "infer types first")
        yield

    def let_rec(self, e: LetRec) -> Steps:
        cannot(
            "functions that call each other inside an expression",
            e.span,
            "make them definitions of the module",
        )
        yield

    def special(self, e: Any, room: int) -> Steps:
        if isinstance(e, Grad | VMap):
            cannot(f"`{e.kind}`", e.span)
        return super().special(e, room)

    def attribute_list(self, e: Function) -> list[str]:
        return [f"{tvm_key_text(k)}={attribute_text(v, exact=True)}" for k, v in e.attrs.items()]

    # --- items ----------------------------------------------------------------------------------------------

    def module(self, mod: IRModule) -> list[list[str]]:
        if mod.attrs or mod.options:
            cannot("attributes of a module")
        whole = mod.copy()
        whole.imports, whole.imported = [], set()
        self.report = Report()
        items = super().module(whole)
        self.report.check()
        return items

    def definition(self, name: GlobalVar, e: Any, survey: Survey) -> list[Any]:
        try:
            plain_name(name.name_hint, "the definition", name.span)
            if not isinstance(e, Function) or (self.mod is not None and name in self.mod.constant_types):
                what = f"the constant definition `@{name.name_hint}`"
                cannot(what, name.span, "make it a function without parameters")
            return super().definition(name, e, survey)
        except RelayError as error:
            return self.unwritten(error, e.span)

    def type_data(self, data: TypeData) -> list[str]:
        try:
            plain_name(data.header.name_hint, "the data type", data.span, names.type_name)
            for c in data.constructors:
                if c.field_names:
                    what = f"the names of the fields of `{c.name_hint}`"
                    cannot(what, c.span, f"leave them out: `{c.name_hint}({', '.join('…' * len(c.inputs))})`")
            return super().type_data(data)
        except RelayError as error:
            return self.unwritten(error, data.span)

    def unwritten(self, error: RelayError, span: Span | None) -> list[Any]:
        """Keep what was found in one item, and go on to the next."""
        for d in error.diagnostics:
            self.report.add(changed(d, span=d.span or span))
        return []


def _similar(v: Var) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", v.name_hint) or "x"
    return plain if names.is_plain(plain) else f"v{plain}"


def _check_call(e: Call) -> None:
    if type(e.op) is not Op and e.attrs:
        cannot("attributes of a call that is not an operator's", e.span)
    if type(e.op) is Op and e.attrs.dimensions():
        cannot("dimensions as values and in attributes", e.span, "infer types first")
    if isinstance(e.attrs, Accumulating) and not e.attrs.keep_dtype and _is_of_booleans(e.args[0]):
        cannot(f"`{e.attrs.name}` of booleans, which counts them here", e.span, "infer types first")


def _is_of_booleans(e: Expr) -> bool:
    """Return whether an expression is of booleans by itself, whatever types inference finds."""
    match e:
        case Var(type_annotation=TensorType(dtype="bool")):
            return True
        case Constant():
            return e.value.dtype == bool
        case Call(op=Op(), attrs=Operator() as attrs):
            return attrs.relation_name == "BroadcastCompare" or attrs.dtypes == BOOLEAN
        case _:
            return False
