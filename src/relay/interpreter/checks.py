"""Run-time checks, derived from static types.

A place (a call's arguments, a function's result, an annotation) needs one where the static type of the value
is not the type that is required there.  Only dimensions can differ: everything else inference has settled.
"""

from collections.abc import Callable, Sequence
from typing import Any

from relay.diagnostic import Diagnostic, RelayError, fail
from relay.interpreter.code import Register
from relay.interpreter.show import show
from relay.interpreter.unit import Unit, World
from relay.interpreter.value import is_tuple
from relay.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Match, Var
from relay.ir.subst import substitute_type
from relay.ir.tensor_parts import tensor_parts
from relay.ir.type import HAS_ANY, DimExpr, FuncType, TensorType, TupleType, Type, TypeVar


def has_shape(t: Type | None) -> bool:
    """Whether a type says something about the dimensions of a tensor, or of a tensor in a tuple."""
    return isinstance(t, TensorType | TupleType) and any(part.shape != () for _, part in tensor_parts(t))


class Required:
    """The declared result type of a function, where values of another static type may reach it."""

    def __init__(self, required: Type, world: World) -> None:
        self.type = required
        self.world = world

    def differs(self, e: Expr) -> bool:
        """Whether the static type of `e` leaves open that its value has the required type."""
        static = self.world.type_of(e)
        return static is not None and static != self.type


def check_result(fn: Function, world: World) -> Required | None:
    """What the values that `fn` returns are checked against."""
    return Required(fn.ret_type, world) if fn.ret_type is not None and has_shape(fn.ret_type) else None


def check_returned(unit: Unit, e: Expr, register: int, required: Required) -> None:
    """Check a value in tail position against the function's declared result."""
    if required.differs(e):
        unit.draft.span = unit.code.function.span if isinstance(e, Var) else e.span
        emit(unit, (required.type,), (register,), "the result", unit.code.name)


def check_annotation(world: World, unit: Unit, var: Var, value: Expr) -> None:
    """Check the value of a `let` against the annotation of its variable."""
    t = var.type_annotation
    if t is None or (isinstance(t, TensorType) and t.shape == ()):
        return
    static = world.type_of(value)
    if static is not None and static != t and has_shape(t):
        unit.draft.span = value.span
        emit(unit, (t,), (unit.places[var],), f"`%{var.name}`", "")


def check_arguments(world: World, unit: Unit, e: Call, args: tuple[Register, ...]) -> None:
    """Check the arguments of a call against the parameters of its callee."""
    scheme = world.type_of(e.op)
    if not isinstance(scheme, FuncType) or not any(has_shape(t) for t in scheme.arg_types):
        return
    by = dict(zip(scheme.type_params, e.written_type_args, strict=False))
    unknown = {p for p, t in by.items() if _has_any(t)}
    required = [substitute_type(t, by) for t in scheme.arg_types]
    statics = [world.type_of(a) for a in e.args]
    differ = any(s is not None and has_shape(r) and s != r for s, r in zip(statics, required, strict=False))
    if differ or _related(scheme.arg_types, unknown):
        closed = {p: unbound(p) if p in unknown else t for p, t in by.items()}
        what = "the argument" if len(args) == 1 else "an argument"
        emit(unit, tuple([substitute_type(t, closed) for t in scheme.arg_types]), args, what, spelled(e.op))


def unbound(p: TypeVar) -> TypeVar:
    """A type parameter of a callee that only its arguments tell: another one than that of the caller, if a
    function calls itself.
    """
    return TypeVar(p.name_hint, p.kind)


def spelled(callee: Expr) -> str:
    """The callee as text."""
    match callee:
        case GlobalVar():
            return f"@{callee.name}"
        case Var():
            return f"%{callee.name}"
        case Constructor():
            return callee.name_hint
        case _:
            return "fn"


def _has_any(t: Any) -> bool:
    if is_tuple(t):
        return any(_has_any(d) for d in t)
    return isinstance(t, Type) and bool(t.flags & HAS_ANY)


def _related(types: Sequence[Type], unknown: set[TypeVar]) -> bool:
    """Whether a parameter whose argument is not known relates dimensions of the arguments to one another."""
    count = 0
    met: set[Any] = set()
    if not unknown:
        return False
    for t in types:
        for _, part in tensor_parts(t):
            for d in part.shape if isinstance(part.shape, tuple) else (part.shape,):
                if isinstance(d, TypeVar):
                    count += d in unknown and d in met
                    met.add(d)
                else:
                    count += any(v in unknown for v in variables(d))
    return count > 0


