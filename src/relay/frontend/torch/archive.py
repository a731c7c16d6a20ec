"""Files that `torch.export.save` wrote: read as data, nothing in them is run."""

import io
import json
import re
import zipfile
from typing import Any

from relay.diagnostic import fail
from relay.frontend.torch.library import pytorch
from relay.text.files import read_file

TARGETS = re.compile(r"(torch\.ops\.[\w.]+|_?operator\.\w+|math\.\w+|torch\.sym_\w+|torch\._sym_\w+)")
"""What a node may call: operators, and arithmetic on sizes."""
PARTS = re.compile(
    r"data/(weights/weight_\d+|constants/tensor_\d+|(weights|constants)/[\w.-]+\.json|sample_inputs/[\w.-]+\.pt)"
    r"|models/[\w.-]+\.json|archive_format|archive_version|version|byteorder|\.data/\w+|extra/[\w./-]*"
)
"""What an archive consists of."""
FORMULA = re.compile(r"[\w\s+\-*/%(),.=]*")
"""What a formula of a size may be written with."""
WORDS = re.compile(
    r"s\d+|u\d+|zf?\d+|Symbol|Integer|Rational|Float|Add|Mul|Pow|Mod|PythonMod|ModularIndexing|FloorDiv|CeilDiv"
    r"|CleanDiv|Max|Min|Identity|TruncToInt|FloorToInt|CeilToInt|RoundToInt|IntTrueDiv|FloatTrueDiv|ToFloat"
    r"|Equality|Unequality|GreaterThan|LessThan|StrictGreaterThan|StrictLessThan|Eq|Ne|Ge|Le|Gt|Lt|And|Or|Not"
    r"|int_oo|oo|inf|precision|True|False|true|false|positive|integer|nonnegative|nonzero|real|None"
)
"""The words that may stand in one."""
MAX_GRAPH_BYTES = 1 << 30
"""A graph that claims more bytes than this is taken as damage."""


def read_exported(path: Any) -> Any:
    """The exported program in a file (`torch-archive`, `cannot-read`)."""
    torch = pytorch()

    data = read_file(str(path))
    check_archive(data, str(path))
    try:
        return torch.export.load(io.BytesIO(data))
    except Exception as error:  # what it raises is not a type of its own
        fail("torch-archive", f"PyTorch cannot read `{path}`: {first_line(error)}", hint=AGAIN)


AGAIN = "write it again with torch.export.save, of the version of PyTorch that reads it"


def first_line(error: Exception) -> str:
    """What an error says, shortly."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def check_archive(data: bytes, name: str) -> None:
    """Refuse what is not an archive of a program, or one whose reading would run code (`torch-archive`)."""
    try:
        if not data.startswith(b"PK"):
            raise zipfile.BadZipFile("it is not an archive")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [member.filename for member in archive.infolist()]
            if len(set(names)) < len(names):
                refuse(name, "two parts of one name")
            for member in archive.infolist():
                check_member(archive, member, name)
    except json.JSONDecodeError as error:
        fail("torch-archive", f"the graph in `{name}` is broken: {first_line(error)}", hint=AGAIN)
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError, RecursionError) as error:
        fail("torch-archive", f"`{name}` is not an exported program: {first_line(error)}", hint=AGAIN)


def check_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> None:
    """Refuse a part of an archive that would run code (`torch-archive`)."""
    part = member.filename.partition("/")[2]
    if not PARTS.fullmatch(part):
        refuse(name, f"`{member.filename}`, which is not part of a program or would run code")
    if part.endswith(".json"):
        if member.file_size > MAX_GRAPH_BYTES:
            refuse(name, f"`{member.filename}` of {member.file_size} bytes")
        check_json(json.loads(archive.read(member)), name)
    elif part.endswith(".pt"):
        check_tensors(archive.read(member), member.filename, name)


def refuse(name: str, what: str) -> None:
    """Say what is wrong with an archive (`torch-archive`)."""
    fail(
        "torch-archive",
        f"`{name}` holds {what}",
        hint="only operators and their weights are read",
    )


def check_json(root: Any, name: str) -> None:
    """Refuse calls of anything but operators, formulas that are none, and tensors that are pickled."""
    stack: list[Any] = [root]
    while stack:
        x = stack.pop()
        if isinstance(x, dict):
            parts: dict[str, Any] = x  # pyright: ignore[reportUnknownVariableType]
            target, formula = parts.get("target"), parts.get("expr_str")
            if "metadata" in parts and isinstance(target, str) and not TARGETS.fullmatch(target):
                refuse(name, f"a node that calls `{target}`")
            if parts.get("use_pickle"):
                refuse(name, f"the pickle `{parts.get('path_name')}`")
            if isinstance(formula, str):
                check_formula(formula, name)
            stack += parts.values()
            for key in parts.get("range_constraints", {}):
                check_formula(key, name)
        elif isinstance(x, list):
            stack += x  # pyright: ignore[reportUnknownArgumentType]


def check_formula(text: str, name: str) -> None:
    """Refuse a formula with anything but numbers, sizes and the functions on them."""
    text = re.sub(r"'([A-Za-z_]\w*)'", "s0", text)
    words = re.findall(r"[A-Za-z_]\w*", text)
    if not FORMULA.fullmatch(text) or not all(WORDS.fullmatch(w) for w in words):
        refuse(name, f"the formula `{text[:80]}`")


def check_tensors(data: bytes, member: str, name: str) -> None:
    """Refuse pickles of anything but tensors."""
    torch = pytorch()

    try:
        torch.load(io.BytesIO(data), weights_only=True)
    except Exception as error:  # a pickle fails in as many ways
        refuse(name, f"`{member}`, which is more than tensors: {first_line(error)}")
