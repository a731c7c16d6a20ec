"""How long `relay lsp` takes to answer after a keystroke in a file of 10,000 lines, as an editor sees it.

python benchmarks/editor.py [--lines 10000] [--keystrokes 30] [--pause 0]

Each keystroke sends the whole text, as the server asks for, and then one of the requests of an editor; what
is measured is from the keystroke's message to the request's answer.  With a pause of 0.3 s before each, the
server is checking the file as it is asked.  Needs `pip install 'relay-ir[lsp]'`.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter, sleep
from typing import Any

DEFINITION = """// Layer {i}: what the one before gives, weighted, and cut at zero.
def @layer{i}(%x: Tensor[(n, 8), float32], %w: Tensor[(8, 8), float32]) -> Tensor[(n, 8), float32] {{
  let %sum = nn.dense(%x, %w);
  let %shifted = %sum + 0.5;
  if (max(%shifted) > {i}.0) {{
    nn.relu(%shifted)
  }} else {{
    %shifted * 2.0
  }}
}}
"""
URI = "file:///editor-benchmark/program.relay"
DOCUMENT = {"uri": URI}


class Client:
    """What an editor does: messages over standard input and output."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "relay", "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.asked = 0

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        size = 0
        while (line := self.process.stdout.readline().strip()) or not size:
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(size))

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> Any:
        """The answer; the server's own requests are answered with nothing meanwhile."""
        self.asked += 1
        self.send({"id": self.asked, "method": method, "params": params})
        while True:
            message = self.receive()
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "result": None})
            elif message.get("id") == self.asked:
                return message["result"]

    def wait_for(self, method: str) -> None:
        while self.receive().get("method") != method:
            pass


def requests(line: int, result_id: str) -> Iterator[tuple[str, str, Any]]:
    """What editors ask after a keystroke, with a name for each."""
    at = {"textDocument": DOCUMENT, "position": {"line": line, "character": 14}}
    window = {"start": {"line": line - 30, "character": 0}, "end": {"line": line + 30, "character": 0}}
    yield "completion", "textDocument/completion", at
    yield "hover", "textDocument/hover", at
    yield "signature help", "textDocument/signatureHelp", at
    seen = {"textDocument": DOCUMENT, "range": window}
    yield "inlay hints of a window", "textDocument/inlayHint", seen
    yield "colours of a window", "textDocument/semanticTokens/range", seen
    delta = {"textDocument": DOCUMENT, "previousResultId": result_id}
    yield "colours that have changed", "textDocument/semanticTokens/full/delta", delta
    yield "symbols", "textDocument/documentSymbol", {"textDocument": DOCUMENT}
    yield "foldings", "textDocument/foldingRange", {"textDocument": DOCUMENT}


def measured(lines: int, keystrokes: int, pause_s: float) -> dict[str, list[float]]:
    """Seconds of each request after each keystroke."""
    count = DEFINITION.count("\n")
    text = "".join([DEFINITION.format(i=i) for i in range(lines // count)])
    client = Client()
    client.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    client.notify("initialized", {})
    opened = {"uri": URI, "languageId": "relay", "version": 0, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": opened})
    client.wait_for("textDocument/publishDiagnostics")
    result_id = client.request("textDocument/semanticTokens/full", {"textDocument": DOCUMENT})["resultId"]
    rows = text.split("\n")
    line = len(rows) // count // 2 * count + 2
    times: dict[str, list[float]] = {}
    for k in range(keystrokes):
        for i in range(len(list(requests(line, result_id)))):
            rows[line] += "1" if i == 0 else "0"
            sleep(pause_s)
            begin = perf_counter()
            change = {"textDocument": {**DOCUMENT, "version": 100 * k + i + 1},
                      "contentChanges": [{"text": "\n".join(rows)}]}  # fmt: skip
            client.notify("textDocument/didChange", change)
            name, method, params = list(requests(line, result_id))[i]
            answer = client.request(method, params)
            times.setdefault(name, []).append(perf_counter() - begin)
            if name == "colours that have changed":
                result_id = answer["resultId"]
        rows[line] = rows[line].rstrip("01")
    client.process.kill()
    return times


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--keystrokes", type=int, default=30)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds before each keystroke")
    args = parser.parse_args()
    print(f"{'milliseconds':28} median   most")
    for name, seconds in measured(args.lines, args.keystrokes, args.pause).items():
        print(f"{name:28} {1e3 * statistics.median(seconds):6.1f} {1e3 * max(seconds):6.1f}")


if __name__ == "__main__":
    main()
