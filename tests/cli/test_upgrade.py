"""`relay upgrade`: files of older formats, and what becomes of them."""

from pathlib import Path

import numpy as np
import pytest

import relay
from support import ROOT, cli

OLD = """{header}
// Of 2019.
free_var %x: Tensor[(2, 3), float32]
%0 = nn.relu(%x) /* ty=Tensor[(2, 3), float32] */;
add(%0, 1f)  // one more
"""
VALUE = np.array([[1, 3, 1], [2, 1, 1]], "float32")
X = np.array([[-1, 2, 0], [1, -2, -3]], "float32")


def run(path: Path, *args: str) -> np.ndarray:
    mod = relay.load(path)
    return np.asarray(relay.create_executor("debug", mod).evaluate("main")(*args or (X,)))


@pytest.mark.parametrize("version", ["0.0.1", "0.0.2", "0.0.3", "0.0.4", "0.0.5"])
@pytest.mark.parametrize("header", ['#[version = "{}"]', "v{}"])
def test_text_is_rewritten_in_its_place(tmp_path: Path, header: str, version: str) -> None:
    path = tmp_path / "old.relay"
    path.write_text(OLD.format(header=header.format(version)))
    np.testing.assert_array_equal(run(path), VALUE)
    done = cli("upgrade", "--check", str(path))
    assert done.status == 1
    assert path.read_text().startswith(header.format(version)), "--check writes nothing"
    done = cli("upgrade", str(path))
    assert done.status == 0, done.output
    assert done.output.splitlines() == [
        str(path),
        f"  text of version {version}, now text of version 1",
        "  1 free variable, now parameters of @main",
    ]
    text = path.read_text()
    assert text.startswith('#[version = "1"]\n')
    assert "// Of 2019." in text
    assert "// one more" in text
    assert "ty=" not in text
    np.testing.assert_array_equal(run(path), VALUE)
    assert cli("upgrade", "--check", str(path)).output == f"{path}: up to date\n"


def test_other_versions_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "new.relay"
    path.write_text("v0.0.7\n1")
    done = cli("upgrade", str(path))
    assert done.status == 1
    assert 'version "0.0.7" of the text format is not known' in done.output
    assert "1 | v0.0.7" in done.output


def weights_program() -> relay.IRModule:
    x = relay.var("x", shape=(1, 40), dtype="float32")
    w = relay.const(np.arange(50 * 40, dtype="float32").reshape(50, 40))
    return relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, w))))


def test_json_and_metadata_become_text_and_weights(tmp_path: Path) -> None:
    mod = weights_program()
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "net.json").write_text(relay.save_json(mod))
    (tmp_path / "net.relay").write_text(mod.astext(dialect="tvm"))
    done = cli("upgrade", str(tmp_path / "json" / "net.json"), str(tmp_path / "net.relay"))
    assert done.status == 0, done.output
    assert "JSON, now text of version 1" in done.output
    assert done.output.count("1 constant, 8,000 bytes, in net.safetensors") == 2
    x = np.ones((1, 40), "float32")
    wanted = x @ np.arange(2000, dtype="float32").reshape(50, 40).T
    for folder in (tmp_path, tmp_path / "json"):
        np.testing.assert_allclose(run(folder / "net.relay", x), wanted)
    again = cli("upgrade", str(tmp_path / "json" / "net.json"))
    assert again.status == 1
    assert "is there already" in again.output


def test_parameters_become_safetensors_and_are_read_as_they_are(tmp_path: Path) -> None:
    import ml_dtypes
    from safetensors.numpy import load_file

    arrays = {"w": np.arange(6, dtype="float32").reshape(2, 3), "b": np.ones(2, ml_dtypes.bfloat16)}
    (tmp_path / "net.params").write_bytes(relay.save_param_dict(arrays))
    (tmp_path / "net.relay").write_text("def @main(%w: Tensor[(2, 3), float32]) { sum(%w) }")
    ran = cli("run", str(tmp_path / "net.relay"), "--weights", str(tmp_path / "net.params"))
    assert ran.output == "15.0\n", ran.output
    done = cli("upgrade", str(tmp_path))
    assert done.status == 0, done.output
    assert "2 parameters, 28 bytes, by the same names" in done.output
    found = load_file(tmp_path / "net.safetensors")
    assert found["b"].dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found["w"], arrays["w"])


GRAPH = """{"nodes": [{"op": "null", "name": "x", "inputs": []}, {"op": "tvm_op", "name": "d",
 "attrs": {"func_name": "tvmgen_default_fused_nn_dense"}, "inputs": [[0, 0, 0]]}],
 "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2], "attrs": {}}"""


def test_deployed_models_are_refused_with_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "deploy.json").write_text(GRAPH)
    (tmp_path / "deploy.so").write_bytes(b"\x7fELF")
    done = cli("upgrade", str(tmp_path / "deploy.json"), str(tmp_path / "deploy.so"))
    assert done.status == 1
    assert "it calls 1 function of a library, `tvmgen_default_fused_nn_dense`" in done.output
    assert "`" + str(tmp_path / "deploy.so") + "` is a library of machine code" in done.output
    assert cli("run", str(tmp_path / "deploy.json")).output.startswith("error[compiled-graph]")


def test_stored_programs_are_the_same_afterwards(tmp_path: Path) -> None:
    for source in sorted((ROOT / "tests" / "data").glob("*.relay")):
        path = tmp_path / source.name
        path.write_bytes(source.read_bytes())
        before = relay.load(path)
        done = cli("upgrade", str(path))
        assert done.status == 0, done.output
        assert relay.ir.structural_equal(relay.load(path), before), source.name


def test_output_is_for_one_file(tmp_path: Path) -> None:
    for name in ("a.relay", "b.relay"):
        (tmp_path / name).write_text("v0.0.4\n1")
    done = cli("upgrade", str(tmp_path), "-o", str(tmp_path / "c.relay"))
    assert done.status == 2
    assert "--output is for one file" in done.output
    assert cli("upgrade", str(tmp_path / "a.relay"), "-o", str(tmp_path / "c.relay")).status == 0
    assert (tmp_path / "a.relay").read_text() == "v0.0.4\n1"
    assert relay.load(tmp_path / "c.relay")["main"] is not None


def test_standard_input_is_not_rewritten() -> None:
    done = cli("upgrade", "-", stdin=b"v0.0.4\n1")
    assert done.status == 2
    assert "standard input" in done.output
    assert not Path("-").exists()
