"""The libraries in an FMU: for Windows, for Arm, and as C that others compile; all compute the same."""

from __future__ import annotations

import ctypes
import re
import shutil
import struct
import subprocess
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from fmi.arm64 import EmulatedLibrary
from fmi.dll import LoadedDll
from fmi.simulators import co_simulated, joint_names, made, rubbing, runs_here, start_of
from sweeps import long

import forearm as fa
from forearm.fmi.binaries import PLATFORMS, library, possible
from forearm.fmi.c_expressions import UnknownInstruction
from forearm.fmi.c_source import c_source
from forearm.kernels.dll import CHECK_STACK
from forearm.kernels.elf import UnsupportedObject

pytestmark = pytest.mark.slow

SAME = 1e-12  # of the largest: other machines fuse multiply-adds, or do not
TAU, PART, COUNT = 9.0, 0.02, 10


@cache
def whole(version: int) -> fa.Fmu:
    """An FMU for all platforms that its version names."""
    return made(rubbing(), version=version, platforms=tuple(possible(version)))[0]


def read(version: int, pattern: str) -> bytes:
    """A file of it."""
    with zipfile.ZipFile(whole(version).path) as archive:
        (name,) = (name for name in archive.namelist() if re.search(pattern, name))
        return archive.read(name)


def references() -> tuple[np.ndarray, np.ndarray]:
    """Value references of inputs and positions."""
    about = made(rubbing(), version=3, platforms=tuple(possible(3)))[2]
    places = {v.name: v.valueReference for v in about.modelVariables}
    inputs, outputs = (
        np.array([places[name] for name in names], dtype=np.uint32)
        for names in (whole(3).inputs, joint_names(whole(3), "q"))
    )
    return inputs, outputs


def expected() -> np.ndarray:
    """Where the arm is under a constant torque."""
    q0, qd0 = start_of(rubbing())
    run = fa.simulate(rubbing(), q0, qd0, PART * COUNT, torque=[TAU] * 3, method="rk4")
    return np.asarray(run.q[-1])


@runs_here
def test_a_windows_library_computes_the_same() -> None:
    dll = LoadedDll(read(3, r"x86_64-windows/.*\.dll$"))
    new = dll.function(
        "fmi3InstantiateCoSimulation",
        *("ptr", "ptr", "ptr", "ptr", "i8", "i8", "i8", "i8", "ptr", "i64", "ptr", "ptr", "ptr"),
    )
    token, name = (ctypes.create_string_buffer(x.encode()) for x in (whole(3).token, "arm"))
    wrong = ctypes.create_string_buffer(b"{}")
    given = (None, 0, 0, 0, 0, None, 0, None, None, None)
    assert new(ctypes.addressof(name), ctypes.addressof(wrong), *given) is None
    one = new(ctypes.addressof(name), ctypes.addressof(token), *given)
    enter = dll.function(
        "fmi3EnterInitializationMode", "i32", "ptr", "i8", "double", "double", "i8", "double"
    )
    assert enter(one, 0, 0.0, 0.0, 0, 0.0) == 0
    assert dll.function("fmi3ExitInitializationMode", "i32", "ptr")(one) == 0
    get, put = (
        dll.function(f"fmi3{x}Float64", "i32", "ptr", "ptr", "i64", "ptr", "i64") for x in ("Get", "Set")
    )
    inputs, outputs = references()
    values = np.full(3, TAU)
    assert put(one, inputs.ctypes.data, 3, values.ctypes.data, 3) == 0
    step = dll.function("fmi3DoStep", "i32", "ptr", "double", "double", "i8", "ptr", "ptr", "ptr", "ptr")
    last = ctypes.c_double()
    for k in range(COUNT):
        assert step(one, k * PART, PART, 1, None, None, None, ctypes.addressof(last)) == 0
    assert last.value == pytest.approx(PART * COUNT)
    assert get(one, outputs.ctypes.data, 3, values.ctypes.data, 3) == 0
    assert np.abs(values - expected()).max() <= SAME


@pytest.mark.parametrize("version", [3, *long([2])])
def test_a_windows_library_is_as_its_loader_wants_it(version: int) -> None:
    content = read(version, r"win.*\.dll$")
    dll = LoadedDll(content)
    assert {name for name in dll.addresses if not name.startswith(f"fmi{version}")} == set()
    assert dll.directories[2:4] == (0, 0), "it imports nothing"
    starts = [at for at, _, _ in dll.sections.values()]
    assert starts == sorted(starts)
    assert all(at % 4096 == 0 for at in starts)
    writes_and_runs = 0x80000000 | 0x20000000
    assert all(flags & writes_and_runs != writes_and_runs for _, _, flags in dll.sections.values())


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
def test_others_read_the_windows_library(tmp_path: Path) -> None:
    file = tmp_path / "arm.dll"
    file.write_bytes(read(3, r"x86_64-windows/.*\.dll$"))
    shown = subprocess.run(["objdump", "-p", str(file)], capture_output=True, text=True, check=False)
    if "file format not recognized" in shown.stderr:
        pytest.skip("this objdump does not know PE")
    assert shown.returncode == 0
    assert "fmi3DoStep" in shown.stdout
    assert "DLL Name" not in shown.stdout, "no imports"


