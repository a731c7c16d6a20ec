"""Constants in text: `Constant(v, shape, dtype)` and tensor literals."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relay.diagnostic import RelayError, Span
from relay.ir.dtype import canonical, is_float, rounded, to_numpy
from relay.ir.expr import Call, Constant, Tuple
from relay.ir.type import Kind, TensorType, TypeVar
from relay.op.registry import get, instance
from relay.text.cursor import Rule
from relay.text.literals import MOST_AXES, fits, folded, number, open_dtype, special_float, strict_dtype
from relay.text.parse_list import Lists

FORM = "a filled tensor is Constant(1, (2, 3), float32), any other is Constant([[1, 2]], (1, 2), float32)"
_ELEMENT_END = frozenset({",", "]"})
_LITERAL = frozenset({"NUMBER", "-", "NAME", "STRING"})


class Literals(Lists):
    """The rules of constants."""

    # --- Constant(…) --------------------------------------------------------------------------------------

    def constant(self, start: int) -> Rule:
        """`Constant(v, shape, dtype)` or `Constant(v, dtype, shape)`; a scalar fills its shape as a view."""
        opener = self.i
        self.i += 1
        first = self.i
        data = Data()
        found = (yield self._nest(data, 1)) if self.kinds[first] == "[" else self._scalar(data)
        shape: tuple[int, ...] | None = None
        dtype: str | TypeVar | None = None
        while self.kinds[self.i] == ",":
            self.i += 1
            if self.kinds[self.i] == ")":
                break
            if self.kinds[self.i] == "(" and shape is None:
                shape = self._static_shape()
            elif dtype is None:
                dtype = self._dtype()
            else:
                self.expected("`)`", opener=opener)
        end = self.take(")", opener=opener)
        if shape is None or dtype is None:
            self.fault(
                "constant-form",
                f"the constant has no {'shape' if shape is None else 'dtype'}",
                start,
                to=end,
                hint=FORM,
            )
        return self._filled(data, found, shape, dtype, self.span(start, end), first)

    def _static_shape(self) -> tuple[int, ...]:
        i = self.i
        shape: list[int] = []
        self.i += 1
        while self.kinds[self.i] == "NUMBER":
            text = self.texts[self.i]
            if not text.isdigit() or len(text) > 18:
                self.fault(
                    "constant-form", f"`{self.source_text(self.i)}` is not a dimension", self.i, hint=FORM
                )
            shape.append(int(text))
            self.i += 1
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        self.take(")", what="a dimension or `)`", opener=i)
        return tuple(shape)

    def _dtype(self) -> str | TypeVar:
        """A dtype, a type parameter that stands for one, or `_` for one that is to be found."""
        i = self.i
        if self.kinds[i] not in ("NAME", "STRING"):
            self.expected("a dtype", hint=FORM)
        self.i = i + 1
        name = self.string(i) if self.kinds[i] == "STRING" else self.texts[i]
        var = self.type_var(name)
        if var is not None:
            return self.of_kind(var, var.kind, Kind.BaseType, i)
        found = name if name == "_" else canonical(name)
        if found is None:
            self.fault("unknown-type", f"`{name}` is not a dtype", i, hint=FORM)
        return found

    def _nest(self, data: "Data", depth: int) -> Rule:
        """The scalars of nested lists into `data`; the shape of the nest."""
        opener = self.i
        if depth > MOST_AXES:
            self.fault("constant-form", f"a constant has at most {MOST_AXES} axes", opener)
        self.i += 1
        count = 0
        inner: tuple[int, ...] | None = None
        while self.kinds[self.i] != "]":
            i = self.i
            shape = (yield self._nest(data, depth + 1)) if self.kinds[i] == "[" else self._scalar(data)
            if inner is not None and shape != inner:
                self._ragged(i, inner, shape)
            inner = shape
            count += 1
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        self.take("]", opener=opener)
        return (count, *(inner or ()))

    def _scalar(self, data: "Data") -> tuple[()]:
        """A number, truth value or text into `data`."""
        i, kind, text = self.i, self.kinds[self.i], self.texts[self.i]
        self.i = i + 1
        if kind == "NAME" and text in ("True", "False"):
            data.values.append(text == "True")
            return ()
        if kind == "STRING":
            data.values.append(self.string(i))
            return ()
        negative = kind == "-"
        i += negative
        special = special_float(self.texts[i]) if self.kinds[i] == "NAME" else None
        if special is not None:
            value, dtype = special
            value = -value if negative else value
        elif self.kinds[i] == "NUMBER":
            value, dtype = self.number_at(i, negative)
        else:
            self.i = i
            self.expected(
                "a number",
                hint="the value of a constant is known when the program is written; "
                "`full(e, shape=…)` fills a tensor with a computed one",
            )
        self.i = i + 1
        data.values.append(value)
        if dtype is not None:
            data.dtypes.setdefault(dtype, i)
        return ()

    def number_at(self, i: int, negative: bool) -> tuple[int | float, str | None]:
        """The number at token `i`."""
        try:
            return number(self.texts[i], negative)
        except RelayError as error:
            raise self.located(error, i - negative, i) from None

    def _ragged(self, i: int, before: tuple[int, ...], found: tuple[int, ...]) -> None:
        self.fault(
            "ragged-literal",
            f"the elements of a tensor have one shape: {before} and {found} differ",
            i,
            hint="different shapes fit into a tuple, `(a, b)`",
        )

    def _filled(
        self,
        data: "Data",
        found: tuple[int, ...],
        shape: tuple[int, ...],
        dtype: str | TypeVar,
        span: Span,
        i: int,
    ) -> Constant:
        if isinstance(dtype, TypeVar) or dtype == "_":
            kept = (
                "float64"
                if any(isinstance(v, float) for v in data.values)
                else "uint64"
                if any(v >= 2**63 for v in data.values)
                else "int64"
            )
            c = self._filled(data, found, shape, kept, span, i)
            return Constant(c.value, None if dtype == "_" else TensorType(shape, dtype), span=span)
        for suffix, at in data.dtypes.items():
            if suffix != dtype:
                self.fault(
                    "constant-form",
                    f"the number is {suffix}, the constant {dtype}",
                    at,
                    hint="leave the suffix out",
                )
        bad = next((v for v in data.values if not fits(v, dtype)), None)
        if bad is not None:
            self.fault("literal-out-of-range", f"{bad!r} is not in the range of {dtype}", i)
        flat = found != () and found == (math.prod(shape),) and len(found) != len(shape)
        if found not in ((), shape) and not flat:
            self.fault(
                "constant-form", f"the values have the shape {found}, the constant {shape}", i, hint=FORM
            )
        try:
            array: NDArray[Any] = np.array(data.values, to_numpy(dtype))
            array = np.broadcast_to(array.reshape(()), shape) if found == () else array.reshape(shape)
        except (ValueError, MemoryError) as error:
            self.fault("constant-form", f"there is no constant of shape {shape}: {error}", i)
        return Constant(array, TensorType(shape, dtype), span=span)

    # --- [a, b] ---------------------------------------------------------------------------------------------

    def tensor_literal(self) -> Rule:
        """`[a, b]`: a constant if all of it is literal, else a call of `stack`."""
        opener = self.i - 1
        if (numbers := self._numbers(opener)) is not None:
            return numbers
        elements: list[Any] = []
        places: list[int] = []
        is_literal = True
        while self.kinds[self.i] != "]":
            i = self.i
            if self.kinds[i] == "[" and self.kinds[self.partner.get(i, i) + 1] in _ELEMENT_END:
                self.i = i + 1
                e = yield self.tensor_literal()
                is_literal = is_literal and type(e) is Constant
            else:
                e = yield self.expression()
                is_literal = is_literal and type(e) is Constant and self._is_written_out(i)
            elements.append(e)
            places.append(i)
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        end = self.take("]", opener=opener)
        span = self.span(opener, end)
        if not elements:
            self.fault(
                "empty-literal",
                "an empty tensor literal has no dtype",
                opener,
                to=end,
                hint="write Constant([], (0,), float32) with its shape and dtype",
            )
        if is_literal:
            for e, i in zip(elements, places, strict=True):
                if e.value.shape != elements[0].value.shape:
                    self._ragged(i, elements[0].value.shape, e.value.shape)
            constant = folded(elements, span)
            if constant is not None:
                return constant
        try:
            return Call(
                get("stack"),
                (Tuple(tuple(elements), span=span),),
                instance("stack", {"axis": 0}),
                (),
                span=span,
            )
        except RelayError as error:
            raise self.located(error, opener, end) from None

    def _is_written_out(self, i: int) -> bool:
        """Whether the constant at token `i` is a literal, maybe in parentheses."""
        while self.kinds[i] == "(":
            i += 1
        return self.kinds[i] in _LITERAL and self.texts[i] not in ("Constant", "meta")

    def _numbers(self, opener: int) -> Constant | None:
        """A list of nothing but numbers of one type, which most are; else None and no move."""
        kinds = self.kinds
        i = opener + 1
        values: list[int | float] = []
        dtypes: set[str | None] = set()
        while kinds[i] != "]":
            negative = kinds[i] == "-"
            i += negative
            if (
                kinds[i] != "NUMBER"
                or kinds[i + 1] not in _ELEMENT_END
                or (negative and self.ends[i - 1] != self.starts[i])
            ):
                return None
            value, dtype = self.number_at(i, negative)
            values.append(value)
            dtypes.add(strict_dtype(value) if dtype is None and self.strict else dtype)
            i += 1 if kinds[i + 1] == "]" else 2
        if len(dtypes) != 1:
            return None
        span = self.span(opener, i)
        dtype = dtypes.pop()
        if dtype is not None:
            self.i = i + 1
            wide = np.float64 if is_float(dtype) else np.uint64 if max(values) >= 2**63 else np.int64
            array = rounded(np.array(values, wide), to_numpy(dtype))
            return Constant(array, TensorType(array.shape, dtype), span=span)
        kept = {open_dtype(v) for v in values}
        best = np.float64 if np.float64 in kept else np.uint64 if np.uint64 in kept else np.int64
        if best is np.uint64 and min(values) < 0:
            return None
        self.i = i + 1
        return Constant(np.array(values, best), None, span=span)


@dataclass(slots=True)
class Data:
    """The scalars of a `Constant(…)`, and where each suffix among them stands first."""

    values: list[Any] = field(default_factory=list[Any])
    dtypes: dict[str, int] = field(default_factory=dict[str, int])
