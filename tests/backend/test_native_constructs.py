"""Every construct of the language is compiled: each kind of expression and of pattern."""

from typing import Any, get_args

import numpy as np
import pytest

import relay
from relay.backend.native.host.native_program import NativeProgram
from relay.interpreter.show import show
from relay.ir import expr
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard, pattern_nodes
from relay.ir.walk import post_order, rewrite

PROGRAM = """
import "std/list"
import "std/option"
type Tree[A] { Leaf, Node(Tree[A], A, Tree[A]) }
type Nested[A] { Flat(A), Nest(Nested[(A, A)]) }

def @limit: int32 = 2 + 3
def @table = ref([1, 2, 3])

def @insert(%t: Tree[int32], %x: int32) -> Tree[int32] {
  match (%t) {
    Leaf => Node(Leaf, %x, Leaf),
    Node(%l, %y, %r) => if (%x < %y) { Node(@insert(%l, %x), %y, %r) } else { Node(%l, %y, @insert(%r, %x)) }
  }
}
def @depth[A](%n: Nested[A]) -> int32 {
  match (%n) { Flat(_) => 0, Nest(%m) => 1 + @depth(%m) }
}
def @even(%n: int32) -> bool { if (%n == 0) { True } else { @odd(%n - 1) } }
def @odd(%n: int32) -> bool { if (%n == 0) { False } else { @even(%n - 1) } }
def @compose[A, B, C](%f: fn(A) -> B, %g: fn(B) -> C) -> fn(A) -> C { fn (%x) { %g(%f(%x)) } }
def @cube(%x: float32) -> float32 { %x * %x * %x }

def @constants(%n: int32) {
  (%n + @limit, 1.5f64 + cast(%n, dtype="float64"), "text", True, [[1, 2], [3, %n]])
}
def @tuples(%n: int32) { let %t = ((%n, 2), ()); (%t.0.1, %t.1, (%n,)) }
def @blocks(%n: int32) { let %x = %n * 2; let %x = %x + 1; %x ** 2 }
def @shared(%n: int32) { %0 = %n + 1; %0 * %0 }
def @logic(%n: int32) { (%n > 1 && 6 / %n > 1 || !(%n == 3), 7 % 4) }
def @choices(%n: int32) { if (%n < 0) { -1 } else if (%n == 0) { 0 } else { 1 } }
def @recursion(%n: int32) { (@even(%n), @odd(%n)) }
def @local(%n: int32) {
  let rec %even = fn (%k: int32) -> bool { if (%k == 0) { True } else { %odd(%k - 1) } }
  and %odd = fn (%k: int32) -> bool { if (%k == 0) { False } else { %even(%k - 1) } };
  let %sum = fn (%k: int32, %s: int32) -> int32 { if (%k == 0) { %s } else { %sum(%k - 1, %s + %k) } };
  (%even(%n), %sum(%n, 0))
}
def @functions(%n: int32) {
  let %add = fn (%a: int32) { fn (%b: int32) { %a + %b + %n } };
  let %id = fn[A](%x: A) { %x };
  (@compose(%add(1), @cubed)(%n), %id(1), %id(True), (@compose(negative, abs))(%n))
}
def @cubed(%x: int32) -> int32 { %x * %x * %x }
def @operators(%n: int32) {
  let %f: fn(int32, int32) -> int32 = multiply;
  @foldl(%f, %n, Cons(2, Cons(3, Nil)))
}
def @constructors(%n: int32) {
  let %some: fn(int32) -> Option[int32] = Some;
  @map(fn (%f: fn(int32) -> Option[int32]) { %f(%n) }, Cons(%some, Nil))
}
def @data(%n: int32) { @insert(@insert(@insert(Leaf, %n), 1), 5) }
def @patterns(%n: int32) {
  match ((%n, Cons(%n, Cons(7, Nil)))) {
    (_, Nil) => (0, 0),
    (%a, Cons(%h, Cons(%k, _))) => (%a + %h, %k),
    (%a, %rest) => (%a, @length(%rest))
  }
}
def @partial(%n: int32) { match? (Cons(%n, Nil)) { Cons(%x, Nil) => %x } }
def @growing(%n: int32) { (@depth(Flat(%n)), @depth(Nest(Nest(Flat(((%n, 1), (2, 3))))))) }
def @references(%n: int32) {
  let %r = ref(%n);
  let %tick = fn () { ref_write(%r, ref_read(%r) + 1); ref_read(%r) };
  %tick();
  ref_write(@table, ref_read(@table) + [%n, %n, %n]);
  (%tick(), ref_read(@table) - ref_read(@table))
}
def @derivatives(%n: int32) {
  let %x = cast(%n, dtype="float32");
  let %pulled = vjp(@cube)(%x);
  let %slope = fn (%y: float32) -> float32 { grad(@cube)(%y).1.0 };
  (grad(@cube)(%x), %pulled.1(2f), jvp(@cube)((%x,), (1f,)), grad(%slope)(%x).1.0)
}
def @sizes(%n: int32) {
  let %a = arange(0, %n + 1, 1, dtype="int32");
  (sum(%a), shape_of(%a), reshape(stack((%a, %a), axis=0), newshape=(-1,)))
}
def @relations(%n: int32) {
  let %f = fn (%x, %y) where Broadcast { add(%x, %y) };
  (%f([1, 2], %n), %f([[1f], [2f]], [3f, 4f]))
}
def @ascribed(%n: int32) { (%n : int32); let %t: (int32, _) = (%n, [1f]); %t }
"""
ENTRIES = (
    "constants", "tuples", "blocks", "shared", "logic", "choices", "recursion", "local", "functions",
    "operators", "constructors", "data", "patterns", "partial", "growing", "references", "derivatives",
    "sizes", "relations", "ascribed",
)  # fmt: skip


