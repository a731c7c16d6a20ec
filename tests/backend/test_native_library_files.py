"""Files of libraries: what they need and show, what they are for, and what cannot be a library."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import relay
from relay.backend.native.library.archive import archive
from relay.backend.native.library.c_library import CLibrary, compile_library
from relay.backend.native.library.targets import OBJECT, SHARED, STATIC, known_targets, target_named
from relay.diagnostic import RelayError
from support import cli

PROGRAM = "def @main(%x: Tensor[(n, 3), float32]) { nn.dense(%x, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]) }"
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler, cc")


def compiled(text: str = PROGRAM, target: str = "x86_64-linux-gnu", prefix: str = "model") -> CLibrary:
    mod = relay.infer(relay.parse(text, "model.relay"))
    return compile_library(mod, ("main",), target_named(target), prefix)


def tool(*command: str) -> str:
    return subprocess.run(command, text=True, capture_output=True, check=True).stdout


@pytest.mark.skipif(
    shutil.which("readelf") is None or shutil.which("cc") is None or "native" not in known_targets(),
    reason="needs cc and readelf, on Linux",
)
def test_a_shared_library_needs_the_c_library_alone(tmp_path: Path) -> None:
    path = tmp_path / "libmodel.so"
    compiled(target="native").write(SHARED, str(path))
    needed = [line for line in tool("readelf", "-d", str(path)).splitlines() if "(NEEDED)" in line]
    names = {line.partition("[")[2].rstrip("]") for line in needed}
    assert names <= {"libc.so.6", "libm.so.6", "libpthread.so.0"}
    shown = [line.split()[-1] for line in tool("nm", "-D", "--defined-only", str(path)).splitlines()]
    assert all(name.startswith("model_") for name in shown)


@pytest.mark.parametrize("target", [t for t in known_targets() if t not in ("native", "apple-m1")])
def test_an_object_file_is_for_its_target(target: str) -> None:
    code = compiled(target=target).content(OBJECT, "")
    machine = int.from_bytes(code[18:20], "little")
    assert code.startswith(b"\x7fELF")
    assert machine == (0xB7 if target.startswith("aarch64") else 0x3E)


@pytest.mark.parametrize("name", ["aarch64-linux-gnu+neoverse-n9", "x86-64-v9", "vax"])
def test_an_unknown_target_is_an_error_that_lists_all(name: str) -> None:
    with pytest.raises(RelayError, match="unknown-target") as found:
        target_named(name)
    assert f"use one of {', '.join(known_targets())}" in str(found.value)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("aarch64-linux-gnu+neoverse-v1", "--emit shared --target aarch64-linux-gnu+neoverse-v1"),
        ("aarch64", "--emit shared --target aarch64-linux-gnu"),
        ("apple-m1", "--emit object --target apple-m1"),
    ],
)
def test_a_target_of_libraries_alone_is_answered_with_the_option(name: str, option: str) -> None:
    with pytest.raises(RelayError, match="unknown-target") as found:
        relay.build(relay.parse(PROGRAM), name)
    assert f"= hint: libraries for C can be for it: `relay compile {option}`" in str(found.value)


def test_names_of_c_are_the_whole_name_of_the_file(tmp_path: Path) -> None:
    for version in (1, 2):
        mod = relay.parse(f"def @main(%x: float32) {{ %x * {version}f }}")
        header = relay.write_library(mod, tmp_path / f"libmy-net.{version}.a", target="x86-64-v3")
        assert header == tmp_path / f"my-net.{version}.h"
        assert f"int my_net_{version}_create(" in header.read_text()


def test_declarations_go_on_below_their_first_parameter() -> None:
    lines = compiled(prefix="a_rather_long_name").header.splitlines()
    (first,) = [i for i, line in enumerate(lines) if line.startswith("int a_rather_long_name_run(")]
    assert lines[first + 1].index("DLManagedTensor") == lines[first].index("(") + 1


@pytest.mark.skipif(shutil.which("ar") is None, reason="needs ar")
def test_an_archive_is_one_that_ar_reads(tmp_path: Path) -> None:
    path = tmp_path / "libodd.a"
    path.write_bytes(archive("a_rather_long_name.o", b"odd", ["first", "second"]))
    assert tool("ar", "t", str(path)) == "a_rather_long_name.o\n"
    assert tool("ar", "p", str(path)) == "odd"


TWO = """
#include <stdio.h>
#include "one.h"
#include "two.h"

static float run_one(void)
{
    float data = 3, result;
    one_handle *handle;
    DLTensor x = {&data, {kDLCPU, 0}, 0, {kDLFloat, 32, 1}, NULL, NULL, 0}, y = x;
    const DLTensor *inputs[] = {&x};
    DLTensor *outputs[] = {&y};
    y.data = &result;
    if (one_create(1, &handle) || one_run_into(handle, one_ENTRY_MAIN, inputs, 1, outputs, 1))
        return -1;
    one_destroy(handle);
    return result;
}

