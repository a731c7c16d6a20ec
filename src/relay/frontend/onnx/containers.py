"""Sequences and options: known ones by their elements, others as data types of the prelude."""

from collections.abc import Sequence
from typing import Any

from relay.frontend.support import without_sizes
from relay.frontend.value import Value, open_call, union
from relay.ir.expr import Call, Clause, Constructor, Expr, Let, Match, Tuple, Var
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor, PatternVar
from relay.ir.type import ANY, GlobalTypeVar, TensorType, TupleType, Type, TypeCall


def list_of(element: Type) -> TypeCall:
    """The type of lists."""
    return TypeCall(GlobalTypeVar("List"), [element])


class Items(Value):
    """A sequence whose elements are known one by one."""

    __slots__ = ("dtype_hint", "items", "mod")

    def __init__(self, mod: IRModule, items: Sequence[Value], dtype_hint: str = "float32") -> None:
        """`dtype_hint` is the dtype of the elements, should there be none."""
        mod.import_from_std("list")
        self.mod = mod
        self.items = list(items)
        self.dtype_hint = dtype_hint
        super().__init__(None, self.list_type(), sources=union(items))

    def list_type(self) -> Type:
        """The type of the list; elements of several ranks or dtypes are a tuple."""
        types = [without_sizes(v.type) for v in self.items] or [TensorType((ANY,), self.dtype_hint)]
        if any(t != types[0] for t in types):
            return TupleType([v.type for v in self.items])
        return list_of(types[0])

    @property
    def expr(self) -> Expr:
        """The list, as a data type: its elements have sizes of their own, so that their type is `?`."""
        if isinstance(self.type, TupleType):
            return Tuple(tuple([v.expr for v in self.items]))
        assert isinstance(self.type, TypeCall)
        element: Any = self.type.args[0]
        found: Expr = Call(self.mod.get_constructor("List", "Nil"), (), type_args=(element,))
        for v in reversed(self.items):
            loose = Var("item", element, span=None)
            found = Call(self.mod.get_constructor("List", "Cons"), (Let(loose, v.expr, loose), found))
        return found

    def named(self, var: Expr) -> Value:
        """Itself: its elements have names."""
        return self


class Nothing(Value):
    """An option that is known to hold nothing."""

    __slots__ = ("mod",)

    def __init__(self, mod: IRModule, t: Type) -> None:
        """`t` is the type of the option."""
        mod.import_from_std("option")
        self.mod = mod
        super().__init__(None, t)

    @property
    def expr(self) -> Expr:
        """`None`."""
        assert isinstance(self.type, TypeCall)
        return Call(self.mod.get_constructor("Option", "None"), (), type_args=self.type.args)

    def named(self, var: Expr) -> Value:
        """Itself."""
        return self


def is_option(x: Value) -> bool:
    """Whether a value is an option of which it is not known whether it holds something."""
    return isinstance(x.type, TypeCall) and x.type.func == GlobalTypeVar("Option")


def matched(
    mod: IRModule, x: Value, clauses: Sequence[tuple[Constructor, Any]], *, complete: bool = True
) -> Value:
    """A match; each clause is a constructor and a function of variables for its fields."""
    made: list[Clause] = []
    for constructor, body in clauses:
        count = len(constructor.inputs)
        names = [Var(f"field{i}") for i in range(count)]
        pattern = PatternConstructor(constructor, [PatternVar(v) for v in names])
        made.append(Clause(pattern, body(*names)))
    probe = Match(x.stand_in, tuple(made), complete=complete)
    return open_call(probe, [x], mod)
