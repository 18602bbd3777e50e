"""Object code put into memory by ourselves: what LLVM makes for 64-bit x86 on ELF systems,
when it needs nothing from outside.

Loading LLVM takes most of the time of a first call whose code is in the cache already; this does without it.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from dataclasses import dataclass
from typing import Any

PROGBITS, SYMTAB, RELA, NOBITS = 1, 2, 4, 8
ALLOCATED, EXECUTABLE = 0x2, 0x4
ABSOLUTE_64, RELATIVE_32, CALL_32 = 1, 2, 4  # R_X86_64_64, _PC32, _PLT32
RELOCATABLE, X86_64 = 1, 62
PAGE = mmap.PAGESIZE
BUFFER = 0xFFFFFFF  # more than any object file here


class NotHere(Exception):
    """The object needs something that is not done here; LLVM's own loader does it."""


@dataclass(frozen=True)
class Section:
    """A line of the table of sections."""

    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


@dataclass(frozen=True, eq=False)
class Loaded:
    """Functions and data in memory by name; the memory is given back when this goes."""

    addresses: dict[str, int]
    memory: Any


def is_possible() -> bool:
    """Whether this machine takes such code."""
    return sys.platform.startswith("linux") and platform.machine() == "x86_64" and struct.calcsize("P") == 8


def load(code: bytes) -> Loaded:
    """The object in memory: code can be executed and not written, data written and not executed."""
    try:
        sections = _sections(code)
        memory, base, places = _placed(code, sections)
        symbols, addresses = _symbols(code, sections, places)
        for section in sections:
            if section.kind == RELA and section.info in places:
                _relocate(code, section, memory, base, places[section.info], symbols)
    except (struct.error, IndexError, ValueError, OverflowError, OSError) as error:
        raise NotHere(f"not an object as expected: {error}") from None
    _protect(
        base,
        sum(_pages(sections[k].size, sections[k].align) for k in places if sections[k].flags & EXECUTABLE),
    )
    return Loaded(addresses, memory)


def _sections(code: bytes) -> list[Section]:
    kind, machine = struct.unpack_from("<HH", code, 16)
    if code[:6] != b"\x7fELF\x02\x01" or kind != RELOCATABLE or machine != X86_64:
        raise NotHere("not an object of 64-bit x86")
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    made = []
    for k in range(count):
        _, kind, flags, _, offset, length, link, info, align, _ = struct.unpack_from(
            "<IIQQQQIIQQ", code, start + k * size
        )
        if kind != NOBITS and offset + length > len(code):
            raise NotHere("a section ends behind the end")
        made.append(Section(kind, flags, offset, length, link, info, max(1, align)))
    return made


def _pages(size: int, align: int) -> int:
    """Bytes that a section takes at most: sections begin at multiples of what they ask for."""
    if align > PAGE:
        raise NotHere("a section asks for more than pages")
    return (size + align + PAGE - 1) // PAGE * PAGE


def _placed(code: bytes, sections: list[Section]) -> tuple[Any, int, dict[int, int]]:
    """Memory with the sections in it: those with code first, each on pages of its
    own; addresses by section.
    """
    chosen = [
        k for k, s in enumerate(sections) if s.flags & ALLOCATED and s.kind in (PROGBITS, NOBITS) and s.size
    ]
    chosen.sort(key=lambda k: not sections[k].flags & EXECUTABLE)
    total = sum(_pages(sections[k].size, sections[k].align) for k in chosen)
    if not 0 < total < BUFFER:
        raise NotHere("no code, or too much")
    # Not shared: a child of this process fills the tables with addresses of its own.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = mmap.mmap(-1, total, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    places, at = {}, 0
    for k in chosen:
        s = sections[k]
        places[k] = base + at
        if s.kind == PROGBITS:
            memory[at : at + s.size] = code[s.offset : s.offset + s.size]
        at += _pages(s.size, s.align)
    return memory, base, places


def _symbols(
    code: bytes, sections: list[Section], places: dict[int, int]
) -> tuple[list[int | None], dict[str, int]]:
    """Addresses by number, None where a symbol is not in this object, and those with names by name."""
    table = next((s for s in sections if s.kind == SYMTAB), None)
    if table is None:
        raise NotHere("no symbols")
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
    code: bytes, section: Section, memory: Any, base: int, target: int, symbols: list[int | None]
) -> None:
    """Addresses written where the code needs them."""
    for at in range(section.offset, section.offset + section.size, 24):
        offset, info, addend = struct.unpack_from("<QQq", code, at)
        symbol, place = symbols[info >> 32], target + offset
        if symbol is None:
            raise NotHere("a symbol is outside")
        if info & 0xFFFFFFFF == ABSOLUTE_64:
            struct.pack_into("<Q", memory, place - base, symbol + addend)
        elif info & 0xFFFFFFFF in (RELATIVE_32, CALL_32):
            struct.pack_into("<i", memory, place - base, symbol + addend - place)
        else:
            raise NotHere("a kind of relocation that is not known here")


def _protect(base: int, size: int) -> None:
    function = ctypes.CDLL(None, use_errno=True).mprotect
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if size and function(base, size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise NotHere("the system lets no memory be executed")
