"""The kinds of what stands in types, and the names that type parameters have here."""

from typing import Any

from relay.diagnostic import did_you_mean
from relay.ir.type import Kind, TensorType, TupleType, Type, TypeVar
from relay.text.parse_attrs import Attributes

KINDS = {kind.value: kind for kind in Kind} | {"ShapeVar": Kind.Dim}
KIND_WORDS = {
    Kind.Type: "a type",
    Kind.Shape: "a shape",
    Kind.Dim: "a dimension",
    Kind.BaseType: "a dtype",
    Kind.Constraint: "a relation",
    Kind.AdtHandle: "the name of a data type",
}
CLOSERS = {"[": "]", "<": ">", "(": ")"}


class Kinds(Attributes):
    """The rules of kinds."""

    def type_var(self, name: str) -> TypeVar | None:
        """The type parameter of that name."""
        found = self.env.get(f"'{name}")
        return self.implicit.get(name) if found is None and self.implicit is not None else found

    def of_kind(self, value: Any, is_: Kind, wanted: Kind | None, i: int) -> Any:
        """`value`, which is of kind `is_`, where one of kind `wanted` should stand."""
        if wanted is None or is_ is wanted:
            return value
        self.fault(
            "kind-mismatch",
            f"expected {KIND_WORDS[wanted]}, found {KIND_WORDS[is_]}",
            i,
            hint=self._kind_hint(is_, wanted, i),
        )

    def _kind_hint(self, is_: Kind, wanted: Kind, i: int) -> str:
        text = self.source_text(i)
        if wanted is Kind.Type and is_ is Kind.BaseType:
            return f"the scalar is Tensor[(), {text}]"
        if wanted is Kind.Type and is_ is Kind.Shape:
            return f"a tensor of that shape is Tensor[{text}, float32]"
        if wanted is Kind.Shape and is_ is Kind.Dim:
            return f"the shape of one axis is ({text},)"
        if is_ is Kind.Type and self.kinds[i] == "NAME" and self.type_var(text):
            return f"declare it as `{text}: {wanted.value}`"
        return ""

    def kind_(self) -> Kind:
        self.i += 1
        i = self.take("NAME", what="a kind")
        found = KINDS.get(self.texts[i])
        if found is None:
            self.fault(
                "unknown-kind",
                f"there is no kind `{self.texts[i]}`",
                i,
                hint=did_you_mean(self.texts[i], KINDS) or f"the kinds are {', '.join(KINDS)}",
            )
        return found

    def said_kind(self, value: Any) -> Any:
        """A type argument, perhaps with its kind where its form leaves that open: `int8: BaseType`."""
        if self.kinds[self.i] != ":":
            return value
        i, kind = self.i, self.kind_()
        if kind is Kind.BaseType and isinstance(value, TensorType) and value.shape == ():
            return value.dtype
        if kind is Kind.Shape and isinstance(value, TupleType) and not value.fields:
            return ()
        found = (
            Kind.Dim
            if isinstance(value, int)
            else Kind.Shape
            if isinstance(value, tuple)
            else value.kind
            if isinstance(value, Type)
            else Kind.BaseType
        )
        return self.of_kind(value, found, kind, i)
