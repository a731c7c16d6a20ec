"""Types in text: every form, with the kind of each part checked where it stands."""

from collections.abc import Sequence
from typing import Any

from relay.diagnostic import did_you_mean
from relay.ir import dim
from relay.ir.dtype import ALIASES, BASE_TYPES, canonical
from relay.ir.type import (
    ANY,
    Dim,
    DType,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    Shape,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)
from relay.op.base import alias_of, registry
from relay.op.relation import relations
from relay.text.cursor import Rule, run
from relay.text.parse_attrs import Attributes

KINDS = {kind.value: kind for kind in Kind} | {"ShapeVar": Kind.Dim}
BUILT_IN_RELATIONS = frozenset({"Number", "Floating"})
BUILT_IN_TYPES = ("Tensor", "Tuple", "Ref")
LARGEST_DIM = 2**63 - 1
_CLOSERS = {"[": "]", "<": ">", "(": ")"}
_DIM_CALLS = ("min", "max", "broadcast")
_ADDITIVE, _MULTIPLICATIVE = 1, 2
_DIM_OPS = {"+": _ADDITIVE, "-": _ADDITIVE, "*": _MULTIPLICATIVE, "/": _MULTIPLICATIVE}
_KIND_WORDS = {
    Kind.Type: "a type",
    Kind.Shape: "a shape",
    Kind.Dim: "a dimension",
    Kind.BaseType: "a base type",
    Kind.Constraint: "a relation",
    Kind.AdtHandle: "the name of a data type",
}


