"""`relay reduce`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.reduction.reducer import Reducer
from relay.text.parser import parse_module
from relay.typecheck.infer import infer
from support import cli

PROGRAM = """\
import "std/list"
import "std/option"
type Tree { Leaf, Node(int32, Tree, Tree) }
type Kind { A(int32, float32), B, C }
def @sum(%t: Tree) -> int32 {
  match (%t) { Leaf => 0, Node(%v, %l, %r) => { let %a = @sum(%l); let %b = @sum(%r); %v + %a + %b } }
}
def @unused(%k: Kind) -> int32 { match (%k) { A(%n, _) => %n, B => 2, C => 3 } }
def @div(%a: int32, %b: int32, %c: float32) -> int32 {
  let %z = %a * 2;
  if (%c > 1.0) { %z / %b } else { %z / (%b + 0) }
}
def @main() {
  let %x = [1.0, 2.0];
  let %y = nn.relu(%x * 2.0);
  let %s = @sum(Node(1, Leaf, Leaf)) + @unused(A(1, 2.0));
  let %w = @map(fn (%i: int32) { %i + 1 }, [| 1, 2 |]);
  let %d = @div(%s + 3, 0, 2.0);
  (sum(%y), %d, @length(%w))
}
"""


def with_code(code: str) -> Callable[[str], bool]:
    """Whether running a program fails with a code."""

    def fails(text: str) -> bool:
        try:
            Interpreter(infer(parse_module(text))).evaluate("main")
        except RelayError as error:
            return code in error.codes
        return False

    return fails


def reduced(text: str, fails: Callable[[str], bool], **options: object) -> Reducer:
    reducer = Reducer(text, "<text>", None, fails, **options)  # type: ignore[arg-type]
    small = reducer.run()
    assert fails(small)
    return reducer


def nodes(mod: IRModule) -> int:
    return sum(
        [1 for v, e in mod.functions.items() if v.name_hint not in mod.imported for _ in post_order(e)]
    )


def test_a_program_becomes_what_fails_of_it() -> None:
    found = reduced(PROGRAM, with_code("divide-by-zero"))
    assert "import" not in found.text
    assert "type" not in found.text
    assert "0i32 / 0i32" in found.text
    assert nodes(found.mod) <= 12
    assert found.tests < 150


def test_it_is_deterministic() -> None:
    one, other = (reduced(PROGRAM, with_code("divide-by-zero")) for _ in range(2))
    assert (one.text, one.tests) == (other.text, other.tests)


def test_it_is_bounded() -> None:
    found = reduced(PROGRAM, with_code("divide-by-zero"), max_tests=3)
    assert found.tests == 3
    assert reduced(PROGRAM, with_code("divide-by-zero"), limit_s=0.0).tests == 0


def test_fields_constructors_parameters_and_attributes_go() -> None:
    text = """\
type T { P(int32, float32), Q }
attributes @f { inline: true }
def @f(%t: T, %n: int32) -> int32 { match (%t) { P(%a, _) => %a / %n, Q => 1 } }
def @main() { @f(P(4, 1f), 0) + @f(Q, 3) }
"""

    def fails(text: str) -> bool:
        return with_code("divide-by-zero")(text) and "@f" in text and "P(" in text

    found = reduced(text, fails)
    assert "attributes" not in found.text
    assert "Q" not in found.text
    assert "float32" not in found.text


def test_attributes_of_operators_go_back_to_their_defaults() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32]) { sum(%x, axis=(1,), keepdims=True) }\n"
    found = reduced(text, lambda t: "sum(%x" in t)
    assert "keepdims" not in found.text


def test_a_long_program_takes_few_tests() -> None:
    lines = [f"  let %a{i} = %a{i - 1} + {i}.0;" for i in range(1, 3000)]
    text = "\n".join(["def @main(%a0: float32) {", *lines, "  let %z = 1 / 0;", "  (%a2999, %z)", "}", ""])
    found = reduced(text, lambda t: "1 / 0" in t)
    assert found.tests < 60
    assert nodes(found.mod) <= 6


def test_a_deep_program_is_reduced() -> None:
    deep = "relu(" * 20_000
    text = f"def @main(%x: float32) {{ {deep.replace('relu', 'nn.relu')}sqrt(%x){')' * 20_000} }}\n"
    found = reduced(text, lambda t: "sqrt(%x)" in t, max_tests=60)
    assert nodes(found.mod) < 10


def test_ill_typed_programs_on_demand() -> None:
    text = "def @f(%x: float32) { %x }\ndef @main(%x: float32) { let %y = %x + 1i32; let %z = @f(%x); %z }\n"

    def fails(text: str) -> bool:
        try:
            infer(parse_module(text))
        except RelayError as error:
            return "dtype-mismatch" in error.codes
        return False

    found = reduced(text, fails, well_typed=False)
    assert "@f" not in found.text


def test_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "program.relay"
    path.write_text("def @other() { 3 }\ndef @main() { let %a = 4; 7 * 6 + %a }\n")
    small = tmp_path / "small.relay"
    ran = cli(
        "reduce", str(path), "--command", "grep -q '7 [*] 6' {}", "--expect-exit", "0", "-o", str(small)
    )
    assert ran.status == 0
    assert small.read_text() == "def @main() {\n  7 * 6\n}\n"
    assert "2 lines" in ran.output
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (("--command", "true"), 2, "needs {}"),
        (("--command", "true {}"), 1, "error[not-reproduced]: the command succeeds"),
        (("--command", "false {}", "--expect-exit", "3"), 1, "exit status 1"),
        (("--command", "cat {}", "--expect-output", "nothing"), 1, "output ends in"),
        (("--command", "cat {}", "--expect-output", "("), 2, "no regular expression"),
        (("--command", "sleep 5; cat {}", "--timeout", "0.1"), 1, "takes more than 0.1 s"),
        ((), 2, "--command"),
    ],
)
def test_wrong_usage(options: tuple[str, ...], status: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "program.relay"
    path.write_text("def @main() { 1 }\n")
    ran = cli("reduce", str(path), *options)
    assert ran.status == status
    assert message in ran.output


def test_programs_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "wrong.relay"
    path.write_text("def @main() -> float32 { True }\n")
    ran = cli("reduce", str(path), "--command", "false {}")
    assert ran.status == 1
    assert "--allow-ill-typed" in ran.output
    assert "cannot-read" in cli("reduce", str(tmp_path / "missing.relay"), "--command", "false {}").output
