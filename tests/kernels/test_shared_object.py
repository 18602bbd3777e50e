"""Shared objects made without a linker: what is in them is found by name and computes; Arm's instructions
lead where they should; what cannot be linked is refused.
"""

from __future__ import annotations

import ctypes
import random
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from forearm.kernels.elf import UnsupportedObject
from forearm.kernels.relocation import AARCH64, relocated
from forearm.kernels.shared_object import is_possible, shared_object

here = pytest.mark.skipif(not is_possible(), reason="no shared object is loaded on this machine")
# Functions that call each other, constants, data that is written, and an address in data.
TEXT = """
@table = dso_local global [4 x i64] [i64 1, i64 2, i64 3, i64 4]
@pointer = dso_local global ptr getelementptr (i64, ptr @table, i64 2)
@letters = internal constant [6 x i8] c"elbow\\00"
define internal i64 @inner(i64 %x) noinline { %y = mul i64 %x, 3  ret i64 %y }
define i64 @counted(i64 %k) {
  %place = getelementptr [4 x i64], ptr @table, i64 0, i64 %k
  %value = load i64, ptr %place
  %more = add i64 %value, 1
  store i64 %more, ptr %place
  %answer = call i64 @inner(i64 %value)
  %twice = call i64 @inner(i64 %answer)
  ret i64 %twice
}
define i64 @pointed() { %p = load ptr, ptr @pointer  %v = load i64, ptr %p  ret i64 %v }
define double @third() { ret double 0x3FD5555555555555 }
define ptr @name() { ret ptr @letters }
"""
NAMES = ["counted", "pointed", "third", "name", "table"]
OUTSIDE = "declare i32 @getpid()\ndefine i32 @mine() { %p = call i32 @getpid()  ret i32 %p }\n"


@cache
def object_for(triple: str, text: str = TEXT) -> bytes:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError:
        pytest.skip(f"this llvmlite knows nothing of {triple}")
    machine = target.create_target_machine(opt=1, reloc="pic", codemodel="small")
    made: bytes = machine.emit_object(llvm.parse_assembly(text))
    return made


def own_triple() -> str:
    import llvmlite.binding as llvm

    triple: str = llvm.get_default_triple()
    return triple


@here
def test_what_it_exports_is_found_and_computes(tmp_path: Path) -> None:
    path = tmp_path / "made.so"
    path.write_bytes(shared_object(object_for(own_triple()), NAMES))
    library: Any = ctypes.CDLL(str(path))
    library.third.restype, library.name.restype = ctypes.c_double, ctypes.c_char_p
    assert library.third() == 1.0 / 3.0
    assert library.name() == b"elbow"
    assert library.pointed() == 3
    assert [library.counted(2), library.counted(2)] == [27, 36]
    assert library.pointed() == 5
    assert list((ctypes.c_int64 * 4).in_dll(library, "table")) == [1, 2, 5, 4]
    with pytest.raises(AttributeError):
        _ = library.inner


@here
def test_one_name_alone_and_many(tmp_path: Path) -> None:
    """The table of hashes has chains of one and of several."""
    count = 200
    text = "".join(f"define i64 @function{k}() {{ ret i64 {k * k} }}\n" for k in range(count))
    for names in ([f"function{k}" for k in range(count)], ["function7"]):
        path = tmp_path / f"made{len(names)}.so"
        path.write_bytes(shared_object(object_for(own_triple(), text), names))
        library: Any = ctypes.CDLL(str(path))
        for name in names:
            assert getattr(library, name)() == int(name.removeprefix("function")) ** 2
        assert not hasattr(library, "function")


