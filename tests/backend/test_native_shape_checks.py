"""Shapes that are known only when the program runs: machine code refuses what the interpreter refuses."""

import numpy as np
import pytest

import relay

BAD, GOOD = [5, 5], [1, 2, 3]
OWN = "Tensor[(n,), int32]"
PROGRAMS = {
    "argument": f"""
        def @f(%t: Tensor[(3,), int32]) {{ sum(%t) }}
        def @main(%x: {OWN}) {{ @f(unique(%x).0) }}""",
    "let": f"def @main(%x: {OWN}) {{ let %u: Tensor[(3,), int32] = unique(%x).0; sum(%u) }}",
    "result": f"""
        def @u(%x: {OWN}) -> Tensor[(3,), int32] {{ unique(%x).0 }}
        def @main(%x: {OWN}) {{ sum(@u(%x)) }}""",
    "result like an argument": f"def @main(%x: {OWN}) -> {OWN} {{ unique(%x).0 }}",
    "tuple": f"""
        def @f(%t: (int32, Tensor[(3,), int32])) {{ sum(%t.1) + %t.0 }}
        def @main(%x: {OWN}) {{ @f((1, unique(%x).0)) }}""",
    "closure": f"""
        def @main(%x: {OWN}) {{
          let %f = fn(%t: Tensor[(3,), int32]) {{ sum(%t) }};
          let %fs = (%f, %f);
          (%fs.0)(unique(%x).0)
        }}""",
    "formula": f"""
        def @f(%t: Tensor[(k,), int32], %u: Tensor[(2 * k + 1,), int32]) {{ sum(%t) + sum(%u) }}
        def @main(%x: {OWN}) {{ @f([1], unique(%x).0) }}""",
    "several": f"""
        def @f(%t: Tensor[(k,), int32], %u: Tensor[(k - 2,), int32]) {{ sum(%t) + sum(%u) }}
        def @main(%x: {OWN}) {{ @f(unique(%x).0, unique([1, 1]).0) }}""",
    "multiple": f"""
        def @f(%t: Tensor[(3 * k,), int32]) {{ sum(%t) }}
        def @main(%x: {OWN}) {{ @f(unique(%x).0) }}""",
    "no less than none": f"""
        def @f(%t: Tensor[(k + 2,), int32]) {{ sum(%t) }}
        def @main(%x: {OWN}) {{ @f(unique(%x).0) }}""",
    "data": f"""
        type Box {{ Box(Tensor[(3,), int32]) }}
        def @main(%x: {OWN}) {{ match (Box(unique(%x).0)) {{ Box(%t) => sum(%t) }} }}""",
    "recursion": f"""
        def @f(%i: int32, %t: Tensor[(3,), int32]) -> Tensor[(3,), int32] {{
          if (%i == 0) {{ %t }} else {{ @f(%i - 1, unique(%t).0) }}
        }}
        def @main(%x: {OWN}) {{ sum(@f(3, unique(%x).0)) }}""",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("level", [0, 3])
def test_as_the_interpreter(name: str, level: int) -> None:
    mod = relay.parse(PROGRAMS[name])
    with relay.transform.PassContext(opt_level=level):
        built = relay.build(mod)
    judge = relay.create_executor("debug", mod).evaluate("main")
    good, bad = np.array(GOOD, "int32"), np.array(BAD, "int32")
    np.testing.assert_array_equal(built(good), np.asarray(judge(good)))
    refusals: list[str] = []
    for run in (judge, built):
        with pytest.raises(relay.RelayError) as refused:
            run(bad)
        refusals.append(str(refused.value))
    assert "shape-check" in refusals[0]
    assert refusals[0] == refusals[1]


RELATED = f"""
def @main<n: Dim, m: Dim>(%x: {OWN}, %y: Tensor[(m,), int32]) -> Tensor[(n,), int32] where
  Broadcast({OWN}, Tensor[(m,), int32], {OWN})
{{
  %x
}}
"""


def test_relations_that_an_entry_demands_hold_for_its_arguments() -> None:
    mod = relay.parse(RELATED)
    refusals: list[str] = []
    for run in (relay.create_executor("debug", mod).evaluate(), relay.build(mod)):
        for y in ([7], [7, 8], [7]):
            assert run([1, 2], y).tolist() == [1, 2]
        with pytest.raises(relay.RelayError, match="cannot broadcast") as refused:
            run([1, 2], [1, 2, 3])
        refusals.append(str(refused.value))
    assert "argument-type" in refusals[0]
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize("wrong", [False, True])
def test_a_function_that_calls_itself_at_another_size_checks_that_size(wrong: bool) -> None:
    text = """
    def @f<b: Dim>(%r: Tensor[(b,), int64], %n: Tensor[(b,), int32], %k: int32) -> Tensor[(?,), int32] {
      if (%k == 0) { %n } else {
        let %index: Tensor[(?,), int64] = cast(reshape(argwhere(%n > 3), newshape=(-1,)), dtype=int64);
        let %x: Tensor[(?,), int32] = take(%n, %index, axis=0);
        @f<?>(%index, X, %k - 1)
      }
    }
    def @main(%x: Tensor[(n,), int32]) { @f(cast(%x, dtype=int64), %x, 1) }
    """
    mod = relay.parse(text.replace("X", "%n" if wrong else "%x"))
    x = np.array([6, 7, 2], "int32")
    for run in (lambda: relay.run(mod, "main", [x]), lambda: relay.build(mod)(x)):
        if wrong:
            with pytest.raises(relay.RelayError, match=r"has the shape \(3,\), not \(b,\)"):
                run()
        else:
            np.testing.assert_array_equal(run(), [6, 7])
