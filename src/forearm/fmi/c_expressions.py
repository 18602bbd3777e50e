"""Values of LLVM IR as C expressions, one for each lane of a vector."""

from __future__ import annotations

import re
import struct

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
DATA = "data_"  # prefix of the names of arrays, which function arguments do not have
INTRINSICS = {"llvm.fma": "fma", "llvm.sqrt": "sqrt", "llvm.fabs": "fabs"}


class UnknownInstruction(Exception):
    """An IR line that cannot be translated."""


def computed(what: str, parts: list[str]) -> tuple[str, list[str]]:
    """An instruction that neither jumps, calls nor writes memory."""
    first = parts[0]
    if what in OPERATORS:
        kind, a = split_type(first)
        pairs = zip(lanes_of(kind, a), lanes_of(kind, parts[1]), strict=True)
        return kind, [f"{a} {OPERATORS[what]} {b}" for a, b in pairs]
    if what in ("sdiv", "srem"):
        kind, a = split_type(first)
        sign, operator = SIGNED[kind], "/" if what == "sdiv" else "%"
        return kind, [f"{sign}{lanes_of(kind, a)[0]} {operator} {sign}{lanes_of(kind, parts[1])[0]}"]
    if what == "fneg":
        kind, a = split_type(first)
        return kind, [f"-{x}" for x in lanes_of(kind, a)]
    if what in ("icmp", "fcmp"):
        return _compared(first, parts[1])
    if what == "select":
        (mask, m), (kind, a), (_, b) = (split_type(p) for p in parts)
        flags, values = lanes_of(mask, m), zip(lanes_of(kind, a), lanes_of(kind, b), strict=True)
        flags = flags * count_of(kind) if len(flags) == 1 else flags
        return kind, [f"{f} ? {x} : {y}" for f, (x, y) in zip(flags, values, strict=True)]
    if what in ("trunc", "zext", "bitcast", "ptrtoint", "sitofp", "fptosi"):
        return _cast(what, first)
    if what == "getelementptr":
        step, pointer, (_, place) = first, parts[1].split()[1], split_type(parts[2])
        at = place if not place.startswith("%") else f"(ptrdiff_t){c_name(place[1:])}"
        return "ptr", [f"{pointer_to(pointer)} + {at} * (ptrdiff_t){WIDTHS[step]}"]
    if what == "load":
        kind, pointer = first.removeprefix("atomic "), pointer_to(parts[1].split()[1])
        scalar, is_atomic = scalar_of(kind), first.startswith("atomic ")
        if is_atomic:
            return kind, [f"SEEN({pointer})"]
        return kind, [f"get_{scalar}({offset_by(pointer, k, scalar)})" for k in range(count_of(kind))]
    return _moved(what, parts)


def _moved(what: str, parts: list[str]) -> tuple[str, list[str]]:
    """Lanes taken from vectors, and put into them."""
    kind, a = split_type(parts[0])
    if what == "extractelement":
        return scalar_of(kind), [lanes_of(kind, a)[int(parts[1].split()[1])]]
    if what == "insertelement":
        made = lanes_of(kind, a)
        made[int(parts[2].split()[1])] = lanes_of(*split_type(parts[1]))[0]
        return kind, made
    if what == "shufflevector":
        both = lanes_of(kind, a) + lanes_of(*split_type(parts[1]))
        places = [int(x) for x in re.findall(r"i32 (\d+)", parts[2].partition("> ")[2])]
        return f"<{len(places)} x {scalar_of(kind)}>", [both[k] for k in places]
    raise UnknownInstruction(what)


def _compared(first: str, b: str) -> tuple[str, list[str]]:
    test, _, rest = first.partition(" ")
    kind, a = split_type(rest)
    scalar = scalar_of(kind)
    sign = "" if scalar == "double" or test[0] == "u" else SIGNED[scalar]
    operator = TESTS[test if test in TESTS else test[1:]]
    pairs = zip(lanes_of(kind, a), lanes_of(kind, b), strict=True)
    count = count_of(kind)
    return f"<{count} x i1>" if kind[0] == "<" else "i1", [
        f"{sign}{x} {operator} {sign}{y}" for x, y in pairs
    ]


