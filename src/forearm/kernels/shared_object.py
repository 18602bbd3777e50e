"""An LLVM object file converted to a shared object (.so) for Linux on 64-bit x86 and Arm, without a linker:
it can be loaded by `dlopen`, `ctypes` or another package.

The code must be self-contained. Relative addresses are resolved here; the few absolute ones are left to the
system's loader.
"""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from forearm.kernels.elf import (
    ALLOCATED,
    BUFFER,
    EXECUTABLE,
    NOBITS,
    PROGBITS,
    RELA,
    SYMTAB,
    X86_64,
    Section,
    UnsupportedObject,
    content_of,
    sections_of,
    symbols_of,
)
from forearm.kernels.memory import PAGE, rounded
from forearm.kernels.relocation import AARCH64, relocated

WRITEABLE = 0x1
STRTAB, HASH, DYNAMIC, DYNSYM = 3, 5, 6, 11  # section types
LOAD, AT_LOADING, STACK = (
    1,
    2,
    0x6474E551,
)  # segment types: loadable, for the dynamic loader, stack permissions
RUN, WRITE, READ = 1, 2, 4
RELATIVE = {X86_64: 8, AARCH64: 1027}  # the relocation that adds the load address
PAGES = {X86_64: 1 << 12, AARCH64: 1 << 16}  # the largest page size in use
MACHINES = {"x86_64": X86_64, "aarch64": AARCH64}
HEADER, SEGMENT, LINE = 64, 56, 64  # bytes of the header, of a program header and of a section header


@dataclass(eq=False)
class Piece:
    """A section of the shared object; its `link` and `info` are numbers of other sections."""

    name: str
    kind: int
    flags: int
    content: bytearray
    align: int = 8
    link: int = 0
    info: int = 0
    entry: int = 0  # bytes of an entry, if all have the same size
    address: int = 0  # relative to the load address, and in the file
    zeros: int = 0  # zero-initialised bytes, in memory only, at the end

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return len(self.content) + self.zeros


def is_possible() -> bool:
    """Whether this machine loads such files."""
    return sys.platform.startswith("linux") and platform.machine() in MACHINES and struct.calcsize("P") == 8


def shared_object(code: bytes, exported: Sequence[str]) -> bytes:
    """The object file as a shared object that exports these functions and arrays."""
    try:
        (machine,) = struct.unpack_from("<H", code, 18)
        sections = sections_of(code, tuple(MACHINES.values()))
        inside = {k: _piece(code, s) for k, s in enumerate(sections) if _is_kept(s)}
        absolute = _absolute(code, sections, inside, machine)
        pieces = _described(exported, len(absolute))
        pieces += sorted(inside.values(), key=lambda piece: _access(piece.flags))
        pieces += [Piece(".dynamic", DYNAMIC, ALLOCATED | WRITEABLE, bytearray(16 * 9), link=3, entry=16)]
        _place(pieces, PAGES[machine])
        places = {k: piece.address for k, piece in inside.items()}
        symbols, addresses = symbols_of(code, sections, places)
        _relocate(code, sections, inside, symbols, machine)
        _name(pieces, exported, addresses, _sizes(code, sections))
        _tell_loader(
            pieces, [(places[k] + offset, symbols[s], addend) for k, offset, s, addend in absolute], machine
        )
    except (struct.error, IndexError, KeyError, ValueError, OverflowError, StopIteration) as error:
        raise UnsupportedObject(f"malformed object: {error}") from None
    return _file(pieces, machine)


def _is_kept(s: Section) -> bool:
    return bool(s.flags & ALLOCATED and s.kind in (PROGBITS, NOBITS) and s.size)


def _piece(code: bytes, s: Section) -> Piece:
    if s.size > BUFFER or s.align & (s.align - 1) or s.align > PAGE:
        raise UnsupportedObject("a section that is too large, or aligned to more than a page")
    kept = s.flags & (ALLOCATED | EXECUTABLE | WRITEABLE)
    name = {READ: ".rodata", READ | RUN: ".text", READ | WRITE: ".data"}.get(_access(kept))
    if name is None:
        raise UnsupportedObject("a section that is both writable and executable")
    if s.kind == NOBITS:
        return Piece(".bss", NOBITS, kept, bytearray(), s.align, zeros=s.size)
    return Piece(name, PROGBITS, kept, content_of(code, s), s.align)