int main(void)
{
    printf("%g %s", run_one(), two_entry_name(0));
    return 0;
}
"""


@needs_cc
def test_a_program_may_be_linked_with_several_static_libraries(tmp_path: Path) -> None:
    for prefix, factor in (("one", "2.0"), ("two", "3.0")):
        made = compiled(f"def @main(%x: float32) {{ %x * {factor} }}", prefix=prefix)
        made.write(STATIC, str(tmp_path / f"lib{prefix}.a"))
    (tmp_path / "main.c").write_text(TWO)
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    tool(
        "cc",
        *strict,
        "-o",
        f"{tmp_path}/main",
        f"{tmp_path}/main.c",
        f"-L{tmp_path}",
        "-lone",
        "-ltwo",
        "-lm",
    )
    assert tool(str(tmp_path / "main")) == "6 main"


DLPACK = """typedef struct { int theirs; } DLTensor;
typedef struct DLManagedTensor { DLTensor t; } DLManagedTensor;
"""
DLPACK = f"#ifndef DLPACK_DLPACK_H_\n#define DLPACK_DLPACK_H_\n{DLPACK}typedef int DLDataType;\n#endif\n"


@needs_cc
@pytest.mark.parametrize("order", ['"dlpack.h"\n#include "model.h"', '"model.h"\n#include "dlpack.h"'])
@pytest.mark.parametrize("compiler", ["cc -std=c99", "c++ -std=c++11"])
def test_the_header_goes_with_dlpack_of_the_users(compiler: str, order: str, tmp_path: Path) -> None:
    command = [*compiler.split(), "-Wall", "-Wextra", "-Werror", "-pedantic", "-c"]
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    (tmp_path / "model.h").write_text(compiled().header)
    (tmp_path / "dlpack.h").write_text(DLPACK)
    source = tmp_path / ("main.c" if command[0] == "cc" else "main.cc")
    source.write_text(f"#include {order}\nint main(void) {{ return model_OK; }}\n")
    tool(*command, "-o", str(tmp_path / "main.o"), str(source))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("type Pair { Pair(float32, float32) }\ndef @main(%p: Pair) { 1 }",
         "the parameter `%p` of `@main` cannot cross to C"),
        ("def @main(%f: fn(float32) -> float32) { %f(1.0) }", "it is a function, which C could not call"),
        ("def @main(%x: float32) { ref(%x) }", "the result of `@main` cannot cross to C"),
        ("def @main(%x: string) { 1 }", "DLPack has no tensors of string"),
        ("def @main(%x: Tensor[(3,), int4]) { 1 }", "DLPack has no tensors of int4"),
        ("def @main(%x: Tensor[(3, 3), float32]) {\n  linalg.cholesky(%x)\n}",
         "a library cannot compute `linalg.cholesky`"),
        ("def @main(%x: float32) {\n  trace(%x, label=\"x\")\n}", "Python does this"),
    ],
)  # fmt: skip
def test_what_c_cannot_call_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(RelayError) as found:
        compiled(text)
    (diagnostic,) = found.value.diagnostics
    assert diagnostic.code == "no-library"
    assert said in str(diagnostic)
    assert "model.relay:" in str(diagnostic)


def test_without_a_compiler_a_shared_library_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr("relay.backend.native.library.linker.find_spec", lambda name: None)
    made = compiled(target="aarch64-linux-gnu")
    with pytest.raises(RelayError, match="no C compiler is here that links for aarch64-linux-gnu") as found:
        made.write(SHARED, str(tmp_path / "libmodel.so"))
    assert "apt install gcc-aarch64-linux-gnu" in str(found.value)
    made.write(STATIC, str(tmp_path / "libmodel.a"))
    assert sorted(os.listdir(tmp_path)) == ["libmodel.a", "model.h"]


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false --please")
    with pytest.raises(RelayError, match="`false --please` did not link the library"):
        compiled().write(SHARED, str(tmp_path / "libmodel.so"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--emit", "shared", "-o", "model.dll"], "the name must end in .so"),
        (["--emit", "static", *2 * ["--target", "x86-64-v3"]], "--emit static is for one --target"),
        (["--emit", "object", "--report"], "--report does not go with --emit object"),
        (["--emit", "shared", "--machine", "avx2"], "--machine goes with --emit loops"),
        (["--emit", "object", "-o", "lib3.o"], "`lib3.o` gives no name for functions of C"),
        (["--emit", "object", "--target", "vax"], "libraries cannot be made for `vax`"),
    ],
)  # fmt: skip
def test_wrong_usage(options: list[str], said: str, tmp_path: Path) -> None:
    path = tmp_path / "model.relay"
    path.write_text(PROGRAM)
    ran = cli("compile", *options, str(path))
    assert ran.status != 0
    assert said in " ".join(ran.output.split())
    assert os.listdir(tmp_path) == ["model.relay"]


def test_the_command_writes_a_library_beside_its_program(tmp_path: Path) -> None:
    path = tmp_path / "model.relay"
    path.write_text(PROGRAM)
    ran = cli("compile", "--emit", "static", "--target", "x86-64-v3", str(path))
    assert (ran.status, ran.output) == (0, f"wrote {tmp_path / 'libmodel.a'} and {tmp_path / 'model.h'}\n")
    assert sorted(os.listdir(tmp_path)) == ["libmodel.a", "model.h", "model.relay"]
    assert "inputs: x: float32 (n, 3)" in (tmp_path / "model.h").read_text()


def test_an_array_with_nearly_the_name_of_a_parameter_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "model.relay"
    path.write_text("def @main(%x: float32, %scale: float32, %bias: float32) { %scale * %x + %bias }")
    weights = tmp_path / "weights.npz"
    np.savez(weights, scale=np.float32(2), BIAS=np.float32(1), embeddings=np.float32(3))
    ran = cli("compile", "--emit", "object", "--weights", str(weights), str(path))
    assert ran.status == 0
    assert "warning[unused-weight]: the array `BIAS`" in ran.output
    assert "did you mean `bias`, which stays an input?" in ran.output
    assert "embeddings" not in ran.output
    assert "inputs: x: float32 (), bias: float32 ()" in (tmp_path / "model.h").read_text()
    np.savez(weights, scale=np.float32(2), bias=np.float32(1), BIAS=np.float32(3))
    ran = cli("compile", "--emit", "object", "--weights", str(weights), str(path))
    assert "warning" not in ran.output
