"""Mixed precision: float32 programs whose products are computed on narrow floats."""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from relay.diagnostic import RelayError
from relay.ir.dtype import is_float, to_numpy
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.expr import replace as replaced
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TupleType, Type
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.kind import Fusion, Precision
from relay.transform.passes import precision
from relay.transform.passes.expand_composites import composite_rules
from relay.transform.passes.precision import WIDE_DTYPE, Choices, field_of, fields_of, has_few_rows
from relay.transform.passes.precision_report import Place, PrecisionReport
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import apply_rules, call, call_of
from relay.typecheck.query import Types

WEIGHT_NUMBERS = 4096
"""Numbers of a constant from which on it counts as a weight, which is stored narrow."""
IN_REGISTERS = (Fusion.ELEMENTWISE, Fusion.BROADCAST)
"""Operators that are computed with what makes their operands."""


@module_pass("to_mixed_precision", keeps=(ANF,), opt_level=0, public="ToMixedPrecision")
def to_mixed_precision(
    mod: IRModule,
    *,
    mixed_precision_type: str = "float16",
    missing_op_mode: int = 1,
    keep_orig_output_dtype: bool = True,
    accumulation_type: str = "float32",
    always: Sequence[str] = (),
    follow: Sequence[str] = (),
    never: Sequence[str] = (),
) -> IRModule:
    """Compute float32 products and convolutions in `mixed_precision_type`: float16 or bfloat16.

    They accumulate in `accumulation_type`.  Arithmetic between them is in float32, in registers, and what a
    product reads is rounded once, where it is computed.  Operators that move or choose numbers do so in the
    narrow dtype if their operands are narrow.  Other operators compute in float32; other dtypes are left
    alone.  An operator declares its choice as `precision = Precision.FOLLOW`; `always`, `follow` and `never`
    name operators that should have another; functions of `relay.op.register_mixed_precision_conversion` are
    asked call by call.  Parameters keep their dtype, and so do results, unless `keep_orig_output_dtype` is
    false and no other definition mentions the function.  Operators without a choice compute in float32;
    `missing_op_mode` is accepted for compatibility and has no effect.

    >>> text = "def @main(%x: Tensor[(9, 4), f32], %w: Tensor[(3, 4), f32], %v: Tensor[(2, 3), f32]) {"
    >>> show(to_mixed_precision, text + " exp(nn.dense(nn.relu(nn.dense(%x, %w) + 1f), %v)) }")
    def @main(
      %x: Tensor[(9, 4), float32], %w: Tensor[(3, 4), float32], %v: Tensor[(2, 3), float32]
    ) -> Tensor[(9, 2), float32] {
      %0 = cast(%x, dtype=float16);
      %1 = nn.relu(nn.dense(%0, cast(%w, dtype=float16), out_dtype=float32) + 1f);
      exp(nn.dense(cast(%1, dtype=float16), cast(%v, dtype=float16), out_dtype=float32))
    }
    """
    del missing_op_mode
    choices = Choices.of(mixed_precision_type, accumulation_type, always=always, follow=follow, never=never)
    return narrowed(mod, lambda _: choices, keep_orig_output_dtype, PrecisionReport())


def narrowed(
    mod: IRModule,
    choice_of: Callable[[GlobalVar], Choices | None],
    keeps_results: bool,
    report: PrecisionReport,
    splits_attention: bool = True,
) -> IRModule:
    """A module whose definitions are each in the precision that is chosen for it, or as they are.

    `report` notes what becomes of them.
    """
    if splits_attention:
        # The products of attention are computed on narrow floats, its softmax on wide ones.
        mod = apply_rules(mod, composite_rules("nn.attention"))
    mentioned = {v for e in mod.functions.values() for v in post_order(e) if isinstance(v, GlobalVar)}
    types = Types(mod)
    new: dict[GlobalVar, Expr] = {}
    for v, e in mod.functions.items():
        choices = choice_of(v)
        if choices is None:
            continue
        keeps = keeps_results or v in mentioned
        made = Narrowing(e, types, choices, keeps, partial(Place, definition=v.name_hint), report).run()
        new[v] = anf(made, types) if made is not e and ANF.is_known_of(mod, v) else made
    return with_definitions(mod, new)


