"""Modules: what global names mean, and the data types they are about."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from relay.diagnostic import Span, did_you_mean, fail
from relay.ir import hooks
from relay.ir.alias import TypeAlias
from relay.ir.expect import expect_expr
from relay.ir.expr import Constructor, Expr, Function, GlobalVar, Node, RelayExpr, node
from relay.ir.node import keep_listed, listed, several
from relay.ir.type import FuncType, GlobalTypeVar, Type, TypeCall, TypeVar


@node
class TypeData(Node):
    """`type header[type_vars] { constructors }`; `extern type` has no constructors and `is_extern`."""

    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...] = several(converter=listed)
    constructors: tuple[Constructor, ...] = several(converter=listed)
    is_extern: bool = False

    def __post_init__(self) -> None:
        keep_listed(self, "type_vars", "constructors")

    @property
    def type_call(self) -> TypeCall:
        """The type of its instances: the header applied to its own parameters."""
        return TypeCall(self.header, self.type_vars)

    def constructor_type(self, constructor: Constructor) -> Type:
        """`fn<a>(a, List[a]) -> List[a]`."""
        return FuncType(constructor.inputs, self.type_call, self.type_vars)


@dataclass(frozen=True, slots=True)
class Import:
    """`import "path"`: a standard module (`std/list`) or a file relative to the importing one."""

    path: str
    span: Span | None = None


def _global_var(name: str | GlobalVar) -> GlobalVar:
    return GlobalVar(name, span=None) if isinstance(name, str) else name


NAMES_IN_REPR = 5
"""How many definitions the `repr` of a module names."""


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class IRModule:
    """Definitions by name (functions, and constants that are evaluated once) and data types by name.

    `imports` print as themselves, and `imported` names the definitions and types that came with them.
    `aliases` are names for types, which stand for what they say wherever they are written.
    `attrs` are the module's own metadata, `options` the global configuration of the program.
    A definition is an immutable expression; `mod["f"] = fn` replaces it, and what was inferred of definitions
    that do not reach it stays.
    """

    functions: dict[GlobalVar, Expr] = field(default_factory=dict[GlobalVar, Expr])
    type_definitions: dict[GlobalTypeVar, TypeData] = field(default_factory=dict[GlobalTypeVar, TypeData])
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    constant_types: dict[GlobalVar, Type] = field(default_factory=dict[GlobalVar, Type])
    imports: list[Import] = field(default_factory=list[Import])
    imported: set[str] = field(default_factory=set[str])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    """What inference remembers about definitions, by its own keys; never part of the program."""
    aliases: dict[GlobalTypeVar, TypeAlias] = field(default_factory=dict[GlobalTypeVar, TypeAlias])

    def __post_init__(self) -> None:
        """The module has dictionaries of its own; definitions may be given by name."""
        for name in (
            "functions",
            "type_definitions",
            "attrs",
            "options",
            "constant_types",
            "facts",
            "aliases",
        ):
            setattr(self, name, dict(getattr(self, name) or ()))
        if any(isinstance(v, str) for v in self.functions):
            self.functions = {_global_var(v): e for v, e in self.functions.items()}

    @staticmethod
    def from_expr(
        expr: Expr,
        functions: Mapping[GlobalVar, Expr] | None = None,
        type_defs: Mapping[GlobalTypeVar, TypeData] | None = None,
    ) -> "IRModule":
        """A module whose `@main` is `expr`; an expression that is not a function becomes the body of one.

        Its free variables are then the parameters, in the order of first mention.
        """
        from relay.ir.vars import free_vars

        expect_expr(expr)
        main = expr if isinstance(expr, Function) else Function(tuple(free_vars(expr)), expr, span=expr.span)
        mod = IRModule(dict(functions or {}), dict(type_defs or {}))
        mod["main"] = main
        return mod

    def __getitem__(self, name: str | GlobalVar | GlobalTypeVar) -> Any:
        """A definition or data type; `unknown-global` or `unknown-type` with near names if there is none."""
        if isinstance(name, GlobalTypeVar):
            return self.type_definitions[self.get_global_type_var(name.name_hint)]
        found = self.functions.get(_global_var(name))
        return self.functions[self.get_global_var(_global_var(name).name_hint)] if found is None else found

    def __setitem__(self, name: str | GlobalVar | GlobalTypeVar, value: Expr | TypeData) -> None:
        """Define or replace; `TypeError` for what is neither an expression nor a data type."""
        if isinstance(value, TypeData):
            self._replace_types({value.header: value})
        elif isinstance(value, RelayExpr) and not isinstance(name, GlobalTypeVar):  # pyright: ignore[reportUnnecessaryIsInstance]
            self._replace({_global_var(name): value})
        else:
            raise TypeError(f"{name!r} cannot be defined as {value!r}")

    def __contains__(self, name: object) -> bool:
        if isinstance(name, GlobalTypeVar):
            return name in self.type_definitions
        return (GlobalVar(name, span=None) if isinstance(name, str) else name) in self.functions

    def __delitem__(self, name: str | GlobalVar) -> None:
        var = self.get_global_var(_global_var(name).name_hint)
        self.own([var.name_hint])
        del self.functions[var]
        self.constant_types.pop(var, None)

    def _replace(self, new: Mapping[GlobalVar, Expr]) -> None:
        """Definitions; what is known of the type of a constant goes with it."""
        changed = [v for v, e in new.items() if self.functions.get(v) is not e]
        self.own([v.name_hint for v in changed])
        for v in changed:
            self.constant_types.pop(v, None)
        self.functions.update(new)

    def _replace_types(self, new: Mapping[GlobalTypeVar, TypeData]) -> None:
        self.own([v.name_hint for v, data in new.items() if self.type_definitions.get(v) is not data])
        self.type_definitions.update(new)

    def own(self, names: Iterable[str]) -> None:
        """Let the module forget its imports if one of these names came with them.

        What was imported belongs to the module itself once part of it is changed, so that it prints as it is.
        """
        if any(name in self.imported for name in names):
            self.imports, self.imported = [], set()

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    def items(self) -> Iterable[tuple[GlobalVar, Expr]]:
        """Each global variable with its definition, in order."""
        return self.functions.items()

    def get_global_var(self, name: str) -> GlobalVar:
        """The global variable of that name; `unknown-global` with near names if there is none."""
        var = GlobalVar(name, span=None)
        if var not in self.functions:
            hint = did_you_mean(name, [v.name_hint for v in self.functions])
            fail("unknown-global", f"the module has no `@{name}`", hint=hint)
        return var

    def get_global_vars(self) -> list[GlobalVar]:
        """All global variables, in order."""
        return list(self.functions)

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """The name of a data type of this module; `unknown-type` with near names if there is none."""
        var = GlobalTypeVar(name)
        if var not in self.type_definitions:
            hint = did_you_mean(name, [v.name_hint for v in self.type_definitions])
            fail("unknown-type", f"the module has no type `{name}`", hint=hint)
        return var

    def get_global_type_vars(self) -> list[GlobalTypeVar]:
        """The names of all data types, in order."""
        return list(self.type_definitions)

    def constructors(self) -> dict[str, Constructor]:
        """All constructors by name."""
        return {c.name_hint: c for data in self.type_definitions.values() for c in data.constructors}

    def get_constructor(self, adt: str, name: str) -> Constructor:
        """A constructor by the name of its data type and its own."""
        data = self.type_definitions[self.get_global_type_var(adt)]
        for c in data.constructors:
            if c.name_hint == name:
                return c
        hint = did_you_mean(name, [c.name_hint for c in data.constructors])
        fail("unknown-constructor", f"`{adt}` has no constructor `{name}`", hint=hint)

    def get_type(self, name: str) -> tuple[Any, ...]:
        """The name of a data type, then its constructors: `list_, cons, nil = mod.get_type("List")`."""
        data = self.type_definitions[self.get_global_type_var(name)]
        return (data.header, *data.constructors)

    def update(self, other: "IRModule | Mapping[GlobalVar, Expr]") -> None:
        """Take over all definitions (and types) of another module; those of the same name are replaced."""
        if isinstance(other, IRModule):
            self._replace_types(other.type_definitions)
            self._replace(other.functions)
            self.constant_types.update(other.constant_types)
            self.aliases.update(other.aliases)
        else:
            self._replace({_global_var(v): e for v, e in other.items()})

    def update_func(self, var: GlobalVar, func: Expr) -> None:
        """Replace one definition."""
        self[var] = func

    def copy(self) -> "IRModule":
        """A module of its own with the same definitions."""
        return IRModule(
            dict(self.functions),
            dict(self.type_definitions),
            dict(self.attrs),
            dict(self.options),
            dict(self.constant_types),
            list(self.imports),
            set(self.imported),
            dict(self.facts),
            dict(self.aliases),
        )

    def __copy__(self) -> "IRModule":
        return self.copy()

    def __deepcopy__(self, memo: object) -> "IRModule":
        return self.copy()

    def import_from_std(self, name: str) -> None:
        """Add a standard module, such as `"list"`, to this one."""
        hooks.import_standard(self, name)

    def map_functions(self, change: Callable[[Function], Expr]) -> "IRModule":
        """The module with `change` applied to every function; the same object when nothing changed."""
        new = {v: change(f) if isinstance(f, Function) else f for v, f in self.functions.items()}
        if all(new[v] is f for v, f in self.functions.items()):
            return self
        mod = self.copy()
        mod.functions = new
        return mod

    def with_attr(self, name: str, value: Any) -> "IRModule":
        """A copy with one attribute of the module set."""
        mod = self.copy()
        mod.attrs[name] = value
        return mod

    def without_attr(self, name: str) -> "IRModule":
        """A copy without that attribute."""
        mod = self.copy()
        mod.attrs.pop(name, None)
        return mod

    def get_attr(self, name: str) -> Any:
        """An attribute of the module, or None."""
        return self.attrs.get(name)

    def type_of(self, e: Expr) -> Type:
        """The type of an expression of this module, inferred on demand."""
        return hooks.checked_type(e, self)

    def evaluate(self, e: RelayExpr | str, *args: Any) -> Any:
        """The value of an expression over this module's definitions, or of a definition applied to `args`."""
        return hooks.evaluate(self, e, *args)

    def astext(self, **options: Any) -> str:
        """The text format; options as for `relay.astext`."""
        return hooks.module_text(self, **options)

    def view(self, name: str = "program", *, fused: bool = True) -> Any:
        """A picture of the program, which is shown in notebooks: `.save("name.html")`, `.open()`.

        With `fused`, operators that machine code computes in one loop are a group.  Raises what is wrong with
        the program.
        """
        return hooks.view(self, name, fused=fused)

    def __reduce__(self) -> tuple[Any, ...]:
        return hooks.pickle_node(self)

    def __str__(self) -> str:
        """The text format, without the data of constants where that is long; `astext()` has all."""
        return hooks.module_text(self, show_meta_data="short")

    def __repr__(self) -> str:
        names = [f"@{v.name}" for v in self.functions] + [f"type {v.name}" for v in self.type_definitions]
        more = len(names) - NAMES_IN_REPR
        shown = ", ".join(names[:NAMES_IN_REPR]) + (f" and {more} more" if more > 0 else "")
        return f"<IRModule of {shown or 'nothing'}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return hooks.display(self)


def expect_module(mod: Any) -> IRModule:
    """`mod` itself, if it is one."""
    if not isinstance(mod, IRModule):
        raise TypeError(f"{mod!r:.80} is not a module; relay.parse and relay.IRModule.from_expr make one")
    return mod
