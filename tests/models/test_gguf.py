"""GGUF files: the tiny Llama, matrices in blocks, damaged files, models quantised and saved."""

import numpy as np
import pytest

import relay
from models.test_llama import EXPECTED, TOKENS, interpreted, logits
from models.tiny import CONFIG, tensors, written
from models.tiny_gguf import METADATA, renamed
from models.tiny_gguf import written as written_gguf
from relay.models import load
from relay.models.blocks import BYTES, Blocks
from relay.models.gguf_file import read_gguf
from relay.models.gguf_writer import write_gguf


def test_scores_are_those_of_the_folder(tmp_path):
    model = load(written_gguf(tmp_path / "tiny.gguf"))
    np.testing.assert_allclose(logits(model)[7], EXPECTED[7], atol=2e-5)
    assert not model.weights.head.fields[0].flags.owndata


def test_what_is_written_reads_back(tmp_path):
    said = {
        "a.text": "déjà", "a.flag": True, "a.size": 3, "a.negative": -3, "a.large": 1 << 40, "a.real": 0.5,
        "a.texts": ["x", ""], "a.numbers": [1, 2, 3], "a.reals": [0.5, 1.0], "a.none": [],
    }  # fmt: skip
    blocks = Blocks("q4_0", np.arange(2 * 36, dtype="uint8").reshape(2, 36))
    written = {
        "x": np.arange(6, dtype="float16").reshape(2, 3),
        "y": blocks,
        "z": np.ones((1, 2, 3, 1), "float32"),
    }
    write_gguf(tmp_path / "a.gguf", said, written)
    found = read_gguf(tmp_path / "a.gguf")
    assert found.metadata == said
    assert found.tensors["y"].shape == (2, 64)
    for name, x in found.tensors.items():
        assert np.array_equal(*[getattr(v, "data", v) if name == "y" else v for v in (x, written[name])])


