"""The contents of an ELF object file: its sections by name, and its undefined symbols."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from forearm.errors import ForearmError

SYMTAB, NOBITS = 2, 8
WRITTEN, ALLOCATED, EXECUTABLE = 0x1, 0x2, 0x4
EXCEPTION_TABLE = ".ARM.exidx"  # two words per function, which declare that it does not unwind
LITTLE = 1


@dataclass(frozen=True)
class ObjectSection:
    """A section of an object file of 32 or 64 bits."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class ObjectSizes:
    """Bytes of code, of constants, and of variables."""

    code: int
    constants: int
    variables: int


def sections(code: bytes) -> list[ObjectSection]:
    """The sections of an ELF file that LLVM made."""
    if code[:4] != b"\x7fELF" or code[5] != LITTLE:
        raise ForearmError("expected a little-endian ELF object from LLVM.", "generate", "target")
    is_wide = code[4] == 2
    (start,) = struct.unpack_from("<Q" if is_wide else "<I", code, 40 if is_wide else 32)
    size, count, names = struct.unpack_from("<HHH", code, 58 if is_wide else 46)
    lines = []
    for k in range(count):
        name, kind, flags, _, offset, length, link = struct.unpack_from(
            "<IIQQQQI" if is_wide else "<IIIIIII", code, start + k * size
        )
        lines.append((name, ObjectSection("", kind, flags, offset, length, link)))
    at = lines[names][1].offset
    return [
        ObjectSection(_string(code, at + name), s.kind, s.flags, s.offset, s.size, s.link)
        for name, s in lines
    ]


def undefined_symbols(code: bytes) -> list[str]:
    """The names of symbols that a linker would have to find elsewhere."""
    table = sections(code)
    is_wide = code[4] == 2
    found = []
    for symbols in (s for s in table if s.kind == SYMTAB):
        for at in range(symbols.offset, symbols.offset + symbols.size, 24 if is_wide else 16):
            (name,) = struct.unpack_from("<I", code, at)
            (section,) = struct.unpack_from("<H", code, at + (6 if is_wide else 14))
            if name and section == 0:
                found.append(_string(code, table[symbols.link].offset + name))
    return found


def sizes(code: bytes) -> ObjectSizes:
    """Memory that the object takes once linked; literals between instructions count as code."""
    there = [s for s in sections(code) if s.flags & ALLOCATED and s.name != EXCEPTION_TABLE]
    return ObjectSizes(
        sum(s.size for s in there if s.flags & EXECUTABLE),
        sum(s.size for s in there if not s.flags & (EXECUTABLE | WRITTEN)),
        sum(s.size for s in there if s.flags & WRITTEN),
    )


def _string(code: bytes, at: int) -> str:
    return code[at : code.index(b"\0", at)].decode("ascii")
