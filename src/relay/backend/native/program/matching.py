"""Code for pattern matching: tests, and bindings of the variables of a pattern.

A value whose last use is the match passes its fields on to the variables of the pattern.
"""

from collections.abc import Container, Sequence

from relay.backend.native.llvm.builder import Code, Value, integer
from relay.backend.native.memory.objects import read_object, release, retain, tag_of, take_apart
from relay.backend.native.program.program import Program
from relay.ir.expr import Expr, Pattern
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar
from relay.ir.type import TupleType, Type, TypeCall

Row = Sequence[Value]
Part = tuple[Pattern, Type, Row]


def subpatterns(program: Program, code: Code, p: Pattern, t: Type, leaves: Row) -> list[Part]:
    """The patterns directly inside of one, with the type and the leaves that each is matched against."""
    if isinstance(p, PatternTuple):
        assert isinstance(t, TupleType)
        types: Sequence[Type] = t.fields
    else:
        assert isinstance(p, PatternConstructor)
        types, of = program.cell(p.constructor, t.args if isinstance(t, TypeCall) else ())
        kinds = [x for u in types for x in program.leaves(u)]
        leaves = read_object(code, of, leaves[0], kinds) if p.patterns else ()
    found: list[Part] = []
    start = 0
    for q, u in zip(p.children, types, strict=True):
        n = len(program.leaves(u))
        found.append((q, u, leaves[start : start + n]))
        start += n
    return found


def test_pattern(program: Program, code: Code, pattern: Pattern, t: Type, leaves: Row, other: str) -> bool:
    """Jump to `other` unless the pattern matches; returns whether the match can fail."""
    found = False
    stack: list[Part] = [(pattern, t, leaves)]
    while stack:
        p, u, row = stack.pop()
        if isinstance(p, PatternConstructor):
            if len(program.mod.type_definitions[p.constructor.belong_to].constructors) > 1:
                found = True
                same = code.compare("icmp eq", tag_of(code, row[0]), integer(p.constructor.tag, 16))
                go_on = code.label()
                code.branch(same, go_on, other)
                code.block(go_on)
            stack += reversed(subpatterns(program, code, p, u, row))
        elif isinstance(p, PatternTuple):
            stack += reversed(subpatterns(program, code, p, u, row))
    return found


def bind_pattern(
    program: Program, code: Code, pattern: Pattern, t: Type, leaves: Row, used: Container[Expr], ends: bool
) -> dict[Expr, Row]:
    """Bind the variables of a pattern that matches; those that are `used` own references.

    `ends` says that this is the last use of the value.
    """
    found: dict[Expr, Row] = {}
    stack: list[Part] = [(pattern, t, leaves)]
    while stack:
        p, u, row = stack.pop()
        if isinstance(p, PatternVar):
            found[p.var] = row
        elif isinstance(p, PatternConstructor | PatternTuple):
            stack += reversed(subpatterns(program, code, p, u, row))
    owned = [v for name, row in found.items() if name in used for v in row]
    if ends and is_flat_constructor(pattern):
        release_instance(program, code, pattern, t, leaves[0], owned, used)
    else:
        retain(code, owned)
        release(code, leaves if ends else ())
    return found


def is_flat_constructor(pattern: Pattern) -> bool:
    """Whether a pattern is a constructor around variables and wildcards."""
    nested = any(isinstance(q, PatternConstructor | PatternTuple) for q in pattern.children)
    return isinstance(pattern, PatternConstructor) and bool(pattern.children) and not nested


def release_instance(
    program: Program, code: Code, pattern: Pattern, t: Type, p: Value, owned: Row, used: Container[Expr]
) -> None:
    """Release an instance of a data type but for the fields that variables own now."""
    assert isinstance(pattern, PatternConstructor)
    _, of = program.cell(pattern.constructor, t.args if isinstance(t, TypeCall) else ())
    lost = [
        v
        for q, _, row in subpatterns(program, code, pattern, t, [p])
        for v in row
        if not (isinstance(q, PatternVar) and q.var in used)
    ]
    take_apart(code, of, p, owned, lost)
