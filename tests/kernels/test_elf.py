"""Our own loader of object code: the same functions as LLVM's, memory that is not both written
and run, and no crash.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import struct
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from arms import random_arm

import forearm as fa
from forearm.errors import OutOfMemory
from forearm.kernels import elf, native
from forearm.kernels.compile_request import made
from forearm.kernels.compiled import CompileRequest

pytestmark = pytest.mark.skipif(not elf.is_possible(), reason="only LLVM's loader works on this machine")
ARM = random_arm(5, 3).rigid()
ROWS = 11
# Functions, constants and a table that is written to; a loop calls its own function.
TEXT = """
@table = dso_local global [4 x i64] [i64 1, i64 2, i64 3, i64 4]
@empty = dso_local global [3 x i64] zeroinitializer
@pointer = dso_local global ptr getelementptr (i64, ptr @table, i64 2)
define internal i64 @inner(i64 %x) noinline { %y = mul i64 %x, 3  ret i64 %y }
define i64 @counted(i64 %k) {
  %place = getelementptr [4 x i64], ptr @table, i64 0, i64 %k
  %value = load i64, ptr %place
  %more = add i64 %value, 1
  store i64 %more, ptr %place
  %answer = call i64 @inner(i64 %value)
  ret i64 %answer
}
define double @third() { ret double 0x3FD5555555555555 }
"""
OUTSIDE = "declare i32 @getpid()\ndefine i32 @mine() { %p = call i32 @getpid()  ret i32 %p }\n"


def code_of(function: str, part: str, dtype: str = "float64") -> tuple[dict[str, Any], bytes]:
    return made(CompileRequest(ARM, (function,), dtype), part, False)


def results(place: elf.Loaded, about: dict[str, Any], dtype: str) -> bytes:
    """What a compiled function writes for some rows."""
    rng = np.random.default_rng(2)
    rows = 1 if about["part"] == "single" else ROWS
    arrays = [rng.uniform(-1.0, 1.0, (rows, *shape)).astype(dtype) for _, shape in about["inputs"]]
    arrays += [np.zeros((rows, *shape), dtype) for _, shape in about["outputs"]]
    kinds = [ctypes.c_void_p] * len(arrays)
    function = native.function_of(place, about["functions"][0], *kinds, ctypes.c_int64)
    function(*(array.ctypes.data for array in arrays), rows)
    made_here = arrays[len(about["inputs"]) :]
    assert all(np.abs(array).max() > 0 for array in made_here)
    return b"".join(array.tobytes() for array in made_here)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("part", ["single", "batch"])
@pytest.mark.parametrize(
    "function", ["inverse_dynamics", "forward_dynamics", "inertia_matrix", "inverse_dynamics_derivatives"]
)
@pytest.mark.sweep
def test_both_loaders_give_the_same_bits(function: str, part: str, dtype: str) -> None:
    about, code = code_of(function, part, dtype)
    ours, llvm_s = elf.load(code), native.loaded_by_llvm(code, [function])
    assert results(ours, about, dtype) == results(llvm_s, about, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ascher2", "stanford", "chain60"])
@pytest.mark.parametrize("function", ["inverse_dynamics", "inertia_matrix", "gravity"])
@pytest.mark.sweep
def test_every_kernel_is_taken(name: str, function: str) -> None:
    request = CompileRequest(fa.load(name).rigid(), (function,), "float64")
    for part in ("single", "batch"):
        _, code = made(request, part, part == "single")
        assert function in elf.load(code).addresses


def test_memory_stays_as_long_as_a_function_in_it() -> None:
    memory = native.loaded(native.object_code(TEXT), ["third"])
    function, here = native.function_of(memory, "third"), weakref.ref(memory)
    del memory
    assert here() is not None
    function()
    del function
    assert here() is None


def test_calls_constants_and_tables_are_where_they_belong() -> None:
    place = elf.load(native.object_code(TEXT))
    table = (ctypes.c_int64 * 4).from_address(place.addresses["table"])
    counted = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(place.addresses["counted"])
    assert [counted(k) for k in range(4)] == [3, 6, 9, 12]
    assert list(table) == [2, 3, 4, 5]
    assert list((ctypes.c_int64 * 3).from_address(place.addresses["empty"])) == [0, 0, 0]
    assert ctypes.c_int64.from_address(place.addresses["pointer"]).value == place.addresses["table"] + 16
    assert ctypes.CFUNCTYPE(ctypes.c_double)(place.addresses["third"])() == 1 / 3


def rights(address: int) -> str:
    """What may be done with the memory at an address, as the system tells: such as r-xp."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        start, end, what = re.match(r"(\w+)-(\w+) (\S+)", line).groups()  # type: ignore[union-attr]
        if int(start, 16) <= address < int(end, 16):
            return str(what)
    return "not there"