class Types(Attributes):
    """The rules of types."""

    def type_(self, kind: Kind | None = Kind.Type) -> Any:
        """The type here, of that kind (None: of whatever kind its form says)."""
        if kind is Kind.Type and self.kinds[self.i] == "NAME":
            quick = self._static_tensor()
            if quick is not None:
                return quick
        return run(self.rule_type(kind))

    def _static_tensor(self) -> Type | None:
        """`float32` or `Tensor[(10, 10), float32]`, which most types are; else None and no move."""
        kinds, texts, i = self.kinds, self.texts, self.i
        if texts[i] != "Tensor":
            base = canonical(texts[i])
            if base is None or self.type_var(texts[i]) is not None:
                return None
            self.i = i + 1
            return TensorType((), base)
        if kinds[i + 1] != "[" or kinds[i + 2] != "(":
            return None
        i += 3
        dims: list[int] = []
        while kinds[i] == "NUMBER" and texts[i].isdigit() and len(texts[i]) < 19:
            dims.append(int(texts[i]))
            i += 1
            if kinds[i] != ",":
                break
            i += 1
        if kinds[i] != ")" or kinds[i + 1] != "," or kinds[i + 2] != "NAME" or kinds[i + 3] != "]":
            return None
        base = canonical(texts[i + 2])
        if base is None or self.type_var(texts[i + 2]) is not None:
            return None
        self.i = i + 4
        return TensorType(tuple(dims), base)

    def type_var(self, name: str) -> TypeVar | None:
        """The type parameter of that name."""
        found = self.env.get(f"'{name}")
        return self.implicit.get(name) if found is None and self.implicit is not None else found

    # --- kinds ----------------------------------------------------------------------------------------------

    def of_kind(self, value: Any, is_: Kind, wanted: Kind | None, i: int) -> Any:
        """`value`, which is of kind `is_`, where one of kind `wanted` should stand."""
        if wanted is None or is_ is wanted:
            return value
        self.fault(
            "kind-mismatch",
            f"expected {_KIND_WORDS[wanted]}, found {_KIND_WORDS[is_]}",
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

    def rule_type(self, kind: Kind | None) -> Rule:
        """The type here."""
        i, k = self.i, self.kinds[self.i]
        if k == "(":
            return (yield self._parenthesised(kind))
        if kind is Kind.Dim or k in ("NUMBER", "?", "-"):
            return self.of_kind((yield self.rule_dim()), Kind.Dim, kind, i)
        if k in ("fn", "fun"):
            return self.of_kind((yield self._function_type()), Kind.Type, kind, i)
        if k == "GLOBAL":
            return (yield self._data_type(kind))
        if k != "NAME":
            self.expected(_KIND_WORDS[kind or Kind.Type])
        name = self.texts[i]
        var = self.type_var(name)
        if var is not None:
            return (yield self._variable(var, kind))
        if name == "_":
            self.i = i + 1
            return IncompleteType(kind or Kind.Type)
        if kind is None and name in _DIM_CALLS and self.kinds[i + 1] == "(":
            return (yield self.rule_dim())
        if name == "Tensor" and self.kinds[i + 1] in ("[", "<"):
            return self.of_kind((yield self._tensor()), Kind.Type, kind, i)
        if name == "Tuple" and self.kinds[i + 1] in ("[", "<"):
            self.i = i + 1
            return self.of_kind(TupleType((yield self._arguments(()))), Kind.Type, kind, i)
        if name in ("Ref", "ref") and self.kinds[i + 1] in _CLOSERS:
            self.i = i + 1
            (value,) = yield self._arguments((Kind.Type,), name)
            return self.of_kind(RefType(value), Kind.Type, kind, i)
        if name == "meta" and self.kinds[i + 1] == "[":
            return self._metadata_type()
        base = canonical(name)
        if base is None or name in self.data_kinds:
            return (yield self._data_type(kind))
        self.i = i + 1
        if kind is Kind.BaseType:
            return base
        return self.of_kind(
            TensorType((), base),
            Kind.Type if kind is None else Kind.BaseType if kind is not Kind.Type else Kind.Type,
            kind,
            i,
        )

    def _metadata_type(self) -> Type:
        i = self.i
        self.i += 1
        found = self.metadata_object(i)
        if not isinstance(found, Type):
            self.fault("kind-mismatch", f"expected a type, found metadata of {type(found).__name__}", i)
        return found

    def _variable(self, var: TypeVar, kind: Kind | None) -> Rule:
        """A type parameter, applied if it stands for the name of a data type."""
        i = self.i
        if var.kind is Kind.Dim and (kind is None or kind is Kind.Dim):
            return (yield self.rule_dim())
        self.i = i + 1
        if var.kind is Kind.AdtHandle and self.kinds[i + 1] in ("[", "<"):
            return self.of_kind(TypeCall(var, (yield self._arguments(()))), Kind.Type, kind, i)
        return self.of_kind(var, var.kind, kind, i)

    def _data_type(self, kind: Kind | None) -> Rule:
        """The name of a data type, applied to its arguments."""
        i = self.i
        name = self.texts[i].removeprefix("@")
        kinds = self.data_kinds.get(name)
        if kinds is None:
            self._unknown_type(i, kind)
        self.i = i + 1
        header = GlobalTypeVar(name)
        if self.kinds[self.i] in ("[", "<"):
            args = yield self._arguments(kinds, name)
        elif kind is Kind.AdtHandle:
            return header
        elif kinds:
            self._arity(name, kinds, i, i)
        else:
            args = ()
        return self.of_kind(TypeCall(header, args), Kind.Type, kind, i)

    def _unknown_type(self, i: int, kind: Kind | None) -> None:
        name = self.source_text(i)
        wanted = _KIND_WORDS[kind or Kind.Type]
        known = [
            *self.data_kinds,
            *BASE_TYPES,
            *ALIASES,
            *BUILT_IN_TYPES,
            *[k[1:] for k, v in self.env.items() if k[0] == "'" and v is not None],
        ]
        hint = did_you_mean(name, known) if len(known) < 2000 else ""
        hint = (
            hint
            or f"declare it: a type parameter is fn<{name}: {(kind or Kind.Type).value}>(…), a data type "
            f"is `type {name} {{ … }}`"
        )
        if name in BUILT_IN_TYPES:
            hint = {
                "Tensor": "a tensor type is Tensor[(2, 3), float32]",
                "Tuple": "a tuple type is (A, B)",
                "Ref": "the type of a reference is ref(T)",
            }[name]
        self.fault(
            "unknown-type",
            f"there is no type `{name}`" if kind in (None, Kind.Type) else f"`{name}` is not {wanted}",
            i,
            hint=hint,
        )

    def _arity(self, name: str, kinds: Sequence[Kind], first: int, last: int, found: int = 0) -> None:
        n = len(kinds)
        form = ", ".join([kind.value for kind in kinds])
        self.fault(
            "type-arity",
            f"`{name}` takes {n} type argument{'s' * (n != 1)}, {found} given",
            first,
            to=last,
            hint=f"write {name}[{form}]" if n else f"write {name}",
        )

    def _arguments(self, kinds: Sequence[Kind], name: str | None = None) -> Rule:
        """`[A, B]`, `<A, B>` or `(A)`; with a name, exactly as many as `kinds`, else as many types as there are."""
        opener = self.i
        closer = _CLOSERS[self.kinds[opener]]
        self.i += 1
        args: list[Any] = []
        while self.kinds[self.i] != closer:
            kind = Kind.Type if name is None else kinds[len(args)] if len(args) < len(kinds) else None
            args.append((yield self.rule_type(kind)))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        end = self.take_angle(opener) if closer == ">" else self.take(closer, opener=opener)
        if name is not None and len(args) != len(kinds):
            self._arity(name, kinds, opener - 1, end, len(args))
        return tuple(args)

    # --- tuples, functions, tensors -------------------------------------------------------------------------

    def _parenthesised(self, kind: Kind | None) -> Rule:
        """`()`, `(A)`, `(A, B)`: a tuple type, a type, or a shape."""
        opener = self.i
        if kind is Kind.Shape:
            return (yield self._shape())
        if kind is Kind.Dim:
            return (yield self.rule_dim())
        inner = Kind.Type if kind is Kind.Type else None
        self.i += 1
        fields: list[Any] = []
        has_comma = False
        while self.kinds[self.i] != ")":
            fields.append((yield self.rule_type(inner)))
            if self.kinds[self.i] != ",":
                break
            has_comma = True
            self.i += 1
        self.take(")", opener=opener)
        if inner is None and fields and all(_is_dim(f) for f in fields):
            if has_comma:
                return tuple(fields)
            return (yield self.rule_dim(fields[0]))
        if len(fields) == 1 and not has_comma and not self.strict:
            return fields[0]
        for f in fields:
            if not isinstance(f, Type) or f.kind is not Kind.Type:
                self.fault("kind-mismatch", "a tuple type and a shape do not mix", opener, to=self.i - 1)
        return self.of_kind(TupleType(fields), Kind.Type, kind, opener)

    def _function_type(self) -> Rule:
        """`fn<a: Type>(A, B) -> C where R`."""
        mark = len(self.log)
        self.i += 1
        params = self.type_params()
        opener = self.take("(")
        args: list[Type] = []
        while self.kinds[self.i] != ")":
            args.append((yield self.rule_type(Kind.Type)))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        self.take(")", opener=opener)
        self.take("->")
        result = yield self.rule_type(Kind.Type)
        constraints = self.constraints(is_nested=True)
        self.leave(mark)
        return FuncType(args, result, params, constraints)

    def _tensor(self) -> Rule:
        """`Tensor[shape, dtype]` or `Tensor<dtype, shape>`: by form, then by kind, then by position."""
        first = self.i
        opener = first + 1
        angle = self.kinds[opener] == "<"
        closer = _CLOSERS[self.kinds[opener]]
        self.i = opener + 1
        shape: Shape | None = None
        dims: list[Dim] = []
        base: DType | None = None
        position = 0
        while self.kinds[self.i] != closer:
            i = self.i
            kind = self._tensor_part(i, position, angle)
            if (kind is Kind.Shape and (shape is not None or dims)) or (
                kind is Kind.Dim and shape is not None
            ):
                self.fault("kind-mismatch", "a tensor has one shape", i)
            if kind is Kind.BaseType and base is not None:
                self.fault("kind-mismatch", "a tensor has one base type", i)
            value = yield self.rule_type(kind)
            if kind is Kind.Shape:
                shape = value
            elif kind is Kind.Dim:
                dims.append(value)
            else:
                base = value
            position += 1
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        end = self.take_angle(opener) if angle else self.take(closer, opener=opener)
        if (shape is None and not dims) or base is None:
            missing = "base type" if base is None else "shape"
            self.fault(
                "type-arity",
                f"the tensor type has no {missing}",
                first,
                to=max(end, first + 1),
                hint="a tensor type is Tensor[(2, 3), float32]; a scalar is Tensor[(), float32] or float32",
            )
        return TensorType(tuple(dims) if shape is None else shape, base)

    def _tensor_part(self, i: int, position: int, angle: bool) -> Kind:
        """Which part of a tensor type begins at token `i`."""
        kind, name = self.kinds[i], self.texts[i]
        if kind == "(":
            return Kind.Shape
        if kind != "NAME":
            return Kind.Dim
        var = self.type_var(name)
        if var is not None:
            if var.kind not in (Kind.Shape, Kind.Dim, Kind.BaseType):
                self.fault(
                    "kind-mismatch",
                    f"expected a shape or a base type, found {_KIND_WORDS[var.kind]}",
                    i,
                    hint=f"declare it as `{name}: Shape` or `{name}: BaseType`",
                )
            return var.kind
        if canonical(name) is not None:
            return Kind.BaseType
        if name in _DIM_CALLS and self.kinds[i + 1] == "(":
            return Kind.Dim
        if (position == 0) is angle:
            return Kind.BaseType
        return Kind.Dim if angle and self.implicit is not None and name != "_" else Kind.Shape

    def _shape(self) -> Rule:
        """`(n, 3)`; a single dimension needs no comma."""
        opener = self.i
        self.i += 1
        dims: list[Dim] = []
        while self.kinds[self.i] != ")":
            dims.append((yield self.rule_dim()))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        self.take(")", opener=opener)
        return tuple(dims)

    # --- dimensions -----------------------------------------------------------------------------------------

    def rule_dim(self, begun: Dim | None = None) -> Rule:
        """An arithmetic expression over dimensions; `begun` is its first operand if that is parsed already."""
        first = self.i
        operands: list[Dim] = []
        waiting: list[str] = []
        while True:
            if begun is not None:
                operands.append(begun)
                begun = None
            elif self.kinds[self.i] == "-":
                operands.append(0)
                waiting.append("-")
                self.i += 1
                continue
            else:
                operands.append((yield self._dim_atom()))
            op = self.kinds[self.i]
            strength = _DIM_OPS.get(op, 0)
            while waiting and _DIM_OPS[waiting[-1]] >= strength:
                b, a = operands.pop(), operands.pop()
                operands.append(self._dim_apply(waiting.pop(), a, b))
            if not strength:
                break
            waiting.append(op)
            self.i += 1
        (result,) = operands
        if isinstance(result, int) and not 0 <= result <= LARGEST_DIM:
            self.fault(
                "dimension-out-of-range",
                f"a dimension is from 0 to {LARGEST_DIM}",
                first,
                to=self.i - 1,
                hint="write `?` for a size that is not known",
            )
        return result

    def _dim_apply(self, op: str, a: Dim, b: Dim) -> Dim:
        if op == "/" and b == 0:
            self.fault("dimension-out-of-range", "a dimension is divided by zero", self.i - 1)
        return dim.arithmetic(op, a, b)

    def _dim_atom(self) -> Rule:
        i, kind = self.i, self.kinds[self.i]
        self.i = i + 1
        if kind == "NUMBER":
            text = self.texts[i]
            if not text.isdigit():
                self.fault(
                    "kind-mismatch",
                    f"`{self.source_text(i)}` is not a dimension",
                    i,
                    hint="a dimension is an integer",
                )
            if len(text) > 30:
                self.fault("dimension-out-of-range", f"a dimension is from 0 to {LARGEST_DIM}", i)
            return int(text)
        if kind == "?":
            return ANY
        if kind == "(":
            value = yield self.rule_dim()
            self.take(")", opener=i)
            return value
        if kind == "NAME":
            return (yield self._dim_name(i))
        self.i = i
        self.expected("a dimension", hint="dimensions are integers, names, `?` and arithmetic on them")

    def _dim_name(self, i: int) -> Rule:
        name = self.texts[i]
        var = self.type_var(name)
        if var is not None:
            return self.of_kind(var, var.kind, Kind.Dim, i)
        if name == "_":
            return IncompleteType(Kind.Dim)
        if name in _DIM_CALLS and self.kinds[i + 1] == "(":
            self.i = i + 2
            value = yield self.rule_dim()
            while self.kinds[self.i] == ",":
                self.i += 1
                value = dim.arithmetic(name, value, (yield self.rule_dim()))
            self.take(")", opener=i + 1)
            return value
        if canonical(name) is not None or name in self.data_kinds or "." in name:
            self.fault(
                "kind-mismatch",
                f"`{name}` is not a dimension",
                i,
                hint="in Tensor[…] the shape comes first: Tensor[(2, 3), float32]",
            )
        if self.implicit is None:
            self.fault(
                "unknown-dimension",
                f"the dimension `{name}` is not bound",
                i,
                hint=(
                    "a dimension that occurs only in the result is unknown to the caller: write `?`"
                    if self.in_result
                    else f"declare it: fn<{name}: Dim>(…), or write `?`"
                ),
            )
        var = self.implicit[name] = TypeVar(name, Kind.Dim)
        return var

    # --- type parameters and relations ----------------------------------------------------------------------

    def type_params(self) -> list[TypeVar]:
        """`<t: Type, n: Dim>` or `[A, B]`, if it stands here; they are bound from here on."""
        opener = self.i
        params: list[TypeVar] = []
        if self.kinds[opener] not in ("<", "["):
            return params
        closer = _CLOSERS[self.kinds[opener]]
        self.i += 1
        while self.kinds[self.i] != closer:
            i = self.take("NAME", what="the name of a type parameter")
            kind = self._kind() if self.kinds[self.i] == ":" else Kind.Type
            if any(p.name_hint == self.texts[i] for p in params):
                self.mistake("duplicate-name", f"the type parameter `{self.texts[i]}` is declared twice", i)
            params.append(TypeVar(self.texts[i], kind))
            self.bind(f"'{self.texts[i]}", params[-1])
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        if closer == ">":
            self.take_angle(opener)
        else:
            self.take(closer, opener=opener)
        return params

    def _kind(self) -> Kind:
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
        """A type argument behind which its kind may stand, where its form alone leaves that open: `int8: BaseType`."""
        if self.kinds[self.i] != ":":
            return value
        i, kind = self.i, self._kind()
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

    def constraints(self, *, is_nested: bool = False) -> list[TypeRelation]:
        """`where R1, R2(a, b, key=attr)`, if it stands here."""
        found: list[TypeRelation] = []
        if not self.is_word(self.i, "where"):
            return found
        while True:
            self.i += 1
            found.append(self._relation())
            if self.kinds[self.i] != "," or (is_nested and not self._at_relation(self.i + 1)):
                return found

    def _at_relation(self, i: int) -> bool:
        """Whether token `i` names a relation and no type: what a comma in a list of types leaves open."""
        name = self.texts[i]
        return (
            self.kinds[i] == "NAME"
            and self._is_relation(name)
            and name not in self.data_kinds
            and self.type_var(name) is None
        )

    def _is_relation(self, name: str) -> bool:
        return name in relations or name in registry or name in alias_of or name in BUILT_IN_RELATIONS

    def _relation(self) -> TypeRelation:
        i = self.take("NAME", what="the name of a relation")
        name = self.texts[i]
        if not self._is_relation(name):
            known = [*relations, *registry, *alias_of, *BUILT_IN_RELATIONS]
            self.mistake(
                "unknown-relation",
                f"there is no relation `{name}`",
                i,
                hint=did_you_mean(name, known)
                or f"relations are {', '.join(sorted(relations))} and the names of operators",
            )
        if self.kinds[self.i] not in ("(", "<"):
            return TypeRelation(name)
        opener = self.i
        closer = _CLOSERS[self.kinds[opener]]
        self.i += 1
        args: list[Any] = []
        attrs: dict[str, Any] = {}
        while self.kinds[self.i] != closer:
            if self.at_attribute(self.i):
                self.attribute(attrs)
            else:
                args.append(self.said_kind(self.type_(None)))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        if closer == ">":
            self.take_angle(opener)
        else:
            self.take(closer, opener=opener)
        try:
            return TypeRelation(name, args or None, attrs)
        except TypeError:
            self.fault("attribute-value", "an attribute of a relation is a number, a text or a tuple", opener)


def _is_dim(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, Type) and value.kind is Kind.Dim)
