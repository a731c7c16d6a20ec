"""Dimensions and shapes in text."""

from relay.ir import dim
from relay.ir.dtype import canonical
from relay.ir.type import ANY, Dim, IncompleteType, Kind, TypeVar
from relay.text.cursor import Rule
from relay.text.names import DIM_CALLS
from relay.text.parse_kinds import Kinds

LARGEST_DIM = 2**63 - 1
_ADDITIVE, _MULTIPLICATIVE = 1, 2
_DIM_OPS = {"+": _ADDITIVE, "-": _ADDITIVE, "*": _MULTIPLICATIVE, "/": _MULTIPLICATIVE}


class Dimensions(Kinds):
    """The rules of dimensions."""

    def rule_shape(self) -> Rule:
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

    def rule_dim(self, begun: Dim | None = None) -> Rule:
        """An arithmetic expression over dimensions; `begun` is its first operand if that is read already."""
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
        if name in DIM_CALLS and self.kinds[i + 1] == "(":
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
                hint=self._declared(name),
            )
        var = self.implicit[name] = TypeVar(name, Kind.Dim)
        return var

    def _declared(self, name: str) -> str:
        """How the dimension of that name, which is not known here, is declared."""
        if self.in_result:
            return "a dimension that occurs only in the result is unknown to the caller: write `?`"
        if self.data_type_declared is None:
            return f"declare it: fn<{name}: Dim>(…), or write `?`"
        data, params, rest = self.data_type_declared
        kinds = ["" if p.kind is Kind.Type else f": {p.kind.value}" for p in params]
        known = [p.name_hint + kind for p, kind in zip(params, kinds, strict=True)]
        return f"declare it: type {data}[{', '.join([*known, f'{name}: Dim'])}] {rest}, or write `?`"
