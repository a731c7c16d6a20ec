"""Workloads: sizes as published, values as by plain NumPy or PyTorch."""

from math import prod

import numpy as np
import pytest

import relay
from relay import testing
from relay.ir.type import TensorType, TupleType

F = "float32"

# Parameters as the papers' authors or the reference models of PyTorch and Keras state them.
PUBLISHED = [
    ("resnet", {"num_layers": 18}, 11_689_512),
    ("resnet", {"num_layers": 34}, 21_797_672),
    ("resnet", {"num_layers": 50}, 25_557_032),
    ("resnet", {"num_layers": 101}, 44_549_160),
    ("resnet", {"num_layers": 152}, 60_192_808),
    ("resnet_3d", {"num_classes": 400}, 33_371_472),
    ("mobilenet", {}, 4_231_976),
    ("mobilenet_v2", {}, 3_504_872),
    ("vgg", {"num_layers": 11}, 132_863_336),
    ("vgg", {"num_layers": 16}, 138_357_544),
    ("vgg", {"num_layers": 16, "batch_norm": True}, 138_365_992),
    ("vgg", {"num_layers": 19}, 143_667_240),
    ("squeezenet", {"version": "1.0"}, 1_248_424),
    ("squeezenet", {"version": "1.1"}, 1_235_496),
    ("densenet", {"densenet_size": 121}, 7_978_856),
    ("densenet", {"densenet_size": 169}, 14_149_480),
    ("inception_v3", {}, 23_834_568),
    ("transformer", {}, 109_482_240),
    ("gpt2", {}, 124_439_808),
]


def net(name: str, batch_size: int = 1, **attrs):
    """The network of a workload for images of its usual size."""
    if name in ("resnet", "resnet_3d"):
        attrs.setdefault("num_classes", 1000)
    return getattr(testing, name).get_net(batch_size=batch_size, **attrs)


@pytest.mark.parametrize(("name", "attrs", "published"), PUBLISHED)
def test_the_number_of_parameters_is_the_published_one(name: str, attrs, published: int) -> None:
    assert testing.count_parameters(net(name, **attrs)) == published


def test_dqn_has_the_parameters_of_the_paper() -> None:
    convolutions = 32 * (4 * 8 * 8 + 1) + 64 * (32 * 4 * 4 + 1) + 64 * (64 * 3 * 3 + 1)
    dense = 512 * (64 * 7 * 7 + 1) + 18 * (512 + 1)
    assert testing.count_parameters(testing.dqn.get_net(1)) == convolutions + dense


@pytest.mark.parametrize(
    ("name", "attrs", "shape"),
    [
        ("mlp", {}, (2, 10)),
        ("resnet", {"num_layers": 18}, (2, 1000)),
        ("resnet", {"num_layers": 50}, (2, 1000)),
        ("resnet", {"num_layers": 50, "layout": "NHWC", "image_shape": (224, 224, 3)}, (2, 1000)),
        ("resnet", {"num_layers": 20, "image_shape": (3, 32, 32), "num_classes": 10}, (2, 10)),
        ("resnet_3d", {}, (2, 1000)),
        ("mobilenet", {}, (2, 1000)),
        ("mobilenet", {"layout": "NHWC", "image_shape": (224, 224, 3)}, (2, 1000)),
        ("vgg", {}, (2, 1000)),
        ("squeezenet", {}, (2, 1000)),
        ("densenet", {}, (2, 1000)),
        ("inception_v3", {}, (2, 1000)),
        ("dqn", {}, (2, 18)),
        ("dqn", {"layout": "NHWC", "image_shape": (84, 84, 4)}, (2, 18)),
        ("dcgan", {}, (2, 3, 64, 64)),
        ("dcgan", {"layout": "NHWC", "oshape": (64, 64, 3)}, (2, 64, 64, 3)),
    ],
)
def test_the_result_has_the_known_shape(name: str, attrs, shape) -> None:
    main = relay.infer(relay.IRModule.from_expr(net(name, 2, **attrs)))["main"]
    assert main.ret_type is TensorType(shape, F)
    assert main.params[0].name_hint == "data"


def run(workload, *inputs):
    """The value of a workload on inputs (random data if there are none), with its parameters by name."""
    mod, params = workload
    if not inputs:
        shape = mod["main"].params[0].type_annotation.concrete_shape
        inputs = (np.random.default_rng(0).random(shape, np.float32),)
    return relay.create_executor("debug", mod=mod).evaluate()(*inputs, **params)