def test_code_is_not_written_and_data_not_run() -> None:
    place = elf.load(native.object_code(TEXT))
    assert {
        name: rights(place.addresses[name]) for name in ("counted", "inner", "third", "table", "empty")
    } == {"counted": "r-xp", "inner": "r-xp", "third": "r-xp", "table": "rw-p", "empty": "rw-p"}


def test_memory_is_given_back() -> None:
    """Every object has its own."""
    code = native.object_code(TEXT)
    places = []
    for _ in range(3):
        place, other = elf.load(code), elf.load(code)
        assert rights(place.addresses["counted"]) == "r-xp"
        ctypes.c_int64.from_address(place.addresses["table"]).value = 99
        assert ctypes.c_int64.from_address(other.addresses["table"]).value == 1
        places.append(dict(place.addresses))
        del place, other
    assert places == places[:1] * 3


def test_what_needs_something_from_outside_goes_to_llvm() -> None:
    code = native.object_code(OUTSIDE)
    with pytest.raises(elf.UnsupportedObject, match="undefined symbol"):
        elf.load(code)
    with pytest.raises(elf.UnsupportedObject):
        native.loaded(code, ["mine"], made_here=False)
    place = native.loaded(code, ["mine"])
    assert ctypes.CFUNCTYPE(ctypes.c_int)(place.addresses["mine"])() == os.getpid()


def test_an_object_cut_short_or_of_noise_is_refused() -> None:
    code, rng = native.object_code(TEXT), random.Random(4)
    noise = [code[: rng.randrange(65)] + rng.randbytes(rng.randrange(3000)) for _ in range(300)]
    for bad in (*(code[:length] for length in range(len(code))), *noise):
        with pytest.raises(elf.UnsupportedObject):
            elf.load(bad)


@pytest.mark.parametrize(
    ("offset", "form", "value"),
    [
        (0, "<B", 0), (4, "<B", 1), (5, "<B", 2), (16, "<H", 3), (18, "<H", 183), (40, "<Q", 2**64 - 1),
        (40, "<Q", 2**40), (58, "<H", 0xFFFF), (60, "<H", 0), (60, "<H", 0xFFFF),
    ],
)  # fmt: skip
def test_another_kind_of_file_is_refused(offset: int, form: str, value: int) -> None:
    changed = bytearray(native.object_code(TEXT))
    struct.pack_into(form, changed, offset, value)
    with pytest.raises(elf.UnsupportedObject):
        elf.load(bytes(changed))


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"x" * 4096, b"\xff" * 4096])
def test_what_is_no_object_is_refused_by_both(content: bytes) -> None:
    with pytest.raises(elf.UnsupportedObject):
        elf.load(content)
    with pytest.raises(elf.UnsupportedObject):
        native.loaded_by_llvm(content, ["f"])


def test_a_system_without_memory_is_told_and_not_given_to_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> Any:
        raise OSError(12, "Cannot allocate memory")

    code = native.object_code(TEXT)
    monkeypatch.setattr("mmap.mmap", none)
    monkeypatch.setattr("forearm.kernels.memory._here.arenas", [])
    with pytest.raises(OutOfMemory, match=r"no memory for .* bytes of machine code") as caught:
        native.loaded(code, ["third"])
    assert isinstance(caught.value, MemoryError)


# In a process of its own: a write to a wrong place need not be noticed where it happens.
MUTATE = """
import random, struct, sys
from pathlib import Path
from forearm.kernels import elf

good = Path(sys.argv[1]).read_bytes()
rng = random.Random(sys.argv[2])
(table,) = struct.unpack_from("<Q", good, 40)
loaded = refused = 0
for _ in range(1500):
    code = bytearray(good)
    for _ in range(rng.randrange(1, 4)):
        # Half of them where the tables are: the header, the sections, the end with symbols and relocations.
        at = rng.choice([rng.randrange(len(code)), rng.randrange(64), rng.randrange(table, len(code))])
        match rng.randrange(3):
            case 0: code[at] ^= 1 << rng.randrange(8)
            case 1: code[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2: code[at : at + 8] = rng.choice((b"\\xff" * 8, bytes(8), rng.randbytes(8)))
    try:
        elf.load(bytes(code))
        loaded += 1
    except elf.UnsupportedObject:
        refused += 1
print(loaded, refused)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["text", "kernel"])
@pytest.mark.sweep(first=2)
def test_garbled_objects_are_loaded_or_refused_and_never_crash(seed: int, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "object"
    path.write_bytes(native.object_code(TEXT) if kind == "text" else code_of("bias", "batch")[1])
    run = subprocess.run(
        [sys.executable, "-c", MUTATE, str(path), str(seed)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    loaded, refused = map(int, run.stdout.split())
    assert min(loaded, refused) > 50, "the mutations are neither all harmless nor all the same"
