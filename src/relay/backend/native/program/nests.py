"""The loops of a program as text: what `relay compile --emit loops` prints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from relay.backend.native.loops.nodes import Block, Callee, Invoke, Var, statements
from relay.backend.native.loops.text import text_of, text_of_function
from relay.ir.expr import Call, Expr, Op
from relay.ir.type import Type
from relay.ir.walk import post_order


@dataclass(frozen=True)
class Nest:
    """Loops of a program: of a group of operators, or of a call in a definition."""

    name: str
    """Of the group, or of the definition."""
    params: Sequence[tuple[str, Type, Sequence[Var]]]
    """What it takes: a name, a type, and the variables that its leaves are."""
    result: Type
    body: Expr
    """The operators that it computes."""
    block: Block

    def text(self) -> str:
        """A header in the terms of the program, and the loops."""
        taken = ", ".join([f"%{name}: {t}" for name, t, _ in self.params])
        calls = [e.op for e in post_order(self.body) if isinstance(e, Call)]
        operators = ", ".join([op.name if isinstance(op, Op) else str(op) for op in calls])
        head = f"// {operators}\n{self.name}({taken}) -> {self.result}"
        leaves = [(v, name) for name, _, row in self.params for v in row]
        return f"{head}\n{text_of(self.block, leaves)}"


def text_of_nests(nests: Sequence[Nest], kernels: bool) -> str:
    """All loops of a program, and of the kernels that they call; or else the schedules of these."""
    calls = [s for nest in nests for s in statements(nest.block) if isinstance(s, Invoke)]
    callees = {s.callee.name: s.callee for s in calls}
    parts = [nest.text() for nest in nests]
    if kernels:
        parts += [f"// {', '.join(facts_of(x))}\n{text_of_function(x.function())}" for x in callees.values()]
    elif callees:
        rows = [f"  {name}  // {', '.join(facts_of(x))}" for name, x in callees.items()]
        parts.append("\n".join(["kernels", *rows]))
    return "\n\n".join(parts)


def facts_of(callee: Callee) -> Iterator[str]:
    """The schedule of a kernel: what its loops are made by."""
    of: Any = callee
    for f in fields(of):
        value = getattr(of, f.name)
        if f.name != "machine":
            yield f"{f.name} {value}" if not isinstance(value, bool) else f.name if value else f"not {f.name}"
