"""What a choice of precision has done to a program: which products are narrow, what is kept wide and why."""

from collections import Counter
from dataclasses import dataclass, field

from relay.diagnostic import Span

SHOWN = 3
"""Places of each reason that the short form shows."""


@dataclass(frozen=True)
class Place:
    """A call: its operator, the definition that it is in, and where it was written."""

    op: str
    definition: str
    span: Span | None = None

    def __str__(self) -> str:
        where = f"`@{self.definition}`"
        if self.span is None:
            return f"`{self.op}` in {where}"
        line, column = self.span.source.position(self.span.start)
        return f"`{self.op}` in {where} ({self.span.source.name}:{line}:{column})"


@dataclass
class PrecisionReport:
    """What became of a program in a precision; `str` shows counts and first places, `full()` all places."""

    products: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    """The products that are computed on narrow numbers, by what these are."""
    kept: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    """What is computed in float32, by the reason."""
    weight_bytes: tuple[int, int] = (0, 0)
    """Bytes of the constants that have become narrow, before and after."""
    note: str = "nothing to do: no products of float32 numbers are to be computed on narrow ones"
    """What there is to say of a program without such products."""

    def computed(self, how: str, place: Place) -> None:
        """Note a product on narrow numbers."""
        self.products.setdefault(how, []).append(place)

    def keep(self, reason: str, place: Place) -> None:
        """Note what stays in float32."""
        self.kept.setdefault(reason, []).append(place)

    def stored(self, before: int, after: int) -> None:
        """Note a constant that has become narrow: its bytes."""
        wide, narrow = self.weight_bytes
        self.weight_bytes = (wide + before, narrow + after)

    def __str__(self) -> str:
        return self.text(SHOWN)

    def full(self) -> str:
        """The report with every place."""
        return self.text(None)

    def text(self, shown: int | None) -> str:
        """The report, with so many places of each reason."""
        lines = [f"{counted(places)} {how}" for how, places in self.products.items()]
        if not lines:
            lines.append(self.note)
        wide, narrow = self.weight_bytes
        if wide:
            lines.append(f"weights: {wide:,} bytes have become {narrow:,}")
        if self.kept:
            lines.append("kept in float32:")
        for reason, places in sorted(self.kept.items(), key=lambda item: -len(item[1])):
            lines.append(f"  {counted(places)}: {reason}")
            lines += [f"    {place}" for place in places[:shown]]
            if shown is not None and len(places) > shown:
                lines.append(f"    and {len(places) - shown} more")
        return "\n".join(lines)


def counted(places: list[Place]) -> str:
    """How many calls of which operators there are."""
    return ", ".join([f"{n} {name}" for name, n in Counter(p.op for p in places).most_common()])
