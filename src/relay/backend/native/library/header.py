"""The header of a library: the interface of the runtime under the library's own name, and its entries."""

from collections.abc import Sequence

from relay.backend.native.library.interface import Entry, parameters_text
from relay.backend.native.runtime.source import read_text

ENTRIES = "/* Entries. */\n"


def header_text(prefix: str, version: str, entries: Sequence[Entry]) -> str:
    """The header of a library, in C99, whose functions begin with a prefix."""
    title = comment([
        f"Made by Relay ({version}).",
        "",
        *[line for number, entry in enumerate(entries) for line in about(number, entry)],
    ])  # fmt: skip
    _, _, text = read_text("interface.h").partition("*/\n")  # without its own title
    numbers = ",\n".join([f"    {prefix}_{entry_constant(e.name)} = {i}" for i, e in enumerate(entries)])
    said = f"/* The numbers of entries. */\nenum {prefix}_entry {{\n{numbers}\n}};\n"
    text = text.replace(ENTRIES, said)
    text = text.replace("relay_model", prefix).replace("RELAY_MODEL_H", f"RELAY_{prefix}_H")
    return title + aligned(text)


def aligned(text: str) -> str:
    """A text whose declarations of functions go on, in further lines, below their first parameter."""
    lines: list[str] = []
    column = 0
    for line in text.splitlines():
        lines.append(" " * column + line.lstrip() if column else line)
        if line.endswith(",") and "(" in line:
            column = line.index("(") + 1
        elif not line.endswith(","):
            column = 0
    return "\n".join(lines) + "\n"


def about(number: int, entry: Entry) -> list[str]:
    """Lines that say what an entry takes and gives."""
    return [
        f"Entry {number}, `{entry.name}`:",
        f"    inputs: {parameters_text(entry.inputs)}",
        f"    outputs: {parameters_text(entry.outputs)}",
    ]


def comment(lines: Sequence[str]) -> str:
    """Lines as a comment of C."""
    safe = [line.replace("*/", "* /") for line in lines]
    return "/* " + "\n   ".join(safe).replace("   \n", "\n") + " */\n"


def entry_constant(name: str) -> str:
    """The constant that is the number of an entry."""
    return f"ENTRY_{identifier(name).upper()}"


def identifier(text: str) -> str:
    """A text with `_` in place of each character that names in C do not have."""
    return "".join([c if c.isascii() and c.isalnum() else "_" for c in text])
