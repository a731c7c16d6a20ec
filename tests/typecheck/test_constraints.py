"""`where` clauses: attributes of the relation, and names that are none."""

import pytest

import relay
from relay.ir.type import TypeRelation

TRANSPOSE = """def @f<s: Shape, t: Shape>(%x: Tensor[s, float32]) -> Tensor[t, float32]
  where transpose(Tensor[s, float32], Tensor[t, float32], axes=AXES) { transpose(%x, axes=AXES) }
def @main(%x: Tensor[(2, 3), float32]) { @f(%x) }"""


@pytest.mark.parametrize("axes", ["[1, 0]", "(1, 0)"])
def test_an_attribute_of_a_relation_is_a_list_or_a_tuple(axes):
    mod = relay.infer(relay.parse(TRANSPOSE.replace("AXES", axes)))
    relay.check(mod)
    assert mod["main"].ret_type == relay.TensorType((3, 2), "float32")
    relay.assert_structural_equal(relay.parse(str(mod)), mod)


def test_a_constraint_made_in_python_takes_lists_too():
    a, b = (TypeRelation("transpose", None, {"axes": axes}) for axes in ([1, [0]], (1, (0,))))
    assert a is b


def test_a_type_parameter_is_no_relation():
    with pytest.raises(relay.RelayError) as caught:
        relay.parse("def @f<r: Constraint>(%x: float32) where r { %x }")
    assert caught.value.codes == ("unknown-relation",)
    assert "`r` is a type parameter" in str(caught.value)


@pytest.mark.parametrize(
    "body",
    ["take(%x, %i, axis=0)", "take(%x, 0, axis=0)", "let %g = fn (%j) { take(%x, %j, axis=0) }; %g(%i)"],
)
def test_a_relation_of_parameters_of_kind_type_is_assumed(body):
    mod = relay.parse(
        f"def @row<Xs, X>(%x: Xs, %i: int32) -> X where take(Xs, int32, X, axis=0) {{ {body} }}\n"
        "def @main() { (@row([[1, 2], [3, 4]], 0), @row([5, 6], 0)) }"
    )
    found = relay.create_executor("debug", mod=mod).evaluate()()
    assert [x.tolist() for x in found] == [[1, 2], 5]


def test_what_an_assumed_relation_contradicts_is_a_diagnostic():
    header = (
        "def @f<Xs, X>(%x: Xs, %i: int32) -> X where take(Xs, int32, Xs, axis=0), take(Xs, int32, X, axis=0)"
    )
    with pytest.raises(relay.RelayError) as error:
        relay.infer(relay.parse(f"{header} {{ let %y: float32 = take(%x, %i, axis=0); %y }}"))
    assert "type-mismatch" in error.value.codes


def test_a_fault_leads_to_no_constraint_that_is_missing():
    text = """
    import "std/loop"
    def @last(%xs: Tensor[(n, 2), float32]) -> float32 {
      sum(@scan(fn (%a, %x) { (%a * %x, ()) }, ones(shape=(2,), dtype=float32), %xs).0)
    }"""
    with pytest.raises(relay.RelayError) as error:
        relay.infer(relay.parse(text))
    assert error.value.codes == ("type-mismatch",)
