"""A shared object for 64-bit Arm on an emulated processor (unicorn): put into its memory as a loader does,
and its functions called.
"""

from __future__ import annotations

import struct
from typing import Any

import pytest

BASE, STACK, HEAP, RETURN = 0x10000000, 0x20000000, 0x30000000, 0x40000000
LOAD, DYNAMIC = 1, 2
PAGE = 1 << 16


class EmulatedLibrary:
    """The addresses of its functions by name, in an emulator of its own."""

    def __init__(self, code: bytes) -> None:
        unicorn = pytest.importorskip("unicorn")
        self.registers = pytest.importorskip("unicorn.arm64_const")
        self.machine: Any = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        (segments,) = struct.unpack_from("<Q", code, 32)
        (count,) = struct.unpack_from("<H", code, 56)
        lines = [struct.unpack_from("<IIQQQQQQ", code, segments + 56 * k) for k in range(count)]
        end = max(at + size for kind, _, _, at, _, _, size, _ in lines if kind == LOAD)
        self.machine.mem_map(BASE, -(-end // PAGE) * PAGE)
        for start in (STACK, HEAP, RETURN):
            self.machine.mem_map(start, 1 << 20)
        for kind, _, offset, at, _, stored, _, _ in lines:
            if kind == LOAD:
                self.machine.mem_write(BASE + at, code[offset : offset + stored])
        (dynamic,) = (line for line in lines if line[0] == DYNAMIC)
        told = dict(struct.iter_unpack("<QQ", code[dynamic[2] : dynamic[2] + dynamic[5]]))
        assert 7 not in told, "no address is left to the loader"
        self.addresses = {}
        (symbols,) = struct.unpack_from("<I", code, told[4] + 4)
        for k in range(1, symbols):
            name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", code, told[6] + 24 * k)
            start = told[5] + name
            self.addresses[code[start : code.index(b"\0", start)].decode()] = BASE + value
        self.used = HEAP

    def kept(self, content: bytes) -> int:
        """Where bytes lie that a function is given."""
        at, self.used = self.used, self.used + -(-len(content) // 16) * 16
        self.machine.mem_write(at, content)
        return at

    def read(self, at: int, size: int) -> bytes:
        """Bytes of its memory."""
        return bytes(self.machine.mem_read(at, size))

    def call(self, name: str, *given: float | int) -> int:
        """A function's answer: floats go in d0 to d7, others in x0 to x7 and behind these on the stack."""
        r = self.registers
        whole = [x for x in given if not isinstance(x, float)]
        for k, x in enumerate(whole[:8]):
            self.machine.reg_write(getattr(r, f"UC_ARM64_REG_X{k}"), x)
        for k, y in enumerate(x for x in given if isinstance(x, float)):
            bits = int.from_bytes(struct.pack("<d", y), "little")
            self.machine.reg_write(getattr(r, f"UC_ARM64_REG_D{k}"), bits)
        top = STACK + (1 << 19)
        self.machine.mem_write(top, b"".join(struct.pack("<Q", x) for x in whole[8:]))
        self.machine.reg_write(r.UC_ARM64_REG_SP, top)
        self.machine.reg_write(r.UC_ARM64_REG_LR, RETURN)
        self.machine.emu_start(self.addresses[name], RETURN)
        return int(self.machine.reg_read(r.UC_ARM64_REG_X0))
