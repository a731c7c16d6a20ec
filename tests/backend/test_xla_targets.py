"""Targets of XLA where there is no JAX, and where imports of it are."""

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

import relay
from relay.backend.xla import platforms
from support import cli

SOURCE = Path(relay.__file__).parent


@pytest.fixture
def mod() -> relay.IRModule:
    """A module, while JAX has not been loaded."""
    platforms.load_jax.cache_clear()
    return relay.parse("def @main(%x: float32) { %x * 2f }")


def refused(mod: relay.IRModule, target: str = "xla", **options: object) -> str:
    with pytest.raises(relay.RelayError) as error:
        relay.build(mod, target, **options)
    return str(error.value)


def test_without_jax_one_diagnostic_says_what_to_install(
    mod: relay.IRModule, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    wanted = (
        "error[no-xla]: programs for XLA need JAX, which is not installed\n"
        "  = hint: pip install 'relay-ir[xla]'"
    )
    assert refused(mod) == wanted
    assert refused(mod, "xla tpu") == wanted
    with pytest.raises(relay.RelayError, match="no-xla"):
        relay.create_executor("xla", mod).evaluate()(2.0)
    file = tmp_path / "p.relay"
    file.write_text(str(mod))
    ran = cli("run", "--backend", "xla", str(file), "2.0")
    assert ran.status == 1
    assert "error[no-xla]" in ran.output


def test_jax_may_be_too_old(mod: relay.IRModule, monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType("jax")
    monkeypatch.setattr(old, "__version__", "0.4.38", raising=False)
    monkeypatch.setitem(sys.modules, "jax", old)
    assert refused(mod).startswith("error[no-xla]: JAX 0.4.38 is too old: programs for XLA need 0.9")


def test_targets_and_options_that_are_not_there(mod: relay.IRModule) -> None:
    assert "did you mean `xla tpu`?" in refused(mod, "xla tpuu")
    assert "`xla`, or one of xla cpu, xla gpu, xla tpu" in refused(mod, "xla here and there")
    assert "did you mean `xla`?" in refused(mod, "xlaa")
    with pytest.raises(relay.RelayError, match="`xla` is not a processor that machine code is for"):
        relay.build(mod, ["native", "xla"])
    assert "error[unknown-option]: programs for XLA have no option `threads`" in refused(mod, threads=2)
    said = refused(mod, matmul_precision="fastest")
    assert "error[unknown-precision]: `matmul_precision` cannot be 'fastest'" in said
    assert "did you mean `fast`?" in said
    assert 'it is "highest" or "fast"' in refused(mod, matmul_precision=3)
    own = ({"mesh": {"data": 8}}, {"shard": {"x": ()}}, {"host": False}, {"matmul_precision": "fast"})
    for options in own:
        (name,) = options
        said = refused(mod, "native", **options)
        assert f"error[unknown-option]: machine code has no option `{name}`" in said
    assert "error[attribute-value]: `batch` is \"dynamic\", not 'static'" in refused(mod, batch="static")
    with pytest.raises(relay.RelayError, match="attribute-value"):
        relay.create_executor("xla", mod, batch="static")
    with pytest.raises(relay.RelayError) as error:
        relay.create_executor("xla", mod, device="cuda")
    assert error.value.diagnostics[0].hint == "omit it, or use `cpu`, `gpu` or `tpu`"


def test_one_module_imports_jax_and_none_imports_what_is_private_in_it() -> None:
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert "jax._src" not in text, path
        assert "jaxlib" not in text, path
        for node in ast.walk(ast.parse(text if "jax" in text else "")):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(n.partition(".")[0] == "jax" for n in names), path
