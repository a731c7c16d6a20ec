"""The shape of products of matrices that are computed block by block: tiles, panels, and blocks of rows."""

from dataclasses import dataclass
from math import gcd

from relay.backend.native.kernels.inner_steps import inner_step
from relay.backend.native.kernels.tile import MAX_TILE_DEPTH
from relay.backend.native.llvm.machine import host
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Alternate, Index, Value, Var
from relay.backend.native.memory.representation import SIZES, scalar

ROWS, COLUMNS = 160, 576
"""About how many rows and columns a block has."""
WORK_PIECES = 8
"""How many pieces of work are enough for the threads, if each has to pack rows."""
MAX_DEPTH_IN_PLACE = 512
"""The most of the summed dimension that a tile goes through if it reads rows where they are."""
PANEL_BYTES = 24 << 10
"""Bytes of a panel that leave room in the first level of the cache for the rows that go over it."""
CACHE_SET_BYTES = 4096
"""Bytes after which the next line is of the same set of the first level of the cache."""
ROWS_OF_SET = 4
"""Lines of one set that rows of the first operand may take: half of it."""
MOST_ROWS_OF_PANEL = 1024
"""Rows that are read again for each panel, at most, so that the thread that packs a panel is the one that
multiplies with it: what another has just written takes 8 ns a cache line.
"""
MIN_TILES_OF_BLOCK = 4
"""Tiles that a block has below each other for those pieces."""
EVEN_TILES = 4
"""How many tiles below each other are made as high as each other, at most."""
STREAMED_BYTES = 1 << 19
"""Bytes of a second operand from which on its panels are read back and forth, where there is one row."""
KEPT_BYTES, MOST_KEPT_BYTES = 1 << 16, 1 << 19
"""Bytes of the sums that a thread keeps of a block before what follows reads them; the most, if each part of
its columns has rows packed for it.
"""
NARROW_TILE_COST = 1.06
"""What a number costs in tiles of two vectors, in what it does in tiles of three, usually: more loads."""


@dataclass(frozen=True)
class Lines:
    """Rows of the first operand that overlap in memory, a number of them so many numbers apart; each consists
    of runs of numbers with gaps between them.
    """

    count: int
    pitch: int
    run: int
    gap: int


