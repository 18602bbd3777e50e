"""A parser for WebAssembly object files from LLVM: sections, symbols, segments, relocations.

The format is that of the WebAssembly core specification, with the sections "linking" and "reloc.*" of the
tool conventions (Linking.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from forearm.errors import ForearmError

MAGIC = b"\0asm\1\0\0\0"
CUSTOM, TYPE, IMPORT, FUNCTION, MEMORY, GLOBAL, EXPORT, CODE, DATA = 0, 1, 2, 3, 5, 6, 7, 10, 11
OF_FUNCTION, OF_TABLE, OF_MEMORY, OF_GLOBAL = 0, 1, 2, 3  # what is imported or exported
SEGMENTS, SYMBOLS = 5, 8  # parts of the section "linking"
UNDEFINED, EXPLICIT_NAME, LOCAL = 0x10, 0x40, 0x2
FUNCTION_SYMBOL, DATA_SYMBOL, GLOBAL_SYMBOL, SECTION_SYMBOL, TABLE_SYMBOL = 0, 1, 2, 3, 5
WITH_ADDEND = (3, 4, 5)  # relocations to memory


@dataclass(frozen=True)
class WasmSymbol:
    """A symbol: `index` is that of its function, global or segment, `offset` its offset in the segment."""

    kind: int
    flags: int
    index: int
    name: str
    offset: int = 0


@dataclass(frozen=True)
class WasmRelocation:
    """Where in a section's content the address or number of a symbol is to be written."""

    kind: int
    offset: int
    symbol: int
    addend: int


@dataclass
class WasmObject:
    """The parts of an object file."""

    sections: dict[int, bytes] = field(default_factory=dict)
    imports: list[tuple[str, int]] = field(default_factory=list)  # name and kind
    symbols: list[WasmSymbol] = field(default_factory=list)
    segments: list[bytes] = field(default_factory=list)
    segment_names: list[str] = field(default_factory=list)
    alignments: list[int] = field(default_factory=list)  # of segments, bytes
    segment_places: list[int] = field(default_factory=list)  # where each begins in the data section
    relocations: dict[int, list[WasmRelocation]] = field(default_factory=dict)  # by kind of section


class WasmReader:
    """Numbers and names from bytes, one after the other."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def byte(self) -> int:
        """One byte."""
        self.at += 1
        return self.data[self.at - 1]

    def number(self, signed: bool = False) -> int:
        """A number in LEB128."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def bytes(self, count: int) -> bytes:
        """This many bytes."""
        self.at += count
        return self.data[self.at - count : self.at]

    def name(self) -> str:
        """A string with its length before it."""
        return self.bytes(self.number()).decode("utf-8")


def read_object(code: bytes) -> WasmObject:
    """Parse an object file."""
    if code[: len(MAGIC)] != MAGIC:
        raise ForearmError("expected a WebAssembly object from LLVM.", "generate", "target")
    made, reader, order = WasmObject(), WasmReader(code, len(MAGIC)), list[int]()
    while reader:
        kind = reader.byte()
        content = reader.bytes(reader.number())
        order.append(kind)
        if kind == CUSTOM:
            _custom(made, WasmReader(content), order)
            continue
        made.sections[kind] = content
        if kind == IMPORT:
            _imports(made, WasmReader(content))
        elif kind == DATA:
            _segments(made, WasmReader(content))
    return made


def _imports(made: WasmObject, reader: WasmReader) -> None:
    for _ in range(reader.number()):
        reader.name()
        name, kind = reader.name(), reader.byte()
        made.imports.append((name, kind))
        if kind == OF_FUNCTION:
            reader.number()
        elif kind == OF_GLOBAL:
            reader.bytes(2)
        else:  # a table has a type before its limits, a memory does not
            reader.bytes(1 if kind == OF_TABLE else 0)
            for _ in range(1 + (reader.number() & 1)):
                reader.number()


def _segments(made: WasmObject, reader: WasmReader) -> None:
    for _ in range(reader.number()):
        reader.bytes(2)  # of memory 0, at a constant address
        reader.number(signed=True)
        reader.bytes(1)
        count = reader.number()
        made.segment_places.append(reader.at)
        made.segments.append(reader.bytes(count))


def _custom(made: WasmObject, reader: WasmReader, order: list[int]) -> None:
    name = reader.name()
    if name == "linking":
        reader.number()  # the version
        while reader:
            kind, content = reader.byte(), WasmReader(reader.bytes(reader.number()))
            if kind == SYMBOLS:
                made.symbols = [_symbol(content) for _ in range(content.number())]
            elif kind == SEGMENTS:
                for _ in range(content.number()):
                    made.segment_names.append(content.name())
                    made.alignments.append(1 << content.number())
                    content.number()
    elif name.startswith("reloc."):
        section = order[reader.number()]
        made.relocations[section] = [_relocation(reader) for _ in range(reader.number())]


def _symbol(reader: WasmReader) -> WasmSymbol:
    kind, flags = reader.byte(), reader.number()
    if kind == DATA_SYMBOL:
        name = reader.name()
        if flags & UNDEFINED:
            return WasmSymbol(kind, flags, -1, name)
        index, offset = reader.number(), reader.number()
        reader.number()  # its size
        return WasmSymbol(kind, flags, index, name, offset)
    index = reader.number()
    named = kind != SECTION_SYMBOL and (not flags & UNDEFINED or flags & EXPLICIT_NAME)
    return WasmSymbol(kind, flags, index, reader.name() if named else "")


def _relocation(reader: WasmReader) -> WasmRelocation:
    kind, offset, symbol = reader.byte(), reader.number(), reader.number()
    return WasmRelocation(kind, offset, symbol, reader.number(signed=True) if kind in WITH_ADDEND else 0)
