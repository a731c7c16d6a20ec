"""Results in the memory of operands that end: values stay what they are, and no more memory is taken."""

import re
import resource
import time
from typing import Any

import numpy as np
import pytest

import relay
from generators.reuse import reusing
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.host.context import read_leaf
from relay.backend.native.loops.nodes import NewTensor, Release, Value
from relay.backend.native.memory.layout import PEAK_BYTES_OFFSET

PROGRAMS = 6
"""Random programs that are tried by default."""
MEGABYTE = 1 << 20


def peak(built: Any) -> int:
    """The most bytes of tensors that calls have had at once."""
    return sum([read_leaf(at + PEAK_BYTES_OFFSET, "i64") for at in built.program.contexts.known])


def flat(x: Any) -> list[Any]:
    """The arrays of a value."""
    return [z for y in x for z in flat(y)] if isinstance(x, tuple) else [np.asarray(x)]


def assert_same(found: Any, expected: Any, where: str) -> None:
    for a, b in zip(flat(found), flat(expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        tolerance = 2e-2 if a.dtype.itemsize < 4 and a.dtype.kind not in "iu" else 1e-4
        x, y = a.astype("float64"), b.astype("float64")
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance, err_msg=where)


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


def test_what_is_read_later_is_copied() -> None:
    text = """
    def @main(%c: Tensor[(64, 64), float32], %r: ref(Tensor[(64, 64), float32])) {
      let %a = sort(%c);
      let %b = %a with { [0]: 7f };
      let %old = ref_read(%r);
      let %new = %old with { [1]: 8f };
      ref_write(%r, %new);
      let %s = ref(%a + 1f);
      let %t = ref_read(%s);
      ref_write(%s, %t with { [2]: 9f });
      (%a, %b, %old, ref_read(%s), %t, %a with { [%c > 0f]: 3f })
    }
    """
    mod = relay.parse(text)
    c = np.random.default_rng(0).normal(size=(64, 64)).astype("float32")
    held = [relay.RefValue(c.copy()), relay.RefValue(c.copy())]
    expected = relay.create_executor("debug", mod=mod).evaluate("main")(c, held[0])
    assert_same(relay.build(mod)(c, held[1]), expected, "shared")
    assert_same(held[1].value, held[0].value, "the reference")


@pytest.mark.parametrize("k", [3, -1, 70])
def test_tuples_in_references_are_what_they_are_for_the_interpreter(k: int) -> None:
    """Also where a call fails between a field's update and the write."""
    text = """
    def @main(%x: T, %k: int32, %r: ref((T, T))) {
      let (%a, %b) = ref_read(%r);
      let %a1 = %a with { [0]: 7f };
      let %b1 = %b with { [%k]: 8f };
      ref_write(%r, (%a1, %b1));
      let %s = ref((sort(%x), sort(%x), 1));
      let (%e, %f, %n) = ref_read(%s);
      let %e1 = %e * 2f;
      let %f1 = %f with { [%k]: 3f };
      ref_write(%s, (%f1, %e1, %n + 1));
      let (%g, %h, %m) = ref_read(%s);
      let %g1 = cumsum(%g, 0);
      let %h1 = sort(%h + %g);
      ref_write(%s, (%g1, %h1, %m + 1));
      let %t = ref((sort(%x), sort(%x)));
      let %v = ref_read(%t);
      let %v1 = %v.0 with { [%k]: 1f };
      ref_write(%t, (%v1, %x));
      (ref_read(%s), ref_read(%t), %h, %a)
    }
    """
    mod = relay.parse(text.replace(": T,", ": Tensor[(64, 64), float32],").replace("(T, T)", PAIR))
    x = np.random.default_rng(0).normal(size=(64, 64)).astype("float32")
    held = [relay.RefValue((x.copy(), x * 2)) for _ in range(2)]
    calls = relay.create_executor("debug", mod=mod).evaluate("main"), relay.build(mod)
    if k == 70:
        for call, r in zip(calls, held, strict=True):
            with pytest.raises(relay.RelayError, match="index-out-of-range"):
                call(x, np.int32(k), r)
    else:
        expected, found = [call(x, np.int32(k), r) for call, r in zip(calls, held, strict=True)]
        assert_same(found, expected, "results")
    assert_same(held[1].value, held[0].value, "the reference")


PAIR = "(Tensor[(64, 64), float32], Tensor[(64, 64), float32])"


def test_records_that_are_needed_later_stay() -> None:
    text = """
    type S { S { a: Tensor[(40, 40), float32], b: Tensor[(40, 40), float32], n: int32 } }
    def @go(%s: S, %k: int32) -> (S, Tensor[(40, 40), float32]) {
      if (%k == 0) { (%s, %s.a) } else {
        let %t = %s with { a: %s.a with { [%k]: %s.b[0] }, n: %s.n + %k };
        if (mod(%k, 2) == 0) {
          let (%u, %v) = @go(%t with { b: %t.b with { [0]: %s.a[1] } }, %k - 1);
          (%u, %v + %s.b)
        } else { @go(S { a: %t.b, b: %t.a, n: %s.n }, %k - 1) }
      }
    }
    def @main(%x: Tensor[(40, 40), float32]) {
      let (%s, %y) = @go(S { a: sort(%x), b: %x * 2f, n: 1 }, 7);
      (%s.a, %s.b, %s.n, %y)
    }
    """
    mod = relay.parse(text)
    x = np.random.default_rng(0).normal(size=(40, 40)).astype("float32")
    assert_same(relay.build(mod)(x), mod.evaluate("main", x), "records")


def test_donated_arrays_are_the_results() -> None:
    text = """
    attributes @main { donate: ("w", "s") }
    def @main(%w: Tensor[(64, 32), float32], %s: (Tensor[(8,), bfloat16], Tensor[(k,), int8]), %x: float32) {
      (%w * %x, (%s.0 + 1bf16, %s.1 with { [0]: 7i8 }))
    }
    """
    built = relay.build(relay.parse(text))
    bf16 = relay.const(0.0, "bfloat16").value.dtype
    w, a, b = np.ones((64, 32), "float32"), np.ones(8, bf16), np.ones(3, "int8")
    (found, (first, second)) = built(w, (a, b), 3.0)
    assert found is w
    assert first is a
    assert second is b
    assert (w[0, 0], float(a[0]), b.tolist()) == (3, 2, [7, 1, 1])
    assert relay.parse(relay.parse(text).astext())["main"].attrs["donate"] == ("w", "s")


STEP = """
def @main(%w: Tensor[(64, n), float32], %b: Tensor[(64, n), float32], %x: Tensor[(64, n), float32]) {
  (%w - 0.5f * %x, %b + %x)
}
"""


@pytest.mark.parametrize("calls", ["in machine code", "by name"])
def test_arrays_that_cannot_be_overwritten_stay(calls: str) -> None:
    built = relay.build(relay.parse(STEP), donate=("w", "b"))

    def step(*args: Any) -> Any:
        return built(*args) if calls == "in machine code" else built(**dict(zip("wbx", args, strict=True)))

    def ones() -> Any:
        return np.ones((64, 32), "float32")

    x, w, frozen, larger = ones(), ones(), ones(), np.ones((65, 32), "float32")
    frozen.flags.writeable = False
    found, second = step(frozen, w, x)
    assert found is not frozen
    assert second is w
    again, _ = step(found, larger[1:], x)
    assert again is found, "the result of a program is overwritten"
    assert (larger == 1).all()
    assert (frozen == 1).all()
    found, second = step(x, ones(), x)
    assert found is not x
    np.testing.assert_array_equal(x, ones())
    np.testing.assert_array_equal(found, ones() / 2)
    transposed = np.ones((32, 64), "float32").T
    assert step(transposed, ones(), x)[0] is not transposed
    for pair in ((x, x), (larger[1:], larger[:-1])):
        with pytest.raises(relay.RelayError) as error:
            step(*pair, ones())
        assert error.value.codes == ("donated",)
        assert "`%b` and `%w` share memory" in str(error.value)


@pytest.mark.parametrize("calls", ["in machine code", "by name"])
def test_a_result_without_elements_is_no_donated_array(calls: str) -> None:
    """The object around an array is gone after its last use, and the result's may be in its place."""
    text = """
    def @main(%w: Tensor[(n,), float32], %k: int32, %x: Tensor[(m,), float32]) {
      let %s = sum(%w);
      (if (%k == 0) { tanh(%x) * %s } else { @main(%w, %k - 1, %x).0 }, %s)
    }
    """
    built = relay.build(relay.parse(text), donate="w", threads=1)
    w, x = np.ones(8, "float32"), np.ones(0, "float32")
    for k in (0, 1):
        args = (w, np.int32(k), x)
        found, total = built(*args) if calls == "in machine code" else built(w=w, k=args[1], x=x)
        assert found is not w
        assert (np.shape(found), total) == ((0,), 8)


def test_a_name_that_is_no_parameter_is_refused() -> None:
    for build in (
        lambda: relay.build(relay.parse(STEP), donate="y"),
        lambda: relay.build(relay.parse(STEP.replace("def", 'attributes @main { donate: ("y",) } def'))),
    ):
        with pytest.raises(relay.RelayError) as error:
            build()
        assert error.value.codes == ("donated",)
    with pytest.raises(relay.RelayError, match="names parameters as strings"):
        relay.build(relay.parse(STEP), donate=(1,))


def test_a_training_step_updates_weights_in_their_place() -> None:
    text = """
    def @main(%w: T, %m: T, %x: Tensor[(8, 512), float32]) {
      let (%loss, (%g,)) = grad(fn (%v) { sum(tanh(%x @ %v)) })(%w);
      let %m = 0.9f * %m + %g;
      (%w - 0.01f * %m, %m, %loss)
    }
    """
    mod = relay.parse(text.replace(": T,", ": Tensor[(512, 512), float32],"))
    draw = np.random.default_rng(0)
    w, m, x = [draw.normal(size=s).astype("float32") for s in ((512, 512), (512, 512), (8, 512))]
    expected = mod.evaluate("main", w, m, x)
    step = relay.build(mod, donate=("w", "m"))
    found = step(w, m, x)
    assert found[0] is w
    assert_same(found, expected, "a step")
    kept = relay.build(mod)
    kept(w, m, x)
    assert peak(step) < peak(kept) - 0.6 * MEGABYTE


WEIGHT = 512 * 384 * 4
"""Bytes of a weight."""
SGD = "(%w - 0.1f * %g, %loss)"
MOMENTUM = "let %m = 0.9f * %m + %g; (%w - 0.01f * %m, %m, %loss)"
ADAM = """
let %m = 0.9f * %m + 0.1f * %g;
let %v = 0.99f * %v + 0.01f * %g * %g;
(%w - 0.01f * %m / (sqrt(%v) + 0.01f), %m, %v, %loss)
"""


@pytest.mark.parametrize(
    ("update", "donated", "tensors", "threads"),
    [(SGD, "w", 0.8, 1), (MOMENTUM, "wm", 0.8, 2), (ADAM, "wmv", 1.8, 2)],
    ids=["sgd", "momentum", "adam"],
)
def test_optimisers_write_to_the_weights(update: str, donated: str, tensors: float, threads: int) -> None:
    """The product that is the gradient, and what follows it; Adam's is a tensor, which two sums read."""
    params = ", ".join([f"%{p}: Tensor[(512, 384), float32]" for p in donated])
    text = f"""
    def @main({params}, %x: Tensor[(69, 512), float32]) {{
      let (%loss, (%g,)) = grad(fn (%u) {{ sum(tanh(%x @ %u)) }})(%w);
      {update}
    }}
    """
    mod, draw = relay.parse(text), np.random.default_rng(0)
    args = [np.abs(draw.normal(size=(512, 384)).astype("float32")) for _ in donated]
    x = draw.normal(size=(69, 512)).astype("float32") / 100
    expected = mod.evaluate("main", *args, x)
    step = relay.build(mod, donate=tuple(donated), threads=threads)
    found = step(*args, x)
    assert all(a is b for a, b in zip(found, args, strict=False))
    assert_same(found, expected, update)
    assert peak(step) < tensors * WEIGHT + 2 * 69 * 384 * 4 + WEIGHT / 2


def test_what_follows_a_product_takes_the_place_of_what_it_reads_at_one_index() -> None:
    """What the product has packed, and what groups before it have read, is there."""
    takes = {
        "%a - 0.1f * (transpose(%x) @ %y)": True,
        "%b - sum(%b, 0, True) * (transpose(%x) @ %y)": True,
        "nn.relu(%c + %x @ %c)": True,
        "%d + %d[0] * (transpose(%x) @ %y)": False,
        "reverse(%e, 0) + transpose(%x) @ %y": False,
    }
    params = ", ".join([f"%{p}: Tensor[(128, 128), float32]" for p in "abcdexy"])
    mod = relay.parse(f"def @main({params}) {{ ({', '.join(takes)}) }}")
    args = [np.random.default_rng(i).normal(size=(128, 128)).astype("float32") for i in range(7)]
    expected = mod.evaluate("main", *args)
    found = relay.build(mod, donate=tuple("abcde"))(*args)
    assert [x is a for x, a in zip(found, args, strict=False)] == list(takes.values())
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-2)


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


def test_files_know_what_is_donated(tmp_path: Any) -> None:
    built = relay.build(relay.parse(STEP), donate="w")
    built.export_library(tmp_path / "step.rlo")
    w, x = np.ones((64, 8), "float32"), np.ones((64, 8), "float32")
    assert relay.load_module(tmp_path / "step.rlo")(w, x, x)[0] is w