def _access(flags: int) -> int:
    return READ | (RUN if flags & EXECUTABLE else 0) | (WRITE if flags & WRITEABLE else 0)


def _entries(
    code: bytes, sections: list[Section], inside: dict[int, Piece]
) -> list[tuple[int, int, int, int, int]]:
    """(section, offset, kind, symbol, addend) of every relocation of the included sections."""
    found = []
    for s in sections:
        if s.kind == RELA and s.info in inside:
            for at in range(s.offset, s.offset + s.size, 24):
                offset, info, addend = struct.unpack_from("<QQq", code, at)
                found.append((s.info, offset, info & 0xFFFFFFFF, info >> 32, addend))
    return found


def _absolute(
    code: bytes, sections: list[Section], inside: dict[int, Piece], machine: int
) -> list[tuple[int, int, int, int]]:
    """(section, offset, symbol, addend) of addresses that are only known at load time."""
    found = []
    for k, offset, kind, symbol, addend in _entries(code, sections, inside):
        if kind == {X86_64: 1, AARCH64: 257}[machine]:
            inside[k].flags |= WRITEABLE  # by the loader
            if inside[k].flags & EXECUTABLE:
                raise UnsupportedObject("an absolute address in code")
            found.append((k, offset, symbol, addend))
    return found


def _relocate(
    code: bytes, sections: list[Section], inside: dict[int, Piece], symbols: list[int | None], machine: int
) -> None:
    for k, offset, kind, symbol, addend in _entries(code, sections, inside):
        to = symbols[symbol]
        if to is None:
            raise UnsupportedObject("an undefined symbol")
        relocated(machine, kind, inside[k].content, offset, inside[k].address + offset, to + addend)


def _described(exported: Sequence[str], absolute: int) -> list[Piece]:
    """Dynamic linking sections, with room for values known later:
    hashes, symbols, their names, relocations.
    """
    names = bytearray(b"\0" + b"".join(name.encode("ascii") + b"\0" for name in exported))
    count = len(exported) + 1
    return [
        Piece(".hash", HASH, ALLOCATED, bytearray(4 * (2 + 2 * count)), link=2, entry=4),
        Piece(".dynsym", DYNSYM, ALLOCATED, bytearray(24 * count), link=3, info=1, entry=24),
        Piece(".dynstr", STRTAB, ALLOCATED, names, align=1),
        Piece(".rela.dyn", RELA, ALLOCATED, bytearray(24 * absolute), link=2, entry=24),
    ]


def _place(pieces: list[Piece], page: int) -> None:
    """Assign addresses: read-only, executable and writable sections on separate pages."""
    order = {READ: 0, READ | RUN: 1, READ | WRITE: 2}
    pieces.sort(key=lambda piece: (piece.zeros > 0, order[_access(piece.flags)]))
    at, before = HEADER + 6 * SEGMENT, READ
    for piece in pieces:
        if _access(piece.flags) != before:
            at, before = rounded(at, page), _access(piece.flags)
        piece.address = rounded(at, piece.align)
        at = piece.address + piece.size


def _sizes(code: bytes, sections: list[Section]) -> dict[str, tuple[int, int]]:
    """The type and the size of every exported symbol."""
    table = next(s for s in sections if s.kind == SYMTAB)
    names, found = sections[table.link], {}
    for at in range(table.offset, table.offset + table.size, 24):
        name, info, _, _, _, size = struct.unpack_from("<IBBHQQ", code, at)
        if info >> 4 == 1:
            end = code.index(b"\0", names.offset + name)
            found[code[names.offset + name : end].decode("ascii")] = info & 0xF, size
    return found


def _name(
    pieces: list[Piece], exported: Sequence[str], addresses: dict[str, int], sizes: dict[str, tuple[int, int]]
) -> None:
    """Fill the symbol table and its hash table, with as many buckets as symbols."""
    hashes, symbols, names = (_named(pieces, name).content for name in (".hash", ".dynsym", ".dynstr"))
    count = len(exported) + 1
    buckets, chains = [0] * count, [0] * count
    for k, name in enumerate(exported, start=1):
        kind, size = sizes[name]
        at = addresses[name]
        home = next(i for i, p in enumerate(pieces, start=1) if p.address <= at < p.address + p.size)
        start = names.index(b"\0" + name.encode("ascii") + b"\0") + 1
        struct.pack_into("<IBBHQQ", symbols, 24 * k, start, 1 << 4 | kind, 0, home, at, size)
        bucket = _hash(name) % count
        chains[k], buckets[bucket] = buckets[bucket], k
    struct.pack_into(f"<{2 + 2 * count}I", hashes, 0, count, count, *buckets, *chains)


