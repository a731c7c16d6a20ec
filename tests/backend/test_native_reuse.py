"""Results in the memory of operands that end: values stay what they are, and no more memory is taken."""

import re
import resource
import time

import numpy as np
import pytest

import relay
from backend.reuse import MEGABYTE, assert_same, peak
from generators.reuse import reusing
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.loops.nodes import Block, NewTensor, Release, Statement, Value
from relay.backend.native.loops.reuse import Tensor, Uses

PROGRAMS = 6
"""Random programs that are tried by default."""


def check(seed: int) -> None:
    """A random program gives the values of the interpreter, twice, and leaves its arguments as they are."""
    made = reusing(seed)
    mod = relay.parse(made.text)
    expected = relay.create_executor("debug", mod=mod).evaluate("main")(*made.args)
    given = [np.array(x) for x in made.args]
    built = relay.build(mod, threads=1 + seed % 2)
    for _ in range(2):
        assert_same(built(*given), expected, f"seed {seed}")
        for a, b in zip(given, made.args, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"seed {seed}")
    if made.donated:
        built = relay.build(mod, threads=2 - seed % 2, donate=made.donated)
        assert_same(built(*given), expected, f"seed {seed}, donated")
        for name, a, b in zip("kxyz", given, made.args, strict=True):
            if name not in made.donated:
                np.testing.assert_array_equal(a, b, err_msg=f"seed {seed}")


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs(seed: int) -> None:
    check(seed)


@pytest.mark.long
def test_many_random_programs(seeds: range) -> None:
    for seed in seeds:
        check(seed)


def test_a_loop_of_elementwise_steps_takes_two_tensors_at_most() -> None:
    text = """
    def @main(%n: int32, %x: Tensor[(512, 512), float32]) -> Tensor[(512, 512), float32] {
      if (%n == 0) { %x } else { @main(%n - 1, cumsum(nn.softmax(tanh(%x), 1), 1)) }
    }
    """
    built = relay.build(relay.parse(text))
    x = np.random.default_rng(0).normal(size=(512, 512)).astype("float32")
    assert_same(built(5, x), relay.parse(text).evaluate("main", 5, x), "a loop")
    assert peak(built) < 1.3 * MEGABYTE


@pytest.mark.parametrize(
    ("body", "takes"),
    [
        ("tanh(%x) * %x", True),
        ("nn.softmax(%x, 1)", True),
        ("nn.softmax(%x, 0)", True),
        ("%x + sum(%x, 1, True)", True),
        ("cumsum(%x, 1)", True),
        ("%x * %x[0]", False),
        ("%x + reverse(%x, 0)", False),
        ("%x + transpose(%x, (1, 0))", False),
        ("take(%x, [3, 2, 1, 0], axis=0)", False),
    ],
)
def test_a_result_takes_the_place_of_what_is_read_before(body: str, takes: bool) -> None:
    mod = relay.parse(f"def @main(%x: Tensor[(4, 4), float32]) {{ {body} }}")
    block = Compiler(relay.infer(mod)).program.nests[-1].block
    made = [s for s in block.statements if isinstance(s, NewTensor) and s.result in block.yields]
    assert bool(made[0].places) == takes
    x = np.random.default_rng(0).normal(size=(4, 4)).astype("float32")
    again = f"def @main(%x: Tensor[(4, 4), float32]) {{ let %x = sort(%x); sort({body}) }}"
    assert_same(relay.build(relay.parse(again))(x), relay.parse(again).evaluate("main", x), body)


def test_an_operand_that_is_needed_again_stays() -> None:
    text = """
    def @main(%x: Tensor[(64, 64), float32]) {
      let %y = sort(%x);
      let %z = tanh(%y);
      let %l = (%y, sort(%z));
      (%l, sort(%y + %z), %z)
    }
    """
    mod = relay.parse(text)
    x = np.random.default_rng(0).normal(size=(64, 64)).astype("float32")
    assert_same(relay.build(mod)(x), mod.evaluate("main", x), "shared")


def test_what_a_group_has_released_is_no_place_for_its_result() -> None:
    """The sums of a product that is rounded to bfloat16 are gone when it is converted back."""
    text = """
    def @main(%x: Tensor[(16, 64), float32], %y: Tensor[(64, 32), float32]) {
      cast(nn.matmul(%x, %y, out_dtype=bfloat16), dtype=float32)
    }
    """
    for nest in Compiler(relay.infer(relay.parse(text))).program.nests:
        gone: list[Value] = []
        for s in nest.block.statements:
            if isinstance(s, NewTensor):
                assert all(p.value is not v for p in s.places for v in gone)
            if isinstance(s, Release):
                gone.append(s.value)


