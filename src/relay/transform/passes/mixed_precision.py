"""Mixed precision: float32 programs whose products are computed on narrow floats."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from relay.diagnostic import RelayError
from relay.ir.dtype import is_float
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.expr import replace as replaced
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TupleType, Type
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.kind import Precision
from relay.transform.passes.expand_composites import composite_rules
from relay.transform.passes.precision import Choices
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import apply_rules, call, call_of
from relay.typecheck.query import Types

WIDE_DTYPE = "float32"


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

    They accumulate in `accumulation_type`, and their results are narrow.  Operators that neither take much
    time nor lose much precision follow their operands: they compute in the narrow dtype if one operand is
    narrow, and the constants and parameters beside it are cast.  Other operators compute in float32; other
    dtypes are left alone.  An operator declares its choice as `precision = Precision.FOLLOW`; `always`,
    `follow` and `never` name operators that should have another.  Parameters keep their dtype, and so do
    results, unless `keep_orig_output_dtype` is false and no other definition mentions the function.
    Operators without a choice compute in float32; `missing_op_mode` is accepted for compatibility and has
    no effect.

    >>> text = "def @main(%x: Tensor[(2, 4), f32], %w: Tensor[(3, 4), f32], %b: Tensor[(3,), f32]) {"
    >>> show(to_mixed_precision, text + " exp(nn.relu(nn.dense(%x, %w) + %b)) }")
    def @main(
      %x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %b: Tensor[(3,), float32]
    ) -> Tensor[(2, 3), float32] {
      %0 = cast(%x, dtype=float16);
      %1 = cast(nn.dense(%0, cast(%w, dtype=float16), out_dtype=float32), dtype=float16);
      exp(cast(nn.relu(%1 + cast(%b, dtype=float16)), dtype=float32))
    }
    """
    del missing_op_mode
    # The products of attention are computed on narrow floats, its softmax on wide ones.
    mod = apply_rules(mod, composite_rules("nn.attention"))
    choices = Choices.of(mixed_precision_type, accumulation_type, always=always, follow=follow, never=never)
    mentioned = {v for e in mod.functions.values() for v in post_order(e) if isinstance(v, GlobalVar)}
    types = Types(mod)
    new: dict[GlobalVar, Expr] = {}
    for v, e in mod.functions.items():
        made = Narrowing(e, types, choices, keep_orig_output_dtype or v in mentioned).run()
        new[v] = anf(made, types) if made is not e and ANF.is_known_of(mod, v) else made
    return with_definitions(mod, new)


class Narrowing:
    """One pass over a definition: what each node becomes, which may be narrow where it was wide."""

    def __init__(self, root: Expr, types: Types, choices: Choices, keeps_type: bool) -> None:
        """`types` knows the module's definitions; the result keeps its type, or has what comes out."""
        self.root = root
        self.types = types
        self.choices = choices
        self.new: dict[Expr, Expr] = {}
        self.casts: dict[tuple[Expr, Type], Expr] = {}
        self.sums: dict[Expr, Expr] = {}
        """What was added up in wide floats, by its narrow cast."""
        self.bound: dict[Expr, list[Var]] = {}
        """The variables that a value is bound to."""
        self.is_bound: set[Var] = set()
        self.open: set[Expr] = set() if keeps_type else last_steps(root)
        """The bindings that end in a result which need not keep its type."""

    def run(self) -> Expr:
        """The definition in mixed precision."""
        order = list(post_order(self.root))
        for e in order:
            if type(e) is Let:
                self.bound.setdefault(e.value, []).append(e.var)
                self.is_bound.add(e.var)
        for e in order:
            if e not in self.new:
                self.new[e] = self.step(e)
                self.rename(e)
        return self.new[self.root] if self.root in self.open else self.restored(self.root)

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
        whole = self.sums.get(made)
        if whole is not None and self.types(whole) == wanted:
            return whole
        return call_of("cast", (made,), made, dtype=wanted.dtype)

    # --- operators ---

    def operator_call(self, e: Call) -> Expr | None:
        """The call on narrow floats; None where it is to be on wide ones."""
        choice = self.choices(e.attrs)
        operands = [f for a in e.args for f in fields_of(self.types(a))]
        floats = [t for t in operands if isinstance(t.dtype, str) and is_float(t.dtype)]
        if choice is Precision.NEVER or not floats or any(t.dtype != WIDE_DTYPE for t in floats):
            return None
        if choice is Precision.FOLLOW and not self.follows(e):
            return None
        op = self.adding_up(e.attrs, choice)
        if op is None:
            return None
        args = [self.converted(self.new[a], self.narrowed(self.types(a))) for a in e.args]
        return self.narrow_result(e, replaced(call(op, args, e), type_args=e.type_args))

    def narrow_result(self, e: Call, made: Call) -> Expr | None:
        """A call on narrow floats, its result cast if that is wide; None if it has no such type."""
        try:
            found = self.types(made)
        except RelayError:
            return None
        wanted = self.narrowed(self.types(e))
        if found == wanted:
            return made
        if found != self.types(e) or not isinstance(wanted, TensorType):
            return None
        narrow = call_of("cast", (made,), e, dtype=wanted.dtype)
        self.sums[narrow] = made
        return narrow

    def adding_up(self, op: Operator, choice: Precision) -> Operator | None:
        """The operator with the type that it adds up in; None if it gives one that is not to be changed."""
        names = [f.name for f in fields(op)]  # pyright: ignore[reportArgumentType]
        if "out_dtype" not in names:
            return op
        if op["out_dtype"] not in ("", None, WIDE_DTYPE):
            return None
        changed: Any = op
        wide = self.choices.accumulation if choice is Precision.ALWAYS else self.choices.narrow
        return replace(changed, out_dtype=wide)

    def follows(self, e: Call) -> bool:
        """Whether operands are narrow, and the others cost nothing to be so."""
        several = [f for a in e.args for f in (a.fields if isinstance(a, Tuple) else (a,))]
        states = {self.state(a) for a in several}
        return "narrow" in states and "wide" not in states

    def state(self, e: Expr) -> str:
        """Whether an operand is `narrow`, `wide`, or neither: no float, a constant, a parameter."""
        narrow = [t.dtype == self.choices.narrow for t in fields_of(self.types(self.new[e]))]
        wide = [t.dtype == WIDE_DTYPE for t in fields_of(self.types(self.new[e]))]
        if any(narrow) and not any(wide):
            return "narrow"
        is_given = isinstance(e, Constant) or (isinstance(e, Var) and e not in self.is_bound)
        return "wide" if any(wide) and not is_given else ""

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


def field_of(e: Expr, index: int) -> Expr:
    """A field of a tuple, which is there if the tuple is one that was just made."""
    return e.fields[index] if isinstance(e, Tuple) else TupleGetItem(e, index, span=e.span)


def fields_of(t: Type) -> list[TensorType]:
    """The tensors of an operand, which is one or a tuple of some."""
    several = t.fields if isinstance(t, TupleType) else (t,)
    return [f for f in several if isinstance(f, TensorType)]
