"""Aliases of types: what they stand for, and that they stay in a module."""

import pickle

import numpy as np
import pytest

import relay
from relay.diagnostic import RelayError
from relay.ir.alias import expanded
from relay.text.parser import parse_module, parse_type

TYPES = """
type Vec[n: Dim] = Tensor[(n,), float32]
type Params[h: Dim, d: Dim] = (Tensor[(h, d), float32], Vec[h])
type Pair[A] = (A, A)
type Shaped[s: Shape, bt: BaseType] = Tensor[s, bt]
"""
MOD = parse_module(TYPES)


@pytest.mark.parametrize(
    ("alias", "plain"),
    [
        ("Vec[3]", "Tensor[(3,), float32]"),
        ("Params[3, 2]", "(Tensor[(3, 2), float32], Tensor[(3,), float32])"),
        ("Pair[Pair[int32]]", "((int32, int32), (int32, int32))"),
        ("fn(Vec[?]) -> ref(Vec[0])", "fn(Tensor[(?,), float32]) -> ref(Tensor[(0,), float32])"),
        ("Shaped[(2, 3), int8]", "Tensor[(2, 3), int8]"),
        ("Shaped[(), bool]", "bool"),
    ],
)
def test_an_alias_stands_for_its_type(alias, plain):
    t = parse_type(alias, mod=MOD)
    assert str(t) == alias
    assert expanded(t) is parse_type(plain)
    assert relay.structural_equal(t, parse_type(plain))
    assert relay.structural_hash(t) == relay.structural_hash(parse_type(plain))


PROGRAM = (
    TYPES
    + """
type Net { Net { first: Params[3, 2], others: Pair[Vec[?]] } }
def @apply(%p: Params[h, d], %x: Vec[d]) -> Vec[h] { %p.0 @ %x + %p.1 }
def @id<A>(%p: Pair[A]) -> Pair[A] { let %f = fn (%q: Pair[A]) -> Pair[A] { %q }; %f(%p) }
def @c: Vec[_] = [1.0, 2.0]
def @main(%n: Net) {
  let %p: Params[_, 2] = %n.first;
  match (@id((1, 2))) { (%a: int32, _) => (@apply(%p, @c), %a) }
}
"""
)


def test_aliases_print_as_they_are_written_and_are_gone_after_inference():
    mod = parse_module(PROGRAM)
    text = str(mod)
    for written in ("%p: Params[h, d], %x: Vec[d]) -> Vec[h]", "fn (%q: Pair[A]) -> Pair[A]", "@c: Vec[_] =",
                    "let %p: Params[_, 2] =", "first: Params[3, 2], others: Pair[Vec[?]]"):  # fmt: skip
        assert written in text
    assert str(parse_module(text)) == text
    inferred = relay.transform.InferType()(mod)
    assert "Params[_" not in str(inferred)
    assert "type Params<h: Dim, d: Dim> = (Tensor[(h, d), float32], Vec[h])" in str(inferred)
    assert relay.structural_equal(parse_module(str(inferred)), inferred)
    assert relay.transform.InferType()(inferred) is inferred


def test_aliases_come_back_from_json_and_pickles():
    for mod in (parse_module(PROGRAM), relay.transform.InferType()(parse_module(PROGRAM))):
        for again in (relay.load_json(relay.save_json(mod)), pickle.loads(pickle.dumps(mod)), mod.copy()):
            assert str(again) == str(mod)
            assert relay.structural_equal(again, mod)
    other = parse_module(
        PROGRAM.replace("type Vec[n: Dim] = Tensor[(n,)", "type Vec[n: Dim] = Tensor[(n + 0,)")
    )
    assert relay.structural_equal(other, parse_module(PROGRAM))
    assert not relay.structural_equal(parse_module("type A = int32"), parse_module("type A = int8"))


def test_programs_with_aliases_run():
    mod = parse_module(PROGRAM)
    net = {
        "first": (np.ones((3, 2), "float32"), np.zeros(3, "float32")),
        "others": (np.ones(1, "f"), np.ones(2, "f")),
    }
    for run in (relay.create_executor("debug", mod=mod).evaluate(), relay.build(mod)):
        found, one = run({"n": net})
        assert (found.tolist(), one) == ([3, 3, 3], 1)


def test_derivatives_by_what_an_alias_stands_for():
    mod = parse_module(
        TYPES
        + "def @f(%p: Params[1, 2]) -> float32 { sum(%p.0) * 2.0 + sum(%p.1) }"
        + "def @main(%p) { grad(@f)(%p).1 }"
    )
    ((w, b),) = relay.build(mod)((np.ones((1, 2), "float32"), np.ones(1, "float32")))
    assert (w.tolist(), b.tolist()) == ([[2, 2]], [1])


def test_aliases_of_imported_files(tmp_path):
    (tmp_path / "types.relay").write_text(TYPES)
    main = tmp_path / "main.relay"
    main.write_text(
        'import "types.relay"\ntype Two = Pair[Vec[2]]\ndef @main(%t: Two, %v: Vec[2]) { %t.0 + %v }'
    )
    mod = parse_module(main.read_text(), path=main)
    assert [a.name for a in mod.aliases] == ["Vec", "Params", "Pair", "Shaped", "Two"]
    assert "type Vec" not in str(mod)
    assert "%t: Two, %v: Vec[2]" in str(mod)


def test_a_chain_of_aliases_has_no_limit():
    n = 5_000
    text = "".join([f"type A{i} = (A{i + 1}, float32)\n" for i in range(n)]) + f"type A{n} = int32\n"
    mod = parse_module(text + "def @main(%x: A0) { %x.1 }")
    assert str(parse_module(str(mod))) == str(mod)
    relay.transform.InferType()(mod)


def test_a_use_of_one_argument_is_one_unknown():
    with pytest.raises(RelayError, match="shape-mismatch"):
        relay.transform.InferType()(
            parse_module(TYPES + "def @main() { let %p: Params[_, 2] = ([[1.0, 2.0]], [1.0, 2.0]); %p }")
        )


def test_the_old_format_has_the_types_themselves():
    mod = parse_module(TYPES + "def @main(%p: Params[3, 2]) -> Vec[3] { %p.1 }")
    text = relay.astext(mod, dialect="tvm")
    assert "Params" not in text
    assert relay.structural_equal(parse_module(text)["main"], mod["main"])
