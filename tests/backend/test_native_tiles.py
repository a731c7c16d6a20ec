"""The innermost loops of products as assembly: sums stay in registers, products are added at once."""

import re
from functools import cache
from typing import Any

import pytest

from relay.backend.native.kernels.inner_steps import inner_step
from relay.backend.native.kernels.tile import Tile, sets_for
from relay.backend.native.kernels.transforms import PAIRS, Transform
from relay.backend.native.kernels.windows import Windows
from relay.backend.native.llvm.jit import binding
from relay.backend.native.llvm.machine import (
    AVX2,
    AVX512,
    AVX512_BF16,
    AVX512_VNNI,
    AVX_VNNI,
    NEON,
    NEON_DOT,
    NEON_I8MM,
    Machine,
    target_machine,
)
from relay.backend.native.loops.emitter import kernel_code
from relay.backend.native.loops.functions import NOWHERE

TARGETS = {
    "avx512": ("x86_64-unknown-linux-gnu", "skylake-avx512", "", AVX512, r"vfn?m(add|sub)\w+"),
    "avx512vnni": ("x86_64-unknown-linux-gnu", "icelake-server", "", AVX512, r"vfn?m(add|sub)\w+"),
    "avx2": ("x86_64-unknown-linux-gnu", "haswell", "", AVX2, r"vfn?m(add|sub)\w+"),
    "neon": ("aarch64-unknown-linux-gnu", "neoverse-n1", "+neon", NEON, r"fmla"),
}
"""Triple, processor, features, what the tiles are for, and how the assembly multiplies and adds."""


def assembly(target: str, text: str) -> str:
    """The code of a kernel for a machine."""
    triple, processor, features, *_ = TARGETS[target]
    return assembly_for(triple, processor, features, text)