@here
@pytest.mark.slow
def test_compilers_link_against_it(tmp_path: Path) -> None:
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("no C compiler")
    (tmp_path / "made.so").write_bytes(shared_object(object_for(own_triple()), NAMES))
    (tmp_path / "main.c").write_text(
        "long counted(long k); double third(void);\n"
        "int main(void) { return counted(1) == 18 && third() < 0.5 ? 42 : 1; }",
        encoding="utf-8",
    )
    subprocess.run([compiler, "main.c", "./made.so", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run(["./main"], cwd=tmp_path, check=False).returncode == 42


def segments(made: bytes) -> list[tuple[int, int, int, int]]:
    """(kind, access, start, size) of each."""
    (start,), (count,) = struct.unpack_from("<Q", made, 32), struct.unpack_from("<H", made, 56)
    lines = [struct.unpack_from("<IIQQQQQQ", made, start + 56 * k) for k in range(count)]
    return [(kind, access, address, size) for kind, access, _, address, _, size, _, _ in lines]


@pytest.mark.parametrize("triple", ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"])
def test_nothing_is_both_written_and_run(triple: str) -> None:
    found = segments(shared_object(object_for(triple), NAMES))
    assert [access for kind, access, _, _ in found if kind == 1] == [4, 5, 6]
    assert [access for kind, access, _, _ in found if kind == 0x6474E551] == [6], "the stack is not run"
    page = 4096 if triple.startswith("x86") else 65536
    assert all(start % page == 0 for kind, _, start, _ in found if kind == 1)


def symbols_in(made: bytes) -> dict[str, int]:
    """Addresses by name, from the table of sections, as linkers read it."""
    (start,), (size, count) = struct.unpack_from("<Q", made, 40), struct.unpack_from("<HH", made, 58)
    lines = [struct.unpack_from("<IIQQQQIIQQ", made, start + size * k) for k in range(count)]
    symbols = next(line for line in lines if line[1] == 11)
    names = lines[symbols[6]]
    found = {}
    for at in range(symbols[4] + 24, symbols[4] + symbols[5], 24):
        name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", made, at)
        found[made[names[4] + name : made.index(b"\0", names[4] + name)].decode()] = value
    return found


def signed(value: int, bits: int) -> int:
    """A number of so many bits, the lowest of a word, as it is meant."""
    value &= (1 << bits) - 1
    return value - (value >> (bits - 1) << bits)


def page_of(word: int, place: int) -> int:
    """What an ADRP at a place gives."""
    return (place & ~0xFFF) + (signed(word >> 5 << 2 | word >> 29 & 3, 21) << 12)


def jump_of(word: int, place: int) -> int:
    """Where a B or BL at a place leads."""
    return place + 4 * signed(word, 26)


def test_arms_instructions_lead_where_they_should() -> None:
    """Decoded by hand: ADRP and what follows it give addresses, BL one of a function."""
    made = shared_object(object_for("aarch64-unknown-linux-gnu"), NAMES)
    at = symbols_in(made)
    words: dict[int, int] = {
        place: struct.unpack_from("<I", made, place)[0] for place in range(at["counted"], at["name"] + 16, 4)
    }

    def addressed(function: str) -> int:
        """Where the first pair of instructions with an address points."""
        place = next(p for p in words if p >= at[function] and words[p] & 0x9F000000 == 0x90000000)
        register = words[place] & 31
        for p in range(place + 4, place + 32, 4):
            word = words[p]
            if word & 0xFFC00000 == 0x91000000 and word >> 5 & 31 == register:  # ADD
                return page_of(words[place], place) + (word >> 10 & 0xFFF)
            if word & 0xFFC00000 == 0xF9400000 and word >> 5 & 31 == register:  # LDR of 8 bytes
                return page_of(words[place], place) + 8 * (word >> 10 & 0xFFF)
        raise AssertionError("an address of which the second half is missing")

    assert made[addressed("name") :][:6] == b"elbow\0"
    assert addressed("counted") == at["table"]
    assert addressed("pointed") == at["table"] + 32
    calls = [p for p, word in words.items() if p < at["pointed"] and word >> 26 == 0b100101]
    targets = {jump_of(words[p], p) for p in calls}
    assert len(targets) == 1
    (inner,) = targets
    text = next(start for kind, access, start, _ in segments(made) if kind == 1 and access == 5)
    assert text <= inner < at["counted"]


def test_arms_addresses_to_any_place() -> None:
    """Every kind, forwards and backwards, against what the instruction means."""
    for to in (0x5430, 0x1230):
        jump, page, low, words = (
            bytearray(struct.pack("<I", word)) for word in (0x14000000, 0x90000000, 0x3DC00000, 0)
        )
        relocated(AARCH64, 282, jump, 0, 0x3000, to)
        assert jump_of(int.from_bytes(jump, "little"), 0x3000) == to
        relocated(AARCH64, 275, page, 0, 0x3004, to)
        assert page_of(int.from_bytes(page, "little"), 0x3004) == to & ~0xFFF
        relocated(AARCH64, 299, low, 0, 0x3008, to)
        assert 16 * (struct.unpack("<I", low)[0] >> 10 & 0xFFF) == to & 0xFFF
        relocated(AARCH64, 261, words, 0, 0x300C, to)
        assert struct.unpack("<i", words)[0] == to - 0x300C
    with pytest.raises(UnsupportedObject, match="too far apart"):
        relocated(AARCH64, 283, bytearray(4), 0, 0, 1 << 28)
    with pytest.raises(UnsupportedObject, match="unknown relocation type"):
        relocated(AARCH64, 9999, bytearray(4), 0, 0, 0)


def test_what_is_outside_or_missing_is_refused() -> None:
    with pytest.raises(UnsupportedObject, match="undefined symbol"):
        shared_object(object_for("x86_64-unknown-linux-gnu", OUTSIDE), ["mine"])
    with pytest.raises(UnsupportedObject, match="malformed object: 'missing'"):
        shared_object(object_for("x86_64-unknown-linux-gnu"), ["missing"])
    with pytest.raises(UnsupportedObject, match="not an object"):
        shared_object(b"\x7fELF\x01\x01" + bytes(100), [])


@pytest.mark.slow
def test_damaged_objects_are_refused_or_linked_and_end_in_no_other_error() -> None:
    whole, rng, refused = object_for("x86_64-unknown-linux-gnu"), random.Random(3), 0
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            shared_object(bytes(damaged[: rng.choice([None, rng.randrange(len(damaged))])]), NAMES)
        except UnsupportedObject:
            refused += 1
    assert refused > 0
