"""What an optimiser is: how its state begins, and how parameters and state follow from gradients."""

from abc import ABC, abstractmethod

from relay.diagnostic import fail
from relay.ir.dtype import is_float
from relay.ir.expr import Call, Expr, Function, Grad, Let, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.subst import substitute_type
from relay.ir.type import DType, FuncType, TensorType, Type, TypeVar
from relay.op.numeric import apply
from relay.optim.tree import check_tree


class Rule(ABC):
    """An optimiser.  `init` and `update` are Relay functions over a tree of parameters of type `t`."""

    @abstractmethod
    def state_type(self, t: Type) -> Type:
        """The type of the state."""

    @abstractmethod
    def initial(self, t: Type, params: Expr) -> Expr:
        """The state to begin with."""

    @abstractmethod
    def updated(self, t: Type, params: Expr, grads: Expr, state: Expr) -> tuple[Expr, Expr]:
        """The next parameters and the next state."""

    def gradient_scale(self, state: Expr) -> Expr | None:
        """What the loss is to be multiplied with before it is differentiated; None for nothing."""
        return None

    def init(self, t: Type) -> Function:
        """`fn(params) -> state`.  Raises `optimizer-parameter` if `t` is not a tree of floating-point
        tensors.
        """
        check_tree(t)
        params = Var("params", t)
        return Function((params,), self.initial(t, params), self.state_type(t))

    def update(self, t: Type) -> Function:
        """`fn(params, grads, state) -> (params, state)`.  Raises `optimizer-parameter`."""
        check_tree(t)
        params, grads, state = Var("params", t), Var("grads", t), Var("state", self.state_type(t))
        return Function((params, grads, state), Tuple(self.updated(t, params, grads, state)))


def train_step(loss: Expr, rule: Rule, mod: IRModule | None = None) -> Function:
    """`fn(params, state, *batch) -> (loss, params, state)`: one step down the gradient of `loss`.

    `loss` is a function `fn(params, *batch) -> value`, an expression over the definitions of `mod`; its first
    parameter is the tree that is optimised.  Raises `optimizer-parameter`.
    """
    t = (IRModule() if mod is None else mod).type_of(loss)
    if not isinstance(t, FuncType) or not t.arg_types:
        fail("optimizer-parameter", f"a loss is a function of the parameters, not {t}", span=loss.span)
    t = _renamed(t)
    tree, *rest = t.arg_types
    check_tree(tree)
    names = [p.name_hint for p in loss.params[1:]] if isinstance(loss, Function) else ["batch"] * len(rest)
    params, state = Var("params", tree), Var("state", rule.state_type(tree))
    batch = tuple([Var(name, a) for name, a in zip(names, rest, strict=True)])
    varied = Var("params", tree)
    of_params = Function((varied,), Call(loss, (varied, *batch)), t.ret_type)
    scale, both = rule.gradient_scale(state), Var("both")
    grads = TupleGetItem(both, 1)
    if scale is not None:
        grads = Call(grads, (apply("cast", scale, dtype=_dtype_of_scalar(t.ret_type)),))
    now, then = rule.updated(tree, params, TupleGetItem(grads, 0), state)
    pair = Call(Grad("grad" if scale is None else "vjp", of_params), (params,))
    body = Let(both, pair, Tuple((TupleGetItem(both, 0), now, then)))
    return Function((params, state, *batch), body, None, t.type_params, constraints=t.type_constraints)


def _dtype_of_scalar(t: Type) -> DType:
    """The dtype of a loss that is a floating-point scalar (`optimizer-parameter`)."""
    if not isinstance(t, TensorType) or t.shape != () or (isinstance(t.dtype, str) and not is_float(t.dtype)):
        fail("optimizer-parameter", f"a loss that is scaled is a floating-point scalar, not {t}")
    return t.dtype


def _renamed(t: FuncType) -> FuncType:
    """A function type with type parameters of its own, for a function around the one that has it."""
    own = tuple([TypeVar(p.name, p.kind) for p in t.type_params])
    inner = substitute_type(FuncType(t.arg_types, t.ret_type), dict(zip(t.type_params, own, strict=True)))
    constraints = [substitute_type(c, dict(zip(t.type_params, own, strict=True))) for c in t.type_constraints]
    return FuncType(inner.arg_types, inner.ret_type, own, constraints)
