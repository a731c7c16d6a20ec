"""What a program writes, and where it fails, stays as it is under every pass: nothing is dropped, repeated,
reordered or tried in advance.
"""

import contextlib
import io
from functools import cache

import numpy as np
import pytest

import relay
from relay.ir.module import IRModule
from relay.pipelines import DEFAULT, NATIVE
from relay.transform.rewriting.registry import load_all, registry, rules

load_all()
STANDARD = sorted({rules[p].name for p in (*DEFAULT, *NATIVE)} | {"expand_grad", "convert_layout"})
OTHERS = sorted(set(registry) - set(STANDARD))
OPTIONS = {"merge_composite": {"pattern_table": []}}
"""Options of passes that need some."""
UNEVALUATED = {"to_cps", "defunctionalize"}
"""Passes whose results take other arguments, or leave functions that are not called as they were."""

PROGRAMS = {
    "unused": """
def @main(%x: Tensor[(3,), float32]) {
  trace("a", %x);
  let %unused = trace("b", %x + 1f);
  let %also = trace("c {} {}", %unused, (%x, 2));
  %x
}""",
    "equal": """
def @main(%x: Tensor[(3,), float32]) {
  let %a = trace("same", %x);
  let %b = trace("same", %x);
  trace("same", %x);
  assert(all(%x > 0f), "holds");
  assert(all(%x > 0f), "holds");
  %a + %b
}""",
    "constant": """
def @main(%x: Tensor[(3,), float32]) {
  let %c = trace("two", 1f + 1f);
  assert(1 < 2, "known");
  trace("only text");
  trace("three", [1f, 2f, 3f]) * %x + %c
}""",
    "graph": """
def @main(%x: Tensor[(3,), float32]) {
  %0 = trace("first", %x * 2f);
  %1 = trace("second", %x + 1f);
  %2 = trace("third", %0 + %1);
  %1 * %2 + %0
}""",
    "branches": """
def @main(%x: Tensor[(3,), float32]) {
  let %s = sum(%x);
  let %y = if (%s > 1f) { trace("large", %x) } else { trace("small", %x * 2f) };
  let %z = if (%s > 100f) { assert(%s < 0f, "never"); trace("never", %x) } else { %y };
  if (1 > 2) { trace("not reached", %z) } else { trace("end", %z) }
}""",
    "functions": """
def @twice(%f: fn(float32) -> float32, %x: float32) -> float32 { %f(%f(%x)) }
def @loud(%x: float32) -> float32 { trace("loud", %x); %x + 1f }
def @main(%x: Tensor[(3,), float32]) {
  let %k = fn (%a: float32) { trace("k", @loud(%a)) };
  let %s = @twice(%k, sum(%x));
  let %unused = @loud(%s);
  trace("end", %x * %s)
}""",
    "loop": """
def @loop(%i: int32, %x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
  if (%i == 0) { trace("done", %x) } else { @loop(trace("i", %i - 1), %x * 2f) }
}
def @main(%x: Tensor[(3,), float32]) { @loop(3, %x) }""",
    "references": """
def @main(%x: Tensor[(3,), float32]) {
  let %r = ref(%x);
  trace("before", ref_read(%r));
  ref_write(%r, %x * 2f);
  trace("after", ref_read(%r));
  ref_write(%r, trace("written", %x + 1f));
  ref_read(%r)
}""",
    "data": """
import "std/list"
def @main(%x: Tensor[(3,), float32]) {
  let %l = trace("list", [| %x, %x * 2f |]);
  match (%l) {
    Cons(%h, _) => { trace("head", %h); %h },
    Nil => trace("none", %x)
  }
}""",
    "layers": """
def @main(%x: Tensor[(3,), float32]) {
  let %w = reshape(trace("weights", %x), (1, 3));
  let %a = nn.relu(nn.dense(%w, trace("square", nn.dense(transpose(%w), transpose(%w)))));
  let %b = nn.softmax(trace("logits", %a));
  trace("most", argmax(%b));
  %b
}""",
    "gradient": """
def @loss(%x: Tensor[(3,), float32]) {
  let %y = trace("y", %x * %x);
  assert(all(%y > 0f), "positive");
  if (sum(%y) > 1f) { sum(trace("if", %y)) } else { 0f }
}
def @main(%x: Tensor[(3,), float32]) {
  let %g = grad(@loss)(%x).1.0;
  trace("g", %g);
  let %v = vjp(@loss)(%x);
  trace("pull", %v.1(1f).0 + %v.1(2f).0);
  jvp(@loss)((%x,), (%g,)).1 * %x
}""",
    "fails": """
def @main(%x: Tensor[(3,), float32]) {
  trace("before");
  assert(sum(%x) < 0f, "the sum is negative");
  trace("behind");
  %x
}""",
}
X = np.array([1, 2, 3], "float32")


def outcome(mod: IRModule, run=relay.run) -> tuple[str, object]:
    """What a program writes, and its value, or the code of its failure."""
    screen = io.StringIO()
    with contextlib.redirect_stderr(screen):
        try:
            value = run(mod, "main", [X])
        except relay.RelayError as error:
            value = error.codes
    return screen.getvalue(), value


def same(a: object, b: object) -> bool:
    return a == b if isinstance(a, tuple | list) else np.allclose(a, b)


@cache
def inferred(program: str) -> IRModule:
    """A program with its types."""
    return relay.infer(relay.parse(PROGRAMS[program]))


@cache
def expected(program: str) -> tuple[str, object]:
    """What it writes and gives."""
    return outcome(inferred(program))


@pytest.mark.parametrize("name", [*STANDARD, *[n for n in OTHERS if n not in UNEVALUATED]])
def test_passes_keep_effects(name: str) -> None:
    for program in PROGRAMS:
        changed = registry[name].run(inferred(program), **OPTIONS.get(name, {}))
        if changed is inferred(program):
            continue
        written, value = expected(program)
        now, found = outcome(changed)
        assert now == written, program
        assert same(found, value), (program, found, value)


def test_inlined_functions_keep_effects() -> None:
    text = PROGRAMS["functions"].replace("@loud(%x: float32)", "@loud(%x: float32, inline=1)")
    inlined = relay.transform.Inline()(relay.infer(relay.parse(text)))
    assert "@loud" not in inlined.astext()
    assert outcome(inlined)[0] == expected("functions")[0]


@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled_programs_have_the_same_effects(program: str) -> None:
    written, value = expected(program)
    now, found = outcome(
        inferred(program), lambda m, _, args: relay.build(m, cache=False).program.evaluate("main", *args)
    )
    assert now == written
    assert same(found, value)
