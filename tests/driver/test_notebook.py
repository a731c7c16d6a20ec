"""What a notebook shows: programs in colours, the beginning of long ones, faults without our own frames."""

import html
import re

import numpy as np
import pytest

import relay

PROGRAM = """def @main(%x: Tensor[(2,), float32]) {
  if (all(%x < 1.5)) { -%x } else { %x * 3.0 }
}"""


def plain(markup: str) -> str:
    """The text that HTML shows."""
    return html.unescape(re.sub("<[^>]*>", "", markup))


def test_program_is_shown_as_text_and_in_colours() -> None:
    mod = relay.parse(PROGRAM)
    for shown, program in ((mod._repr_mimebundle_(), mod), (mod["main"]._repr_mimebundle_(), mod["main"])):
        assert set(shown) == {"text/plain", "text/html"}
        assert shown["text/plain"] == str(program).rstrip()
        assert plain(shown["text/html"]) == shown["text/plain"]
    assert "1.5</span>)" in mod._repr_mimebundle_()["text/html"]
    assert " &lt; " in mod._repr_mimebundle_()["text/html"]


def test_colours_follow_names_strings_and_comments() -> None:
    mod = relay.parse('def @f(%"a b": string) { (%"a b", "if %x // 1") }')
    shown = mod._repr_mimebundle_()["text/html"]
    assert '>%"a b"</span>' in shown
    assert '>"if %x // 1"</span>' in shown


def test_types_compiled_programs_and_profiles_are_shown() -> None:
    mod = relay.infer(relay.parse(PROGRAM))
    assert plain(mod.type_of(mod["main"])._repr_mimebundle_()["text/html"]).startswith(
        "fn(Tensor[(2,), float32])"
    )
    built = relay.build(mod)
    shown = built._repr_mimebundle_()
    assert plain(shown["text/html"]) == "def @main(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32]"
    assert shown["text/plain"] == "<compiled @main>"
    assert (
        built.profile(np.ones(2, "float32"), repeat=1)
        ._repr_html_()
        .startswith('<iframe sandbox="allow-scripts"')
    )
    assert mod.view()._repr_html_().startswith('<iframe sandbox="allow-scripts"')


def test_of_a_long_program_the_beginning_is_shown() -> None:
    mod = relay.parse("\n".join(f"def @f{i}() {{ {i} }}" for i in range(500)))
    lines = mod._repr_mimebundle_()["text/plain"].split("\n")
    assert len(lines) == 201
    assert lines[-1] == f"// {str(mod).rstrip().count(chr(10)) + 1 - 200:,} more lines: print(…) shows all"


def test_traced_function_is_shown_with_its_types() -> None:
    @relay.function
    def double(x: relay.TensorType((3,), "float32")):
        return x + x

    text = "fn (%x: Tensor[(3,), float32]) -> Tensor[(3,), float32] { %x + %x }"
    assert double._repr_mimebundle_()["text/plain"] == text
    assert str(double) == text


def test_error_shows_the_calls_that_led_there_but_none_of_ours() -> None:
    with pytest.raises(relay.RelayError) as error:
        relay.parse("def @main() { add(1, (2, 3)) }").evaluate("main")
    *calls, shown = error.value._render_traceback_()
    assert any(__file__ in call and 'evaluate("main")' in call for call in calls)
    assert not any("relay/interpreter" in call for call in calls)
    assert shown == str(error.value)