def _cast(what: str, text: str) -> tuple[str, list[str]]:
    given, _, kind = text.rpartition(" to ")
    before, value = split_type(given)
    lanes, scalar = lanes_of(before, value), scalar_of(kind)
    if what == "bitcast":
        if {scalar_of(before), scalar} == {"double", "i64"}:
            how = "bits_of" if scalar == "i64" else "number_of"
            return kind, [f"{how}({x})" for x in lanes]
        return kind, lanes  # the flags of one lane
    if what == "ptrtoint":
        return kind, [f"(uint64_t)(uintptr_t){x}" for x in lanes]
    if what == "sitofp":
        return kind, [f"(double){SIGNED[scalar_of(before)]}{x}" for x in lanes]
    if what == "fptosi":
        return kind, [f"({KINDS[scalar]}){SIGNED[scalar]}{x}" for x in lanes]
    if what == "trunc" and scalar == "i1":
        return kind, [f"(int)({x} & 1)" for x in lanes]
    return kind, [f"({KINDS[scalar]}){x}" for x in lanes]


def lanes_of(kind: str, value: str) -> list[str]:
    """An expression for each lane of a value; one if it is not a vector."""
    scalar, count = scalar_of(kind), count_of(kind)
    if kind[0] != "<":
        return [one_of(scalar, value)]
    if value.startswith("%"):
        return [f"{c_name(value[1:])}_{k}" for k in range(count)]
    if value in ("poison", "zeroinitializer"):
        return ["0"] * count
    return [one_of(scalar, entry.split()[1]) for entry in parts_of(value[1:-1])]


def one_of(kind: str, value: str) -> str:
    """The expression of a value that is not a vector."""
    if value.startswith("%"):
        return c_name(value[1:])
    if value.startswith("@"):
        return f"(uint8_t *)(uintptr_t){DATA}{c_name(value[1:])}"
    return constant_of(kind, value)


def constant_of(kind: str, value: str) -> str:
    """A number as a C literal, exact to the last bit."""
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


def pointer_to(value: str) -> str:
    """A pointer, to which something can be added."""
    text = one_of("ptr", value)
    return text if text[0] != "(" else f"({text})"


def offset_by(pointer: str, k: int, scalar: str) -> str:
    """The place of an entry behind a pointer."""
    return pointer if not k else f"{pointer} + {k} * {WIDTHS[scalar]}"


def scalar_of(kind: str) -> str:
    """The type of one lane."""
    return kind[1:-1].split()[2] if kind[0] == "<" else kind


def count_of(kind: str) -> int:
    """How many lanes a type has."""
    return int(kind[1:].split()[0]) if kind[0] == "<" else 1


def split_type(text: str) -> tuple[str, str]:
    """A type and its operand."""
    if text[0] != "<":
        kind, _, value = text.partition(" ")
        return kind, value
    end = text.index(">") + 1
    return text[:end], text[end:].strip()


def parts_of(text: str) -> list[str]:
    """Split at commas outside brackets."""
    made, depth, start = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter in "<([{") - (letter in ">)]}")
        if letter == "," and not depth:
            made.append(text[start:k].strip())
            start = k + 1
    return [*made, text[start:].strip()] if text.strip() else made


def spaced(kind: str) -> str:
    """A type before a name."""
    text = KINDS.get(kind, kind)
    return text if text.endswith("*") else f"{text} "


def words_of(line: str) -> set[str]:
    """The names in a line."""
    return set(re.findall(r"[A-Za-z_]\w*", line))


def c_name(name: str) -> str:
    """An LLVM name as a C name."""
    return name.replace(".", "_")