@runs_here
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("version", [3, *long([2])])
def test_the_source_in_c_computes_the_same(version: int, tmp_path: Path) -> None:
    source = tmp_path / "forearm_fmu.c"
    source.write_bytes(read(version, r"sources/forearm_fmu\.c$"))
    built = tmp_path / "built.so"
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run(["gcc", *strict, str(source), "-o", str(built), "-lm"], check=True)
    _, folder, _ = made(rubbing(), version=version, payload=False)  # another copy, whose library is replaced
    (library_file,) = (folder / "binaries").rglob("*.so")
    library_file.unlink()
    shutil.copy(built, library_file)
    u = np.full((COUNT, 3), TAU)
    q, _ = co_simulated(rubbing(), u, PART, version=version, payload=False)
    assert np.abs(q[-1] - expected()).max() <= SAME


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_names_get_a_prefix_where_many_are_linked(tmp_path: Path) -> None:
    source = tmp_path / "forearm_fmu.c"
    source.write_bytes(read(3, r"sources/forearm_fmu\.c$"))
    command = ["gcc", "-std=c99", "-E", "-DFMI3_FUNCTION_PREFIX=arm_", str(source)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "arm_fmi3DoStep(" in text
    assert not re.search(r"\bfmi3DoStep", text)


@pytest.mark.skipif("aarch64-linux" not in possible(3), reason="this LLVM does not write for Arm")
def test_the_library_for_arm_computes_the_same() -> None:
    content = read(3, r"aarch64-linux/.*\.so$")
    assert struct.unpack_from("<HH", content, 16) == (3, 183)
    arm = EmulatedLibrary(content)
    token, name = (arm.kept(x.encode() + b"\0") for x in (whole(3).token, "arm"))
    one = arm.call("fmi3InstantiateCoSimulation", name, token, *[0] * 10)
    assert one
    assert arm.call("fmi3EnterInitializationMode", one, 0, 0.0, 0.0, 0, 0.0) & 0xFF == 0
    assert arm.call("fmi3ExitInitializationMode", one) & 0xFF == 0
    inputs, outputs = (arm.kept(places.tobytes()) for places in references())
    values = arm.kept(np.full(3, TAU).tobytes())
    assert arm.call("fmi3SetFloat64", one, inputs, 3, values, 3) & 0xFF == 0
    for k in range(COUNT):
        assert arm.call("fmi3DoStep", one, k * PART, PART, 1, 0, 0, 0, 0) & 0xFF == 0
    assert arm.call("fmi3GetFloat64", one, outputs, 3, values, 3) & 0xFF == 0
    found = np.frombuffer(arm.read(values, 24))
    assert np.abs(found - expected()).max() <= SAME


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not installed")
def test_code_is_for_any_processor_of_its_family() -> None:
    """No instruction beyond SSE2: none with a VEX or EVEX prefix, as AVX has."""
    content = read(3, r"x86_64-linux/.*\.so$")
    file = whole(3).path.parent / "arm.so"
    file.write_bytes(content)
    shown = subprocess.run(["objdump", "-d", str(file)], capture_output=True, text=True, check=True).stdout
    assert "mulsd" in shown or "mulpd" in shown
    assert not re.search(r"\t(v(add|mul|sub|div|mov|fm)|pblend|blendv|round[sp])", shown)
    assert not re.search(r"\b[yz]mm\d", shown)


@runs_here
def test_large_frames_touch_every_page_of_the_stack() -> None:
    """Windows grows a stack page by page, and LLVM calls a function for that, which the library must have."""
    text = """define double @f(i64 %k) nounwind {
entry:
  %room = alloca [20000 x double]
  store volatile double 1.5, ptr %room
  %at = getelementptr double, ptr %room, i64 %k
  store volatile double 2.25, ptr %at
  %x = load volatile double, ptr %room
  %y = load volatile double, ptr %at
  %sum = fadd double %x, %y
  ret double %sum
}
"""
    made = library(text, PLATFORMS["x86_64-windows"], ["f"], "f")
    assert CHECK_STACK in made
    assert LoadedDll(made).function("f", "double", "i64")(19_999) == 3.75


def test_what_is_not_in_a_module_is_refused() -> None:
    body = "entry:\n  call void @outside()\n  ret void\n"
    text = f"declare void @outside()\ndefine void @f() nounwind {{\n{body}}}\n"
    for name in possible(3):
        with pytest.raises(UnsupportedObject):
            library(text, PLATFORMS[name], ["f"], "f")
    with pytest.raises(UnknownInstruction):
        c_source("define void @f() nounwind {\nentry:\n  unreachable\n}\n", ["f"], 3)