@pytest.fixture(scope="module")
def program() -> relay.IRModule:
    return relay.infer(relay.parse(PROGRAM))


PATTERNS = {PatternWildcard, PatternVar, PatternConstructor, PatternTuple}


def test_no_kind_of_expression_or_pattern_is_missing_here(program: relay.IRModule) -> None:
    own = [f for v, f in program.functions.items() if v not in program.imported]
    nodes = [e for f in own for e in post_order(f)]
    assert {type(e) for e in nodes} >= set(get_args(expr.Expr)) - {expr.TempExpr}
    clauses = [c.lhs for e in nodes if isinstance(e, expr.Match) for c in e.clauses]
    assert {type(p) for lhs in clauses for p in pattern_nodes(lhs)} == PATTERNS
    assert {e.kind for e in nodes if isinstance(e, expr.Grad)} == {"grad", "vjp", "jvp"}


def test_each_of_them_is_compiled(program: relay.IRModule) -> None:
    built, interpreted = relay.build(program, entries=ENTRIES), relay.create_executor("debug", program)
    for name in ENTRIES:
        for n in (3, 0):
            assert show(built.program.evaluate(name, n)) == show(interpreted.evaluate(name)(n)), name


@pytest.mark.parametrize("mark", ["Once=1", 'Cyclic="no"', 'Piece="tensors"', "Primitive=1", "Once=0"])
def test_attributes_that_the_backend_uses_itself_mean_nothing_in_programs(mark: str) -> None:
    text = f"""
    def @f(%x: Tensor[(3,), float32], {mark}) -> Tensor[(3,), float32] {{ %x + %x }}
    def @main(%x: Tensor[(3,), float32]) {{
      let %g = fn (%y: Tensor[(3,), float32], {mark}) {{ %y * %x }};
      %g(@f(%x))
    }}
    """
    assert NativeProgram(relay.parse(text))(np.full(3, 2, "float32")).tolist() == [8, 8, 8]


def test_tuples_in_tuples_to_any_depth() -> None:
    depth = 1500
    t = "(" * depth + "Tensor[(3,), float32]" + ",)" * depth
    text = (
        f"def @main(%x: {t}) {{ let %s = abs(%x{'.0' * depth}); (%s + %s, {'(' * depth}%s{',)' * depth}) }}"
    )
    given: Any = np.full(3, -2, "float32")
    for _ in range(depth):
        given = (given,)
    sums, deep = NativeProgram(relay.parse(text))(given)
    for _ in range(depth):
        (deep,) = deep
    assert (sums.tolist(), deep.tolist()) == ([4, 4, 4], [2, 2, 2])


def test_tensors_of_many_open_sizes_are_joined() -> None:
    """Of 81 it took half a minute: the loops after the threads' had sums of all sizes in their addresses."""
    n = 81
    params = ", ".join(f"%x{i}: Tensor[(?,), float32]" for i in range(n))
    fields = ", ".join(f"%x{i}" for i in range(n))
    program = NativeProgram(relay.parse(f"def @main({params}) {{ concatenate(({fields}), axis=0) }}"))
    given = [np.arange(i, dtype="float32") for i in range(n)]
    assert np.array_equal(program(*given), np.concatenate(given))


def test_constants_that_share_are_made_once() -> None:
    """Written out, the tree has 2 to the 60 leaves."""
    chain = [f"def @c{i + 1} = Node(@c{i}, @c{i});" for i in range(60)]
    depth = "def @depth(%t: T) -> int64 { match (%t) { Leaf => 0i64, Node(%l, _) => 1i64 + @depth(%l) } }"
    text = ["type T { Leaf, Node(T, T) }", "def @c0 = Leaf;", *chain, depth, "def @main() { @depth(@c60) }"]
    assert NativeProgram(relay.parse("\n".join(text)))() == 60


def test_ifs_in_ifs() -> None:
    n = 1_000
    heads = " ".join(f"if (%x == {i}) {{ {i} }} else {{" for i in range(n))
    program = NativeProgram(relay.parse(f"def @main(%x: int32) {{ {heads} -1 {'}' * n} }}"))
    assert [program(x) for x in (0, 789, n)] == [0, 789, -1]


def test_more_elements_than_memory_has_are_summed_where_all_are_one_number() -> None:
    program = relay.build(
        relay.parse("def @main() { sum(ones(shape=(1000000, 1000000, 1000), dtype=float32)) }")
    )
    assert program() == np.float32(1e15)


def test_a_tuple_of_many_fields() -> None:
    n = 300
    fields = ", ".join(["float32"] * n)
    lines = [f"let %v{i} = %t.{i} + {f'%v{i - 1}' if i else '0.0'};" for i in range(n)]
    text = f"def @main(%t: ({fields})) {{ {' '.join(lines)} %v{n - 1} }}"
    assert NativeProgram(relay.parse(text))(tuple(map(np.float32, range(n)))) == n * (n - 1) / 2


@pytest.mark.parametrize("name", ["1.f", "2.f", 'a "b"', "ä, %x"])
def test_definitions_are_called_anything(name: str) -> None:
    mod = relay.parse("""
    def @f(%x: float32) -> float32 { %x + %x }
    def @g(%x: float32) -> float32 { %x * %x }
    def @main(%yes: bool, %x: float32) -> float32 { let %h = if (%yes) { @f } else { @g }; %h(%x) }
    """)
    g, other = relay.GlobalVar("g"), relay.GlobalVar(name)
    functions = {
        other if v == g else v: rewrite(fn, lambda e: other if e == g else None)
        for v, fn in mod.functions.items()
    }
    program = NativeProgram(relay.IRModule(functions))
    assert [program(yes, 3.0) for yes in (True, False)] == [6, 9]
