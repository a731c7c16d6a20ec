"""Which diagnostics an operator may report, read off its rules and the functions that they call."""

from collections.abc import Collection, Iterator
from types import CodeType, FunctionType
from typing import Any

from relay.op.base import ANY_DTYPE, Operator
from relay.op.relation import relations

RULES = ("infer", "relate", "check_dtype", "decompose", "reference")
EVERYWHERE = {"attribute-type"}
"""What holds of every operator is not worth a line on each page."""

TYPING = {
    "broadcast": "broadcast-mismatch",
    "dtype_in": "dtype-not-supported",
    "require": "shape-constraint",
    "tensor": "expected-tensor",
    "fields": "expected-tuple",
}
"""What the solver reports where a type rule uses a method of it."""


def errors(cls: type[Operator], known: Collection[str]) -> list[str]:
    """The codes, of those `known`, that stand in the rules of an operator or follow from their demands."""
    found: set[str] = set()
    seen: set[CodeType] = {Operator.check_dtype.__code__} if cls.dtypes is ANY_DTYPE else set()
    work: list[Any] = [(getattr(cls, rule, None), rule != "reference") for rule in RULES]
    work.append((relations.get(cls.relation_name), True))
    if cls.signature is not None:
        found |= {"rank-mismatch", "shape-mismatch"}
    while work:
        f, types = work.pop()
        f = f.fget if isinstance(f, property) else getattr(f, "__func__", f)
        if not isinstance(f, FunctionType) or not f.__module__.startswith("relay.op") or f.__code__ in seen:
            continue
        seen.add(f.__code__)
        defaults = [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
        for code in nested(f.__code__):
            found |= {c for c in (*code.co_consts, *defaults) if isinstance(c, str) and c in known}
            if types:
                found |= {TYPING[n] for n in code.co_names if n in TYPING}
                found |= {"dtype-mismatch"} if {"equal", "dtype"} <= set(code.co_names) else set()
            work += [(f.__globals__.get(n) or getattr(cls, n, None), types) for n in code.co_names]
            if "super" in code.co_names:
                work += [(vars(c).get(n), types) for c in cls.__mro__ for n in code.co_names]
    alone = len(cls.operands) < 2 and "expected-tuple" not in found
    return sorted(found - EVERYWHERE - ({"dtype-mismatch"} if alone else set()))


def nested(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions inside of it."""
    stack = [code]
    while stack:
        code = stack.pop()
        yield code
        stack += [c for c in code.co_consts if isinstance(c, CodeType)]