CACHE = "Tensor[(1, 8, 512, 64), float32]"
"""A megabyte."""
STEPS = 500
LOOPS = {
    "a tail call": """
    def @main(%n: int32, %c: C, %k: K) -> C {
      if (%n == 0) { %c } else { let %p = mod(%n, 511); @main(%n - 1, %c with { [:, :, %p:%p + 1]: %k }, %k) }
    }""",
    "a tuple": """
    def @main(%n: int32, %c: C, %k: K) { @go(%n, (%c, %n), %k).0 }
    def @go(%n: int32, %s: (C, int32), %k: K) -> (C, int32) {
      if (%n == 0) { %s } else {
        let %p = mod(%s.1, 511);
        let %a = %s.0 with { [:, :, %p:%p + 1]: %k };
        @go(%n - 1, (%a, %s.1 + 1), %k * 0.5f)
      }
    }""",
    "a record": """
    type State { State { n: int32, c: C } }
    def @main(%n: int32, %c: C, %k: K) { let %s = @go(State { n: %n, c: %c }, %k); %s.c }
    def @go(%s: State, %k: K) -> State {
      if (%s.n == 0) { %s } else {
        let %p = mod(%s.n, 511);
        @go(%s with { c: %s.c with { [0, :, %p]: %k[0, :, 0] }, n: %s.n - 1 }, %k)
      }
    }""",
    "a list": """
    def @main(%n: int32, %c: C, %k: K) {
      match (@go(%n, [| %c |], %k)) { Cons(%c, _) => %c, Nil => @none() }
    }
    def @none() -> C { zeros(shape=(1, 8, 512, 64), dtype=float32) }
    def @go(%n: int32, %l: List[C], %k: K) -> List[C] {
      if (%n == 0) { %l } else { let %p = mod(%n, 511); @go(%n - 1, @set(%l, %p, %k), %k) }
    }
    def @set(%l: List[C], %p: int32, %k: K) -> List[C] {
      match (%l) { Nil => Nil, Cons(%c, %r) => Cons(%c with { [:, :, %p:%p + 1]: %k }, @set(%r, %p, %k)) }
    }""",
    "a reference": """
    def @main(%n: int32, %c: C, %k: K) { let %r = ref(%c); @go(%n, %r, %k); ref_read(%r) }
    def @go(%n: int32, %r: ref(C), %k: K) -> () {
      if (%n == 0) { () } else {
        let %p = mod(%n, 511);
        ref_write(%r, ref_read(%r) with { [:, :, %p:%p + 1]: %k });
        @go(%n - 1, %r, %k)
      }
    }""",
    "a reference to a tuple": """
    def @main(%n: int32, %c: C, %k: K) {
      let %r = ref((%c, 0, %c * 2f));
      @go(%n, %r, %k);
      let (%a, _, %b) = ref_read(%r);
      %a + %b
    }
    def @go(%n: int32, %r: ref((C, int32, C)), %k: K) -> () {
      if (%n == 0) { () } else {
        let %p = mod(%n, 511);
        let (%a, %m, %b) = ref_read(%r);
        let %a1 = %a with { [:, :, %p:%p + 1]: %k };
        let %b1 = %b with { [:, :, %p:%p + 1]: %k * 0.5f };
        ref_write(%r, (%a1, %m + 1, %b1));
        @go(%n - 1, %r, %k)
      }
    }""",
    "fori": """
    def @main(%n: int32, %c: C, %k: K) {
      @fori(0, %n, fn (%i, %s) { let %p = mod(%i, 511); %s with { [:, :, %p:%p + 1]: %k } }, %c)
    }""",
    "while_loop": """
    def @main(%n: int32, %c: C, %k: K) {
      @while_loop(
        fn (%s) { %s.0 < %n },
        fn (%s) { let %p = mod(%s.0, 511); (%s.0 + 1, %s.1 with { [0, [0, 3], [%p, %p]]: 2f }) },
        (0, %c)
      ).1
    }""",
    "points": """
    def @main(%n: int32, %c: C, %k: K) -> C {
      if (%n == 0) { %c } else { let %p = mod(%n, 8); @main(%n - 1, %c with { [[0], [%p]]: %k[:, 0] }, %k) }
    }""",
    "another shape": """
    def @main(%n: int32, %c: C, %k: K) -> C {
      if (%n == 0) { %c } else {
        let %p = mod(%n, 511);
        let %d = reshape(%c, (8, 512, 64)) with { [:, %p]: %k[0, :, 0] };
        @main(%n - 1, reshape(%d, (1, 8, 512, 64)), %k)
      }
    }""",
}  # fmt: skip


