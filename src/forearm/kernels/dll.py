"""An LLVM object file made into a dynamic library (.dll) for Windows on 64-bit x86, without a linker.

The code must be self-contained, with relative addresses only, so that it can be loaded anywhere.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from forearm.kernels.elf import BUFFER, UnsupportedObject
from forearm.kernels.memory import rounded

MACHINE = 0x8664
CODE, ZEROS, REMOVED, DISCARDED = 0x20, 0x80, 0x800, 0x02000000  # section flags
RUN, READ, WRITE = 0x20000000, 0x40000000, 0x80000000
MANY = 0x01000000  # relocations: their number is stored in the first of them
RELATIVE_32 = range(4, 10)  # IMAGE_REL_AMD64_REL32, and those with 1 to 5 bytes after the address
PAGE, FILE_BLOCK, BASE = 0x1000, 0x200, 0x180000000
HEADERS = 0x400  # bytes reserved for all headers
EXTERNAL = 2  # storage class of external symbols
# The stack probe, called by code with more than a page of locals: it touches rax bytes below the caller's
# stack pointer page by page, as Windows requires; only r10 and r11 change.
CHECK_STACK = bytes.fromhex(
    "4c8d542408"  # lea r10, [rsp + 8]
    "4989c3"  # mov r11, rax
    "4981fb00100000"  # next: cmp r11, 4096
    "7613"  # jbe last
    "4981ea00100000"  # sub r10, 4096
    "418402"  # test [r10], al
    "4981eb00100000"  # sub r11, 4096
    "ebe4"  # jmp next
    "4d29da"  # last: sub r10, r11
    "418402"  # test [r10], al
    "c3"  # ret
)


@dataclass(eq=False)
class _Input:
    """A section of the object that is included, and its place in the library."""

    content: bytearray
    size: int
    flags: int
    align: int
    relocations: tuple[int, int]  # file offset and number of its relocations
    address: int = 0


@dataclass(eq=False)
class _Output:
    """A section of the library."""

    name: str
    flags: int
    content: bytearray = field(default_factory=bytearray)
    zeros: int = 0  # zero bytes after the content
    address: int = 0
    offset: int = 0

    @property
    def size(self) -> int:
        return len(self.content) + self.zeros


def dynamic_library(code: bytes, exported: Sequence[str], name: str) -> bytes:
    """The object file as a DLL of this name that exports these functions."""
    try:
        inputs, symbols, strings = _read(code)
        outputs = [
            _Output(".text", CODE | RUN | READ),
            _Output(".rdata", 0x40 | READ),
            _Output(".data", 0x40 | READ | WRITE),
            _Output(".bss", ZEROS | READ | WRITE),
        ]
        stack_check = _fill(outputs, inputs)
        end = _place(outputs)
        for output, some in _groups(outputs, inputs):
            for s in some:
                s.address += output.address
        stack_check += outputs[0].address
        addresses, names = _symbols(code, inputs, symbols, strings, stack_check)
        table = _exports(end, {n: names[n] for n in exported}, name)
        for s in inputs.values():
            _relocate(code, s, addresses)
        for output, some in _groups(outputs, inputs):
            for s in some:
                at = s.address - output.address
                output.content[at : at + len(s.content)] = s.content
    except (struct.error, IndexError, KeyError, ValueError, OverflowError) as error:
        raise UnsupportedObject(f"malformed object: {error}") from None
    relocations = struct.pack("<IIHH", PAGE, 12, 0, 0)  # no relocations, located in the first page
    outputs += [_Output(".edata", 0x40 | READ, table)]
    outputs += [_Output(".reloc", 0x40 | DISCARDED | READ, bytearray(relocations))]
    _place(outputs)
    return _file([output for output in outputs if output.size])


def _read(code: bytes) -> tuple[dict[int, _Input], tuple[int, int], int]:
    """The included sections by number, the offset and number of symbols, and their names."""
    machine, count, _, symbols, number, _, _ = struct.unpack_from("<HHIIIHH", code, 0)
    if machine != MACHINE:
        raise UnsupportedObject("not an object for 64-bit x86")
    made = {}
    for k in range(1, count + 1):
        fields = struct.unpack_from("<8sIIIIIIHHI", code, 20 + 40 * (k - 1))
        name, _, _, size, at, relocations, _, many, _, flags = fields
        dropped = flags & (REMOVED | DISCARDED) or name.startswith((b".pdata", b".xdata", b".llvm"))
        if dropped or not size:
            continue
        if size > BUFFER or (flags & RUN and flags & WRITE):
            raise UnsupportedObject("a section that is too large, or both writable and executable")
        if flags & MANY:
            (many,) = struct.unpack_from("<I", code, relocations)
            relocations, many = relocations + 10, many - 1
        content = bytearray() if flags & ZEROS else bytearray(code[at : at + size])
        align = 1 << max((flags >> 20 & 0xF) - 1, 0)
        made[k] = _Input(content, size, flags, align, (relocations, many))
    return made, (symbols, number), symbols + 18 * number


def _groups(outputs: list[_Output], inputs: dict[int, _Input]) -> list[tuple[_Output, list[_Input]]]:
    """The groups of sections that are merged."""

    def home(s: _Input) -> int:
        return 0 if s.flags & RUN else 3 if s.flags & ZEROS else 2 if s.flags & WRITE else 1

    return [(o, [s for s in inputs.values() if home(s) == k]) for k, o in enumerate(outputs)]


def _fill(outputs: list[_Output], inputs: dict[int, _Input]) -> int:
    """Concatenate sections; the stack probe follows the code."""
    for output, some in _groups(outputs, inputs):
        at = 0
        for s in some:
            at = rounded(at, s.align)
            s.address, at = at, at + s.size
        output.content, output.zeros = (bytearray(), at) if output.flags & ZEROS else (bytearray(at), 0)
    text = outputs[0]
    start = rounded(len(text.content), 16)
    text.content += bytes(start - len(text.content)) + CHECK_STACK
    return start


def _place(outputs: list[_Output]) -> int:
    """Give each section pages of its own; return the next free address."""
    at, offset = PAGE, HEADERS
    for output in outputs:
        output.address, output.offset = at, offset
        at += rounded(output.size, PAGE)
        offset += rounded(len(output.content), FILE_BLOCK)
    return at


def _symbols(
    code: bytes, inputs: dict[int, _Input], where: tuple[int, int], strings: int, stack_check: int
) -> tuple[dict[int, int], dict[str, int]]:
    """Addresses by number, and those of exported symbols by name."""
    start, count = where
    found: dict[int, int] = {}
    names: dict[str, int] = {}
    k = 0
    while k < count:
        short, value, section, _, kind, extra = struct.unpack_from("<8sIhHBB", code, start + 18 * k)
        if short[:4] == b"\0\0\0\0":
            (at,) = struct.unpack_from("<I", short, 4)
            name = code[strings + at : code.index(b"\0", strings + at)].decode("ascii")
        else:
            name = short.rstrip(b"\0").decode("ascii")
        if section in inputs:
            found[k] = inputs[section].address + value
        elif section == 0 and name == "__chkstk":
            found[k] = stack_check
        if k in found and kind == EXTERNAL:
            names[name] = found[k]
        k += 1 + extra
    return found, names


def _relocate(code: bytes, s: _Input, addresses: dict[int, int]) -> None:
    start, count = s.relocations
    for k in range(count):
        offset, symbol, kind = struct.unpack_from("<IIH", code, start + 10 * k)
        if kind not in RELATIVE_32:
            raise UnsupportedObject("an unknown relocation type")
        if symbol not in addresses:
            raise UnsupportedObject("an undefined symbol")
        (addend,) = struct.unpack_from("<i", s.content, offset)
        behind = s.address + offset + 4 + kind - RELATIVE_32.start
        struct.pack_into("<i", s.content, offset, addresses[symbol] + addend - behind)


def _exports(at: int, functions: dict[str, int], name: str) -> bytearray:
    """The export table, sorted by name, for this address."""
    listed = sorted(functions)
    count = len(listed)
    places = at + 40
    strings = places + 4 * count + 4 * count + 2 * count
    texts = bytearray(name.encode("ascii") + b"\0")
    starts = []
    for function in listed:
        starts.append(strings + len(texts))
        texts += function.encode("ascii") + b"\0"
    head = struct.pack(
        "<IIHHIIIIIII",
        *(0, 0, 0, 0, strings, 1, count, count),
        *(places, places + 4 * count, places + 8 * count),
    )
    arrays = struct.pack(f"<{count}I", *(functions[f] for f in listed))
    arrays += struct.pack(f"<{count}I", *starts) + struct.pack(f"<{count}H", *range(count))
    return bytearray(head + arrays) + texts


def _file(kept: list[_Output]) -> bytes:
    """Headers and sections.
    There is an empty relocation table, which tells Windows that the library may be loaded anywhere.
    """
    text, *others = kept
    *_, exports, relocations = others
    data = sum(rounded(len(o.content), FILE_BLOCK) for o in others)
    directories = [(0, 0)] * 16
    directories[0], directories[5] = ((o.address, len(o.content)) for o in (exports, relocations))
    optional = struct.pack(
        "<HBBIIIIIQIIHHHHHHIIIIHHQQQQII",
        *(0x20B, 14, 0, rounded(len(text.content), FILE_BLOCK), data, sum(o.zeros for o in kept), 0),
        *(text.address, BASE, PAGE, FILE_BLOCK, 6, 0, 0, 0, 6, 0, 0),
        *(relocations.address + PAGE, HEADERS, 0, 2, 0x20 | 0x40 | 0x100),
        *(1 << 20, 1 << 12, 1 << 20, 1 << 12, 0, 16),
    ) + b"".join(struct.pack("<II", *pair) for pair in directories)
    start = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    flags = 0x2 | 0x20 | 0x2000  # executable image, large address aware, a DLL
    head = start + b"PE\0\0" + struct.pack("<HHIIIHH", MACHINE, len(kept), 0, 0, 0, len(optional), flags)
    head += optional + b"".join(_line(output) for output in kept)
    made = bytearray(relocations.offset + FILE_BLOCK)
    made[: len(head)] = head
    for output in kept:
        made[output.offset : output.offset + len(output.content)] = output.content
    return bytes(made)


def _line(output: _Output) -> bytes:
    stored = rounded(len(output.content), FILE_BLOCK)
    offset = output.offset if stored else 0
    name = output.name.encode("ascii")
    return struct.pack(
        "<8sIIIIIIHHI", name, output.size, output.address, stored, offset, 0, 0, 0, 0, output.flags
    )