class Shape:
    """Products of `rows x length` and `length x columns` numbers, summed in float32, float64 or int32."""

    def __init__(
        self,
        b: Builder,
        dtype: str,
        rows: Index,
        length: Index,
        columns: Index,
        pitch: Index | None = None,
        narrow: float = NARROW_TILE_COST,
        numbers: tuple[str, str] = ("", ""),
        are_small: bool = False,
    ) -> None:
        """`dtype` is that of sums; rows of the result are `pitch` numbers apart, if these are more
        than its columns; `narrow` is what a number costs in tiles of two vectors, in what it does in tiles of
        three; `numbers` are the dtypes of both operands, if these are not packed as that of the sums, and
        `are_small` says that bytes of the second one are.
        """
        self.b = b
        self.machine = host()
        self.dtype = dtype
        self.kind = scalar(dtype)
        self.size = SIZES[self.kind]
        self.length = length
        self.step = inner_step(dtype, self.machine, *numbers, are_small)
        depth = length if self.step.group == 1 else self.parts(length, self.step.group)
        self.rows, self.depth, self.columns = rows, depth, columns
        self.pitch = columns if pitch is None else pitch
        self.vectors = self.vectors_of_tiles(narrow)
        self.height = self.height_of_tiles()
        self.width = self.vectors * self.machine.lanes(self.kind)
        self.panels = self.parts(columns, self.width)
        self.edge = self.vectors_of_edge()
        self.rounds: Index = b.larger(1, self.parts(depth, MAX_TILE_DEPTH))
        self.deep: Index = self.parts(depth, self.rounds)
        self.high = self.height_of_blocks(ROWS)
        self.wide: Index = 1
        """Panels that belong together when a block is shared out."""
        self.by_panels = False
        """Whether all rows go over one panel after the other, rather than a block of rows over all panels."""
        self.packs_late = False
        """Whether panels are packed when rows go over them."""
        self.first_pitch: Index | None = None
        """Numbers between two rows of the first operand, where tiles read it as it is."""
        self.reads_part = False
        """Whether the last panel is read where it is, and ends with the result's columns."""
        self.lines: Lines | None = None
        """How rows of the first operand lie, where tiles read them as they overlap."""
        self.back: Value | None = None
        """Whether panels are read from the last one to the first."""
        self.first: Value | None = None
        """Where the packed rows of the first operand are, if these are in memory of their own."""
        self.second: Value | None = None
        """Where the packed panels of the second operand are."""
        self.kept_panels = 0
        """Panels of a block whose sums lie in memory of the thread that computes them; 0 if all are in the
        result.
        """
        self.is_shared = True
        """Whether threads share what there is to do; else one does all of it."""

    @property
    def is_full(self) -> bool:
        """Whether the columns are known to fill vectors."""
        return isinstance(self.columns, int) and self.columns % self.machine.lanes(self.kind) == 0

    def vectors_of_tiles(self, narrow: float) -> int:
        """Vectors in a row of a tile: three where there are registers, and few columns are left over."""
        lanes, n = self.machine.lanes(self.kind), self.columns
        if not self.machine.is_wide:
            return 2
        if not isinstance(n, int):
            return 3
        cost = {2: narrow * -(-n // (2 * lanes)) * 2, 3: -(-n // (3 * lanes)) * 3}
        return min(cost, key=lambda width: cost[width])

    def vectors_of_edge(self) -> int:
        """Vectors that the last panel has, if that is known to be fewer than others have; else 0."""
        rest = self.columns % self.width if isinstance(self.columns, int) else 0
        found = -(-rest // self.machine.lanes(self.kind))
        return found if found < self.vectors else 0

    def height_of_tiles(self) -> int:
        """As many rows as registers hold; less where there are few, so that tiles are about as high."""
        most = self.step.tallest(self.machine, self.vectors)
        if not isinstance(self.rows, int) or self.rows > EVEN_TILES * most:
            return most
        return max(1, -(-self.rows // max(1, -(-self.rows // most))))

    def height_of_blocks(self, rows: Index) -> Index:
        """Rows of blocks of about so many, all of them as high."""
        blocks = self.b.larger(1, self.parts(self.rows, rows))
        tiles = self.parts(self.parts(self.rows, blocks), self.height)
        return self.b.larger(1, self.b.times(tiles, self.height))

    def gather(self, pieces: int = WORK_PIECES) -> None:
        """Shape blocks so that few share rows, which each of those has to pack, and there are some pieces."""
        lowest = MIN_TILES_OF_BLOCK * self.height
        if isinstance(self.rows, int) and self.rows >= pieces * lowest:
            self.high = self.height_of_blocks(min(ROWS, -(-self.rows // pieces)))
        blocks = self.parts(self.rows, self.high) if isinstance(self.rows, int) else 2
        self.wide = self.parts(self.panels, self.parts(pieces, self.b.larger(1, blocks)))

    def pack_each_block(self) -> None:
        """Shape blocks for rows that are packed where these are computed: a block has all panels, unless
        there are more threads than blocks.
        """
        self.gather()
        each = self.parts(self.b.threads(), self.parts(self.rows, self.high))
        self.wide = self.parts(self.panels, each)

    def read_in_place(self, pitch: Index) -> None:
        """Have tiles read the first operand where it is, with rows so far apart.

        Where rows are few, the second operand, which is larger then, is read once.
        """
        self.first_pitch = pitch
        most = MAX_DEPTH_IN_PLACE
        if self.has_few_rows:
            self.go_by_panels()
        if self.by_panels:
            most = self.deepest_panel()
        self.rounds = self.b.larger(1, self.parts(self.depth, most))
        self.deep = self.parts(self.depth, self.rounds)

    def go_by_panels(self) -> None:
        """Have all rows, or half of them, go over a panel before the next one."""
        self.by_panels = True
        self.high = self.height_of_blocks(self.parts(self.rows, 2))

    @property
    def may_pack_late(self) -> bool:
        """Whether rows are few enough for threads to share panels, and to pack each of these themselves."""
        sizes = self.rows, self.depth, self.columns
        known = all(isinstance(n, int) and n > 0 for n in sizes)
        return known and isinstance(self.rows, int) and 2 * self.height < self.rows <= MOST_ROWS_OF_PANEL

    def deepest_panel(self) -> int:
        """The most of the summed dimension that panels have which rows go over one after the other."""
        if isinstance(self.high, int) and self.high < 2 * MIN_TILES_OF_BLOCK * self.height:
            return MAX_TILE_DEPTH
        return max(MAX_TILE_DEPTH, PANEL_BYTES // (self.width * self.step.second_size))

    def read_lines(self, lines: Lines, height: int) -> None:
        """Have tiles of a height read a line of rows that overlap after the other."""
        self.lines, self.height, self.high = lines, height, lines.count
        self.deep, self.rounds = self.depth, 1

    @property
    def most_rows(self) -> Index:
        """The most rows that a thread computes of a panel before it goes on to others."""
        return self.rows if self.by_panels else self.high

    def keep_sums(self, is_packed: bool) -> bool:
        """Have sums in the memory of the thread that computes a block, if its size is known; parts of columns
        are as small as memory asks for if rows are packed once for all of them.
        """
        rows = self.most_rows
        if not isinstance(rows, int) or not isinstance(self.panels, int) or not rows * self.panels:
            return False
        panel = rows * self.width * self.size
        groups = max(1, -(-self.columns // COLUMNS)) if isinstance(self.columns, int) else 1
        found = min(KEPT_BYTES // panel, self.panels) if is_packed else -(-self.panels // groups)
        found = max(found, 1)
        if found * panel > MOST_KEPT_BYTES:
            return False
        self.kept_panels, self.pitch = found, found * self.width
        return True

    def is_packed(self, dtype: str) -> bool:
        """Whether tiles can read rows of a dtype as they are, as elements of the first operand."""
        n, length = self.step.group, self.length
        return dtype == self.step.first and (n == 1 or (isinstance(length, int) and length % n == 0))

    def are_apart(self, pitch: Index) -> bool:
        """Whether rows so many numbers apart are known to begin in several sets of the cache."""
        return isinstance(pitch, int) and pitch * self.step.first_size % CACHE_SET_BYTES != 0

    def are_short(self, pitch: Index) -> bool:
        """Whether rows of so many numbers are known to be short enough for one round of tiles, and those of a
        tile to leave room in each set of the cache: then they need not be packed.
        """
        if self.rows == 1 or not isinstance(pitch, int) or not 0 < pitch <= MAX_DEPTH_IN_PLACE:
            return False
        sets = CACHE_SET_BYTES // gcd(pitch * self.size, CACHE_SET_BYTES)
        return self.height <= sets * ROWS_OF_SET

    @property
    def has_few_rows(self) -> bool:
        """Whether there are fewer rows than columns, as far as that is known."""
        rows, columns = self.rows, self.columns
        return isinstance(rows, int) and isinstance(columns, int) and 0 < rows < columns

    @property
    def streams(self) -> bool:
        """Whether one row goes over more numbers than a core's cache holds, and threads share these."""
        depth, columns = self.depth, self.columns
        if self.rows != 1 or not self.is_shared or not isinstance(depth, int) or not isinstance(columns, int):
            return False
        return depth * columns * self.step.second_size >= STREAMED_BYTES

    def alternation(self) -> Value:
        """Whether panels are taken from the last one on: every other time, so that what the cache holds since
        the last time is read before it is gone.  A thread takes the same part each time, all of it at once.
        """
        found = Var("bool", self.b.scope.name("back"))
        self.b.add_statement(Alternate(found))
        return found

    def in_turn(self, i: Index, n: Index) -> Index:
        """Which of `n` panels or groups of them comes after `i` others."""
        b = self.b
        return i if self.back is None else b.choose(self.back, b.minus(b.minus(n, 1), i), i)

    def parts(self, n: Index, size: Index) -> Index:
        """How many parts of a size there are, the last of which may be smaller."""
        b = self.b
        return b.quotient(b.plus(n, b.minus(size, 1)), size)

    def numbers(self, begin: Index, steps: Index) -> tuple[Index, Index]:
        """The numbers of the summed dimension that some steps go through: the first, and how many."""
        b, n = self.b, self.step.group
        if n == 1:
            return begin, steps
        first = b.times(begin, n)
        return first, b.smaller(b.times(steps, n), b.minus(self.length, first))

    def address(self, base: Value, place: Index, size: int) -> Value:
        """Where a number is."""
        return self.b.address(base, self.b.times(place, size))

    @property
    def unit(self) -> int:
        """What the columns that a part of the result has are a multiple of."""
        return gcd(self.width, self.columns) if isinstance(self.columns, int) else 1

    def columns_of(self, left: Index, panels: Index) -> tuple[Index, Index]:
        """The first column of some panels, and how many they have."""
        b = self.b
        column = b.times(left, self.width)
        return column, b.smaller(b.times(panels, self.width), b.minus(self.columns, column))
