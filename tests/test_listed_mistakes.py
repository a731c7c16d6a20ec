"""Mistakes that newcomers made, each with the one answer that an expert would give: what it says, and what it
does not say because it is beside the point.
"""

from pathlib import Path

import numpy as np
import pytest

from support import cli

A = "type A { X(int32) }\n"
LIST = 'import "std/list"\n'
X = "%x: Tensor[(3,), float32]"
MISTAKES = {
    "a type's dimension": ("type P { P(Tensor[(v,), float32]) }", "type P[v: Dim] { … }"),
    "arange": (
        "def @f(%c: Tensor[(n, 3), float32]) { arange(0, take(shape_of(%c), 0), 1) }",
        "write arange(…, dtype=int32)",
    ),
    "an element of a list": (LIST + "def @f(%l: List[int32]) { %l[0] }", "`@nth(%l, i)`"),
    "shape": (f"def @f({X}) {{ %x.shape }}", "write `shape_of(%x)`"),
    "a method": (f"def @f({X}) {{ %x.sum() }}", "write `sum("),
    "and": ("def @f(%a: bool, %b: bool) { %a and %b }", "write `a && b`"),
    "or": ("def @f(%a: bool, %b: bool) { %a or %b }", "write `a || b`"),
    "not": ("def @f(%a: bool) { not %a }", "write `!a`"),
    "elif": ("def @f(%a: bool) { if (%a) { 1 } elif (%a) { 2 } else { 3 } }", "else if (d)"),
    "for": ("def @f(%n: int32) { for %i in %n { %i } }", "a loop is"),
    "while": ("def @f(%n: int32) { while (%n > 0) { %n } }", "a loop is"),
    "print": ("def @f(%n: int32) { print(%n) }", '`trace("x is {}", %x)`'),
    "lambda": ("def @f() { lambda %x: %x + 1 }", "a function is `fn (%x) { … }`"),
    "an arrow function": ("def @f() { let %g = (%x) => %x; %g(1) }", "a function is `fn (%x) { … }`"),
    "an arrow type": ("def @f(%g: float32 -> float32) { %g(1.0) }", "`fn(A, B) -> C`"),
    "branches": ('def @f(%c: bool) { if (%c) { 1 } else { "a" } }', "make them of one type"),
    "a number added to a string": ('"a" + 1', "`@to_string(…)`"),
    "a constructor of another type": (
        A + "type B { Y(int32) }\ndef @f(%b: B) { 1 }\ndef @g() { @f(X(1)) }",
        "only a constructor of `B` makes one",
    ),
    "a pattern of another type": (
        A + "type B { Y(int32) }\ndef @f(%a: A) -> int32 { match (%a) { Y(%i) => %i } }",
        "the constructors of `A` are `X`",
    ),
    "a data type for a number": (
        "type A { X(int32) }\ndef @f(%a: A) -> int32 { %a }",
        "`match` takes a `A` apart",
    ),
    "a number for a data type": (
        "type A { X(int32) }\ndef @f(%i: int32) -> A { %i }",
        "a constructor of `A` makes",
    ),
    "a product": ("def @f(%a: Tensor[(2, 2), float32]) { %a @a }", "`a @ b`, with white space"),
    "single quotes": ("def @f() { 'abc' }", 'write `"abc"`'),
    "bits": ("def @f(%x: int32) { %x & 3 }", "`bitwise_and(a, b)`"),
    "a caret": ("def @f(%x: int32) { %x ^ 3 }", "a power is `**`"),
    "a field without a sigil": ("type L { L { w: int32 } }\nlet l = L(1); l.w", "%l.w"),
    "a length": (f"def @f({X}) {{ len(%x) }}", "`shape_of(%x)[0]`"),
    "an import": ("import std.list\n1", 'import "std/list"'),
    "a call of a result": (
        "def @f(%x: float32) { %x }\ndef @g() { @f(1.0)(2.0) }",
        "is called, but it is float32",
    ),
    "a ragged list": ("[[1, 2],\n [3]]", "<stdin>:2:2"),
    "a point without digits behind it": ("def @f(%x: float32) { %x * 1. }", "write `1.0`"),
    "a point without digits before it": ("def @f(%x: float32) { %x * .5 }", "write `0.5`"),
    "a division that rounds down": (
        "def @f(%a: int32, %b: int32) { let %c = %a // %b;\n %c }",
        "`floor_divide(a, b)` rounds down",
    ),
    "a dimension by two": (
        "def @f(%x: Tensor[(n, 3), float32]) { zeros(shape=(n // 2, 3), dtype=float32)\n}",
        "`floor_divide(a, b)` rounds down, and so does `/` of dimensions",
    ),
    "a binding that ends with a comment": (
        "def @f(%a: int32) { let %b = %a // kept\n let %c = %b; %c }",
        "a binding ends with `;`",
    ),
    "an identity matrix": (
        "def @f(%x: Tensor[(n, n), float32]) { eye(n) @ %x }",
        "`one_hot(arange(n, dtype=int64), 1.0, 0.0, depth=n)`",
    ),
    "a function of the library": (
        LIST + "def @f(%x: int32) { fori(0, 3, fn (%i, %y) { %y }, %x) }",
        '`@fori` is in the standard library: import "std/loop"',
    ),
    "the greater of two": (f"def @f({X}) {{ max(%x, 0.0) }}", "the greater of two is `maximum(a, b)`"),
    "the lesser of two": (f"def @f({X}) {{ min(%x, %x) }}", "the lesser of two is `minimum(a, b)`"),
    "a list of tensors": (f"def @f({X}) {{ concatenate([%x, %x]) }}", "a tuple is `(a, b)`, in parentheses"),
    "tensors without a tuple": (f"def @f({X}) {{ concatenate(%x, %x) }}", "`concatenate((a, b))`"),
    "a dimension of PyTorch": (f"def @f({X}) {{ sum(%x, dim=0) }}", "here it is `axis`"),
    "a dtype of Python": (
        f"def @f({X}) {{ ones_like(%x) + one_hot(1, 1.0, 0.0, 3, -1, double) }}",
        "a dtype is `float64`",
    ),
    "a dtype of C as a string": (
        f'def @f({X}) {{ ones(shape=(3,), dtype="double") }}',
        "it is a dtype such as float32",
    ),
    "a colon before a result": (f"def @f({X}): float32 {{ sum(%x) }}", "the type of a result follows `->`"),
    "a colon before a body": (f"def @f({X}): {{ %x }}", "the type of a result follows `->`"),
    "an assignment that adds": ("def @f(%x: int32) { %x += 1; %x }", "there is no `+=`: no variable changes"),
    "an increment": ("def @f(%x: int32) { x++; %x }", "there is no `++`"),
    "an axis too many": (
        "def @f(%x: Tensor[(2, 3), float32]) { transpose(%x, axes=(0, 2)) }",
        "axis 2 is out of range: the operand has rank 2",
    ),
    "defined twice": ("def @f() { 1 }\ndef @f() { 2 }", "the first definition is here (<stdin>:1:5)"),
}
BESIDE_THE_POINT = ("did you mean", "cast", "floor", "tile", "split")


