"""Guards, literals, alternatives and names for parts in a match: what they mean, and what they become."""

import pickle
import time
from random import Random

import numpy as np
import pytest

import relay
from relay.diagnostic import Report
from relay.ir.expr import Function, Match
from relay.ir.pattern import is_lowered
from relay.ir.walk import post_order
from relay.text.parser import parse_module

HEADER = 'import "std/list"\n'


def runners(mod):
    """The interpreter and machine code."""
    return relay.create_executor("debug", mod=mod).evaluate(), relay.build(mod)


def numbers(mod, *args):
    """What both give, as Python numbers."""
    found = [run(*args) for run in runners(mod)]
    listed = [[float(v) for v in (r if isinstance(r, (tuple, list)) else [r])] for r in found]
    assert listed[0] == listed[1]
    return listed[0]


def matches(mod):
    return [e for fn in mod.functions.values() for e in post_order(fn) if isinstance(e, Match)]


def test_clauses_are_tried_in_order():
    mod = parse_module(
        """
        def @f(%n: int32) -> int32 {
          match (%n) {
            0 => 10, 1 | 2 | 3 => 20, -1 => 25, %m if (%m > 100) => %m, %m if (%m > 50) => -%m, _ => 30
          }
        }
        def @main() { (@f(0), @f(3), @f(-1), @f(101), @f(60), @f(4)) }
        """
    )
    assert numbers(mod) == [10, 20, 25, 101, -60, 30]


def test_a_failed_guard_goes_on_with_the_next_clause_that_matches():
    mod = parse_module(
        HEADER
        + """
        def @f(%l: List[int32], %b: bool) -> int32 {
          match ((%l, %b)) {
            (Cons(%h, _), True) if (%h > 5) => 1,
            (Nil, True) => 2,
            ([| %a |], _) | ([| _, %a |], _) if (%a != 7) => 100 + %a,
            ([| %a, .. |] as %all, False) => %a * 1000 + @length(%all),
            _ => 3,
          }
        }
        def @main() {
          (@f([| 9 |], True), @f([| 9 |], False), @f(Nil, True), @f(Nil, False), @f([| 7 |], True),
           @f([| 7, 7 |], False), @f([| 1, 2, 3 |], False))
        }
        """
    )
    assert numbers(mod) == [1, 109, 2, 3, 1, 7002, 1003]


def test_strings_bools_and_dtypes_of_integers_match():
    mod = parse_module(
        """
        def @kind(%s: string) -> int32 { match (%s) { "relu" => 1, "tanh" | "sigmoid" => 2, _ => 0 } }
        def @not(%b: bool) { match (%b) { True => False, False => True } }
        def @zero(%x) { match (%x) { 0 => 1, _ => 0 } }
        def @main() { (@kind("relu"), @kind("sigmoid"), @kind("x"), @not(True), @zero(0i64), @zero(3u8)) }
        """
    )
    assert numbers(mod) == [1, 2, 0, 0, 1, 0]


def test_the_first_alternative_that_matches_binds():
    mod = parse_module(
        """
        def @f(%t: (int32, int32)) { match (%t) { (1, %x) | (%x, 1) if (%x > 5) => %x, _ => 0 } }
        def @main() { (@f((1, 9)), @f((9, 1)), @f((1, 2)), @f((1, 1))) }
        """
    )
    assert numbers(mod) == [9, 9, 0, 0]


def test_gradients_go_through():
    mod = parse_module(
        HEADER
        + """
        def @f(%x: float32, %n: int32) -> float32 {
          match ((%n, [| %x |])) {
            (0, _) => %x * %x,
            (1 | 2, Cons(%y, _)) if (%y > 1.0) => %y * %y * %y,
            (_, Cons(%y, _) as %l) => %y * @foldl(add, 0.0, %l),
            _ => 0.0,
          }
        }
        def @main(%x: float32) { (grad(@f)(%x, 0).1.0, grad(@f)(%x, 2).1.0, grad(@f)(%x, 3).1.0) }
        """
    )
    step = 1e-3
    run = relay.create_executor("debug", mod=mod)
    got = numbers(mod, np.float32(2))
    for n, g in zip((0, 2, 3), got, strict=True):
        f = run.evaluate(relay.parse_expr(f"fn (%x: float32) {{ @f(%x, {n}) }}", mod=mod))
        slope = (float(f(np.float32(2 + step))) - float(f(np.float32(2 - step)))) / (2 * step)
        assert abs(slope - g) < 1e-2