def wide(form: str) -> dict[str, object]:
    """Tensors of a model of 256 numbers a token: blocks of random bytes and small scales."""
    rng = np.random.default_rng(0)
    size, count = BYTES[form][1], BYTES[form][0]

    def blocks(rows: int, columns: int) -> Blocks:
        data = rng.integers(0, 256, (rows, columns // count, size), dtype="uint8")
        one = np.frombuffer(np.float16(2**-9).tobytes(), "uint8")
        places = {"q6_k": (208,), "q3_k": (108,), "q2_k": (80, 82), "q4_k": (0, 2), "q5_k": (0, 2)}
        pairs = (0, 2) if form in ("q4_1", "q5_1") else (0,)
        for at in places.get(form, pairs):
            data[:, :, at : at + 2] = one
        return Blocks(form, data.reshape(rows, -1))

    found = {"token_embd.weight": blocks(7, 256), "output_norm.weight": np.ones(256, "float32")}
    shapes = {"attn_q": (256, 256), "attn_k": (128, 256), "attn_v": (128, 256), "attn_output": (256, 256)}
    shapes |= {"ffn_gate": (512, 256), "ffn_up": (512, 256), "ffn_down": (256, 512)}
    found |= {f"blk.0.{name}.weight": blocks(*shape) for name, shape in shapes.items()}
    return found | {f"blk.0.{name}.weight": np.ones(256, "float32") for name in ("attn_norm", "ffn_norm")}


SIZES = {"llama.block_count": 1, "llama.embedding_length": 256, "llama.rope.dimension_count": 64}


QUICK = ("q8_0", "q4_0", "q4_k", "q6_k")


@pytest.mark.parametrize(
    "form", [f if f in QUICK else pytest.param(f, marks=pytest.mark.long) for f in BYTES]
)
def test_blocks_give_the_scores_of_their_numbers(form, tmp_path):
    path = written_gguf(tmp_path / "wide.gguf", wide(form), SIZES)
    tokens = np.array([[3, 1, 4]], "int32")
    scores = [interpreted(m, "logits")(m.weights, tokens) for m in (load(path), load(path, dtype="float32"))]
    assert np.isfinite(scores[1]).all()
    np.testing.assert_allclose(*scores, atol=1e-5 * np.abs(scores[1]).max())


def test_rounded_data_gives_nearly_the_same_scores(tmp_path):
    path = written_gguf(tmp_path / "wide.gguf", wide("q4_0"), SIZES)
    tokens = np.array([[3, 1, 4]], "int32")
    exact, rounded = (
        interpreted(m, "logits")(m.weights, tokens) for m in (load(path), load(path, activations="int8"))
    )
    difference = np.abs(exact - rounded).max()
    assert 0 < difference < 0.05 * np.abs(exact).max()
    assert "round_groups" in str(load(path, activations="int8").extended("")[0])
    with pytest.raises(relay.RelayError) as failure:
        load(path, activations="int7")
    assert failure.value.codes == ("option-value",)


def test_a_model_of_the_largest_blocks_has_code_for_them_alone(tmp_path):
    text = str(load(written_gguf(tmp_path / "wide.gguf", wide("q6_k"), SIZES)).module)
    assert "Q6K" in text
    assert "Q4K" not in text


def long_rows() -> dict[str, np.ndarray]:
    """Tensors with 32 numbers a token, and heads as they were."""
    rng = np.random.default_rng(1)
    heads = {"q_proj": (8, 32), "k_proj": (4, 32), "v_proj": (4, 32), "o_proj": (32, 8)}
    found = {}
    for name, x in tensors().items():
        shape = heads.get(name.split(".")[-2], [{8: 32, 12: 64}.get(n, n) for n in x.shape])
        found[name] = rng.normal(size=shape).astype("float32") / 8
    return found


LONG = {"hidden_size": 32, "intermediate_size": 64, "head_dim": 2}


@pytest.mark.parametrize("form", ["q8_0", "q4_0"])
def test_what_is_quantised_and_saved_reads_back_equal(form, tmp_path):
    model = load(written(tmp_path / "a", long_rows(), **LONG))
    small = model.quantize(form)
    assert "Blocks" in str(type(small.checkpoint.tensors["lm_head.weight"]))
    small.save(tmp_path / "b")
    again = load(tmp_path / "b")
    scores = [logits(m) for m in (model, small, again)]
    np.testing.assert_array_equal(scores[1], scores[2])
    assert 0 < np.abs(scores[1] - scores[0]).max() < 0.2 * np.abs(scores[0]).max()


def test_a_gguf_file_is_quantised_and_saved(tmp_path):
    found = {k: x.numbers() if isinstance(x, Blocks) else x for k, x in wide("q8_0").items()}
    model = load(written_gguf(tmp_path / "wide.gguf", found, SIZES)).quantize("q8_0")
    model.save(tmp_path / "small.gguf")
    again = load(tmp_path / "small.gguf")
    assert (
        again.config["llama.attention.layer_norm_rms_epsilon"]
        == model.config["llama.attention.layer_norm_rms_epsilon"]
    )
    np.testing.assert_array_equal(logits_of(again), logits_of(model))


def logits_of(model):
    return interpreted(model, "logits")(model.weights, np.array([[3, 1, 4]], "int32"))


def test_damaged_files_have_one_diagnostic(tmp_path):
    path = written_gguf(tmp_path / "tiny.gguf", renamed(tensors()), {"tokenizer.ggml.tokens": ["a", "b"]})
    whole = path.read_bytes()
    head = whole.index(b"blk.1.ffn_down") + 64
    random = np.random.default_rng(0)
    refused = 0
    for i in range(300):
        data = bytearray(whole)
        if i % 3 == 0:
            del data[int(random.integers(len(data))) :]
        else:
            for place in random.integers(head, size=2):
                data[place] ^= 1 << int(random.integers(8))
        path.write_bytes(data)
        try:
            load(path)
        except relay.RelayError as error:
            refused += len(error.diagnostics)
    assert 100 < refused <= 300


def test_what_is_wrong_with_a_file_is_said(tmp_path):
    def refused(**metadata: object) -> str:
        said = {k.replace("_DOT_", "."): v for k, v in metadata.items()}
        with pytest.raises(relay.RelayError) as caught:
            load(written_gguf(tmp_path / "tiny.gguf", metadata=said))
        return str(caught.value)

    assert "architecture 'new'" in refused(general_DOT_architecture="new")
    assert "model-file" in refused(**{"llama.block_count": 3})
    assert "no model has such sizes" in refused(**{"llama.attention.head_count_kv": 3})
    (tmp_path / "text.gguf").write_text("hello, this is a text")
    with pytest.raises(relay.RelayError, match="does not begin as GGUF"):
        load(tmp_path / "text.gguf")


def test_parts_of_a_file_are_read_together(tmp_path):
    every = sorted(renamed(tensors()).items())
    for i, part in enumerate((every[:9], every[9:])):
        write_gguf(tmp_path / f"tiny-0000{i + 1}-of-00002.gguf", METADATA if i == 0 else {}, dict(part))
    model = load(tmp_path / "tiny-00001-of-00002.gguf")
    np.testing.assert_allclose(logits(model)[7], EXPECTED[7], atol=2e-5)
    assert CONFIG["hidden_size"] == model.sizes["d"]
    assert TOKENS.shape == (1, 8)