class Narrowing:
    """One pass over a definition: what each node becomes, which may be narrow where it was wide."""

    def __init__(
        self,
        root: Expr,
        types: Types,
        choices: Choices,
        keeps_type: bool,
        place: Callable[..., Place],
        report: PrecisionReport,
    ) -> None:
        """`types` knows the module's definitions; the result keeps its type, or has what comes out."""
        self.root = root
        self.types = types
        self.choices = choices
        self.place, self.report = place, report
        self.new: dict[Expr, Expr] = {}
        self.casts: dict[tuple[Expr, Type], Expr] = {}
        self.bound: dict[Expr, list[Var]] = {}
        """The variables that a value is bound to."""
        self.values: dict[Expr, Expr] = {}
        """The values of bound variables."""
        self.derived: set[Expr] = set()
        """What products have given, or what has become of that: it is stored narrow where one is to be read.
        """
        self.open: set[Expr] = set() if keeps_type else last_steps(root)
        """The bindings that end in a result which need not keep its type."""
        self.wanted: set[Expr] = set()
        """What products read, or what moves numbers for them."""

    def run(self) -> Expr:
        """The definition in mixed precision."""
        order = list(post_order(self.root))
        for e in order:
            if type(e) is Let:
                self.bound.setdefault(e.value, []).append(e.var)
                self.values[e.var] = e.value
        for e in reversed(order):
            self.want(e)
        for e in order:
            if e not in self.new:
                self.new[e] = self.step(e)
                self.rename(e)
            if isinstance(e, Tuple | TupleGetItem) and not self.derived.isdisjoint(e.children):
                self.derived.add(e)
            if e in self.derived:
                self.derived.update(self.bound.get(e, ()))
        return self.new[self.root] if self.root in self.open else self.restored(self.root)

    def want(self, e: Expr) -> None:
        """Note what a node reads that is to be narrow; those that read the node have been here."""
        match e:
            case Call(op=Op()):
                choice = self.choice_of(e)
                is_moved = choice is Precision.FOLLOW and e.attrs.fusion not in IN_REGISTERS
                if choice is Precision.ALWAYS or (is_moved and e in self.wanted):
                    self.wanted.update(e.args)
            case Function(body=body) if e in self.open:
                self.wanted.add(body)
            case Let(body=body) if e in self.wanted or e in self.open:
                self.wanted.add(body)
            case Var() if e in self.wanted and e in self.values:
                self.wanted.add(self.values[e])
            case Tuple() | TupleGetItem() if e in self.wanted:
                self.wanted.update(e.children)
            case _:
                pass

    def rename(self, e: Expr) -> None:
        """Give the variables that a value is bound to its new type."""
        values = [e]
        while values:
            value = values.pop()
            t = self.types(self.new[value]) if value in self.bound else None
            for v in self.bound.get(value, ()):
                if t != self.types(v) and self.new.get(v, v) is v:
                    self.new[v] = Var(v.name_hint, t, span=v.span)
                    values.append(v)

    def step(self, e: Expr) -> Expr:
        """A node around its parts, wide but for what may be narrow."""
        match e:
            case Call(op=Op()):
                made = self.operator_call(e)
                return self.with_wide_parts(e) if made is None else made
            case Let(var=var, value=value, body=body):
                last = self.new[body] if e in self.open else self.restored(body)
                now = self.new.get(var, var)
                if now is not var:
                    return replaced(e, var=now, value=self.new[value], body=last)
                return self.rebuilt(e, (self.new[value], last))
            case TupleGetItem():
                return self.rebuilt(e, (self.new[e.tuple_value],))
            case Function(body=body) if e in self.open:
                made = self.new[body]
                return replaced(e, body=made, ret_type=self.types(made))
            case Tuple() if all(isinstance(self.types(f), TensorType) for f in e.fields):
                return self.rebuilt(e, [self.new[c] for c in e.children])
            case _:
                return self.with_wide_parts(e)

    def with_wide_parts(self, e: Expr) -> Expr:
        """A node of the type that it had."""
        return self.rebuilt(e, [self.restored(c) for c in e.children])

    def rebuilt(self, e: Expr, parts: Sequence[Expr]) -> Expr:
        """A node with other parts."""
        now = tuple(parts)
        return e if now == e.children else e.rebuild(now)

    def restored(self, e: Expr) -> Expr:
        """What a node becomes, of the type that it had."""
        made = self.new[e]
        return e if made is e else self.converted(made, self.types(e))

    def converted(self, made: Expr, wanted: Type) -> Expr:
        """A tensor, or a tuple of tensors, in other dtypes."""
        found = self.types(made)
        if found == wanted:
            return made
        key = (made, wanted)
        if key not in self.casts:
            if isinstance(wanted, TupleType):
                parts = [field_of(made, i) for i in range(len(wanted.fields))]
                several = zip(parts, wanted.fields, strict=True)
                self.casts[key] = Tuple(tuple([self.converted(p, t) for p, t in several]), span=made.span)
            else:
                self.casts[key] = self.cast(made, wanted)
        return self.casts[key]

    def cast(self, made: Expr, wanted: Any) -> Expr:
        """A tensor in another dtype."""
        if isinstance(made, Constant):
            self.note_constant(made, wanted)
        return call_of("cast", (made,), made, dtype=wanted.dtype)

    # --- operators ---

    def choice_of(self, e: Call) -> Precision:
        """What becomes of a call: nothing, if it is not of float32 alone, or if to convert takes too long."""
        choice = self.choices(e)
        floats = [t for t in self.operands(e) if isinstance(t.dtype, str) and is_float(t.dtype)]
        if not floats or any(t.dtype != WIDE_DTYPE for t in floats):
            return Precision.NEVER
        is_kept = self.is_thin(e) or self.is_of_attention(e)
        if choice is Precision.ALWAYS and (is_kept or self.adding_up(e) is None):
            return Precision.NEVER
        return choice

    def is_thin(self, e: Call) -> bool:
        """Whether a product stays as it is since it has few rows for a matrix that is a parameter."""
        if not self.choices.keeps_thin or e.attrs.product() is None or not self.is_parameter(e.args[1]):
            return False
        out, matrix = (fields_of(self.types(x))[0] for x in (e, e.args[1]))
        return has_few_rows(out, matrix)

    def is_of_attention(self, e: Call) -> bool:
        """Whether a product of two computed stacks stays as it is: one kernel computes attention, in float32,
        whose scores stay in the cache.
        """
        if not self.choices.keeps_thin or e.attrs.product() is None:
            return False
        ranks = [len(t.shape) for t in self.operands(e) if isinstance(t.shape, tuple)]
        is_computed = not any(isinstance(a, Constant) or self.is_parameter(a) for a in e.args)
        return is_computed and len(ranks) == 2 and min(ranks) > 2

    def is_parameter(self, e: Expr) -> bool:
        """Whether an expression is a parameter, or a field of one."""
        while isinstance(e, TupleGetItem):
            e = e.tuple_value
        return isinstance(e, Var) and e not in self.values

    def operands(self, e: Call) -> list[TensorType]:
        """The types of the tensors that a call reads."""
        return [f for a in e.args for f in fields_of(self.types(a))]

    def operator_call(self, e: Call) -> Expr | None:
        """The call on narrow floats, or with a narrow result; None where both are to be wide."""
        choice = self.choice_of(e)
        if choice is Precision.FOLLOW and self.follows(e):
            made = self.on_narrow(e, e.attrs)
            if made is not None:
                self.derived.add(e)
                return made
        if choice is Precision.ALWAYS:
            op = self.adding_up(e)
            made = None if op is None else self.on_narrow(e, op)
            if made is not None:
                how = f"on {self.choices.narrow}, added up in {self.choices.accumulation_of(e)}"
                self.report.computed(how, self.place_of(e))
                self.derived.add(e)
                return self.stored(e, made)
        self.note_kept(e, choice)
        if choice in (Precision.FOLLOW, Precision.STORED) and not self.derived.isdisjoint(e.args):
            self.derived.add(e)
            return self.stored(e, self.with_wide_parts(e))
        return None

    def on_narrow(self, e: Call, op: Operator) -> Expr | None:
        """A call of an operator on narrow operands; None if it has no such type."""
        args = [self.converted(self.new[a], self.narrowed(self.types(a))) for a in e.args]
        made = replaced(call(op, args, e), type_args=e.written_type_args)
        try:
            found = self.types(made)
        except RelayError:
            return None
        return made if found in (self.types(e), self.narrowed(self.types(e))) else None

    def stored(self, e: Call, made: Expr) -> Expr:
        """A result as it is stored: narrow, if that is wanted."""
        wanted = self.narrowed(self.types(e))
        return self.converted(made, wanted) if e in self.wanted else made

    def adding_up(self, e: Call) -> Operator | None:
        """The operator of a call with what it adds up in; None if it gives what is not to be changed."""
        op: Operator = e.attrs
        names = [f.name for f in fields(op)]  # pyright: ignore[reportArgumentType]
        if "out_dtype" not in names:
            return op
        if op["out_dtype"] not in ("", None, WIDE_DTYPE):
            return None
        changed: Any = op
        return replace(changed, out_dtype=self.choices.accumulation_of(e))

    def follows(self, e: Call) -> bool:
        """Whether operands are narrow, and the others lose nothing by being so."""
        several = [f for a in e.args for f in (a.fields if isinstance(a, Tuple) else (a,))]
        states = {self.state(a) for a in several}
        return "narrow" in states and "wide" not in states

    def state(self, e: Expr) -> str:
        """Whether an operand is `narrow`, `wide`, or neither: no float, a constant, a parameter.

        A weight is narrow; a number is, if it is the same number then.
        """
        narrow = [t.dtype == self.choices.narrow for t in fields_of(self.types(self.new[e]))]
        wide = [t.dtype == WIDE_DTYPE for t in fields_of(self.types(self.new[e]))]
        if any(narrow) and not any(wide):
            return "narrow"
        if isinstance(e, Constant) and any(wide):
            if e.value.size >= WEIGHT_NUMBERS:
                return "narrow"
            short = e.value.astype(to_numpy(self.choices.narrow)).astype(WIDE_DTYPE)
            return "" if np.array_equal(short, e.value, equal_nan=True) else "wide"
        return "wide" if any(wide) and not self.is_parameter(e) else ""

    def note_kept(self, e: Call, choice: Precision) -> None:
        """Note a call of float32 numbers that stays one, and why."""
        result = fields_of(self.types(e))
        is_wide = any(t.dtype == WIDE_DTYPE for t in [*self.operands(e), *result])
        if not is_wide or choice is Precision.FOLLOW or not e.attrs.computes:
            return
        if self.choices(e) is not Precision.ALWAYS:
            self.report.keep(e.attrs.wide.value, self.place_of(e))
        elif self.is_thin(e):
            self.report.keep(precision.THIN, self.place_of(e))
        elif self.is_of_attention(e):
            self.report.keep(precision.ATTENTION, self.place_of(e))
        else:
            self.report.keep("the program says what dtype its operands or results have", self.place_of(e))

    def note_constant(self, e: Constant, wanted: Any) -> None:
        """Note the bytes of a constant that becomes narrow, once."""
        if wanted.dtype == self.choices.narrow:
            before = e.value.nbytes
            self.report.stored(before, e.value.size * to_numpy(wanted.dtype).itemsize)

    def place_of(self, e: Call) -> Place:
        """Where a call is."""
        return self.place(e.attrs.name, span=e.span)

    def narrowed(self, t: Type) -> Type:
        """A type with narrow floats for wide ones."""
        if isinstance(t, TupleType):
            return TupleType([self.narrowed_tensor(f) for f in t.fields])
        return self.narrowed_tensor(t)

    def narrowed_tensor(self, t: Type) -> Type:
        """The type of a tensor with narrow floats for wide ones."""
        if isinstance(t, TensorType) and t.dtype == WIDE_DTYPE:
            return TensorType(t.shape, self.choices.narrow)
        return t


def last_steps(root: Expr) -> set[Expr]:
    """A function and the `let`s that end in its result; nothing of anything else."""
    if not isinstance(root, Function):
        return set()
    found: set[Expr] = {root}
    e = root.body
    while isinstance(e, Let):
        found.add(e)
        e = e.body
    return found
