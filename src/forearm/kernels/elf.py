"""A loader for object code: what LLVM emits for 64-bit x86 on ELF systems, if it is self-contained.

Loading LLVM dominates a first call whose code is cached already; this avoids it.
"""

from __future__ import annotations

import platform
import struct
import sys
from dataclasses import dataclass
from typing import Any

from forearm.kernels.memory import PAGE, block, rounded

PROGBITS, SYMTAB, RELA, NOBITS = 1, 2, 4, 8
ALLOCATED, EXECUTABLE = 0x2, 0x4
ABSOLUTE_64, RELATIVE_32, CALL_32 = 1, 2, 4  # R_X86_64_64, _PC32, _PLT32
RELOCATABLE, X86_64 = 1, 62
BUFFER = 0xFFFFFFF  # larger than any object file here


class UnsupportedObject(Exception):
    """The object needs something that this loader lacks; LLVM's own loader is used instead."""


@dataclass(frozen=True)
class Section:
    """An entry of the section table."""

    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


@dataclass(frozen=True, eq=False)
class Loaded:
    """Functions and data in memory by name; the memory is freed with this object."""

    addresses: dict[str, int]
    memory: Any


def is_possible() -> bool:
    """Whether this machine runs such code."""
    return sys.platform.startswith("linux") and platform.machine() == "x86_64" and struct.calcsize("P") == 8


def load(code: bytes) -> Loaded:
    """The object in memory: code is executable and read-only, data writable and not executable."""
    try:
        sections = sections_of(code)
        (run, size), (written, more) = _laid_out(sections, EXECUTABLE), _laid_out(sections, 0)
        if not 0 < size + more < BUFFER:
            raise UnsupportedObject("no code, or too much of it")
        room = block(size, more, max((sections[k].align for k in written), default=1))
        places = {k: room.arena.base + room.code[0] + at for k, at in run.items()}
        places |= {k: room.arena.base + room.data[0] + at for k, at in written.items()}
        symbols, addresses = symbols_of(code, sections, places)
        contents = {k: content_of(code, sections[k]) for k in places}
        for section in sections:
            if section.kind == RELA and section.info in places:
                _relocate(code, section, contents[section.info], places[section.info], symbols)
        for k, content in contents.items():
            room.write(places[k], content)
        room.seal()
    except (struct.error, IndexError, ValueError, OverflowError, OSError) as error:
        raise UnsupportedObject(f"malformed object: {error}") from None
    return Loaded(addresses, room)


def sections_of(code: bytes, machines: tuple[int, ...] = (X86_64,)) -> list[Section]:
    """The section table of an object for one of these machines."""
    kind, machine = struct.unpack_from("<HH", code, 16)
    if code[:6] != b"\x7fELF\x02\x01" or kind != RELOCATABLE or machine not in machines:
        raise UnsupportedObject("not an object for 64-bit x86")
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    made = []
    for k in range(count):
        _, kind, flags, _, offset, length, link, info, align, _ = struct.unpack_from(
            "<IIQQQQIIQQ", code, start + k * size
        )
        if kind != NOBITS and offset + length > len(code):
            raise UnsupportedObject("a section extends past the end of the file")
        made.append(Section(kind, flags, offset, length, link, info, max(1, align)))
    return made


def _laid_out(sections: list[Section], flag: int) -> tuple[dict[int, int], int]:
    """Offsets of the code sections, or of all others, one after the other, and the total size."""
    starts, size = {}, 0
    for k, s in enumerate(sections):
        if s.flags & ALLOCATED and s.flags & EXECUTABLE == flag and s.kind in (PROGBITS, NOBITS) and s.size:
            if s.align & (s.align - 1) or s.align > PAGE:
                raise UnsupportedObject("a section is aligned to more than a page")
            starts[k] = rounded(size, s.align)
            size = starts[k] + s.size
    return starts, size


def content_of(code: bytes, section: Section) -> bytearray:
    """The bytes of a section, zeros if it has none in the file."""
    if section.kind == NOBITS:
        return bytearray(section.size)
    return bytearray(code[section.offset : section.offset + section.size])


def symbols_of(
    code: bytes, sections: list[Section], places: dict[int, int]
) -> tuple[list[int | None], dict[str, int]]:
    """Addresses by number, None for symbols outside this object, and named ones by name."""
    table = next((s for s in sections if s.kind == SYMTAB), None)
    if table is None:
        raise UnsupportedObject("no symbols")
    names = sections[table.link]
    symbols: list[int | None] = []
    addresses = {}
    for at in range(table.offset, table.offset + table.size, 24):
        name, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", code, at)
        symbols.append(places[section] + value if section in places else None)
        if name and symbols[-1] is not None:
            end = code.index(b"\0", names.offset + name)
            addresses[code[names.offset + name : end].decode("ascii")] = symbols[-1]
    return symbols, addresses


def _relocate(
    code: bytes, section: Section, content: bytearray, target: int, symbols: list[int | None]
) -> None:
    """Apply relocations to code at the address `target`."""
    for at in range(section.offset, section.offset + section.size, 24):
        offset, info, addend = struct.unpack_from("<QQq", code, at)
        symbol, place = symbols[info >> 32], target + offset
        if symbol is None:
            raise UnsupportedObject("an undefined symbol")
        if info & 0xFFFFFFFF == ABSOLUTE_64:
            struct.pack_into("<Q", content, offset, symbol + addend)
        elif info & 0xFFFFFFFF in (RELATIVE_32, CALL_32):
            struct.pack_into("<i", content, offset, symbol + addend - place)
        else:
            raise UnsupportedObject("an unknown relocation type")
