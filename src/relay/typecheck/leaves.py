"""The types of what has no parts to be inferred first: variables, constants, names, calls on such."""

from typing import TYPE_CHECKING, Any

from relay.diagnostic import RelayError, name_of_local
from relay.ir.expr import Call, Constant, Constructor, Op, Var
from relay.ir.type import HAS_INCOMPLETE, FuncType, Kind, TensorType, TypeVar
from relay.op.registry import instance as operator_instance
from relay.op.subscript import Subscript
from relay.typecheck.goals import BROADCASTS
from relay.typecheck.literals import literal_class
from relay.typecheck.unknown import ERROR, Unknown, head

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference


def unbound(inf: "Inference", v: Var) -> Any:
    """A variable that nothing around it binds: free in an open expression, a fault in a definition."""
    written = v.type_annotation
    t: Any = inf.fresh_of(Kind.Type) if written is None else inf.annotation(written, v)
    if type(t) is Unknown:
        t.level = min(t.level, 1)
    if not inf.is_open:
        inf.diagnose(
            "unknown-variable",
            f"nothing around it binds `{name_of_local(v.name, v.span)}`",
            v,
            hint="bind it with `let`, or make it a parameter",
        )
        t = ERROR
    inf.free.append(v)
    inf.vars[v] = t
    return t


def constant(inf: "Inference", c: Constant) -> Any:
    """The type of a constant; that of an open literal has an unknown dtype."""
    t = c.type
    if t is not None:
        if type(t.dtype) is TypeVar:
            inf.cause = c
            inf.check_class(t.dtype, literal_class(c))
        return t
    v = inf.constant_dtype.get(c)
    if v is None:
        v = inf.constant_dtype[c] = Unknown(Kind.BaseType, inf.home_level(c) if inf.homes else inf.level)
        v.allowed, v.is_literal = literal_class(c), True
        inf.literals.append((c, v))
    return TensorType(c.value.shape, v)


def constructor_type(inf: "Inference", c: Constructor) -> Any:
    """`fn<a>(a, List[a]) -> List[a]`."""
    data = inf.mod.type_definitions.get(c.belong_to)
    if data is None:
        message = f"the module has no type `{c.belong_to.name}`, which `{c.name}` belongs to"
        inf.diagnose("unknown-type", message, c)
        return ERROR
    return data.constructor_type(c)


def operator_value(inf: "Inference", op: Op) -> Any:
    """The type of an operator as a value, with its default attributes."""
    at = inf.use(op)
    try:
        made = operator_instance(op.name, {})
    except RelayError as error:
        hint = f"a bare operator has its default attributes; write fn(%x) {{ {op.name}(%x, …) }}"
        for d in error.diagnostics:
            inf.diagnose(d.code, d.message, at, label=d.label, hint=hint)
        return ERROR
    args = tuple([inf.fresh_of(Kind.Type) for _ in range(len(made.operands) - made.optional)])
    out = inf.apply(made, args, at)
    inf.settle()
    return FuncType(args, out)


def operator_call(inf: "Inference", e: Call, args: tuple[Any, ...]) -> Any:
    """The type of an operator call."""
    for a in args:
        if a is ERROR:
            return ERROR
    op = e.attrs
    if len(args) == 2 and op.relation_name in BROADCASTS:
        args = _same_dtype(inf, args, e)
    if type(op) is Subscript and len(args) > 1 and _has_rank(args[0]):
        op, left = op.with_sizes(e.args[1:])
        args = (args[0], *[args[k + 1] for k in left])
    if e.written_type_args:
        inf.diagnose("type-args", f"`{op.name}` takes no type arguments", e)
    t = inf.apply(op, args, e)
    if inf.queue:
        inf.settle()
    return t


def _has_rank(t: Any) -> bool:
    """Whether a type is that of tensors of a known rank."""
    found = head(t)
    return type(found) is TensorType and isinstance(found.shape, tuple)


def _same_dtype(inf: "Inference", args: tuple[Any, ...], e: Call) -> tuple[Any, ...]:
    """Operands of one dtype, that of the known one; then the memo often knows the rest."""
    x, y = args
    if (x.flags | y.flags) & HAS_INCOMPLETE and type(x) is TensorType and type(y) is TensorType:
        known, literal = (x, y) if isinstance(x.dtype, str) else (y, x)
        d, v = known.dtype, head(literal.dtype)
        if type(v) is Unknown and isinstance(d, str) and (v.allowed is None or d in v.allowed):
            inf.cause = e
            inf.bind(v, d)
            return inf.resolve(x), inf.resolve(y)
    return args