def test_inference_leaves_nothing_for_passes():
    mod = parse_module(
        """
        def @main(%x: int32, %b: bool) {
          match ((%x, %b)) { (0, True) => 1, (%y, _) as %t if (%y > 1) => %t.0, _ => 2 }
        }
        """
    )
    inferred = relay.infer(mod)
    assert all(c.guard is None and is_lowered(c.lhs) for e in matches(inferred) for c in e.clauses)
    assert relay.infer(inferred) is inferred
    assert relay.structural_equal(parse_module(str(inferred)), inferred)
    assert relay.analysis.well_formed(inferred)


def test_a_program_keeps_its_clauses_in_text_pickles_and_json():
    mod = parse_module(
        """
        def @main(%x: int32, %s: string) {
          match ((%x, %s)) { (0 | -1, "a" as %all) => 1, (%y, _) if (%y > 1 && %y < 9) => 3, _ => 4 }
        }
        """
    )
    json = relay.save_json(mod)
    for again in (parse_module(str(mod)), pickle.loads(pickle.dumps(mod)), relay.load_json(json)):
        assert relay.structural_equal(again, mod)
        assert relay.structural_hash(again) == relay.structural_hash(mod)
    assert str(parse_module(str(mod))) == str(mod)
    other = parse_module(str(mod).replace("%y > 1", "%y > 2"))
    assert not relay.structural_equal(other, mod)
    assert not relay.structural_equal(parse_module(str(mod).replace("0 | -1", "1 | -1")), mod)


def test_nodes_that_a_guard_and_its_clause_share_stay_shared():
    text = "def @main(%x: int32) { match (%x) { %y if (%0 = %y * %y; %0 > 3) => %0 + 1, _ => 0 } }"
    mod = parse_module(text)
    assert relay.structural_equal(parse_module(str(mod)), mod)
    assert numbers(mod, np.int32(3)) == [10]


def test_no_function_is_made_where_clauses_of_one_form_follow_each_other():
    mod = parse_module(
        HEADER
        + """
        def @f(%l: List[int32]) {
          match (%l) {
            Cons(%h, _) if (%h > 3) => 1,
            Cons(%g, _) if (%g > 2) => 2,
            Cons(_, %t) => @length(%t),
            Nil => 0,
          }
        }
        """
    )
    fn = relay.infer(mod)["f"]
    assert [e for e in post_order(fn) if isinstance(e, Function)] == [fn]


@pytest.mark.parametrize("clause", ["Cons(%h, _) if (%h == {i}) => {i} + @length(%l),", "[| {i} |] => {i},"])
def test_the_size_of_1000_clauses_is_that_of_their_text(clause):
    def module(n):
        rows = " ".join([clause.replace("{i}", str(i)) for i in range(n)])
        body = f"let %l = [| %n |]; match (%l) {{ {rows} _ => -1 }}"
        return parse_module(f"{HEADER}def @main(%n: int32) {{ {body} }}")

    sizes = [sum(1 for _ in post_order(relay.infer(module(n))["main"])) for n in (100, 1000)]
    assert sizes[1] < 11 * sizes[0]
    mod = module(1000)
    started = time.perf_counter()
    assert numbers(mod, np.int32(999)) == [999 + ("length" in clause)]
    assert time.perf_counter() - started < 60


def test_alternatives_multiply_nothing():
    several = ", ".join(["0 | 1 | 2"] * 30)
    args = ", ".join(["%x"] * 30)
    mod = parse_module(f"def @main(%x: int32) {{ match (({args})) {{ ({several}) => 1, _ => 0 }} }}")
    assert sum(1 for _ in post_order(relay.infer(mod)["main"])) < 1000
    assert numbers(mod, np.int32(2)) == [1]


def test_coverage_knows_literals_guards_and_alternatives():
    def unreachable(clauses):
        warnings = Report()
        text = (
            f"type T {{ A, B, C(bool) }}\ndef @main(%t: T, %n: int32) {{ match ((%t, %n)) {{ {clauses} }} }}"
        )
        try:
            relay.infer(parse_module(text), warnings=warnings)
        except relay.RelayError as error:
            return error.diagnostics[0].message
        return len(warnings.diagnostics)

    assert unreachable("(A | B, _) => 1, (C(True | False), _) => 2") == 0
    assert unreachable("(A | B, _) => 1, (C(True), _) => 2") == "this match does not cover `(C(False), _)`"
    assert unreachable("(A, 0) => 1, (A, 0) => 2, _ => 3") == 1
    assert unreachable("(A, 0) if (%n > 2) => 1, (A, 0) => 2, _ => 3") == 0
    assert unreachable("(A | B | C(_), _) as %x => 1, (B, 0) => 2") == 1
    assert unreachable("_ if (%n > 0) => 1, (A | B, _) => 2") == "this match does not cover `(C(_), _)`"


