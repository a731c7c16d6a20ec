"""How often the batcher goes through definitions."""

from typing import Any

import relay
from relay.batching.batcher import Batcher
from relay.ir.module import IRModule


def chain(n: int) -> IRModule:
    """`n` definitions, of which each calls the next."""
    calls = [f"def @f{i}(%x: float32) -> float32 {{ @f{i + 1}(%x) + 1.0 }}" for i in range(n)]
    last = f"def @f{n}(%x: float32) -> float32 {{ %x * 2.0 }}"
    main = "def @main(%x: Tensor[(3,), float32]) { vmap(@f0)(%x) }"
    return relay.infer(relay.parse("\n".join([*calls, last, main])))


def test_a_definition_is_batched_again_only_where_results_are_not_as_assumed(monkeypatch: Any) -> None:
    copied: list[Any] = []
    copy = Batcher.copy

    def counted(self: Batcher, key: Any) -> Any:
        copied.append(key)
        return copy(self, key)

    monkeypatch.setattr(Batcher, "copy", counted)
    out = relay.transform.ExpandGrad()(chain(50))
    assert len(copied) <= 2 * 51
    assert sum("_vmap" in name.name_hint for name in out.functions) == 51