def loop_of(name: str, dtype: str) -> relay.IRModule:
    text = re.sub(r"\bC\b", CACHE, LOOPS[name])
    text = re.sub(r"\bK\b", "Tensor[(1, 8, 1, 64), float32]", text)
    suffix = {"float32": "f", "bfloat16": "bf16", "float16": "f16", "int8": "i8"}[dtype]
    text = text.replace("float32", dtype).replace("2f", f"2{suffix}").replace("0.5f", f"0.5{suffix}")
    return relay.parse('import "std/prelude"\nimport "std/loop"\n' + text)


@pytest.mark.parametrize(
    ("name", "dtype"), [*[(name, "float32") for name in LOOPS], ("a tail call", "bfloat16"), ("fori", "int8")]
)
def test_a_loop_updates_a_cache_in_its_place(name: str, dtype: str) -> None:
    mod = loop_of(name, dtype)
    kind = relay.const(0, dtype).value.dtype
    cache, k = np.zeros((1, 8, 512, 64), kind), np.arange(512).reshape(1, 8, 1, 64).astype(kind)
    built = relay.build(mod, threads=1)
    assert_same(built(2, cache, k), mod.evaluate("main", np.int32(2), cache, k), name)
    assert not np.asarray(cache).any()
    before = time.process_time()
    built(STEPS, cache, k)
    seconds = time.process_time() - before
    tensors = 2 if name == "a reference to a tuple" else 1
    assert peak(built) < (tensors + 0.5) * cache.nbytes, "the caller's is another"
    copies = time.process_time()
    for _ in range(STEPS):
        cache.copy()
    assert seconds < (time.process_time() - copies) / 2, "no step copies it"


MILLION = 1_000_000


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in LOOPS if name != "points"])
def test_a_million_steps_take_the_memory_of_a_few(name: str) -> None:
    """Of tensors and of the stack: what the process has does not grow."""
    text = LOOPS[name].replace("8, 512, 64", "2, 512, 2").replace("[0, 3]", "[0, 1]")
    text = re.sub(r"\bC\b", "Tensor[(1, 2, 512, 2), float32]", text)
    text = re.sub(r"\bK\b", "Tensor[(1, 2, 1, 2), float32]", text)
    built = relay.build(relay.parse('import "std/prelude"\nimport "std/loop"\n' + text), threads=1)
    cache, k = np.zeros((1, 2, 512, 2), "float32"), np.ones((1, 2, 1, 2), "float32")
    built(1000, cache, k)
    tensors, before = peak(built), resident()
    found = built(MILLION, cache, k)
    assert np.isfinite(np.asarray(found)).all()
    assert peak(built) == tensors
    assert resident() - before < MEGABYTE


def resident() -> int:
    """Bytes of memory that the process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_an_update_is_in_place_where_later_lines_ask_for_a_known_size() -> None:
    text = """
    def @put<m: Dim, k: Dim>(
      %c: Tensor[(m, k), float32], %x: Tensor[(k,), float32], %i: int32
    ) -> (Tensor[(m, k), float32], Tensor[(k,), float32]) {
      let %new = %c with { [%i % 8]: %x };
      (%new, reshape(%x[:, None] * 0.5, (k,)))
    }
    def @loop<m: Dim>(
      %n: int32, %c: Tensor[(m, 256), float32], %x: Tensor[(256,), float32]
    ) -> Tensor[(m, 256), float32] {
      if (%n == 0) { %c } else { let (%c, %x) = @put(%c, %x, %n); @loop(%n - 1, %c, %x) }
    }
    def @main(%n: int32, %c: Tensor[(m, 256), float32], %x: Tensor[(256,), float32]) { @loop(%n, %c, %x) }
    """
    built = relay.build(relay.parse(text))
    found = built(np.int32(3), np.zeros((1024, 256), "float32"), np.full(256, 8, "float32"))
    assert found[:5, 0].tolist() == [0, 2, 4, 8, 0]
    assert peak(built) < 1.5 * MEGABYTE


@pytest.mark.parametrize("count", [20, 120])
def test_each_result_looks_at_the_statements_of_few_operands(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    visited: list[Statement] = []
    statements_of = Uses.statements_of

    def counted(self: Uses, out: Tensor, p: Tensor, block: Block) -> list[Statement]:
        visited.extend(statements := statements_of(self, out, p, block))
        return statements

    monkeypatch.setattr(Uses, "statements_of", counted)
    lines = [f"let %y{i} = tanh(%x{i}) * %x{i};" for i in range(count)]
    params = ", ".join([f"%x{i}: Tensor[(4, 8), float32]" for i in range(count)])
    results = ", ".join([f"%y{i}" for i in range(count)])
    Compiler(relay.parse(f"def @main({params}) {{ {' '.join(lines)} ({results}) }}"))
    assert count <= len(visited) <= 50 * count
