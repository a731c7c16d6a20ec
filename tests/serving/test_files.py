"""`relay serve` with files of each kind, with a certificate, and with what it cannot serve."""

import ssl
import subprocess
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

import relay
from relay.cli.served_models import Options, find_models, load_model
from relay.serving.server import check_tls
from serving.test_server import DOUBLE, PROGRAMS, Server, asked, post, send, tensor
from support import cli

TEXT = f'#[version = "0.0.5"]\n{PROGRAMS["double.relay"]}'
RATIO = "def @main(%x: int32, %y: int32) { %x / %y }"
PLAIN = Options("main", None, "auto", 1, None)


def make_pair(folder: Path, name: str) -> tuple[str, str]:
    certificate, key = str(folder / f"{name}.pem"), str(folder / f"{name}-key.pem")
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate}"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command.split(), *subject], check=True, capture_output=True)
    return certificate, key


@pytest.mark.extras
def test_a_folder_with_models_of_each_kind_is_served(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    mod = relay.parse(TEXT)
    for folder in ("net/1", "net/2"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "net/1/old.relay").write_text(PROGRAMS["double.relay"].replace("2.0", "3.0"))
    onnx.save(relay.frontend.to_onnx(mod), str(tmp_path / "net/2/model.onnx"))
    relay.build(mod).export_library(tmp_path / "built.rlo")
    (tmp_path / "double.relay").write_text(PROGRAMS["double.relay"])
    (tmp_path / "README.txt").write_text("not a model")
    made = Server(str(tmp_path), "--port", "0", "--log-format", "json")
    ready = [line for line in made.log if line["message"] == "model"]
    assert {(line["model"], line["version"]): line["joining"] for line in ready} == {
        ("built", "1"): "alone", ("double", "1"): "rows", ("net", "1"): "rows", ("net", "2"): "rows",
    }  # fmt: skip
    for name in ("built", "double", "net", "net/versions/2", "net/versions/1"):
        status, _, body = send(made, post(name, DOUBLE))
        assert status == 200
        factor = 3 if name == "net/versions/1" else 2
        assert body["outputs"][0]["data"] == [factor * x for x in (1, 2, 3, 4)]
    assert send(made, post("net/versions/3", DOUBLE))[0] == 404
    assert made.stop() == 0


@pytest.mark.extras
@pytest.mark.parametrize("join", ["auto", "rows"])
def test_programs_compiled_for_xla_are_served(join: str, tmp_path: Path) -> None:
    pytest.importorskip("jax")
    for name, text in (("double", PROGRAMS["double.relay"]), ("ratio", RATIO)):
        (tmp_path / f"{name}.relay").write_text(text)
        file = str(tmp_path / f"{name}.relay")
        assert cli("compile", file, "--target", "xla", "--platform", "cpu").status == 0
    files = [str(tmp_path / f"{name}.rlx") for name in ("double", "ratio")]
    made = Server(*files[: 1 if join == "rows" else 2], "--join", join, "--port", "0", "--log-format", "json")
    ready = {line["model"]: line["joining"] for line in made.log if line["message"] == "model"}
    assert ready == ({"double": "rows"} if join == "rows" else {"double": "alone", "ratio": "alone"})
    for rows in (1, 2, 3, 1):
        x = np.arange(4.0 * rows)
        status, _, body = send(made, post("double", asked(tensor("x", "FP32", [rows, 4], x.tolist()))))
        assert status == 200
        assert body["outputs"] == [
            {"name": "output", "datatype": "FP32", "shape": [rows, 4], "data": (2 * x).tolist()}
        ]
    assert send(made, post("double", asked(tensor("x", "FP32", [1, 5], [1] * 5))))[0] == 400
    if join == "auto":
        for divisor, expected in ((2, 200), (0, 422)):
            numbers = tensor("x", "INT32", [], [7]), tensor("y", "INT32", [], [divisor])
            status, _, body = send(made, post("ratio", asked(*numbers)))
            assert status == expected
            assert body["outputs"][0]["data"] == [3] if divisor else body["code"] == "divide-by-zero"
    assert made.stop() == 0


@pytest.mark.extras
def test_a_program_compiled_for_devices_that_are_not_here_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    (tmp_path / "double.relay").write_text(PROGRAMS["double.relay"])
    file = str(tmp_path / "double.rlx")
    made = cli("compile", str(tmp_path / "double.relay"), "--target", "xla", "--platform", "tpu", "-o", file)
    assert made.status == 0
    found = cli("serve", file)
    assert found.status == 1
    assert "is for tpu, and JAX finds no such device here" in found.output


@pytest.mark.extras
def test_https_is_served_with_a_certificate(tmp_path: Path) -> None:
    certificate, key = make_pair(tmp_path, "mine")
    (tmp_path / "double.relay").write_text(PROGRAMS["double.relay"])
    tls = ("--tls-certificate", certificate, "--tls-key", key)
    made = Server(str(tmp_path / "double.relay"), "--port", "0", "--log-format", "json", *tls)
    assert made.url.startswith("https://")
    with urlopen(f"{made.url}/v2", context=ssl.create_default_context(cafile=certificate)) as answer:
        assert answer.status == 200
    assert made.stop() == 0


@pytest.mark.extras
def test_a_certificate_of_another_key_is_refused_before_anything_is_compiled(tmp_path: Path) -> None:
    (certificate, _), (_, key) = make_pair(tmp_path, "mine"), make_pair(tmp_path, "other")
    (tmp_path / "double.relay").write_text(PROGRAMS["double.relay"])
    found = cli("serve", str(tmp_path / "double.relay"), "--tls-certificate", certificate, "--tls-key", key)
    assert found.status == 1
    assert "error[serve-tls]" in found.output
    assert "INFO" not in found.output


def test_what_is_no_certificate_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.pem").write_text("nothing")
    with pytest.raises(relay.RelayError, match=r"cannot read `missing\.pem`"):
        check_tls(str(tmp_path / "text.pem"), "missing.pem")
    with pytest.raises(relay.RelayError, match=r"not a certificate and its key"):
        check_tls(str(tmp_path / "text.pem"), str(tmp_path / "text.pem"))


@pytest.mark.parametrize(
    ("files", "given", "said"),
    [
        (["notes.txt"], ["notes.txt"], "is not a model"),
        (["empty/"], ["empty"], "has no models"),
        (["net/1/a.relay", "net/1/b.relay"], ["net"], "of a version has 2 models"),
        (["a.relay", "a.rlo"], ["a.relay", "a.rlo"], "would both be version 1 of `a`"),
        (["a.relay"], ["a b=a.relay"], "cannot be the name of a model"),
    ],
)
def test_what_is_not_a_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], given: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in files:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).mkdir() if name.endswith("/") else Path(name).write_text("")
    with pytest.raises(relay.RelayError, match=r"serve-model") as caught:
        find_models(given)
    assert said in str(caught.value)


@pytest.mark.parametrize(("name", "code"), [("broken.rlo", "bad-artefact"), ("missing.relay", "cannot-read")])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str, code: str) -> None:
    if name.startswith("broken"):
        (tmp_path / name).write_bytes(b"nothing")
    with pytest.raises(relay.RelayError, match=code):
        load_model(str(tmp_path / name), PLAIN)
