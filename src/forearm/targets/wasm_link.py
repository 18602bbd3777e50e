"""A WebAssembly object file linked by itself:
a module that exports its memory and functions, and imports nothing.

Memory layout, from address 0: the stack, which grows down and traps below 0; the constants; and, from
`heap_base`, the caller's data.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from forearm.errors import ForearmError, InputError, shorten
from forearm.targets.wasm_object import (
    CODE,
    DATA,
    DATA_SYMBOL,
    EXPORT,
    FUNCTION,
    FUNCTION_SYMBOL,
    GLOBAL,
    GLOBAL_SYMBOL,
    LOCAL,
    MAGIC,
    MEMORY,
    OF_FUNCTION,
    OF_GLOBAL,
    OF_MEMORY,
    TYPE,
    UNDEFINED,
    WasmObject,
    WasmRelocation,
    read_object,
)

PAGE, FREE = 65536, 16  # bytes of a page; address 0 is reserved, so that no array has it
STACK_ALIGNMENT = 16
OWN = ("memory", "heap_base")  # names of exports besides the functions
STACK_POINTER = "__stack_pointer"
# What an object imports without needing it from others.
PROVIDED = ("__linear_memory", "__indirect_function_table", STACK_POINTER)
I32, CONSTANT, VARIABLE, I32_CONST, END = 0x7F, 0, 1, 0x41, 0x0B
FUNCTION_LEB, MEMORY_LEB, MEMORY_SLEB, MEMORY_I32, TYPE_LEB, GLOBAL_LEB = 0, 3, 4, 5, 6, 7


def undefined_imports(code: bytes) -> list[str]:
    """The names that an object file imports."""
    made = read_object(code)
    data = [s.name for s in made.symbols if s.flags & UNDEFINED and s.kind == DATA_SYMBOL]
    return [name for name, _ in made.imports if name not in PROVIDED] + data


def linked(code: bytes, stack: int, room: int) -> bytes:
    """The module of an object file. `stack` is the size that its functions need, `room` the least number of
    bytes available at `heap_base`.
    """
    made = read_object(code)
    names = [s.name for s in made.symbols if s.kind == FUNCTION_SYMBOL and not s.flags & LOCAL]
    for name in (name for name in names if name in OWN):
        raise InputError(
            f"{shorten(name)} is the name of another export of the module; choose another.",
            "generate",
            "name",
        )
    top = _rounded(FREE + stack, STACK_ALIGNMENT)
    places, end = _laid_out(made, top)
    has_stack = any(name == STACK_POINTER for name, _ in made.imports)
    content = {kind: _relocated(made, kind, places) for kind in (CODE, DATA) if kind in made.sections}
    pages = -(-(end + room) // PAGE)
    variables = [_global(VARIABLE, top)] if has_stack else []
    variables.append(_global(CONSTANT, end))
    parts = {
        TYPE: made.sections[TYPE],
        FUNCTION: made.sections[FUNCTION],
        MEMORY: b"\1\0" + leb(pages),
        GLOBAL: _vector(variables),
        EXPORT: _exports(made, len(variables) - 1),
        CODE: content[CODE],
        DATA: _data(made, content.get(DATA, b""), places),
    }
    if not made.segments:
        del parts[DATA]
    return MAGIC + b"".join(bytes([kind]) + leb(len(part)) + part for kind, part in parts.items())


def _laid_out(made: WasmObject, start: int) -> tuple[list[int], int]:
    """The address of each segment, and the end of the last."""
    places = []
    for segment, align in zip(made.segments, made.alignments, strict=True):
        places.append(_rounded(start, align))
        start = places[-1] + len(segment)
    return places, _rounded(start, STACK_ALIGNMENT)


def _relocated(made: WasmObject, section: int, places: list[int]) -> bytes:
    """The content of a section with addresses and numbers filled in."""
    content = bytearray(made.sections[section])
    for r in made.relocations.get(section, ()):
        value = _value(made, r, places)
        if r.kind == MEMORY_I32:
            struct.pack_into("<I", content, r.offset, value)
        elif r.kind in (FUNCTION_LEB, MEMORY_LEB, TYPE_LEB, GLOBAL_LEB):
            content[r.offset : r.offset + 5] = _padded(value)
        elif r.kind == MEMORY_SLEB:
            # below 2^31: the same bytes in signed and unsigned LEB128
            content[r.offset : r.offset + 5] = _padded(value)
        else:
            raise ForearmError(f"unknown relocation type {r.kind} in a wasm32 object.", "generate", "target")
    return bytes(content)


def _value(made: WasmObject, r: WasmRelocation, places: list[int]) -> int:
    """Functions, types and the only imported global keep their numbers."""
    if r.kind == TYPE_LEB:
        return r.symbol
    symbol = made.symbols[r.symbol]
    if symbol.kind in (FUNCTION_SYMBOL, GLOBAL_SYMBOL):
        return symbol.index
    return places[symbol.index] + symbol.offset + r.addend


def _data(made: WasmObject, content: bytes, places: list[int]) -> bytes:
    """The segments at their places."""
    parts = []
    for segment, at, place in zip(made.segments, made.segment_places, places, strict=True):
        start = bytes([0, I32_CONST]) + signed_leb(place) + bytes([END])
        parts.append(start + leb(len(segment)) + content[at : at + len(segment)])
    return _vector(parts)


def _exports(made: WasmObject, heap_base: int) -> bytes:
    parts = [_export("memory", OF_MEMORY, 0), _export("heap_base", OF_GLOBAL, heap_base)]
    for s in made.symbols:
        if s.kind == FUNCTION_SYMBOL and not s.flags & LOCAL:
            parts.append(_export(s.name, OF_FUNCTION, s.index))
    return _vector(parts)


def _export(name: str, kind: int, index: int) -> bytes:
    return leb(len(name)) + name.encode("ascii") + bytes([kind]) + leb(index)


def _global(change: int, value: int) -> bytes:
    return bytes([I32, change, I32_CONST]) + signed_leb(value) + bytes([END])


def _vector(parts: Sequence[bytes]) -> bytes:
    return leb(len(parts)) + b"".join(parts)


def _rounded(value: int, step: int) -> int:
    return -(-value // step) * step


def leb(value: int) -> bytes:
    """A number in LEB128."""
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def signed_leb(value: int) -> bytes:
    """A non-negative number in signed LEB128: the sign bit of its last byte is clear."""
    made = leb(value)
    return made if not made[-1] & 0x40 else bytes([*made[:-1], made[-1] | 0x80, 0])


def _padded(value: int) -> bytes:
    """A number in five bytes, as relocations leave room for."""
    return bytes([*(value >> shift & 0x7F | 0x80 for shift in (0, 7, 14, 21)), value >> 28 & 0x7F])
