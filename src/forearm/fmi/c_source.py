"""A module of LLVM's text as one file of C99: so that an FMU's library can be built for any other 64-bit system,
and is the same code there.

It knows the instructions that `kernels.llvm` and `kernels.vectors` write, line by line, and refuses others. The
lanes of a vector become variables of their own.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from forearm.fmi.c_text import BODY, HEAD

KINDS = {
    "double": "double",
    "i64": "uint64_t",
    "i32": "uint32_t",
    "i8": "uint8_t",
    "i1": "int",
    "ptr": "uint8_t *",
    "void": "void",
}
WIDTHS = {"double": "8", "i64": "8", "i32": "4", "i8": "1", "ptr": "sizeof(void *)"}
SIGNED = {"i64": "(int64_t)", "i32": "(int32_t)", "i8": "(int8_t)", "i1": "", "ptr": "(uintptr_t)"}
OPERATORS = {
    "fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "add": "+", "sub": "-", "mul": "*", "and": "&",
    "or": "|", "xor": "^", "shl": "<<", "lshr": ">>", "urem": "%",
}  # fmt: skip
TESTS = {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
DATA = "data_"  # begins the names of arrays, which arguments of functions do not have
INTRINSICS = {"llvm.fma": "fma", "llvm.sqrt": "sqrt", "llvm.fabs": "fabs"}


class UnknownInstruction(Exception):
    """A line that is not known here."""


def c_source(text: str, exported: Sequence[str], version: int) -> str:
    """The whole file; `exported` are the functions that others see."""
    constants, prototypes, functions = [], [], []
    lines: list[str] | None = None
    for line in text.splitlines():
        if line.startswith("define "):
            lines = [line]
        elif line == "}" and lines is not None:
            made = _Function(lines, exported)
            prototypes.append(f"{made.head};")
            functions.append(made.text())
            lines = None
        elif lines is not None:
            lines.append(line)
        elif line.startswith("@"):
            constants.append(_global(line))
        elif line and not line.startswith("declare "):
            raise UnknownInstruction(line)
    prefix = f"FMI{version}_FUNCTION_PREFIX"
    renamed = [f"#define {name} JOINED({prefix}, {name})" for name in exported]
    parts = [HEAD, f"#ifdef {prefix}", *renamed, "#endif", BODY, *constants, "", *prototypes, ""]
    return "\n".join([*parts, "\n\n".join(functions), ""])


def _global(line: str) -> str:
    """An array: numbers, or zeros that are written later."""
    found = re.match(r"@(\S+) = .*?(global|constant) \[(\d+) x (\w+)\] (.*)", line)
    if found is None:
        raise UnknownInstruction(line)
    name, how, count, kind, content = found.groups()
    if how == "global":
        return f"static uint64_t {DATA}{_name(name)}[{int(count) // 8}];"
    values = [_constant(kind, entry.split()[1]) for entry in content[1 : content.rindex("]")].split(", ")]
    listed = [", ".join(values[k : k + 8]) for k in range(0, len(values), 8)]
    inner = ",\n    ".join(listed)
    return f"static const {KINDS[kind]} {DATA}{_name(name)}[{count}] = {{\n    {inner}}};"


class _Function:
    """One function, translated line by line."""

    def __init__(self, lines: list[str], exported: Sequence[str]) -> None:
        found = re.match(r"define (internal )?(\S+) @(\S+?)\((.*)\) nounwind", lines[0])
        if found is None:
            raise UnknownInstruction(lines[0])
        _, result, name, given = found.groups()
        listed = [_split_type(a) for a in _parts(given)]
        arguments = ", ".join(f"{_spaced(kind)}{_name(value[1:])}" for kind, value in listed)
        linkage = "EXPORT " if name in exported else "static "
        self.head = f"{linkage}{_spaced(KINDS[result])}{_name(name)}({arguments or 'void'})"
        self.declared: dict[str, str] = {}  # variables, and their types
        self.spaces: list[str] = []
        self.body: list[str] = []
        self.pure: dict[int, str] = {}  # lines that do nothing but give a variable its value
        self.block = "entry"
        self.incoming: dict[str, dict[str, list[str]]] = {}  # what phis of a block take from another
        for line in lines[1:]:
            self._note_phi(line)
        self.block = "entry"
        for line in lines[2:]:
            self._line(line)

    def text(self) -> str:
        """All of it that is needed."""
        lines, unused = self._needed()
        kinds: dict[str, list[str]] = {}
        for name, kind in self.declared.items():
            if name not in unused:
                kinds.setdefault(kind, []).append(f"*{name}" if kind.endswith("*") else name)
        declared = [
            f"    {kind.removesuffix(' *')} {', '.join(names[k : k + 12])};"
            for kind, names in kinds.items()
            for k in range(0, len(names), 12)
        ]
        return "\n".join([self.head, "{", *declared, *self.spaces, *lines, "}"])

    def _needed(self) -> tuple[list[str], set[str]]:
        """The lines without those whose values nobody takes, such as lanes of sines that are not asked for."""
        used = {word for k, line in enumerate(self.body) if k not in self.pure for word in _words(line)}
        kept, unused = [], set()
        for k in range(len(self.body) - 1, -1, -1):
            name = self.pure.get(k)
            if name is not None and name not in used:
                unused.add(name)
                continue
            used |= _words(self.body[k].partition(" = ")[2]) if name is not None else set()
            kept.append(self.body[k])
        return kept[::-1], unused

    def _note_phi(self, line: str) -> None:
        if line.endswith(":"):
            self.block = line[:-1]
        found = re.match(r"  %(\S+) = phi (.+?) (\[.*)", line)
        if found is None:
            return
        name, kind, ways = found.groups()
        for value, source in re.findall(r"\[ (.+?), %(\S+?) \]", ways):
            into = self.incoming.setdefault(self.block, {}).setdefault(source, [])
            for to, x in zip(_lanes(kind, f"%{name}"), _lanes(kind, value), strict=True):
                into.append(f"{to}_next = {x};")

    def _line(self, line: str) -> None:
        if line.endswith(":"):
            self.block = line[:-1]
            self.body.append(f"{_name(self.block)}:;")
            return
        found = re.match(r"  %(\S+) = (\w+) (.*)", line)
        if found is not None:
            name, what, rest = found.groups()
            made = self._value(name, what, rest)
            if made is not None:
                kind, values = made
                for to, x in zip(_lanes(kind, f"%{name}"), values, strict=True):
                    self.declared[to] = KINDS[_scalar(kind)]
                    if what not in ("call", "atomicrmw", "phi") or x.startswith(tuple(INTRINSICS.values())):
                        self.pure[len(self.body)] = to
                    self.body.append(f"    {to} = {x};")
            return
        what, _, rest = line.strip().partition(" ")
        {"store": self._store, "br": self._branch, "ret": self._return, "call": self._call_alone}.get(
            what, self._refuse
        )(rest)

    def _refuse(self, rest: str) -> None:
        raise UnknownInstruction(rest[:80])

    def _value(self, name: str, what: str, rest: str) -> tuple[str, list[str]] | None:
        """The type of what a line makes, and an expression for each lane."""
        if what == "alloca":
            found = re.match(r"\[(\d+) x (\w+)\]", rest)
            if found is None:
                raise UnknownInstruction(rest)
            memory = f"{_name(name)}_memory"
            self.spaces.append(f"    {KINDS[found[2]]} {memory}[{found[1]}];")
            return "ptr", [f"(uint8_t *){memory}"]
        if what == "phi":
            kind = re.match(r"(<.*?>|\w+) \[", rest)
            assert kind is not None
            names = [f"{to}_next" for to in _lanes(kind[1], f"%{name}")]
            self.declared |= dict.fromkeys(names, KINDS[_scalar(kind[1])])
            return kind[1], names
        if what == "call":
            kind, call = self._call(rest)
            return kind, call
        if what == "atomicrmw":
            found = re.match(r"xchg ptr (\S+), i32 1 acquire", rest)
            if found is None:
                raise UnknownInstruction(rest)
            return "i32", [f"TAKEN({_lanes('ptr', found[1])[0]})"]
        return _computed(what, _parts(rest))

    def _store(self, rest: str) -> None:
        is_atomic, parts = rest.startswith("atomic "), _parts(rest.removeprefix("atomic "))
        kind, value = _split_type(parts[0])
        pointer = _pointer(parts[1].split()[1])
        if is_atomic:
            self.body.append(f"    RELEASED({pointer});")
            return
        for k, x in enumerate(_lanes(kind, value)):
            self.body.append(f"    put_{_scalar(kind)}({_offset(pointer, k, _scalar(kind))}, {x});")

    def _branch(self, rest: str) -> None:
        parts = _parts(rest)
        if len(parts) == 1:
            self.body.append(f"    {self._jump(parts[0])}")
            return
        condition = _lanes("i1", parts[0].removeprefix("i1 "))[0]
        self.body.append(f"    if ({condition}) {{ {self._jump(parts[1])} }}")
        self.body.append(f"    {self._jump(parts[2])}")

    def _jump(self, label: str) -> str:
        to = label.removeprefix("label %")
        taken = self.incoming.get(to, {}).get(self.block, [])
        return " ".join([*taken, f"goto {_name(to)};"])

    def _return(self, rest: str) -> None:
        if rest == "void":
            self.body.append("    return;")
            return
        self.body.append(f"    return {_lanes(*_split_type(rest))[0]};")

    def _call_alone(self, rest: str) -> None:
        self.body.append(f"    {self._call(rest)[1][0]};")

    def _call(self, rest: str) -> tuple[str, list[str]]:
        found = re.match(r"(<.*?>|\w+)(?: \((.*?)\))? ([@%])([^(]+)\((.*)\)", rest)
        if found is None:
            raise UnknownInstruction(rest)
        kind, takes, where, name, given = found.groups()
        typed = [_split_type(a) for a in _parts(given)]
        lanes = [_lanes(*a) for a in typed]
        function = next((c for key, c in INTRINSICS.items() if name.startswith(f"{key}.")), None)
        if function is not None:
            return kind, [f"{function}({', '.join(some)})" for some in zip(*lanes, strict=True)]
        values = ", ".join(some[0] for some in lanes)
        if where == "@":
            return kind, [f"{_name(name)}({values})"]
        listed = ", ".join("..." if a == "..." else KINDS[a] for a in (takes or "").split(", ") if a)
        listed = listed or ", ".join(KINDS[k] for k, _ in typed)
        return kind, [f"(({KINDS[kind]} (*)({listed}))(uintptr_t){_name(name)})({values})"]


def _computed(what: str, parts: list[str]) -> tuple[str, list[str]]:
    """An instruction without jumps, calls or memory that is written."""
    first = parts[0]
    if what in OPERATORS:
        kind, a = _split_type(first)
        pairs = zip(_lanes(kind, a), _lanes(kind, parts[1]), strict=True)
        return kind, [f"{a} {OPERATORS[what]} {b}" for a, b in pairs]
    if what in ("sdiv", "srem"):
        kind, a = _split_type(first)
        sign, operator = SIGNED[kind], "/" if what == "sdiv" else "%"
        return kind, [f"{sign}{_lanes(kind, a)[0]} {operator} {sign}{_lanes(kind, parts[1])[0]}"]
    if what == "fneg":
        kind, a = _split_type(first)
        return kind, [f"-{x}" for x in _lanes(kind, a)]
    if what in ("icmp", "fcmp"):
        return _compared(first, parts[1])
    if what == "select":
        (mask, m), (kind, a), (_, b) = (_split_type(p) for p in parts)
        flags, values = _lanes(mask, m), zip(_lanes(kind, a), _lanes(kind, b), strict=True)
        flags = flags * _count(kind) if len(flags) == 1 else flags
        return kind, [f"{f} ? {x} : {y}" for f, (x, y) in zip(flags, values, strict=True)]
    if what in ("trunc", "zext", "bitcast", "ptrtoint", "sitofp", "fptosi"):
        return _cast(what, first)
    if what == "getelementptr":
        step, pointer, (_, place) = first, parts[1].split()[1], _split_type(parts[2])
        at = place if not place.startswith("%") else f"(ptrdiff_t){_name(place[1:])}"
        return "ptr", [f"{_pointer(pointer)} + {at} * (ptrdiff_t){WIDTHS[step]}"]
    if what == "load":
        kind, pointer = first.removeprefix("atomic "), _pointer(parts[1].split()[1])
        scalar, is_atomic = _scalar(kind), first.startswith("atomic ")
        if is_atomic:
            return kind, [f"SEEN({pointer})"]
        return kind, [f"get_{scalar}({_offset(pointer, k, scalar)})" for k in range(_count(kind))]
    return _moved(what, parts)


def _moved(what: str, parts: list[str]) -> tuple[str, list[str]]:
    """Lanes taken from vectors, and put into them."""
    kind, a = _split_type(parts[0])
    if what == "extractelement":
        return _scalar(kind), [_lanes(kind, a)[int(parts[1].split()[1])]]
    if what == "insertelement":
        made = _lanes(kind, a)
        made[int(parts[2].split()[1])] = _lanes(*_split_type(parts[1]))[0]
        return kind, made
    if what == "shufflevector":
        both = _lanes(kind, a) + _lanes(*_split_type(parts[1]))
        places = [int(x) for x in re.findall(r"i32 (\d+)", parts[2].partition("> ")[2])]
        return f"<{len(places)} x {_scalar(kind)}>", [both[k] for k in places]
    raise UnknownInstruction(what)


def _compared(first: str, b: str) -> tuple[str, list[str]]:
    test, _, rest = first.partition(" ")
    kind, a = _split_type(rest)
    scalar = _scalar(kind)
    sign = "" if scalar == "double" or test[0] == "u" else SIGNED[scalar]
    operator = TESTS[test if test in TESTS else test[1:]]
    pairs = zip(_lanes(kind, a), _lanes(kind, b), strict=True)
    count = _count(kind)
    return f"<{count} x i1>" if kind[0] == "<" else "i1", [f"{sign}{x} {operator} {sign}{y}" for x, y in pairs]


def _cast(what: str, text: str) -> tuple[str, list[str]]:
    given, _, kind = text.rpartition(" to ")
    before, value = _split_type(given)
    lanes, scalar = _lanes(before, value), _scalar(kind)
    if what == "bitcast":
        if {_scalar(before), scalar} == {"double", "i64"}:
            how = "bits_of" if scalar == "i64" else "number_of"
            return kind, [f"{how}({x})" for x in lanes]
        return kind, lanes  # the flags of one lane
    if what == "ptrtoint":
        return kind, [f"(uint64_t)(uintptr_t){x}" for x in lanes]
    if what == "sitofp":
        return kind, [f"(double){SIGNED[_scalar(before)]}{x}" for x in lanes]
    if what == "fptosi":
        return kind, [f"({KINDS[scalar]}){SIGNED[scalar]}{x}" for x in lanes]
    if what == "trunc" and scalar == "i1":
        return kind, [f"(int)({x} & 1)" for x in lanes]
    return kind, [f"({KINDS[scalar]}){x}" for x in lanes]


def _lanes(kind: str, value: str) -> list[str]:
    """An expression for each lane of a value, one where it is no vector."""
    scalar, count = _scalar(kind), _count(kind)
    if kind[0] != "<":
        return [_one(scalar, value)]
    if value.startswith("%"):
        return [f"{_name(value[1:])}_{k}" for k in range(count)]
    if value in ("poison", "zeroinitializer"):
        return ["0"] * count
    return [_one(scalar, entry.split()[1]) for entry in _parts(value[1:-1])]


def _one(kind: str, value: str) -> str:
    if value.startswith("%"):
        return _name(value[1:])
    if value.startswith("@"):
        return f"(uint8_t *)(uintptr_t){DATA}{_name(value[1:])}"
    return _constant(kind, value)


def _constant(kind: str, value: str) -> str:
    if kind == "double":
        (number,) = struct.unpack(">d", bytes.fromhex(value.removeprefix("0x")))
        if number - number != 0.0:
            return f"number_of(UINT64_C({value}))"
        return f"({number!r})" if number < 0.0 or value.startswith("0x8") else repr(number)
    if kind == "ptr":
        return "(uint8_t *)0"
    if kind == "i1":
        return {"true": "1", "false": "0"}.get(value, value)
    return f"UINT64_C({int(value) & 0xFFFFFFFFFFFFFFFF})" if kind == "i64" else f"{int(value)}"


def _pointer(value: str) -> str:
    text = _one("ptr", value)
    return text if text[0] != "(" else f"({text})"


def _offset(pointer: str, k: int, scalar: str) -> str:
    return pointer if not k else f"{pointer} + {k} * {WIDTHS[scalar]}"


def _scalar(kind: str) -> str:
    return kind[1:-1].split()[2] if kind[0] == "<" else kind


def _count(kind: str) -> int:
    return int(kind[1:].split()[0]) if kind[0] == "<" else 1


def _split_type(text: str) -> tuple[str, str]:
    """A type and what has it."""
    if text[0] != "<":
        kind, _, value = text.partition(" ")
        return kind, value
    end = text.index(">") + 1
    return text[:end], text[end:].strip()


def _parts(text: str) -> list[str]:
    """Split at commas that stand in no brackets."""
    made, depth, start = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter in "<([{") - (letter in ">)]}")
        if letter == "," and not depth:
            made.append(text[start:k].strip())
            start = k + 1
    return [*made, text[start:].strip()] if text.strip() else made


def _spaced(kind: str) -> str:
    text = KINDS.get(kind, kind)
    return text if text.endswith("*") else f"{text} "


def _words(line: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", line))


def _name(name: str) -> str:
    return name.replace(".", "_")
