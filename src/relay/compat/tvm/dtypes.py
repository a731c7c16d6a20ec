"""`tvm.DataType`: dtypes by their kind, bits and lanes."""

import re

__all__ = ["DataType", "DataTypeCode"]


class DataTypeCode:
    """The kinds of numbers, as numbers."""

    INT, UINT, FLOAT, HANDLE, BFLOAT, E4M3Float, E5M2Float = range(7)


KINDS = {
    "int": (DataTypeCode.INT, 32),
    "uint": (DataTypeCode.UINT, 32),
    "float": (DataTypeCode.FLOAT, 32),
    "handle": (DataTypeCode.HANDLE, 64),
    "bfloat": (DataTypeCode.BFLOAT, 16),
    "e4m3_float": (DataTypeCode.E4M3Float, 8),
    "e5m2_float": (DataTypeCode.E5M2Float, 8),
}
"""The kinds of numbers by name, and how many bits they have where a name does not say it."""
NAME = re.compile(rf"({'|'.join(sorted(KINDS, key=len, reverse=True))})(\d+)?(?:x(\d+))?")


class DataType(str):
    """A dtype as text, `DataType("float32x4")`, with `type_code`, `bits` and `lanes`."""

    __slots__ = ("bits", "lanes", "type_code")
    type_code: int
    bits: int
    lanes: int

    def __new__(cls, type_str: str) -> "DataType":
        """`type_str` is a kind with bits, and perhaps lanes (`ValueError`)."""
        made = super().__new__(cls, type_str)
        found = NAME.fullmatch(re.sub("^bool", "uint1", type_str))
        if found is None:
            raise ValueError(f"`{type_str}` is not a dtype: it is like int8, bfloat16, float32x4, bool")
        kind, bits, lanes = found.groups()
        made.type_code, usual = KINDS[kind]
        made.bits, made.lanes = int(bits or usual), int(lanes or 1)
        return made

    def with_lanes(self, lanes: int) -> "DataType":
        """A dtype of these numbers, with so many at once."""
        one = str(self).partition("x")[0]
        return DataType(one if lanes == 1 else f"{one}x{lanes}")

    def itemsize(self) -> int:
        """The bytes of one, all lanes together."""
        return (self.bits * self.lanes + 7) // 8