SMALL = [
    ("mlp", {"batch_size": 2}, (2, 10)),
    ("resnet", {"num_layers": 18, "image_shape": (3, 40, 40), "num_classes": 7}, (1, 7)),
    ("resnet", {"num_layers": 50, "image_shape": (3, 40, 40), "num_classes": 7}, (1, 7)),
    ("resnet", {"num_layers": 20, "image_shape": (3, 32, 32), "num_classes": 10}, (1, 10)),
    ("resnet_3d", {"image_shape": (3, 4, 32, 32), "num_classes": 7}, (1, 7)),
    ("mobilenet", {"image_shape": (3, 64, 64)}, (1, 1000)),
    ("mobilenet_v2", {"image_shape": (3, 64, 64)}, (1, 1000)),
    ("squeezenet", {"image_shape": (3, 64, 64)}, (1, 1000)),
    ("densenet", {"batch_size": 1, "image_shape": (3, 64, 64), "classes": 7}, (1, 7)),
    ("inception_v3", {"image_shape": (3, 107, 107), "num_classes": 7}, (1, 7)),
    ("dqn", {"batch_size": 1}, (1, 18)),
    ("dcgan", {"batch_size": 1, "ngf": 16}, (1, 3, 64, 64)),
    ("lstm", {"iterations": 4, "num_hidden": 8}, (1, 8)),
    ("gru", {"iterations": 4, "num_hidden": 8}, (1, 8)),
    ("synthetic", {}, (1, 3, 24, 12)),
]
SCORES = ("mobilenet_v2", "dqn", "densenet", "dcgan", "lstm", "gru", "synthetic")
"""Workloads whose results are not chances."""


@pytest.mark.parametrize(("name", "attrs", "shape"), SMALL)
def test_a_small_one_runs(name: str, attrs, shape) -> None:
    check(name, run(getattr(testing, name).get_workload(**attrs)), shape)


def check(name: str, found, shape) -> None:
    assert (found.shape, found.dtype) == (shape, np.float32)
    assert np.isfinite(found).all()
    if name not in SCORES:
        np.testing.assert_allclose(found.sum(axis=1), np.ones(shape[0]), rtol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "attrs", "shape"),
    [
        ("resnet", {"num_layers": 18}, (1, 1000)),
        ("resnet", {"num_layers": 50}, (1, 1000)),
        ("mobilenet", {}, (1, 1000)),
        ("vgg", {"batch_size": 1, "num_layers": 16}, (1, 1000)),
        ("squeezenet", {}, (1, 1000)),
        ("densenet", {"batch_size": 1}, (1, 1000)),
        ("inception_v3", {}, (1, 1000)),
        ("resnet_3d", {}, (1, 1000)),
        ("dcgan", {"batch_size": 1}, (1, 3, 64, 64)),
    ],
)
def test_the_full_size_runs(name: str, attrs, shape) -> None:
    check(name, run(getattr(testing, name).get_workload(**attrs)), shape)


def test_vgg_runs_with_weights_that_take_no_memory() -> None:
    mod = relay.infer(
        relay.IRModule.from_expr(testing.vgg.get_net(1, (3, 32, 32), num_classes=5, num_layers=16))
    )
    params = {
        name: np.broadcast_to(np.float32(0.001), t.concrete_shape)
        for name, t in testing.parameters(mod).items()
    }
    found = run((mod, params))
    np.testing.assert_allclose(found, np.full((1, 5), 0.2), rtol=1e-5)


# --- values -----------------------------------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_a_perceptron_is_three_products() -> None:
    mod, p = testing.mlp.get_workload(2)
    x = np.random.default_rng(1).random((2, 1, 28, 28), np.float32)
    y = x.reshape(2, -1)
    for i in (1, 2, 3):
        y = y @ p[f"fc{i}_weight"].T + p[f"fc{i}_bias"]
        y = np.maximum(y, 0) if i < 3 else np.exp(y) / np.exp(y).sum(1, keepdims=True)
    np.testing.assert_allclose(run((mod, p), x), y, rtol=1e-5)


def recurrent(kind: str, batch: int = 2, hidden: int = 5, steps: int = 3):
    """A recurrent workload with every parameter random, its data and its result."""
    mod, p = getattr(testing, kind).get_workload(steps, hidden, batch)
    rng = np.random.default_rng(2)
    p = {name: rng.standard_normal(a.shape).astype(F) for name, a in p.items()}
    x = rng.standard_normal((batch, hidden)).astype(F)
    return p, x, run((mod, p), x)


