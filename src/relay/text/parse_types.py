"""Types in text: every form, with the kind of each part checked where it stands."""

from collections.abc import Sequence
from typing import Any, NoReturn

from relay.diagnostic import did_you_mean
from relay.ir.dtype import ALIASES, DTYPES, canonical, known_name
from relay.ir.type import (
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
    TypeVar,
)
from relay.ir.walk import run
from relay.text.cursor import Rule
from relay.text.names import DIM_CALLS
from relay.text.other_languages import TYPES
from relay.text.parse_kinds import CLOSERS, KIND_WORDS
from relay.text.parse_relations import Relations

BUILT_IN_TYPES = ("Tensor", "Tuple", "Ref")


class Types(Relations):
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
            base = self.dtype_named(texts[i])
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
        base = self.dtype_named(texts[i + 2])
        if base is None or self.type_var(texts[i + 2]) is not None:
            return None
        self.i = i + 4
        return TensorType(tuple(dims), base)

    def dtype_named(self, name: str) -> str | None:
        """The dtype of that name; in the strict dialect `float` and its kin have their usual widths."""
        return known_name(name) if self.strict else canonical(name)

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
            self.expected(KIND_WORDS[kind or Kind.Type])
        name = self.texts[i]
        var = self.type_var(name)
        if var is not None:
            return (yield self._variable(var, kind))
        if name == "_":
            self.i = i + 1
            return IncompleteType(kind or Kind.Type)
        if kind is None and name in DIM_CALLS and self.kinds[i + 1] == "(":
            return (yield self.rule_dim())
        if name == "Tensor" and self.kinds[i + 1] in ("[", "<"):
            return self.of_kind((yield self._tensor()), Kind.Type, kind, i)
        if name == "Tuple" and self.kinds[i + 1] in ("[", "<"):
            self.i = i + 1
            return self.of_kind(TupleType((yield self._arguments(()))), Kind.Type, kind, i)
        if name in ("Ref", "ref") and self.kinds[i + 1] in CLOSERS:
            self.i = i + 1
            (value,) = yield self._arguments((Kind.Type,), name)
            return self.of_kind(RefType(value), Kind.Type, kind, i)
        if name == "meta" and self.kinds[i + 1] == "[":
            return self._metadata_type(kind)
        base = self.dtype_named(name)
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

    def _metadata_type(self, kind: Kind | None) -> Any:
        i = self.i
        self.i += 1
        found = self.metadata_object(i)
        if found is None:
            return IncompleteType(kind or Kind.Type)
        if not isinstance(found, Type):
            self.fault("kind-mismatch", f"expected a type, found metadata of {type(found).__name__}", i)
        return self.of_kind(found, found.kind, kind, i)

    def _variable(self, var: TypeVar, kind: Kind | None) -> Rule:
        """A type parameter, applied if it stands for the name of a data type."""
        i = self.i
        if var.kind is Kind.Dim and (kind is None or kind is Kind.Dim):
            return (yield self.rule_dim())
        self.i = i + 1
        if var.kind is Kind.AdtHandle and self.kinds[i + 1] in ("[", "<"):
            return self.of_kind(TypeCall(var, (yield self._arguments(None))), Kind.Type, kind, i)
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
        if self.kinds[self.i] in ("[", "<") and (kinds or not self.on_new_line(self.i)):
            args = yield self._arguments(kinds, name)
        elif kind is Kind.AdtHandle and not self.is_alias(name):
            return header
        elif kinds:
            self._arity(name, kinds, i, i)
        else:
            args = ()
        if self.is_alias(name):
            alias = self.mod.aliases.get(header)  # there is none where the alias itself is wrong
            found: Type = IncompleteType(Kind.Type) if alias is None else alias(args)
            return self.of_kind(found, Kind.Type, kind, i)
        return self.of_kind(TypeCall(header, args), Kind.Type, kind, i)

    def is_alias(self, name: str) -> bool:
        """Whether a name of a type is that of an alias."""
        return name in self.aliases_here or (
            name not in self.types_here and GlobalTypeVar(name) in self.mod.aliases
        )

    def _unknown_type(self, i: int, kind: Kind | None) -> NoReturn:
        name = self.source_text(i)
        wanted = KIND_WORDS[kind or Kind.Type]
        known = [
            *self.data_kinds,
            *DTYPES,
            *ALIASES,
            *BUILT_IN_TYPES,
            *[k[1:] for k, v in self.env.items() if k[0] == "'" and v is not None],
        ]
        hint = did_you_mean(name, known) if len(known) < 2000 else ""
        hint = (
            self.home_hint(name, i)
            or (f"did you mean `{TYPES[name]}`?" if name in TYPES else hint)
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

    def _arity(self, name: str, kinds: Sequence[Kind], first: int, last: int, found: int = 0) -> NoReturn:
        n = len(kinds)
        form = ", ".join([kind.value for kind in kinds])
        self.fault(
            "type-arity",
            f"`{name}` takes {n} type argument{'s' * (n != 1)}, {found} given",
            first,
            to=last,
            hint=f"write {name}[{form}]" if n else f"write {name}",
        )

    def _arguments(self, kinds: Sequence[Kind] | None, name: str | None = None) -> Rule:
        """`[A, B]`, `<A, B>` or `(A)`: with a name, exactly as many as `kinds`, else any number of types.

        Where `kinds` is None they are of any kind.
        """
        opener = self.i
        closer = CLOSERS[self.kinds[opener]]
        self.i += 1
        args: list[Any] = []
        while self.kinds[self.i] != closer:
            if kinds is None:
                args.append(self.said_kind((yield self.rule_type(None))))
            else:
                kind = Kind.Type if name is None else kinds[len(args)] if len(args) < len(kinds) else None
                args.append((yield self.rule_type(kind)))
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        end = self.take_angle(opener) if closer == ">" else self.take(closer, opener=opener)
        if name is not None and kinds is not None and len(args) != len(kinds):
            self._arity(name, kinds, opener - 1, end, len(args))
        return tuple(args)

    def _parenthesised(self, kind: Kind | None) -> Rule:
        """`()`, `(A)`, `(A, B)`: a tuple type, a type, or a shape."""
        opener = self.i
        if kind is Kind.Shape:
            return (yield self.rule_shape())
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
        closer = CLOSERS[self.kinds[opener]]
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
                self.fault("kind-mismatch", "a tensor has one dtype", i)
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
            missing = "dtype" if base is None else "shape"
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
                    f"expected a shape or a dtype, found {KIND_WORDS[var.kind]}",
                    i,
                    hint=f"declare it as `{name}: Shape` or `{name}: BaseType`",
                )
            return var.kind
        if self.dtype_named(name) is not None:
            return Kind.BaseType
        if name in DIM_CALLS and self.kinds[i + 1] == "(":
            return Kind.Dim
        if (position == 0) is angle:
            return Kind.BaseType
        return Kind.Dim if angle and self.implicit is not None and name != "_" else Kind.Shape


def _is_dim(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, Type) and value.kind is Kind.Dim)
