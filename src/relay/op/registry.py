"""Operators by name: classes are registered, and found with their attributes."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import wraps
from inspect import unwrap
from typing import Any, TypeVar, dataclass_transform

from relay.diagnostic import Diagnostic, RelayError, caller_span, did_you_mean, fail, hide_own_frames
from relay.ir import hooks
from relay.ir.expr import Expr, Op
from relay.op.attribute import attribute_types, conform
from relay.op.base import Operator
from relay.op.builder import make_builder
from relay.op.family import family
from relay.op.signature import Signature

C = TypeVar("C", bound=type[Operator])
F = TypeVar("F", bound=Callable[..., Any])

registry: dict[str, type[Operator]] = {}
"""Operator classes by text name (aliases are in `alias_of`)."""
alias_of: dict[str, str] = {}
builders: dict[str, Callable[..., Expr]] = {}
"""A lower-case builder per operator and alias, by dotted path: `builders["nn.dense"](x, w, units=4)`."""


@dataclass_transform(frozen_default=True)
def operator(name: str) -> Callable[[C], C]:
    """Register an operator class under its text name and make its builder."""

    def register(cls: C) -> C:
        cls = family(cls)
        cls.name = name
        if "relation_name" not in _declared(cls):
            cls.relation_name = name
        _name_operands(cls)
        if cls.derivative is None:
            raise TypeError(f"operator {name}: say `derivative = Derivative.…` (ZERO if there is none)")
        if cls.signature is not None:
            Signature.of(cls.signature).check(name, len(cls.operands), cls.optional, cls.variadic)
        for rule in cls.derivative.methods:
            if not hasattr(cls, rule):
                raise TypeError(f"operator {name}: {cls.derivative} needs the method `{rule}`")
        registry[name] = cls
        make = getattr(cls, "builder", None) or make_builder(cls, instance, registry)
        for path in (name, *cls.__dict__.get("aliases", ())):
            builders[path] = make
            if path != name:
                alias_of[path] = name
        return cls

    return register


def _declared(cls: type) -> set[str]:
    """Attributes that a class or a family above it sets, `Operator` itself left out."""
    return {
        name
        for base in cls.__mro__
        if base not in (Operator, object)
        for name in base.__dict__
        if not (name == "relation_name" and base.__dict__.get("name"))
    }


def _name_operands(cls: type[Operator]) -> None:
    """Read the operands' names off the rule that has them as parameters, unless a class says them."""
    bases = [c for c in cls.__mro__ if issubclass(c, Operator) and c is not Operator]
    if any("operands" in c.__dict__ and (c is cls or not c.name) for c in bases):
        return
    own = cls.reference if cls.reference is not Operator.reference else None
    rule = getattr(cls, "decompose", None) if getattr(cls, "decompose", None) is not None else own
    assert rule is not None, f"{cls.__name__} needs `reference` or `decompose`"
    params = list(inspect.signature(rule).parameters.values())[2:]
    cls.operands = tuple([p.name for p in params])
    cls.optional = sum(p.default is not p.empty for p in params)
    cls.variadic = any(p.kind is p.VAR_POSITIONAL for p in params)


def get(name: str) -> Op:
    """The leaf of a registered operator (`unknown-operator` with near names)."""
    found = alias_of.get(name, name)
    if found not in registry:
        near = did_you_mean(name, [*registry, *alias_of])
        fail("unknown-operator", f"there is no operator `{name}`", hint=near)
    return Op.get(found)


_default_instances: dict[type[Operator], Operator] = {}
"""The instance of a class with its default attributes."""


OTHER_NAMES = {
    "dim": ("axis", "axes"), "dims": ("axes", "axis"), "size": ("newshape", "shape"), "eps": ("epsilon",),
    "p": ("rate",), "negative_slope": ("alpha",), "num_classes": ("depth",),
    "lr": ("learning_rate",), "betas": ("beta1", "beta2"), "max_norm": ("greatest_norm",),
    "T_max": ("steps",), "ddof": ("correction", "unbiased"), "correction": ("unbiased",),
}  # fmt: skip
"""What other libraries call attributes, where the spelling is not near enough."""


WITHOUT_NAMES = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
"""Kinds of parameters that are not given by name."""


def clear_arguments(call: F, name: str = "") -> F:
    """Return `call`, whose arguments that do not fit its signature are a diagnostic (`unknown-attribute`,
    `argument-count`); Python's own error says which one is missing.

    `name` is what users call it; of a builder, the name of its operator.
    """

    @wraps(call)
    def called(*args: Any, **named: Any) -> Any:
        try:
            try:
                return call(*args, **named)
            except TypeError:
                _refuse_arguments(call, args, named, name)
                raise
        except RelayError as error:
            hide_own_frames(error)
            raise

    return called  # pyright: ignore[reportReturnType]


def _refuse_arguments(call: Any, args: Sequence[Any], named: Mapping[str, Any], name: str) -> None:
    signature = inspect.signature(call)
    try:
        signature.bind_partial(*args, **named)
    except TypeError as error:
        name = name or next((path for path, b in builders.items() if b is call or b is unwrap(call)), "it")
        params = [p for p in signature.parameters if p != "self"]
        unknown = [key for key in named if key not in params]
        if unknown:
            message, hint = f"`{name}` has no argument `{unknown[0]}`", _attribute_hint(unknown[0], params)
            raise RelayError(Diagnostic("unknown-attribute", message, caller_span(), hint=hint)) from None
        message, hint = f"`{name}`: {error}", f"its arguments are {', '.join(params)}"
        unnamed = next((k for k in named if signature.parameters[k].kind in WITHOUT_NAMES), None)
        if unnamed is not None:
            message, hint = f"`{name}` takes `{unnamed}` by position", f"leave `{unnamed}=` out"
        raise RelayError(Diagnostic("argument-count", message, caller_span(), hint=hint)) from None


def _attribute_hint(key: str, known: Collection[str]) -> str:
    """What may be meant by an attribute that an operator does not have."""
    others = [f"`{name}`" for name in OTHER_NAMES.get(key, ()) if name in known]
    if others:
        return f"here it is {' and '.join(others)}"
    return did_you_mean(key, known) or (f"its attributes are {', '.join(known)}" if known else "it has none")


def instance(name: str, attrs: Mapping[str, Any]) -> Operator:
    """The operator of that name with these attributes.

    Raises `unknown-operator`, `unknown-attribute`, `missing-attribute`, `attribute-type`.
    """
    cls = registry.get(alias_of.get(name, name)) or registry[get(name).name]
    if not attrs and cls in _default_instances:
        return _default_instances[cls]
    known = attribute_types(cls)
    values: dict[str, Any] = {}
    for key, value in cls.accepted(attrs).items():
        if key not in known:
            fail(
                "unknown-attribute",
                f"`{name}` has no attribute `{key}`",
                hint=_attribute_hint(key, known),
            )
        values[key] = conform(value, known[key], name, key, cls.more_means)
    for f in fields(cls):  # pyright: ignore[reportArgumentType]
        if f.name not in values and f.default is MISSING and f.default_factory is MISSING:
            fail(
                "missing-attribute",
                f"`{name}` needs the attribute `{f.name}`",
                hint=f'write {name}("{f.name}", …)'
                if cls.attributes_first
                else f"write {name}(…, {f.name}=…)",
            )
    made = cls(**values)
    if not attrs:
        _default_instances[cls] = made
    return made


hooks.operator_instance = instance
