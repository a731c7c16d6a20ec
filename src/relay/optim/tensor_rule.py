"""Rules that treat each tensor of the tree by itself: most optimisers."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from relay.diagnostic import fail
from relay.ir.expr import Expr, Tuple, TupleGetItem
from relay.ir.type import TensorType, TupleType, Type, scalar_type
from relay.op.numeric import apply, dims, scalar
from relay.optim.parameters import Number, check_numbers, is_zero, number
from relay.optim.rule import Rule
from relay.optim.schedule import STEPS, Schedule, next_step, rate_at
from relay.optim.tree import leaves, rebuilt, rebuilt_type

Rate = Number | Schedule
Mask = Callable[[TensorType], bool] | Sequence[Any] | bool
"""Which tensors weights decay in: a function of a tensor's type, or bools in the structure of the tree."""


def is_matrix(t: TensorType) -> bool:
    """Whether a tensor has two axes or more, as weights do that decay; biases and scales have one."""
    return len(dims(t)) > 1


@dataclass(frozen=True)
class Step:
    """What a rule knows of a tensor besides its values: its type, its rate, the number of this step (from 1),
    and by how much it decays.
    """

    type: TensorType
    rate: Expr
    number: Expr
    decay: Number

    def const(self, value: Number) -> Expr:
        """A number in the dtype of the tensor."""
        return number(value, self.type.dtype)

    def decayed(self, p: Expr) -> Expr:
        """A parameter that has shrunk by its decay."""
        return p if is_zero(self.decay) else p - self.rate * self.const(self.decay) * p


class TensorRule(Rule):
    """The state is the number of steps (int32) and, for each slot, a tree of what is remembered."""

    learning_rate: Rate
    weight_decay: Number
    mask: Mask
    limited: ClassVar[tuple[str, ...]] = ("learning_rate", "weight_decay")
    """The fields that are numbers with limits; the rate, which may be a schedule, is the first."""

    def __post_init__(self) -> None:
        """Report `optimizer-parameter` for a number outside of its limits."""
        names = self.limited[isinstance(self.learning_rate, Schedule) :]
        check_numbers(**{name: getattr(self, name) for name in names})

    def slots(self, t: TensorType) -> tuple[TensorType, ...]:
        """The types of what is remembered of a tensor; each tensor has the same number."""
        return ()

    def begin(self, p: Expr, t: TensorType) -> tuple[Expr, ...]:
        """What is remembered of a tensor in the beginning."""
        return tuple([apply("zeros_like", p) for _ in self.slots(t)])

    @abstractmethod
    def moved(self, at: Step, p: Expr, g: Expr, *slots: Expr) -> tuple[Expr, tuple[Expr, ...]]:
        """A tensor after a step down its gradient, and what is remembered of it."""

    def state_type(self, t: Type) -> Type:
        kinds = [self.slots(leaf) for leaf, _ in leaves(t)]
        return TupleType((scalar_type(STEPS), *[rebuilt_type(t, slot) for slot in zip(*kinds, strict=True)]))

    def initial(self, t: Type, params: Expr) -> Expr:
        found = [self.begin(p, leaf) for leaf, (p,) in leaves(t, params)]
        return Tuple((scalar(0, STEPS), *[rebuilt(t, slot) for slot in zip(*found, strict=True)]))

    def updated(self, t: Type, params: Expr, grads: Expr, state: Expr) -> tuple[Expr, Expr]:
        done = TupleGetItem(state, 0)
        count = next_step(done)
        trees = [TupleGetItem(state, 1 + i) for i in range(self._slot_count(t))]
        now: list[Expr] = []
        kept: list[tuple[Expr, ...]] = []
        for (leaf, (p, g, *slots)), decays in zip(
            leaves(t, params, grads, *trees), masked(self.mask, t), strict=True
        ):
            rate = rate_at(self.learning_rate, done, leaf.dtype)
            decay = self.weight_decay if decays else 0.0
            moved, found = self.moved(Step(leaf, rate, count, decay), p, g, *slots)
            now.append(moved)
            kept.append(found)
        return rebuilt(t, now), Tuple((count, *[rebuilt(t, slot) for slot in zip(*kept, strict=True)]))

    def _slot_count(self, t: Type) -> int:
        return max([len(self.slots(leaf)) for leaf, _ in leaves(t)], default=0)


def masked(mask: Mask, t: Type) -> list[bool]:
    """Whether a mask has each tensor of a tree (`optimizer-parameter` if it has another structure)."""
    if isinstance(mask, bool):
        return [mask for _ in leaves(t)]
    if callable(mask):
        return [bool(mask(leaf)) for leaf, _ in leaves(t)]
    found: list[bool] = []
    stack: list[tuple[Any, Type]] = [(mask, t)]
    while stack:
        part, u = stack.pop()
        if isinstance(u, TupleType) and isinstance(part, tuple | list):
            parts = cast("Sequence[Any]", part)
            if len(parts) == len(u.fields):
                stack += reversed(list(zip(parts, u.fields, strict=True)))
                continue
        if isinstance(u, TupleType) or not isinstance(part, bool):
            fail(
                "optimizer-parameter",
                f"the mask has {part!r} where the parameters have {u}",
                hint="a mask has bools in the structure of the tree, or is a function of a tensor's type",
            )
        found.append(part)
    return found
