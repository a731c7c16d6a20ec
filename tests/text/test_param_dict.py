"""Parameters by name in the bytes of `.params` files, as TVM lays them out (`kTVMNDArrayListMagic`)."""

import re
import struct

import ml_dtypes
import numpy as np
import pytest

import relay

# Written by hand after the format: one array `w`, float32 of shape (2,), with 1 and 2.
BYTES = (
    struct.pack("<QQ", 0xF7E58D4F05049CB7, 0)
    + struct.pack("<QQ", 1, 1) + b"w" + struct.pack("<Q", 1)
    + struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1) + struct.pack("<qq", 2, 8)
    + struct.pack("<ff", 1, 2)
)  # fmt: skip


def test_the_bytes_are_those_of_the_format():
    assert relay.save_param_dict({"w": np.array([1, 2], "float32")}) == BYTES
    assert relay.load_param_dict(BYTES)["w"].tolist() == [1, 2]


def test_every_dtype_and_shape_comes_back():
    params = {
        "scalar": np.float64(3), "empty": np.zeros((0, 4), "int8"), "half": np.ones((2, 3), "float16"),
        "short": np.ones(3, ml_dtypes.bfloat16), "truths": np.array([True, False]),
        "nibbles": np.array([1, -2, 3], ml_dtypes.int4), "ä/%": np.arange(4, dtype="uint64").reshape(2, 2).T,
    }  # fmt: skip
    found = relay.load_param_dict(relay.save_param_dict(params))
    assert list(found) == list(params)
    for name, value in params.items():
        assert found[name].dtype == np.asarray(value).dtype
        assert found[name].shape == np.shape(value)
        assert found[name].tolist() == np.asarray(value).tolist()


@pytest.mark.parametrize("end", range(len(BYTES)))
def test_a_file_that_is_cut_off_is_a_diagnostic(end):
    with pytest.raises(relay.RelayError, match="bad-array"):
        relay.load_param_dict(BYTES[:end])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BYTES[:-1], "the array `{name}` of `net.params` of shape"),
        (BYTES[:20], "`net.params` is truncated"),
        (b"", "`net.params` does not start with the magic number"),
        (BYTES + b"1", "`net.params` goes on for 1 bytes after its last array"),
    ],
)
def test_the_name_of_a_damaged_file_is_said(data, message):
    (*_, last) = relay.load_param_dict(BYTES)
    with pytest.raises(relay.RelayError, match=re.escape(message.format(name=last))):
        relay.load_param_dict(data, "net.params")


def test_damaged_files_are_read_or_refused():
    rng = np.random.default_rng(0)
    refused: set[str] = set()
    for _ in range(2000):
        data = bytearray(BYTES)
        for place in rng.integers(0, len(data), 3):
            data[place] = rng.integers(256)
        try:
            relay.load_param_dict(bytes(data))
        except relay.RelayError as error:
            refused.add(error.diagnostics[0].code)
    assert refused == {"bad-array"}


def test_what_is_no_number_is_refused():
    with pytest.raises(relay.RelayError, match="input-dtype"):
        relay.save_param_dict({"w": np.array(["a"])})
