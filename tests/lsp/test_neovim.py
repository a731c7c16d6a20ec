"""The language server from Neovim, with the set-up that the page of editors prints."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed"),
]
PROGRAM = (
    'import "std/list"\ndef @main(%x: Tensor[(n, 3), float32]) {\n  let %y = nn.relu(%x);\n  %yy + %y\n}\n'
)
SCRIPT = """
local found = {}
vim.cmd("edit program.relay")
local buffer = vim.api.nvim_get_current_buf()
found.filetype = vim.bo.filetype
vim.wait(30000, function() return #vim.diagnostic.get(buffer) > 0 end, 50)
local function shown(d) return { d.lnum, d.col, d.message } end
found.diagnostics = vim.tbl_map(shown, vim.diagnostic.get(buffer))
local function ask(method, line, column)
  local params = { position = { line = line, character = column } }
  params.textDocument = vim.lsp.util.make_text_document_params()
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 20000) or {}
  for _, answer in pairs(answers) do return answer.result end
end
found.hover = ask("textDocument/hover", 2, 15)
local completion = ask("textDocument/completion", 2, 14) or {}
found.completion = vim.tbl_map(function(item) return item.label end, completion.items or completion)
local file = io.open("found.json", "w")
file:write(vim.fn.json_encode(found))
file:close()
vim.cmd("qall!")
"""


def version() -> tuple[int, int]:
    said = subprocess.run(["nvim", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"v(\d+)\.(\d+)", said)
    assert found is not None
    return int(found[1]), int(found[2])


def set_up() -> str:
    """What the page says for the version that is installed."""
    page = (ROOT / "docs" / "editors.md").read_text()
    section = page.partition("## Neovim")[2].partition("\n## ")[0]
    new, old = re.findall(r"```lua\n(.*?)```", section, re.DOTALL)
    return new if version() >= (0, 11) else old


def test_diagnostics_hover_and_completion(tmp_path: Path) -> None:
    (tmp_path / "init.lua").write_text(set_up())
    (tmp_path / "script.lua").write_text(SCRIPT)
    (tmp_path / "program.relay").write_text(PROGRAM)
    (tmp_path / ".git").mkdir()
    folders = {
        f"XDG_{name}_HOME": str(tmp_path / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        ["nvim", "--headless", "-n", "-u", "init.lua", "-S", "script.lua"],
        cwd=tmp_path, env={**os.environ, **folders, "PATH": path}, timeout=120, check=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["filetype"] == "relay"
    ((line, column, message), *_) = found["diagnostics"]
    assert (line, column) == (3, 2)
    assert "%yy" in message
    assert "nn.relu(data)" in json.dumps(found["hover"])
    assert "nn.relu" in found["completion"]
