"""Object files run on emulated processors (unicorn, QEMU's core as a library): linked into memory here,
called by the calling conventions of their machines.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from forearm.codegen.source import Source
from forearm.kernels.relocation import relocated
from forearm.targets.object_file import ALLOCATED, SYMTAB, ObjectSection, sections

Array = NDArray[Any]
REL, RELA, AARCH64_MACHINE = 9, 4, 183
CODE, DATA, STACK, STACK_SIZE = 0x10000, 0x400000, 0x800000, 0x10000
RETURN = 0x300000  # where functions return to
FILL = 0xA5  # of the stack before a call: what is still there afterwards was not used
MARGIN = 4096
THUMB_CALL, THUMB_MOVW, THUMB_MOVT, ARM_ABS32 = (10, 30), 47, 48, 2
RISCV_HI, RISCV_LO, RISCV_LO_STORE, RISCV_CALL = 23, 24, 25, (18, 19)


@dataclass(frozen=True)
class Image:
    """An object file linked at CODE: its bytes, and the addresses of its symbols."""

    content: bytes
    symbols: dict[str, int]


def linked(code: bytes) -> Image:
    """All sections that are loaded, one behind the other, with relocations done."""
    table = sections(code)
    places: dict[int, int] = {}
    end = CODE
    for k, s in enumerate(table):
        if s.flags & ALLOCATED and s.size and not s.name.startswith(".ARM.exidx"):
            places[k] = end = -(-end // 64) * 64
            end += s.size
    memory = bytearray(end - CODE)
    for k, place in places.items():
        memory[place - CODE : place - CODE + table[k].size] = code[table[k].offset :][: table[k].size]
    symbols = _symbols(code, table, places)
    (machine,) = struct.unpack_from("<H", code, 18)
    for s in table:
        info = _info(code, table, s)
        if s.kind in (REL, RELA) and info in places:
            _relocate(code, s, machine, memory, places[info], [address for _, address in symbols])
    return Image(bytes(memory), {name: address for name, address in symbols if name})


def _info(code: bytes, table: list[ObjectSection], s: ObjectSection) -> int:
    """The section that relocations are for."""
    wide = code[4] == 2
    (start,) = struct.unpack_from("<Q" if wide else "<I", code, 40 if wide else 32)
    at = start + table.index(s) * (64 if wide else 40) + (44 if wide else 28)
    return int(struct.unpack_from("<I", code, at)[0])


def _symbols(code: bytes, table: list[ObjectSection], places: dict[int, int]) -> list[tuple[str, int]]:
    symbols = next(s for s in table if s.kind == SYMTAB)
    names, wide = table[symbols.link], code[4] == 2
    made = []
    for at in range(symbols.offset, symbols.offset + symbols.size, 24 if wide else 16):
        if wide:
            name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", code, at)
        else:
            name, value, _, _, _, section = struct.unpack_from("<IIIBBH", code, at)
        start = names.offset + name
        text = code[start : code.index(b"\0", start)].decode()
        made.append((text, places.get(section, 0) + value))
    return made


def _relocate(
    code: bytes, s: ObjectSection, machine: int, memory: bytearray, base: int, symbols: list[int]
) -> None:
    wide, has_addend = code[4] == 2, s.kind == RELA
    step = (24 if has_addend else 16) if wide else (12 if has_addend else 8)
    high: dict[int, int] = {}  # of RISC-V: what an auipc adds, for the instruction that takes its low part
    for at in range(s.offset, s.offset + s.size, step):
        if wide:
            offset, info, addend = struct.unpack_from("<QQq", code, at)
            number, kind = info >> 32, info & 0xFFFFFFFF
        else:
            offset, info = struct.unpack_from("<II", code, at)
            number, kind, addend = info >> 8, info & 0xFF, 0
        place, to = base + offset, symbols[number] + addend
        where = place - CODE
        if not wide:
            _thumb(memory, kind, where, place, to)
        elif machine == AARCH64_MACHINE:
            relocated(machine, kind, memory, where, place, to)
        else:
            _riscv(memory, kind, where, place, to, high)


def _thumb(memory: bytearray, kind: int, where: int, place: int, to: int) -> None:
    if kind == ARM_ABS32:
        (addend,) = struct.unpack_from("<I", memory, where)
        struct.pack_into("<I", memory, where, to + addend & 0xFFFFFFFF)
        return
    first, second = struct.unpack_from("<HH", memory, where)
    if kind in THUMB_CALL:
        assert (first, second) in ((0xF7FF, 0xFFFE), (0xF7FF, 0xBFFE)), "an addend of -4"
        value = ((to & ~1) - 4 - place) >> 1
        sign, i1, i2 = value >> 23 & 1, value >> 22 & 1, value >> 21 & 1
        first = 0xF000 | sign << 10 | value >> 11 & 0x3FF
        second = second & 0xD000 | (i1 ^ sign ^ 1) << 13 | (i2 ^ sign ^ 1) << 11 | value & 0x7FF
    else:
        assert kind in (THUMB_MOVW, THUMB_MOVT), kind
        addend = (first & 0xF) << 12 | (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
        value = to + addend >> (16 if kind == THUMB_MOVT else 0) & 0xFFFF
        first = first & 0xFBF0 | value >> 12 | (value >> 11 & 1) << 10
        second = second & 0x8F00 | (value >> 8 & 7) << 12 | value & 0xFF
    struct.pack_into("<HH", memory, where, first, second)


def _riscv(memory: bytearray, kind: int, where: int, place: int, to: int, high: dict[int, int]) -> None:
    def or_in(at: int, bits: int) -> None:
        (word,) = struct.unpack_from("<I", memory, at)
        struct.pack_into("<I", memory, at, (word | bits) & 0xFFFFFFFF)

    distance = to - place
    if kind == RISCV_HI or kind in RISCV_CALL:
        high[place] = distance
        or_in(where, distance + 0x800 & 0xFFFFF000)
        if kind in RISCV_CALL:
            or_in(where + 4, (distance & 0xFFF) << 20)
    elif kind == RISCV_LO:
        or_in(where, (high[to] & 0xFFF) << 20)
    else:
        assert kind == RISCV_LO_STORE, kind
        or_in(where, (high[to] >> 5 & 0x7F) << 25 | (high[to] & 0x1F) << 7)


class Emulator:
    """A processor with an object file in its memory."""

    def __init__(self, source: Source) -> None:
        pytest.importorskip("unicorn", reason="unicorn is not installed: pip install unicorn")
        assert source.object is not None
        self.source, self.image = source, linked(source.object)
        self.kind = np.dtype(np.float32 if "const float " in source.header else np.float64)
        self.uc, self.arguments, self.stack_pointer, self.link = PROCESSORS[source.target or ""]()
        self.uc.mem_map(CODE, (len(self.image.content) // 4096 + 1) * 4096)
        self.uc.mem_write(CODE, self.image.content)
        self.uc.mem_map(RETURN, 4096)
        self.uc.mem_map(DATA, 0x100000)
        self.uc.mem_map(STACK, STACK_SIZE + MARGIN)

    def __call__(self, name: str, *arrays: Array) -> int:
        """Call a function with arrays, whose contents are afterwards what it left there; the bytes of stack
        that it used.
        """
        at, places = DATA + 64, []
        for array in arrays:
            assert array.dtype == self.kind
            self.uc.mem_write(at, array.tobytes())
            places.append(at)
            at += array.nbytes + 64
        self.uc.mem_write(STACK, bytes([FILL]) * STACK_SIZE)
        top = STACK + STACK_SIZE
        is_thumb = (self.source.target or "").startswith("cortex")
        slot = 4 if is_thumb else 8
        spilled = places[len(self.arguments) :]  # those beyond the registers go on the stack
        frame = top - -(-slot * len(spilled) // 16) * 16
        for k, place in enumerate(spilled):
            self.uc.mem_write(frame + slot * k, place.to_bytes(slot, "little"))
        for register, place in zip(self.arguments, places, strict=False):
            self.uc.reg_write(register, place)
        self.uc.reg_write(self.stack_pointer, frame)
        self.uc.reg_write(self.link, RETURN | is_thumb)
        self.uc.emu_start(self.image.symbols[name] | is_thumb, RETURN, timeout=20_000_000)
        assert self.uc.reg_read(self.stack_pointer) == frame, "the stack is as it was"
        for array, place in zip(arrays, places, strict=True):
            array[...] = np.frombuffer(self.uc.mem_read(place, array.nbytes), self.kind).reshape(array.shape)
        used = bytes(self.uc.mem_read(STACK, frame - STACK))
        return len(used) - next((k for k, byte in enumerate(used) if byte != FILL), len(used))


def _cortex(model: str) -> tuple[Any, list[int], int, int]:
    import unicorn
    from unicorn import arm_const as arm

    # Its mode for microcontrollers would put another model in the place of the one asked for.
    uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
    uc.ctl_set_cpu_model(getattr(arm, f"UC_CPU_ARM_CORTEX_{model}"))
    uc.reg_write(arm.UC_ARM_REG_C1_C0_2, uc.reg_read(arm.UC_ARM_REG_C1_C0_2) | 0xF << 20)
    uc.reg_write(arm.UC_ARM_REG_FPEXC, 1 << 30)
    names = [getattr(arm, f"UC_ARM_REG_R{k}") for k in range(4)]
    return uc, names, arm.UC_ARM_REG_SP, arm.UC_ARM_REG_LR


def _aarch64() -> tuple[Any, list[int], int, int]:
    import unicorn
    from unicorn import arm64_const as arm

    uc = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    uc.reg_write(arm.UC_ARM64_REG_CPACR_EL1, 3 << 20)
    names = [getattr(arm, f"UC_ARM64_REG_X{k}") for k in range(8)]
    return uc, names, arm.UC_ARM64_REG_SP, arm.UC_ARM64_REG_LR


def _riscv64() -> tuple[Any, list[int], int, int]:
    import unicorn
    from unicorn import riscv_const as riscv

    uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV64)
    uc.reg_write(riscv.UC_RISCV_REG_MSTATUS, 1 << 13)
    names = [getattr(riscv, f"UC_RISCV_REG_A{k}") for k in range(8)]
    return uc, names, riscv.UC_RISCV_REG_SP, riscv.UC_RISCV_REG_RA


PROCESSORS = {
    "cortex-m4": lambda: _cortex("M4"),
    "cortex-m7": lambda: _cortex("M7"),
    "aarch64": _aarch64,
    "riscv64": _riscv64,
}


def evaluated(
    emulator: Emulator, inputs: Sequence[Array], shapes: Sequence[tuple[int, ...]]
) -> tuple[list[Array], int]:
    """Results of shapes from inputs, and the stack used."""
    given = [np.ascontiguousarray(x, emulator.kind) for x in inputs]
    made = [np.full(shape, np.nan, emulator.kind) for shape in shapes]
    used = emulator(emulator.source.name, *given, *made)
    return made, used
