"""The types of `grad(f)`, `vjp(f)` and `jvp(f)`."""

from typing import TYPE_CHECKING, Any

from relay.ir.expr import Grad, GradKind
from relay.ir.type import FuncType, RefType, TupleType, Type, TypeRelation, TypeVar
from relay.typecheck.goals import DeferredGoal, Goal, Silenced, Stuck, Wait
from relay.typecheck.messages import Fault, show
from relay.typecheck.schemes import constrained
from relay.typecheck.unknown import ERROR, Unknown, head

if TYPE_CHECKING:
    from relay.typecheck.solver import Solver


def grad_type(kind: GradKind, f: FuncType) -> FuncType:
    """The type of a derivative of a function of type `f`; polymorphic where that is."""
    params, result = TupleType(f.arg_types), f.ret_type
    match kind:
        case "grad":
            types, out = f.arg_types, TupleType((result, params))
        case "vjp":
            types, out = f.arg_types, TupleType((result, FuncType((result,), params)))
        case "jvp":
            types, out = (params, params), TupleType((result, result))
    needs = [TypeRelation(c.name, constrained(c, f), c.attrs) for c in f.type_constraints]
    return FuncType(types, out, f.type_params, needs)


class GradGoal(Goal):
    """The derivative of a function whose type may not be known yet."""

    __slots__ = ("kind",)

    def __init__(self, e: Grad, f: Any, out: Any) -> None:
        super().__init__("", (f, out), (), e)
        self.kind: GradKind = e.kind

    def run(self, t: "Solver") -> None:
        f, out = head(self.types[0]), head(self.types[1])
        if f is ERROR:
            raise Silenced
        if type(f) is Unknown:
            f = self._from_result(t, f, out)
        if type(f) is TypeVar:
            raise Fault(
                "unknown-grad-target",
                f"`{self.kind}` needs a function, found the type parameter `{f.name}`",
                hint="declare the parameter as a function: `%f: fn(…) -> …`",
            )
        if type(f) is not FuncType:
            raise Fault("unknown-grad-target", f"`{self.kind}` needs a function, found {show(f)}")
        self.check_params(t, f)
        t.unify(grad_type(self.kind, f), out)

    def check_params(self, t: "Solver", f: FuncType) -> None:
        """Demand that there is a derivative by each parameter of a function."""
        for i, p in enumerate(f.arg_types):
            self._check_param(t, p, i)

    def _from_result(self, t: "Solver", f: Unknown, out: Any) -> Any:
        """A derivative that is called says how many parameters the function has."""
        if type(out) is Unknown:
            raise Wait(f, out)
        if type(out) is not FuncType:
            raise Stuck
        count = len(out.arg_types)
        if self.kind == "jvp":
            count = len(t.fields(out.arg_types[0]))
        params = [t.fresh() for _ in range(count)] if self.kind == "jvp" else list(out.arg_types)
        made = FuncType(params, t.fresh())
        t.unify(f, made)
        return made

    def _check_param(self, t: "Solver", p: Type, index: int) -> None:
        """A parameter that holds a function or a reference has no derivative."""
        stack: list[Any] = [p]
        while stack:
            u = head(stack.pop())
            if isinstance(u, FuncType | RefType):
                what = "a function" if isinstance(u, FuncType) else "a reference"
                raise Fault(
                    "grad-parameter",
                    f"`{self.kind}` of a function whose parameter {index + 1} is {show(p)}: "
                    f"it cannot be differentiated with respect to {what}",
                    hint=f"close over it instead: `{self.kind}(fn(%x) {{ %f(%x) }})`",
                )
            if isinstance(u, TupleType):
                stack += u.fields
            elif type(u) is Unknown:
                goal = DeferredGoal(lambda s, p=p: self._check_param(s, p, index), (u,), self.call)
                goal.level = t.level
                u.waiting = [*(u.waiting or ()), goal]

    @property
    def what(self) -> str:
        return self.kind

    @property
    def unsolved(self) -> Fault:
        return Fault(
            "unknown-grad-target",
            f"`{self.kind}` needs a function whose type is known here",
            hint="call the derivative here, or declare the parameter: `%f: fn(…) -> …`",
        )
