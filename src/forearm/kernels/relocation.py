"""Relocations of 64-bit x86 and Arm that occur in position-independent code:
addresses written into machine code.
"""

from __future__ import annotations

import struct

from forearm.kernels.elf import ABSOLUTE_64, CALL_32, RELATIVE_32, X86_64, UnsupportedObject

AARCH64 = 183
ABS64, PREL64, PREL32 = 257, 260, 261  # R_AARCH64_...
ADR_PAGE, ADD_LOW = 275, 277
JUMP26, CALL26 = 282, 283
# load and store relocations, by access size: 1, 2, 4, 8, 16 bytes
LOW_SHIFTS = {278: 0, 284: 1, 285: 2, 286: 3, 299: 4}


def relocated(machine: int, kind: int, content: bytearray, offset: int, place: int, to: int) -> None:
    """The content of a section at address `place` with one relocation applied;
    absolute addresses are left unchanged.
    """
    if machine == X86_64:
        if kind in (RELATIVE_32, CALL_32):
            struct.pack_into("<i", content, offset, to - place)
        elif kind != ABSOLUTE_64:
            raise UnsupportedObject("an unknown relocation type")
        return
    if kind == ABS64:
        return
    if kind in (PREL32, PREL64):
        struct.pack_into("<i" if kind == PREL32 else "<q", content, offset, to - place)
        return
    (instruction,) = struct.unpack_from("<I", content, offset)
    struct.pack_into("<I", content, offset, _instruction(kind, instruction, place, to))


def _instruction(kind: int, instruction: int, place: int, to: int) -> int:
    """An Arm instruction with its address field filled in."""
    if kind in (JUMP26, CALL26):
        return instruction | _field(to - place >> 2, 26)
    if kind == ADR_PAGE:  # 21 bits: the lowest two are stored separately
        pages = _field((to >> 12) - (place >> 12), 21)
        return instruction | (pages & 3) << 29 | pages >> 2 << 5
    if kind == ADD_LOW:
        return instruction | (to & 0xFFF) << 10
    if kind in LOW_SHIFTS:
        return instruction | (to & 0xFFF) >> LOW_SHIFTS[kind] << 10
    raise UnsupportedObject("an unknown relocation type")


def _field(value: int, bits: int) -> int:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise UnsupportedObject("too far apart")
    return value & (1 << bits) - 1
