"""Data types in text: first their names and kinds, then their constructors."""

from operator import is_

from relay.ir.alias import expanded
from relay.ir.dtype import canonical
from relay.ir.expr import Constructor
from relay.ir.module import TypeData
from relay.ir.type import GlobalTypeVar, Type, TypeCall, TypeVar
from relay.text.parse_alias import Aliases
from relay.text.parse_types import BUILT_IN_TYPES


class DataTypes(Aliases):
    """The rules of data types."""

    def declare_data(self, i: int) -> None:
        """The name and the kinds of a data type; what follows is parsed when all names are known."""
        self.i = i + 1 + self.is_word(i, "extern")
        at = self.i
        if self.kinds[at] not in ("NAME", "GLOBAL"):
            self.expected("the name of a data type")
        name = self.texts[at].removeprefix("@")
        if (
            canonical(name) is not None
            or name in BUILT_IN_TYPES
            or ("." in self.texts[at] and self.kinds[at] == "NAME")
        ):
            self.fault(
                "reserved-name",
                f"`{name}` cannot be the name of a data type",
                at,
                hint="it has a meaning already",
            )
        if name in self.types_here:
            raise self.defined_twice(f"the type `{name}`", at, self.types_here[name])
        self.types_here[name] = at
        self.i += 1
        mark = len(self.log)
        self.headers[i] = self.type_params()
        self.data_kinds[name] = tuple([p.kind for p in self.headers[i]])
        self.leave(mark)
        if self.kinds[self.i] == "=":
            self.aliases_here[name] = self.i + 1

    def data_type(self, i: int) -> None:
        """`type List[A] { … }`, `data Nat { … }`, `extern type Storage`."""
        if i not in self.headers or self.texts[i + 1].removeprefix("@") in self.aliases_here:
            self.i = self.next_item(i)
            return
        is_extern = self.is_word(i, "extern")
        at = i + 1 + is_extern
        header = GlobalTypeVar(self.texts[at].removeprefix("@"))
        params = self.headers[i]
        mark = len(self.log)
        self.i = at + 1
        if self.kinds[self.i] in ("<", "["):
            self.i = self._behind_params(self.i)
        for p in params:
            self.bind(f"'{p.name_hint}", p)
        self.data_type_declared = header.name_hint, params, "{ … }"
        try:
            constructors = [] if is_extern else self._constructors(header, params)
        finally:
            self.data_type_declared = None
            self.leave(mark)
        self.mod.type_definitions.pop(header, None)
        self.mod.type_definitions[header] = TypeData(
            header, tuple(params), tuple(constructors), is_extern, span=self.span(i, at)
        )
        self.mod.imported.discard(header.name_hint)

    def _behind_params(self, opener: int) -> int:
        mark = len(self.log)
        self.i = opener
        self.type_params()
        self.leave(mark)
        return self.i

    def _constructors(self, header: GlobalTypeVar, params: list[TypeVar]) -> list[Constructor]:
        opener = self.take("{")
        found: list[Constructor] = []
        while self.kinds[self.i] != "}":
            i = self.i
            if self.kinds[i] not in ("NAME", "GLOBAL"):
                self.expected("a constructor or `}`", opener=opener)
            name = self.texts[i].removeprefix("@")
            named: tuple[str, ...] = ()
            if self.kinds[i + 1] == "{":
                named, inputs = self._named_inputs(i + 1)
            else:
                inputs = self._constructor_inputs(header, params)
            plain = tuple([expanded(t) for t in inputs])
            written = () if all(map(is_, plain, inputs)) else inputs
            c = Constructor(name, plain, header, len(found), named, written, span=self.span(i))
            if name in self.constructors_here:
                fault = self.defined_twice(f"the constructor `{name}`", i, self.constructors_here[name])
                self.add(fault.diagnostic)
            self.constructors_here[name] = i
            self.constructors[name] = c
            found.append(c)
            if self.kinds[self.i] in (",", ";"):
                self.i += 1
        self.i += 1
        return found

    def _named_inputs(self, opener: int) -> tuple[tuple[str, ...], tuple[Type, ...]]:
        """`{ w: A, b: B }`: the names and the types of the fields of a record."""
        self.i = opener
        self.full_language_only(opener, "records", f"{self.texts[opener - 1]}(…)")
        self.i += 1
        found: dict[str, tuple[int, Type]] = {}
        while self.kinds[self.i] != "}" or not found:
            i = self.i
            name = self.new_field(i, found)
            self.take(":")
            found[name] = i, self.type_()
            if self.kinds[self.i] not in (",", ";"):
                break
            self.i += 1
        self.take("}", opener=opener)
        return tuple(found), tuple([t for _, t in found.values()])

    def _constructor_inputs(self, header: GlobalTypeVar, params: list[TypeVar]) -> tuple[Type, ...]:
        """What stands behind a constructor's name: `(A, B)`, or `: (A, B) -> T`."""
        self.i += 1
        if self.kinds[self.i] == "(":
            return self._input_types()
        if self.kinds[self.i] != ":":
            return ()
        self.i += 1
        inputs: tuple[Type, ...] = ()
        if self.kinds[self.i] == "(":
            inputs = self._input_types()
            self.take("->")
        at = self.i
        result = self.type_()
        if result is not TypeCall(header, params):
            self.mistake(
                "constructor-result",
                f"a constructor of `{header.name_hint}` gives a `{header.name_hint}`",
                at,
                to=self.i - 1,
                hint="its result type is the data type with its own parameters",
            )
        return inputs

    def _input_types(self) -> tuple[Type, ...]:
        opener = self.i
        self.i += 1
        inputs: list[Type] = []
        while self.kinds[self.i] != ")":
            inputs.append(self.type_())
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        self.take(")", opener=opener)
        return tuple(inputs)