def test_lstm_follows_its_equations() -> None:
    p, x, found = recurrent("lstm")
    h = c = np.zeros_like(x)
    for _ in range(3):
        gates = x @ p["i2h_weight"].T + p["i2h_bias"] + h @ p["h2h_weight"].T + p["h2h_bias"]
        i, f, g, o = np.split(gates, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    np.testing.assert_allclose(found, h, rtol=1e-4, atol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_recurrent_networks_agree_with_torch(kind: str) -> None:
    torch = pytest.importorskip("torch")
    p, x, found = recurrent(kind)
    layer = getattr(torch.nn, kind.upper())(5, 5)
    for theirs, ours in {
        "weight_ih_l0": "i2h_weight",
        "bias_ih_l0": "i2h_bias",
        "weight_hh_l0": "h2h_weight",
        "bias_hh_l0": "h2h_bias",
    }.items():
        getattr(layer, theirs).data = torch.from_numpy(p[ours])
    out, _ = layer(torch.from_numpy(np.stack([x] * 3)))
    np.testing.assert_allclose(found, out[-1].detach().numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.torch
def test_transformer_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    mod, p = testing.transformer.get_workload(
        2, 6, num_layers=1, hidden=8, heads=2, vocabulary=11, positions=9
    )
    tokens = np.random.default_rng(0).integers(0, 11, (2, 6)).astype("int32")
    found, pooled = run((mod, p), tokens)
    layer = torch.nn.TransformerEncoderLayer(
        8, 2, 32, 0.0, "gelu", layer_norm_eps=1e-12, batch_first=True
    ).eval()
    t = {name: torch.from_numpy(a) for name, a in p.items()}
    heads = [f"layer0_attention_{part}" for part in ("query", "key", "value")]
    layer.self_attn.in_proj_weight.data = torch.cat([t[h + "_weight"] for h in heads])
    layer.self_attn.in_proj_bias.data = torch.cat([t[h + "_bias"] for h in heads])
    for module, name in (
        (layer.self_attn.out_proj, "layer0_attention_output"),
        (layer.linear1, "layer0_fc1"),
        (layer.linear2, "layer0_fc2"),
    ):
        module.weight.data, module.bias.data = t[name + "_weight"], t[name + "_bias"]
    x = t["token_embedding"][tokens.astype("int64")] + t["position_embedding"][:6] + t["kind_embedding"][0]
    want = layer(torch.nn.functional.layer_norm(x, (8,), eps=1e-12))
    np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-4, atol=1e-5)
    first = torch.tanh(torch.nn.functional.linear(want[:, 0], t["pooler_weight"], t["pooler_bias"]))
    np.testing.assert_allclose(pooled, first.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_transformer_gives_a_state_for_each_place() -> None:
    mod, p = testing.transformer.get_workload(
        1, 5, num_layers=2, hidden=16, heads=4, vocabulary=30, positions=7
    )
    state = TensorType((1, 5, 16), F)
    assert mod["main"].ret_type is TupleType([state, TensorType((1, 16), F)])
    found, _ = run((mod, p), np.asarray([[1, 2, 3, 4, 5]], "int32"))
    np.testing.assert_allclose(found.mean(axis=-1), np.zeros((1, 5)), atol=1e-5)


def test_char_rnn_writes_a_list_of_characters() -> None:
    mod, p = testing.char_rnn.get_workload(9, 6)
    rng = np.random.default_rng(3)
    p = {name: rng.standard_normal(a.shape).astype(F) for name, a in p.items()}
    cell = run((mod, p), np.asarray([4], "int32"), np.int32(7))
    h, char, want = np.zeros((1, 6), F), 4, []
    for _ in range(7):
        h = np.tanh(p["embedding"][[char]] @ p["i2h_weight"].T + h @ p["h2h_weight"].T + p["h2h_bias"])
        char = int(np.argmax(h @ p["h2o_weight"].T + p["h2o_bias"]))
        want.append(char)
    found = []
    while cell.fields:
        head, cell = cell.fields
        found += head.tolist()
    assert found == want


def test_treelstm_follows_its_equations() -> None:
    mod, p = testing.treelstm.get_workload(4, 3)
    rng = np.random.default_rng(3)
    p = {name: rng.standard_normal(a.shape).astype(F) for name, a in p.items()}
    tree = relay.create_executor("debug", mod=mod).evaluate(testing.treelstm.binary_tree(mod, 4, 4))

    def visit(node):
        x, children = node.fields
        below = []
        while children.fields:
            below.append(visit(children.fields[0]))
            children = children.fields[1]
        h_sum = sum((h for h, _ in below), np.zeros((1, 3), F))
        gates = x @ p["iou_weight"].T + p["iou_bias"] + h_sum @ p["iou_h_weight"].T
        i, o, u = np.split(gates, 3, axis=1)
        c = sigmoid(i) * np.tanh(u)
        for h, memory in below:
            c = c + sigmoid(x @ p["forget_weight"].T + p["forget_bias"] + h @ p["forget_h_weight"].T) * memory
        return sigmoid(o) * np.tanh(c), c

    for found, want in zip(run((mod, p), tree), visit(tree), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-6)


def test_treelstm_has_the_parameters_of_the_paper() -> None:
    gates = 4 * 150 * (300 + 150 + 1)
    assert testing.count_parameters(testing.treelstm.get_net(300, 150)) == gates


def test_a_workload_is_the_same_for_the_same_seed() -> None:
    first, second = (testing.create_workload(testing.mlp.get_net(1), seed=5)[1] for _ in range(2))
    other = testing.create_workload(testing.mlp.get_net(1), testing.init.Xavier("gaussian", "in"), seed=6)[1]
    np.testing.assert_array_equal(first["fc1_weight"], second["fc1_weight"])
    assert abs(other["fc1_weight"].std() - np.sqrt(3 / 784)) < 0.01
    assert abs(first["fc1_weight"]).max() <= np.sqrt(3 / ((784 + 128) / 2))
    assert not first["fc1_bias"].any()
    filled = testing.create_workload(testing.mlp.get_net(1), testing.init.Constant(0.5))[1]
    assert (filled["fc2_weight"] == 0.5).all()
    assert sum(prod(a.shape) for a in filled.values()) == testing.count_parameters(testing.mlp.get_net(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: testing.resnet.get_net(1, 10, 19),
        lambda: testing.resnet.get_net(1, 10, 21, (3, 32, 32)),
        lambda: testing.vgg.get_net(1, num_layers=12),
        lambda: testing.squeezenet.get_net(1, version="2"),
        lambda: testing.densenet.get_net(100),
        lambda: testing.dcgan.get_net(1, oshape=(3, 32, 32)),
        lambda: testing.resnet_3d.get_net(1, 10, 50),
        lambda: testing.init.Xavier("other"),
    ],
)
def test_what_there_is_not_is_said(make) -> None:
    with pytest.raises(ValueError, match=r"not|no "):
        make()


@pytest.mark.torch
def test_gpt2_agrees_with_the_transformers_package() -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    mod, p = testing.gpt2.get_workload(
        1, length=6, num_layers=2, hidden=16, heads=4, vocabulary=11, positions=9
    )
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=11, n_positions=9, n_embd=16, n_layer=2, n_head=4)
    ).eval()
    names = {"transformer.wte": "token", "transformer.wpe": "position", "transformer.ln_f": "norm"}
    parts = {
        "ln_1": "norm1",
        "ln_2": "norm2",
        "attn.c_attn": "attention_qkv",
        "attn.c_proj": "attention_output",
    }
    parts |= {"mlp.c_fc": "fc1", "mlp.c_proj": "fc2"}
    for i in range(2):
        names |= {f"transformer.h.{i}.{theirs}": f"layer{i}_{ours}" for theirs, ours in parts.items()}
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for name, theirs in model.named_parameters():
            where, _, kind = name.rpartition(".")
            is_norm, is_table = "ln" in where, "wte" in where or "wpe" in where
            last = {"weight": "gamma" if is_norm else "embedding" if is_table else "weight"}
            key = f"{names[where]}_{last.get(kind, 'beta' if is_norm else 'bias')}"
            p[key] = rng.standard_normal(p[key].shape).astype(F) * 0.3
            theirs.copy_(torch.from_numpy(p[key] if is_table else p[key].T))
        tokens = rng.integers(0, 11, (1, 6)).astype("int32")
        wanted = model(torch.from_numpy(tokens).long()).logits
    found = relay.create_executor("debug", mod=mod).evaluate()(data=tokens, **p)
    np.testing.assert_allclose(found, wanted, atol=2e-4)
