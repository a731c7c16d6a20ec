"""Values that come from Python: converted by the parameter's type, or refused with the parameter's name."""

import numpy as np
import pytest

import relay
from relay.interpreter.machine import Interpreter
from relay.interpreter.show import show

TYPES = "type List[A] { Nil, Cons(A, List[A]), }\ntype Pair { Pair(int32, float32), }\n"


def call(params: str, *args: object, body: str = "", **named: object) -> str:
    first = params.partition(":")[0].strip().partition(",")[0]
    machine = Interpreter(relay.parse(f"{TYPES}def @f({params}) {{ {body or first} }}"))
    return show(machine.evaluate("f", *args, **named))


def refused(params: str, *args: object, body: str = "", **named: object) -> relay.Diagnostic:
    with pytest.raises(relay.RelayError) as error:
        call(params, *args, body=body, **named)
    (d,) = error.value.diagnostics
    return d


class OnDlpack:
    """An array of another library."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> object:
        return self.array.__dlpack_device__()


class OnArray:
    """Something that NumPy knows how to read."""

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return np.arange(3, dtype="float32")


@pytest.mark.parametrize(
    ("params", "args", "expected"),
    [
        ("%x: float32", (3,), "3.0"),
        ("%x: int64", (3,), "3"),
        ("%x: bool", (True,), "True"),
        ("%x: string", ("a",), '"a"'),
        ("%x: bfloat16", (1.5,), "1.5"),
        ("%x: Tensor[(2,), uint8]", ([1, 255],), "[1, 255]"),
        ("%x: Tensor[(2, 1), float64]", ([[1], [2]],), "[[1.0],\n [2.0]]"),
        ("%x: Tensor[(0, 3), float32]", (np.zeros((0, 3), "float32"),), "[]"),
        ("%x: Tensor[(?,), float32]", (np.ones(2, "float32"),), "[1.0, 1.0]"),
        ("%x: Tensor[(3,), float32]", (OnDlpack(np.arange(3, dtype="float32")),), "[0.0, 1.0, 2.0]"),
        ("%x: Tensor[(3,), float32]", (OnArray(),), "[0.0, 1.0, 2.0]"),
        ("%x: (int32, (float32, bool))", ((1, (2, True)),), "(1, (2.0, True))"),
        ("%x: List[float32]", ([1, 2],), "[| 1.0, 2.0 |]"),
        (
            "%x: List[Tensor[(2,), int32]]",
            ([[1, 2], np.array([3, 4], "int32")],),
            "[| [1, 2], [3, 4] |]",
        ),
        ("%x", (3,), "3"),
        ("%x", (3.5,), "3.5"),
        ("%x", (2**40,), str(2**40)),
        ("%x", (np.float64(2.5),), "2.5"),
        ("%x", ((1, [2.0, 3.0]),), "(1, [2.0, 3.0])"),
    ],
)
def test_argument_is_converted(params: str, args: tuple[object, ...], expected: str) -> None:
    assert call(params, *args) == expected


def test_arguments_go_by_name() -> None:
    assert call("%x: int32, %y: int32", 1, y=5, body="%x - %y") == "-4"
    assert call("%x: int32, %y: int32", y=5, x=1, body="%x - %y") == "-4"


def test_python_numbers_take_the_dtype_of_the_arrays_beside_them() -> None:
    assert call("%x, %y", 2, np.array([1, 2], "int8"), body="%x * %y") == "[2, 4]"
    assert call("%x, %y", np.float64(0.5), 3, body="%x * %y") == "1.5"


def test_literals_take_the_dtype_of_the_argument() -> None:
    machine = Interpreter(relay.parse("def @f(%x) { %x * 2 + 1 }"))
    for dtype in ("int8", "int64", "float16", "float64"):
        assert machine.evaluate("f", np.ones((2,), dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("params", "args", "message", "found"),
    [
        ("%x: float32", ("a",), "its dtype is string, not float32", "a scalar of string"),
        ("%x: int32", (1.5,), "int32 has no fractions", "a scalar of float64"),
        ("%x: bool", (1,), "its dtype is int64, not bool", "a scalar of int64"),
        ("%x: int8", (200,), "int8 goes from -128 to 127", "found 200"),
        ("%x: Tensor[(2,), uint8]", ([1, -1],), "uint8 goes from 0 to 255", "found -1 to 1"),
        ("%x: float32", (True,), "its dtype is bool, not float32", "a scalar of bool"),
        ("%x: float32", (np.float64(1),), "its dtype is float64, not float32", "a scalar of float64"),
        ("%x: float32", ([1],), "its rank is 1, not 0", "the shape (1,)"),
        (
            "%x: Tensor[(2, 3), float32]",
            (np.ones((2, 4), "float32"),),
            "its axis 1 has size 4, not 3",
            "(2, 4)",
        ),
        (
            "%x: Tensor[(n, n), float32]",
            (np.ones((2, 4), "float32"),),
            "its axis 1 has size 4, but `n` is 2",
            "(2, 4)",
        ),
        (
            "%x: Tensor[(n, 2 * n), float32]",
            (np.ones((2, 3), "float32"),),
            "its axis 1 has size 3, not 4",
            "(2, 3)",
        ),
        ("%x: Tensor[(2, 2), int32]", ([[1], [1, 2]],), "its rows have different lengths", "a list of 2"),
        ("%x: (int32, int32)", ((1,),), "a tuple of 2 fields is wanted", "a tuple of 1"),
        ("%x: (int32, int32)", (5,), "a tuple of 2 fields is wanted", "a Python int"),
        ("%x: Pair", (5,), "a value of the data type Pair is wanted", "a Python int"),
        ("%x: fn(int32) -> int32", (5,), "a function is wanted", "a Python int"),
        ("%x: ref(int32)", (5,), "a reference is wanted", "a Python int"),
        ("%x: float32", (None,), "a tensor is wanted", "nothing (None)"),
        ("%x: float32", (object(),), "a tensor is wanted", "a Python object"),
        ("%x: float32", (1j,), "a tensor is wanted", "a Python complex"),
        ("%x: int64", (2**64,), "it does not fit in 64 bits", "the number"),
    ],
)
def test_argument_that_does_not_fit_is_refused(
    params: str, args: tuple[object, ...], message: str, found: str
) -> None:
    d = refused(params, *args)
    assert d.code == "argument-type"
    assert d.message.startswith("parameter `%x` of `@f`")
    assert message in d.message
    assert found in d.label


def test_instance_of_another_type_is_refused() -> None:
    mod = relay.parse(TYPES + "def @ints() -> List[int32] { Cons(1, Nil) }\ndef @f(%l: List[float32]) { %l }")
    with pytest.raises(relay.RelayError) as error:
        mod.evaluate("f", mod.evaluate("ints"))
    assert error.value.codes == ("argument-type",)


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((), {}, "`@f` takes 2 arguments, not 0"),
        ((1, 2, 3), {}, "`@f` takes 2 arguments, not 3"),
        ((1,), {"z": 2}, "`@f` has no parameter `%z`"),
        ((1, 2), {"x": 2}, "`@f` is given the parameter `%x` twice"),
    ],
)
def test_arguments_are_counted(args: tuple[int, ...], named: dict[str, int], message: str) -> None:
    d = refused("%x: int32, %y: int32", *args, **named)
    assert d.code == "argument-count"
    assert d.message == message


def test_relations_between_arguments_are_checked() -> None:
    d = refused("%x, %y", np.ones(2, "float32"), np.ones(3, "float32"), body="%x + %y")
    assert d.code == "argument-type"
    assert "(2,)" in d.message
    assert "(3,)" in d.message


def test_dtypes_an_operator_does_not_take_are_refused() -> None:
    d = refused("%x", np.ones(2, "int32"), body="exp(%x)")
    assert d.code == "argument-type"
    assert "int32" in d.message


def test_closure_is_called_from_python_and_passed_back() -> None:
    mod = relay.parse("""def @adder(%k: int32) { fn(%x: int32) -> int32 { %x + %k } }
    def @apply(%f: fn(int32) -> int32, %x: int32) -> int32 { %f(%x) }""")
    add_five = mod.evaluate("adder", 5)
    assert add_five(2) == 7
    assert mod.evaluate("apply", add_five, 10) == 15
    with pytest.raises(relay.RelayError) as error:
        add_five(1.5)
    assert error.value.codes == ("argument-type",)


def test_operators_and_constructors_come_out_as_functions() -> None:
    mod = relay.parse(
        TYPES + "def @plus() { add }\ndef @cons() { fn(%h: int32, %t: List[int32]) { Cons(%h, %t) } }"
    )
    assert mod.evaluate("cons")(1, [2]).fields[0] == 1
    assert Interpreter(mod).evaluate(relay.parse_expr("multiply"))(3, 4) == 12


def test_constant_of_the_program_cannot_be_changed_through_a_result() -> None:
    mod = relay.parse("def @main() { [1, 2, 3] }")
    first = mod.evaluate("main")
    first[0] = 100
    assert mod.evaluate("main").tolist() == [1, 2, 3]


def test_instance_of_an_equal_type_of_another_module_is_taken() -> None:
    """Each module has type parameters of its own; an instance is typed by those of the module it goes to."""
    source = TYPES + "def @f(%l: List[Tensor[(n,), int32]], %m: List[Tensor[(?,), int32]]) { (%l, %m) }"
    here, there = relay.parse(source), relay.parse(source)
    text = "[| [1, 2], [3, 4] |]", "[| [1], [2] |]"
    lists = [there.evaluate(relay.parse_expr(t, mod=there)) for t in text]
    assert show(here.evaluate("f", *lists)) == f"({text[0]}, {text[1]})"


def test_instance_of_a_type_declared_otherwise_is_refused() -> None:
    there = relay.parse("type Pair { Both(int32, float32, bool), }\ndef @p() { Both(1, 2.0, True) }")
    d = refused("%p: Pair", there.evaluate("p"))
    assert "`Pair` has no constructor `Both` in that place" in d.message


def test_deep_tuples_are_taken_as_they_are() -> None:
    x: object = 1
    for _ in range(5000):
        x = (x,)
    value = Interpreter(relay.parse("def @f(%x) { %x }")).evaluate("f", x)
    for _ in range(5000):
        (value,) = value
    assert value == 1


@pytest.mark.parametrize(
    "array",
    [
        np.ones(2, "complex64"),
        np.array([b"a"]),
        np.array([{}, None], object),
        np.array(["2020-01-01"], "datetime64[D]"),
        np.zeros(2, [("a", "f4")]),
    ],
    ids=lambda a: str(a.dtype),
)
def test_arrays_of_no_dtype_are_refused(array: np.ndarray) -> None:
    d = refused("%x", array)
    assert "a tensor is wanted" in d.message
    assert d.hint == f"{array.dtype} is not a dtype"


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.arange(3, dtype=">f4"), "[0.0, 1.0, 2.0]"),
        (np.array(["a", "bc"]), '["a", "bc"]'),
        (np.asfortranarray([[1, 2], [3, 4]]).astype("int32"), "[[1, 2],\n [3, 4]]"),
        (np.float32(1.5), "1.5"),
    ],
)
def test_arrays_of_every_layout_are_taken(array: np.ndarray, expected: str) -> None:
    assert call("%x", array) == expected


def test_builtin_functions_take_python_numbers_and_count_them() -> None:
    mod = relay.parse(TYPES + "def @add() { add }\ndef @cons() { (Cons, Nil) }")
    add, (cons, nil) = mod.evaluate("add"), mod.evaluate("cons")
    assert (add(1, 2), add(1, 2).dtype) == (3, np.int32)
    assert show(cons(1, cons(2, nil))) == "[| 1, 2 |]"
    for wrong in (
        lambda: add(1),
        lambda: add(1, 2.5),
        lambda: add(1, (2,)),
        lambda: cons(1),
        lambda: cons({}, nil),
    ):
        with pytest.raises(relay.RelayError) as error:
            wrong()
        assert len(error.value.diagnostics) == 1


def test_functions_without_a_name_are_called_so() -> None:
    inner = relay.create_executor("debug").evaluate(
        relay.parse_expr("fn(%x: int32) { fn(%y: int32) { %x } }")
    )(1)
    with pytest.raises(relay.RelayError) as error:
        inner(x=1)
    assert error.value.diagnostics[0].message == "`fn` has no parameter `%x`"
