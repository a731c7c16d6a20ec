"""Polymorphic functions that are handed on as values, at types with symbolic sizes."""

import numpy as np
import pytest

import relay

LOOP = """
def @repeat(%f, %count: int32, %x) { if (%count > 0) { @repeat(%f, %count - 1, %f(%x)) } else { %x } }
"""
HEAD = "(%x: Tensor[(n,), float32], %s: Tensor[(n,), float32])"
PROGRAMS = {
    "a captured tensor": f"""
import "std/loop"
def @main{HEAD} {{
  let %f = fn (%r) {{ %s * %r }};
  @while_loop(fn (%r) {{ sum(%r) > 3.0 }}, %f, %x)
}}""",
    "a name of a name": f"""
import "std/loop"
def @main{HEAD} {{
  let %f = fn (%r) {{ %s * %r }};
  let %g = %f;
  @while_loop(fn (%r) {{ sum(%r) > 3.0 }}, %g, %x)
}}""",
    "a scan": f"""
import "std/loop"
def @main{HEAD} {{
  let %f = fn (%c, %r) {{ (%s * %c, %c + %r) }};
  @scan(%f, %x, [0.0, 0.0]).0
}}""",
    "an own loop": f"{LOOP} def @main{HEAD} {{ let %f = fn (%r) {{ %s * %r }}; @repeat(%f, 2, %x) }}",
    "a definition": f"""{LOOP}
def @root(%r) {{ sqrt(%r) * sqrt(%r) }}
def @main{HEAD} {{ @repeat(@root, 2, %x * %s * %s) }}""",
    "a definition in a branch": f"""{LOOP}
def @half(%r) {{ %r * 0.5 }}
def @main{HEAD} {{ if (sum(%s) > 0.0) {{ @repeat(@half, 2, %x) }} else {{ %x }} }}""",
    "a function in a function": f"""{LOOP}
def @main{HEAD} {{
  let %f = fn (%r) {{ %s * %r }};
  let %g = fn (%y) {{ @repeat(%f, 1, %y) }};
  @repeat(%g, 2, %x)
}}""",
    "sizes of an inner function": f"""{LOOP}
def @main{HEAD} {{
  let %f = fn (%r) {{ %r * 0.5 }};
  let %g = fn<m: Dim>(%y: Tensor[(m,), float32]) -> Tensor[(m,), float32] {{ @repeat(%f, 2, %y) }};
  %g(%x) + %g([0.0])
}}""",
}


@pytest.mark.parametrize("backend", ["debug", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_polymorphic_value_is_specialised_for_symbolic_sizes(name: str, backend: str) -> None:
    """Halve [4, 8] twice."""
    run = relay.create_executor(backend, relay.parse(PROGRAMS[name])).evaluate()
    value = run(np.array([4, 8], np.float32), np.array([0.5, 0.5], np.float32))
    np.testing.assert_allclose(np.asarray(value), [1.0, 2.0], rtol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_specialised_functions_are_well_typed(name: str) -> None:
    """Infer the specialised module again from its text."""
    mod = relay.transform.monomorphize(relay.infer(relay.parse(PROGRAMS[name])))
    relay.infer(relay.parse(str(mod)))