def test_a_partial_match_fails_where_it_was_written():
    clauses = "[| 1 |] => 1, Nil | [| _, .. |] if (%n > 5) => 2, [| _, _ |] => 3"
    mod = parse_module(f"{HEADER}def @main(%n: int32) {{ match? ([| %n |]) {{ {clauses} }} }}")
    assert numbers(mod, np.int32(9)) == [2]
    for run in runners(mod):
        with pytest.raises(relay.RelayError) as caught:
            run(np.int32(4))
        assert caught.value.codes[0] == "match-failure"
        assert str(caught.value.diagnostics[0].span).endswith("2:24")


def test_random_matches_take_the_clause_that_python_takes(seeds):
    for seed in seeds[:40]:
        rng = Random(seed)
        clauses = [(random_pattern(rng, 2), rng.choice([None, 0, 1, 2])) for _ in range(rng.randint(2, 7))]
        guards = ["" if g is None else f" if (%n % 3 == {g})" for _, g in clauses]
        rows = [f"{text(p)}{guards[i]} => {i}," for i, (p, _) in enumerate(clauses)]
        values = [random_value(rng) for _ in range(12)]
        calls = ", ".join([f"@f({shown(v)}, {n})" for n, v in enumerate(values)])
        params = "%v: (List[int32], (int32, bool)), %n: int32"
        body = f"match (%v) {{ {' '.join(rows)} _ => -1 }}"
        mod = parse_module(f"{HEADER}def @f({params}) -> int32 {{ {body} }} def @main() {{ ({calls}) }}")
        wanted = [
            next((i for i, (p, g) in enumerate(clauses) if fits(p, v) and g in (None, n % 3)), -1)
            for n, v in enumerate(values)
        ]
        assert relay.structural_equal(parse_module(str(mod)), mod)
        assert [int(x) for x in relay.create_executor("debug", mod=mod).evaluate()()] == wanted, (
            f"seed {seed}\n{mod}"
        )
        if seed % 8 == 0:
            assert numbers(mod) == wanted


def random_pattern(rng, depth, kind="value"):
    """A pattern as nested tuples, of a list, a number, a bool or all of them."""
    form = rng.random()
    if form < 0.15 or depth < -2:
        return ("any",)
    if form < 0.35 and depth > 0:
        return ("or", [random_pattern(rng, depth - 1, kind) for _ in range(rng.randint(2, 3))])
    match kind:
        case "value":
            pair = [random_pattern(rng, depth, k) for k in ("number", "bool")]
            return ("tuple", [random_pattern(rng, depth, "list"), ("tuple", pair)])
        case "list" if form < 0.5:
            return ("nil",)
        case "list":
            return ("cons", [random_pattern(rng, depth - 1, k) for k in ("number", "list")])
        case "bool":
            return ("is", rng.random() < 0.5)
        case _:
            return ("is", rng.randint(0, 2))


def text(p):
    match p:
        case ("any",):
            return "_"
        case ("nil",):
            return "Nil"
        case ("is", value):
            return str(value)
        case ("or", several):
            return f"({' | '.join(map(text, several))})"
        case ("cons", several):
            return f"Cons({', '.join(map(text, several))})"
        case (_, several):
            return f"({', '.join(map(text, several))})"


def fits(p, v):
    match p:
        case ("any",):
            return True
        case ("nil",):
            return v == []
        case ("is", value):
            return v == value
        case ("or", several):
            return any(fits(q, v) for q in several)
        case ("cons", (head, tail)):
            return v != [] and fits(head, v[0]) and fits(tail, v[1:])
        case (_, several):
            return all(fits(q, x) for q, x in zip(several, v, strict=True))


def random_value(rng):
    items = [rng.randint(0, 2) for _ in range(rng.randint(0, 3))]
    return (items, (rng.randint(0, 2), rng.random() < 0.5))


def shown(v):
    items, (n, b) = v
    return f"([| {', '.join(map(str, items))} |], ({n}, {b}))"
