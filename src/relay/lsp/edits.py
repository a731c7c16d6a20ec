"""Offsets of one version of a text in another: what was typed lies between what both begin and end with."""


class Edit:
    """The change from a text to a later one, as one replaced range."""

    __slots__ = ("delta", "new_end", "old_end", "start")

    def __init__(self, old: str, new: str) -> None:
        """The range is as small as what both have in common allows."""
        most = min(len(old), len(new))
        self.start = common(old, new, most)
        behind = common_end(old, new, most - self.start)
        self.old_end, self.new_end = len(old) - behind, len(new) - behind
        self.delta = self.new_end - self.old_end

    def old(self, offset: int) -> int:
        """Where an offset of the new text was; inside of what is new, where that begins."""
        if offset <= self.start:
            return offset
        return offset - self.delta if offset >= self.new_end else self.start

    def new(self, offset: int) -> int:
        """Where an offset of the old text is now; inside of what was replaced, where that begins."""
        if offset <= self.start:
            return offset
        return offset + self.delta if offset >= self.old_end else self.start

    def is_inside(self, start: int, end: int) -> bool:
        """Whether a range of the old text has lost or won characters."""
        return start < self.old_end and end > self.start

    def touches(self, start: int, end: int) -> bool:
        """Whether a range of the old text was changed, or typed at."""
        return start <= self.old_end and end >= self.start and (self.delta != 0 or self.old_end > self.start)


def common(a: str, b: str, most: int) -> int:
    """How many characters two texts begin with alike, at most `most`; found by halving."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_end(a: str, b: str, most: int) -> int:
    """How many characters two texts end with alike, at most `most`."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle - 1
    return low