@pytest.mark.parametrize(("program", "answer"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_has_one_answer(program: str, answer: str) -> None:
    ran = cli("check", "-", stdin=program.encode())
    assert ran.status == 1
    assert ran.output.count("error[") == 1, ran.output
    assert answer in ran.output, ran.output
    others = ran.output.replace(answer, "")
    assert not [words for words in BESIDE_THE_POINT if words in others], ran.output


PROGRAM = "def @main(%x: Tensor[(3,), float32]) { %x }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program, and files for it."""
    monkeypatch.chdir(tmp_path)
    Path("a.relay").write_text(PROGRAM)
    np.save("x.npy", np.ones(3))
    np.savez("w.npz", other=np.ones(3, "float32"))
    return tmp_path


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (("run", "a.relay", "x.npy"), 'x.astype("float32")'),
        (
            ("run", "a.relay", "[1.0, 2.0, 3.0]", "--weights", "w.npz"),
            "the file has `other`; the parameters are `x`",
        ),
        (("compile", "a.relay", "-o", "a.onnx"), "`relay export` writes ONNX models"),
    ],
)
def test_a_wrong_command_has_one_answer(folder: Path, command: tuple[str, ...], answer: str) -> None:
    ran = cli(*command)
    assert ran.status != 0
    assert answer in ran.output, ran.output
    assert not (folder / "a.onnx").exists()


def test_folders_are_checked_and_formatted(folder: Path) -> None:
    ran = cli("check", ".")
    assert ran.status == 0, ran.output
    assert "a.relay: no errors" in ran.output
    ran = cli("fmt", ".")
    assert ran.status == 0, ran.output
    assert (folder / "a.relay").read_text() != PROGRAM