@cache
def assembly_for(triple: str, processor: str, features: str, text: str) -> str:
    """The code of a kernel for a processor."""
    llvm: Any = binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    to = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, features=features, opt=3)
    module = llvm.parse_assembly(f'target triple = "{triple}"\n{text.replace("internal tailcc", "")}')
    passes = llvm.create_pass_builder(to, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    return to.emit_assembly(module)


def inner_loop(target: str, tile: Tile, adds: str) -> str:
    """The loop of a tile's assembly that adds most."""
    text = assembly(target, kernel_code(None, NOWHERE, tile).text())
    return max(loops(text), key=lambda part: len(re.findall(adds, part)))


def loops(text: str) -> list[str]:
    """The code between a label and the jump back to it."""
    found: list[str] = []
    for m in re.finditer(r"^(\.L\w+):", text, re.MULTILINE):
        rest = text[m.end() :]
        end = re.search(rf"\b(?:j\w+|b\.?\w*|cbn?z\s+\w+,)\s+{re.escape(m[1])}\b", rest)
        if end:
            found.append(rest[: end.start()])
    return found


def shapes(machine: Machine, dtype: str = "float32", *numbers: str) -> list[tuple[int, int]]:
    """The tallest tiles of each width that products use, and a low one."""
    widths = (2, 3) if machine.is_wide else (2,)
    step = inner_step(dtype, machine, *numbers)
    return [(step.tallest(machine, w), w) for w in widths] + [(1, 2)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("target", list(TARGETS))
def test_sums_stay_in_registers(target: str, dtype: str) -> None:
    machine, adds = TARGETS[target][3], TARGETS[target][4]
    for rows, width in shapes(machine):
        tile = Tile(machine, inner_step(dtype, machine), rows, width, sets=sets_for(rows, width))
        inner = inner_loop(target, tile, adds)
        assert len(re.findall(adds, inner)) == rows * width * tile.sets, (rows, width)
        assert not re.search(r"\(%rsp\)|\[sp\b", inner), (rows, width)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("target", [t for t in TARGETS if t != "neon"])
def test_short_floats_are_widened_in_registers(target: str, dtype: str) -> None:
    machine, adds = TARGETS[target][3], TARGETS[target][4]
    step = inner_step("float32", machine, dtype, dtype)
    assert (step.first, step.second) == ("float32", dtype)
    for rows, width in shapes(machine, "float32", dtype, dtype):
        tile = Tile(machine, step, rows, width, sets=sets_for(rows, width))
        inner = inner_loop(target, tile, adds)
        assert len(re.findall(adds, inner)) == rows * width * tile.sets, (rows, width)
        how = r"vpmovzxwd" if dtype == "bfloat16" else r"vcvtph2ps"
        assert len(re.findall(how, inner)) == width * tile.sets, (rows, width)
        assert not re.search(r"\(%rsp\)", inner), (rows, width)


@pytest.mark.parametrize("how", [{"is_packed": False}, {"pitch": 6, "has_runs": True}])
@pytest.mark.parametrize("target", list(TARGETS))
def test_sums_stay_in_registers_where_rows_are_not_packed(target: str, how: dict[str, Any]) -> None:
    machine, adds = TARGETS[target][3], TARGETS[target][4]
    for rows, width in shapes(machine)[: -1 if "has_runs" in how else None]:
        tile = Tile(machine, inner_step("float32", machine), rows, width, sets=sets_for(rows, width), **how)
        inner = inner_loop(target, tile, adds)
        assert len(re.findall(adds, inner)) == rows * width * tile.sets, (rows, width)
        assert not re.search(r"\(%rsp\).*mm|mm.*\(%rsp\)|q\d+.*\[sp\b", inner), (rows, width)


@pytest.mark.parametrize("target", [t for t in TARGETS if TARGETS[t][3].has_masks])
def test_a_row_is_read_up_to_the_last_column_by_a_mask(target: str) -> None:
    machine, adds = TARGETS[target][3], TARGETS[target][4]
    for rows, width in shapes(machine)[:-1]:
        tile = Tile(machine, inner_step("float32", machine), rows, width, is_full=False, reads_part=True)
        inner = inner_loop(target, tile, adds)
        assert len(re.findall(adds, inner)) == rows * width, (rows, width)
        assert len(re.findall(r"%zmm\d+ \{%k\d\}", inner)) == width, (rows, width)
        assert not re.search(r"\(%rsp\)", inner), (rows, width)


PAIRS_ADDED = {
    "avx512": r"vpmaddwd",
    "avx512vnni": r"vpdpwssd|vpmaddwd",
    "avx2": r"vpmaddwd",
    "neon": r"\b(?:mla|smlal2?)\b",
}
"""How the assembly adds up products of pairs of int16."""


@pytest.mark.parametrize("target", list(PAIRS_ADDED))
def test_sums_of_integers_stay_in_registers(target: str) -> None:
    machine, adds = TARGETS[target][3], PAIRS_ADDED[target]
    for rows, width in shapes(machine, "int32", "int16", "int16"):
        step = inner_step("int32", machine, "int16", "int16")
        tile = Tile(machine, step, rows, width, sets=sets_for(rows, width))
        inner = inner_loop(target, tile, adds)
        each = tile.step.factor_count * (step.unrolled if tile.sets == 1 else 1)
        assert "vpdpwssd" in inner or target != "avx512vnni"
        assert len(re.findall(adds, inner)) == rows * width * tile.sets * each, (rows, width)
        assert not re.search(r"\(%rsp\)|\[sp\b", inner), (rows, width)


SMALL = {
    "uint8 int8, avx512vnni": ("icelake-server", "", AVX512_VNNI, "int32", "vpdpbusd"),
    "int8 uint8, avx512vnni": ("icelake-server", "", AVX512_VNNI, "int32", "vpdpbusd"),
    "int8 int8, avx512vnni": ("icelake-server", "", AVX512_VNNI, "int32", "vpdpwssd|vpmaddwd"),
    "uint8 int8, avxvnni": ("alderlake", "", AVX_VNNI, "int32", "vpdpbusd"),
    "int8 uint8, avxvnni": ("alderlake", "", AVX_VNNI, "int32", "vpdpbusd"),
    "uint8 int8, avx2": ("haswell", "", AVX2, "int32", "vpmaddwd"),
    "uint8 int8, avx2, to 64": ("haswell", "", AVX2, "int32", "vpmaddubsw"),
    "uint8 int8, avx512, to 64": ("skylake-avx512", "", AVX512, "int32", "vpmaddubsw"),
    "bfloat16 bfloat16, avx512bf16": ("cooperlake", "", AVX512_BF16, "float32", "vdpbf16ps"),
    "int8 int8, neon-dot": ("neoverse-n1", "+neon,+dotprod", NEON_DOT, "int32", r"\bsdot"),
    "uint8 uint8, neon-dot": ("neoverse-n1", "+neon,+dotprod", NEON_DOT, "int32", r"\budot"),
    "uint8 int8, neon-i8mm": ("neoverse-v1", "+neon,+dotprod,+i8mm", NEON_I8MM, "int32", r"\busdot"),
    "int8 uint8, neon-i8mm": ("neoverse-v1", "+neon,+dotprod,+i8mm", NEON_I8MM, "int32", r"\busdot"),
}
"""Numbers of both operands, and how the assembly of a processor adds up their products."""


@pytest.mark.parametrize("case", list(SMALL))
def test_small_numbers_are_multiplied_by_the_machines_instruction(case: str) -> None:
    processor, features, machine, dtype, adds = SMALL[case]
    step = inner_step(dtype, machine, *case.partition(",")[0].split(), are_small=case.endswith("to 64"))
    triple = "aarch64-unknown-linux-gnu" if features else "x86_64-unknown-linux-gnu"
    for rows, width in [(step.tallest(machine, 2), 2), (1, 2)]:
        tile = Tile(machine, step, rows, width, sets=sets_for(rows, width))
        code = kernel_code(None, NOWHERE, tile)
        text = assembly_for(triple, processor, features, "\n".join([*code.declarations, code.text()]))
        inner = max(loops(text), key=lambda part: len(re.findall(adds, part)))
        rounds, left = divmod(len(re.findall(adds, inner)), rows * width * tile.sets)
        assert rounds, (rows, width)
        assert not left, (rows, width)
        assert not re.search(r"\(%rsp\)|\[sp\b", inner), (rows, width)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("target", list(TARGETS))
def test_numbers_are_moved_as_vectors(target: str, dtype: str) -> None:
    machine = TARGETS[target][3]
    kernels: list[Any] = [Windows(machine, dtype, dtype, is_spread) for is_spread in (False, True)]
    kernels += [Transform(machine, dtype, size, of_data) for size in PAIRS for of_data in (False, True)]
    register = {"avx512": "zmm", "avx512vnni": "zmm", "avx2": "ymm", "neon": r"\bq\d"}[target]
    for kernel in kernels:
        assert re.search(register, assembly(target, kernel_code(None, NOWHERE, kernel).text())), kernel.name


def test_machines_are_known_by_their_features() -> None:
    assert target_machine({"avx512f": True, "avx512bw": True, "avx2": True, "fma": True}) is AVX512
    assert not target_machine({"avx512f": True, "avx2": True, "fma": True}).instructions
    assert target_machine({"avx2": True, "fma": True}) is AVX2
    assert target_machine({"avx2": True, "fma": True, "avxvnni": True}) is AVX_VNNI
    assert target_machine({"neon": True}) is NEON
    assert target_machine({"neon": True, "dotprod": True, "i8mm": True}) is NEON_I8MM
    assert target_machine({}).vector == 16
