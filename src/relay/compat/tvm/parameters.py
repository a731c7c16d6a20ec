"""Parameters by name as bytes and in files, whose arrays have `.numpy()`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relay.compat.tvm.arrays import NDArray, arrays
from relay.text import param_dict
from relay.text.files import read_file, write_atomically

__all__ = ["load_param_dict", "load_param_dict_from_file", "save_param_dict", "save_param_dict_to_file"]

save_param_dict = param_dict.save_param_dict


def load_param_dict(param_bytes: Any) -> dict[str, NDArray]:
    """The parameters that `save_param_dict` made bytes of (`bad-array`)."""
    return arrays(param_dict.load_param_dict(bytes(param_bytes)))


def save_param_dict_to_file(params: Mapping[str, Any], path: str | Path) -> None:
    """Write parameters to a file, whole or not at all (`cannot-write`)."""
    write_atomically(str(path), lambda out: out.write(save_param_dict(params)))


def load_param_dict_from_file(path: str | Path) -> dict[str, NDArray]:
    """The parameters that a file has (`cannot-read`, `bad-array`)."""
    return arrays(param_dict.load_param_dict(read_file(str(path)), str(path)))