def variables(d: Any) -> list[TypeVar]:
    """The type parameters inside a type or dimension."""
    found: list[TypeVar] = []
    stack = [d] if isinstance(d, Type) else []
    while stack:
        t = stack.pop()
        if isinstance(t, TypeVar):
            found.append(t)
        stack += t.children
    return found


def emit(unit: Unit, types: tuple[Type, ...], registers: tuple[Register, ...], what: str, whose: str) -> None:
    """Code for one check of the values in `registers` against `types`."""
    known: dict[TypeVar, int] = {}
    for t in types:
        for _, part in tensor_parts(t):
            for d in part.shape if isinstance(part.shape, tuple) else (part.shape,):
                for v in variables(d):
                    if v not in known and unit.is_bound(v):
                        known[v] = unit.lookup(v)
    check = ShapeCheck(types, tuple(known), what, whose)
    unit.draft.operate(check, (*registers, *known.values()))


class ShapeCheck:
    """Compares the shapes of values with types in which some dimensions are parameters (`shape-check`)."""

    def __init__(self, types: tuple[Type, ...], known: tuple[TypeVar, ...], what: str, whose: str) -> None:
        self.parts = [(i, path, part) for i, t in enumerate(types) for path, part in tensor_parts(t)]
        self.count = len(types)
        self.known = known
        self.what = what
        self.whose = whose

    def __call__(self, *values: Any) -> None:
        env = dict(zip(self.known, values[self.count :], strict=True))
        for i, path, part in self.parts:
            value = values[i]
            for index in path:
                value = value[index]
            if not shape_fits(part, value, env):
                self.fail(part, value, env)

    def fail(self, part: TensorType, value: Any, env: dict[TypeVar, Any]) -> None:
        """Say what was expected and what was found."""
        expected = spell_shape(part.shape)
        bound = ", ".join(
            f"`{v.name}` is {env[v]}" for v in dict.fromkeys(_shape_variables(part)) if v in env
        )
        of = f" of `{self.whose}`" if self.whose else ""
        fail(
            "shape-check",
            f"{self.what}{of} has the shape {spell_shape(value.shape)}, not {expected}",
            label=f"expected {expected}, found {spell_shape(value.shape)}" + (f" ({bound})" if bound else ""),
        )


def _shape_variables(part: TensorType) -> list[TypeVar]:
    dims = part.shape if isinstance(part.shape, tuple) else (part.shape,)
    return [v for d in dims for v in variables(d)]


def spell_shape(shape: Any) -> str:
    """A shape as the text format writes it."""
    if not is_tuple(shape):
        return str(shape)
    return "(" + ", ".join(map(str, shape)) + (",)" if len(shape) == 1 else ")")


def shape_fits(part: TensorType, value: Any, env: dict[TypeVar, Any]) -> bool:
    """Whether a tensor has the shape of a type; parameters not yet in `env` are bound on the way."""
    shape = () if isinstance(value, str) else value.shape
    if isinstance(part.shape, TypeVar):
        return env.setdefault(part.shape, shape) == shape
    if not isinstance(part.shape, tuple):
        return True
    if len(part.shape) != len(shape):
        return False
    for d, size in zip(part.shape, shape, strict=True):
        if isinstance(d, TypeVar):
            d = env.setdefault(d, size)
        elif isinstance(d, Type):
            known = substitute_type(d, env)
            if isinstance(known, DimExpr) and not solved(known, size, env):
                return False
            d = known
        if isinstance(d, int) and d != size:
            return False
    return True


def solved(d: DimExpr, size: int, env: dict[TypeVar, Any]) -> bool:
    """Whether a dimension can be a size; where it is `a * n + b`, `n` is bound to what makes it that."""
    if d.linear is None:
        return True
    n, factor, constant = d.linear
    found, rest = divmod(size - constant, factor)
    if isinstance(n, TypeVar) and rest == 0 and found >= 0:
        env[n] = found
    return rest == 0 and found >= 0


def no_match(e: Match) -> Callable[[Any], None]:
    """The failure where no clause of `e` matches (`match-failure`)."""

    def stop(value: Any) -> None:
        text = show(value)
        shown = text if len(text) <= 80 else text[:79] + "…"
        raise RelayError(
            Diagnostic(
                "match-failure",
                f"no clause matches {shown}",
                hint="add a clause for it, or `_ => …` for everything else",
            )
        )

    return stop