def _hash(name: str) -> int:
    """The ELF hash of a symbol name."""
    value = 0
    for letter in name.encode("ascii"):
        value = (value << 4) + letter
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value


def _tell_loader(pieces: list[Piece], absolute: list[tuple[int, int | None, int]], machine: int) -> None:
    """Fill the remaining relocations and the dynamic section."""
    hashes, symbols, names, relocations = (
        _named(pieces, name) for name in (".hash", ".dynsym", ".dynstr", ".rela.dyn")
    )
    for k, (place, symbol, addend) in enumerate(absolute):
        assert symbol is not None  # rejected earlier otherwise
        struct.pack_into("<QQq", relocations.content, 24 * k, place, RELATIVE[machine], symbol + addend)
    told = {4: hashes.address, 5: names.address, 6: symbols.address, 10: len(names.content), 11: 24}
    if absolute:
        told |= {7: relocations.address, 8: len(relocations.content), 9: 24}
    entries = [x for pair in told.items() for x in pair]
    struct.pack_into(f"<{len(entries)}Q", _named(pieces, ".dynamic").content, 0, *entries)


def _named(pieces: list[Piece], name: str) -> Piece:
    return next(piece for piece in pieces if piece.name == name)


def _file(pieces: list[Piece], machine: int) -> bytes:
    """Header, segments, the pieces, and the section table for linkers and tools."""
    names = Piece(".shstrtab", STRTAB, 0, bytearray(b"\0"), align=1)
    starts = []
    for piece in (*pieces, names):
        starts.append(len(names.content))
        names.content += piece.name.encode("ascii") + b"\0"
    names.address = max(piece.address + len(piece.content) for piece in pieces if not piece.zeros)
    table = rounded(names.address + len(names.content), 8)
    segments = [(LOAD, access, *_reach(pieces, access), PAGES[machine]) for access in (READ, READ | RUN)]
    segments += [(LOAD, READ | WRITE, *_reach(pieces, READ | WRITE), PAGES[machine])]
    dynamic = _named(pieces, ".dynamic")
    segments += [
        (AT_LOADING, READ | WRITE, dynamic.address, dynamic.size, dynamic.size, 8),
        (STACK, READ | WRITE, 0, 0, 0, 16),
    ]
    segments = [s for s in segments if s[0] == STACK or s[4]]
    made = bytearray(table + LINE * (len(pieces) + 2))
    sizes = (HEADER, SEGMENT, len(segments), LINE, len(pieces) + 2, len(pieces) + 1)
    start = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    struct.pack_into("<16sHHIQQQIHHHHHH", made, 0, start, 3, machine, 1, 0, HEADER, table, 0, *sizes)
    for k, (kind, access, at, stored, size, align) in enumerate(segments):
        line = (kind, access, at, at, at, stored, size, align)
        struct.pack_into("<IIQQQQQQ", made, HEADER + SEGMENT * k, *line)
    for k, (piece, name) in enumerate(zip((*pieces, names), starts, strict=True), start=1):
        at, size = piece.address, piece.size
        if not piece.zeros:
            made[at : at + size] = piece.content
        address = at if piece.flags else 0
        described = (
            name,
            piece.kind,
            piece.flags,
            address,
            at,
            size,
            piece.link,
            piece.info,
            piece.align,
            piece.entry,
        )
        struct.pack_into("<IIQQQQIIQQ", made, table + LINE * k, *described)
    return bytes(made)


def _reach(pieces: list[Piece], access: int) -> tuple[int, int, int]:
    """A segment's start, its size in the file and in memory: the first segment begins with the file."""
    there = [piece for piece in pieces if _access(piece.flags) == access]
    if not there:
        return 0, 0, 0
    start = 0 if access == READ else there[0].address
    stored = max((p.address + len(p.content) for p in there if not p.zeros), default=start)
    return start, stored - start, there[-1].address + there[-1].size - start
