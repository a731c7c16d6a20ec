"""JSON, weights and pickles that are damaged: each reads as something, or is a diagnostic."""

import json
import pickle
from base64 import b64decode, b64encode
from random import Random

import numpy as np
import pytest

import relay
from generators.programs import random_module, random_program
from relay.ir.expr import Constant, Function, Tuple
from relay.ir.type import TensorType

JUNK = [None, -1, 0, 1, 3, 10**9, 1.5, "", "0", "1", "x", "-1", "99999", True, [], [0], {}, {"a": "1"}]


def graph(seed):
    """The JSON of a program."""
    mod = random_module(seed, 8) if seed % 2 else random_program(seed, 8).mod
    return relay.save_json(mod)


def damaged(node, rng):
    """`node` with one place of it deleted, replaced, or exchanged for another one."""
    holder, place = None, None
    while isinstance(node, dict | list) and node and (holder is None or rng.random() < 0.85):
        holder = node
        place = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        node = node[place]
    if rng.random() < 0.3:
        del holder[place]
    elif rng.random() < 0.3 and isinstance(holder, list):
        holder[place] = holder[rng.randrange(len(holder))]
    elif isinstance(node, str) and node.isdecimal() and rng.random() < 0.7:
        holder[place] = str(rng.randrange(60))
    else:
        holder[place] = rng.choice(JUNK)


def test_damaged_json_is_read_or_refused(seeds):
    for seed in seeds[::3]:
        whole = graph(seed)
        for i in range(4):
            found = json.loads(whole)
            rng = Random(seed * 100 + i)
            for _ in range(rng.choice([1, 1, 3])):
                damaged(found, rng)
            text = json.dumps(found)
            try:
                again = relay.load_json(text)
                if isinstance(again, relay.IRModule):
                    str(again)
            except relay.RelayError:
                pass
            except Exception as error:
                raise AssertionError(f"seed {seed}, damage {i}:\n{text}") from error


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad-json"),
        ("[]", "bad-json"),
        ("{", "bad-json"),
        ("[" * 100_000, "bad-json"),
        ('{"nodes": []}', "bad-json"),
        ('{"root": 0, "nodes": []}', "bad-json"),
        ('{"root": 0, "nodes": [1]}', "bad-json"),
        ('{"root": true, "nodes": [{"type_key": "relay.Var"}]}', "bad-json"),
        ('{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "relay.Var"}]}', "bad-json"),
        ('{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "relay.Nonsense"}]}', "bad-json"),
        (
            '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "relay.Tuple", "attrs": {"fields": "1"}}]}',
            "bad-json",
        ),
        (
            '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "relay.Constant", "attrs": {"data": "0"}}],'
            ' "b64ndarrays": ["AAAA"]}',
            "bad-array",
        ),
    ],
)
def test_what_is_no_program(text, code):
    with pytest.raises(relay.RelayError) as caught:
        relay.load_json(text)
    assert caught.value.codes == (code,)


def constants():
    """A function without parameters that gives two large tensors."""
    arrays = [np.arange(600, dtype="float32"), np.arange(700, dtype="int16").reshape(70, 10)]
    made = Tuple([Constant(a, TensorType(a.shape, str(a.dtype))) for a in arrays])
    return relay.IRModule.from_expr(Function((), made))


def test_damaged_arrays_of_json_are_read_or_refused():
    found = json.loads(relay.save_json(constants()))
    blob = b64decode(found["b64ndarrays"][0])
    rng = Random(0)
    for i in range(300):
        data = bytearray(blob[: rng.randrange(len(blob))] if i % 3 == 0 else blob)
        for _ in range(rng.randrange(4)):
            if data:
                data[rng.randrange(min(len(data), 64))] = rng.randrange(256)
        found["b64ndarrays"][0] = b64encode(bytes(data)).decode()
        try:
            relay.load_json(json.dumps(found))
        except relay.RelayError as error:
            assert error.codes in {("bad-array",), ("bad-json",)}  # noqa: PT017
    for text in ("?", 3, None, ["x"], ""):
        found["b64ndarrays"][0] = text
        with pytest.raises(relay.RelayError):
            relay.load_json(json.dumps(found))


def test_damaged_weights_are_read_or_refused(tmp_path):
    path = tmp_path / "model.relay"
    relay.save(constants(), path)
    beside = tmp_path / "model.safetensors"
    whole = beside.read_bytes()
    rng = Random(1)
    head = 8 + int.from_bytes(whole[:8], "little")
    for i in range(300):
        data = bytearray(whole[: rng.randrange(len(whole))] if i % 3 == 0 else whole)
        for _ in range(rng.randrange(1, 4)):
            if data:
                data[rng.randrange(min(len(data), head))] = rng.randrange(256)
        beside.write_bytes(data)
        try:
            relay.load(path)
        except relay.RelayError as error:
            assert set(error.codes) <= {"bad-array-file", "missing-metadata"}  # noqa: PT017
    beside.unlink()
    with pytest.raises(relay.RelayError) as caught:
        relay.load(path)
    assert caught.value.codes == ("missing-weights",)


def test_weights_of_another_program_are_refused(tmp_path):
    relay.save(constants(), tmp_path / "a.relay")
    few = relay.IRModule.from_expr(Function((), constants()["main"].body.fields[0]))
    relay.save(few, tmp_path / "b.relay")
    (tmp_path / "a.safetensors").write_bytes((tmp_path / "b.safetensors").read_bytes())
    with pytest.raises(relay.RelayError) as caught:
        relay.load(tmp_path / "a.relay")
    assert caught.value.codes == ("missing-metadata",)


@pytest.mark.parametrize("e", [constants(), constants()["main"], TensorType((2,), "int8")], ids=type)
@pytest.mark.parametrize("junk", ["{", "def", "[]"])
def test_pickles_with_other_contents_are_refused(e, junk):
    """A pickle names our readers and hands them text and buffers; these are read with the same care."""
    load, (text, *rest) = e.__reduce__()
    again = pickle.loads(pickle.dumps(e))
    assert type(again) is type(e)
    with pytest.raises(relay.RelayError):
        load(junk, *rest)
    with pytest.raises(relay.RelayError):
        load(text[: len(text) // 2], *rest)
