"""A module of LLVM IR as one C99 file,
so that an FMU's library can be built from the same code for any other 64-bit system.

It translates the instructions that `kernels.llvm` and `kernels.vectors` emit, line by line, and rejects
others. The lanes of a vector become separate variables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from forearm.fmi.c_expressions import (
    DATA,
    INTRINSICS,
    KINDS,
    UnknownInstruction,
    c_name,
    computed,
    constant_of,
    lanes_of,
    offset_by,
    parts_of,
    pointer_to,
    scalar_of,
    spaced,
    split_type,
    words_of,
)
from forearm.fmi.c_text import BODY, HEAD


def c_source(text: str, exported: Sequence[str], version: int) -> str:
    """The whole file; `exported` are the public functions."""
    constants, prototypes, functions = [], [], []
    lines: list[str] | None = None
    for line in text.splitlines():
        if line.startswith("define "):
            lines = [line]
        elif line == "}" and lines is not None:
            made = _CFunction(lines, exported)
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
    """An array: constants, or zeros to be overwritten."""
    found = re.match(r"@(\S+) = .*?(global|constant) \[(\d+) x (\w+)\] (.*)", line)
    if found is None:
        raise UnknownInstruction(line)
    name, how, count, kind, content = found.groups()
    if how == "global":
        return f"static uint64_t {DATA}{c_name(name)}[{count}];"
    values = [constant_of(kind, entry.split()[1]) for entry in content[1 : content.rindex("]")].split(", ")]
    listed = [", ".join(values[k : k + 8]) for k in range(0, len(values), 8)]
    inner = ",\n    ".join(listed)
    return f"static const {KINDS[kind]} {DATA}{c_name(name)}[{count}] = {{\n    {inner}}};"


class _CFunction:
    """One function, translated line by line."""

    def __init__(self, lines: list[str], exported: Sequence[str]) -> None:
        found = re.match(r"define (internal )?(\S+) @(\S+?)\((.*)\) nounwind", lines[0])
        if found is None:
            raise UnknownInstruction(lines[0])
        _, result, name, given = found.groups()
        listed = [split_type(a) for a in parts_of(given)]
        arguments = ", ".join(f"{spaced(kind)}{c_name(value[1:])}" for kind, value in listed)
        linkage = "EXPORT " if name in exported else "static "
        self.head = f"{linkage}{spaced(KINDS[result])}{c_name(name)}({arguments or 'void'})"
        self.declared: dict[str, str] = {}  # variables, and their types
        self.spaces: list[str] = []
        self.body: list[str] = []
        self.pure: dict[int, str] = {}  # lines that only assign a variable
        self.block = "entry"
        self.incoming: dict[str, dict[str, list[str]]] = {}  # values of a block's phis by predecessor
        for line in lines[1:]:
            self._note_phi(line)
        self.block = "entry"
        for line in lines[2:]:
            self._line(line)

    def text(self) -> str:
        """The needed lines of the function."""
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
        """The lines without those whose values are unused, such as spare lanes of a sine."""
        used = {word for k, line in enumerate(self.body) if k not in self.pure for word in words_of(line)}
        kept, unused = [], set()
        for k in range(len(self.body) - 1, -1, -1):
            name = self.pure.get(k)
            if name is not None and name not in used:
                unused.add(name)
                continue
            used |= words_of(self.body[k].partition(" = ")[2]) if name is not None else set()
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
            for to, x in zip(lanes_of(kind, f"%{name}"), lanes_of(kind, value), strict=True):
                into.append(f"{to}_next = {x};")

    def _line(self, line: str) -> None:
        if line.endswith(":"):
            self.block = line[:-1]
            self.body.append(f"{c_name(self.block)}:;")
            return
        found = re.match(r"  %(\S+) = (\w+) (.*)", line)
        if found is not None:
            name, what, rest = found.groups()
            made = self._value(name, what, rest)
            if made is not None:
                kind, values = made
                for to, x in zip(lanes_of(kind, f"%{name}"), values, strict=True):
                    self.declared[to] = KINDS[scalar_of(kind)]
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
        """The type of a line's result, and an expression for each lane."""
        if what == "alloca":
            found = re.match(r"\[(\d+) x (\w+)\]", rest)
            if found is None:
                raise UnknownInstruction(rest)
            memory = f"{c_name(name)}_memory"
            self.spaces.append(f"    {KINDS[found[2]]} {memory}[{found[1]}];")
            return "ptr", [f"(uint8_t *){memory}"]
        if what == "phi":
            phi = re.match(r"(<.*?>|\w+) \[", rest)
            assert phi is not None
            names = [f"{to}_next" for to in lanes_of(phi[1], f"%{name}")]
            self.declared |= dict.fromkeys(names, KINDS[scalar_of(phi[1])])
            return phi[1], names
        if what == "call":
            return self._call(rest)
        if what == "atomicrmw":
            found = re.match(r"xchg ptr (\S+), i32 1 acquire", rest)
            if found is None:
                raise UnknownInstruction(rest)
            return "i32", [f"TAKEN({lanes_of('ptr', found[1])[0]})"]
        return computed(what, parts_of(rest))

    def _store(self, rest: str) -> None:
        is_atomic, parts = rest.startswith("atomic "), parts_of(rest.removeprefix("atomic "))
        kind, value = split_type(parts[0])
        pointer = pointer_to(parts[1].split()[1])
        if is_atomic:
            self.body.append(f"    RELEASED({pointer});")
            return
        for k, x in enumerate(lanes_of(kind, value)):
            self.body.append(f"    put_{scalar_of(kind)}({offset_by(pointer, k, scalar_of(kind))}, {x});")

    def _branch(self, rest: str) -> None:
        parts = parts_of(rest)
        if len(parts) == 1:
            self.body.append(f"    {self._jump(parts[0])}")
            return
        condition = lanes_of("i1", parts[0].removeprefix("i1 "))[0]
        self.body.append(f"    if ({condition}) {{ {self._jump(parts[1])} }}")
        self.body.append(f"    {self._jump(parts[2])}")

    def _jump(self, label: str) -> str:
        to = label.removeprefix("label %")
        taken = self.incoming.get(to, {}).get(self.block, [])
        return " ".join([*taken, f"goto {c_name(to)};"])

    def _return(self, rest: str) -> None:
        if rest == "void":
            self.body.append("    return;")
            return
        self.body.append(f"    return {lanes_of(*split_type(rest))[0]};")

    def _call_alone(self, rest: str) -> None:
        self.body.append(f"    {self._call(rest)[1][0]};")

    def _call(self, rest: str) -> tuple[str, list[str]]:
        found = re.match(r"(<.*?>|\w+)(?: \((.*?)\))? ([@%])([^(]+)\((.*)\)", rest)
        if found is None:
            raise UnknownInstruction(rest)
        kind, takes, where, name, given = found.groups()
        typed = [split_type(a) for a in parts_of(given)]
        lanes = [lanes_of(*a) for a in typed]
        function = next((c for key, c in INTRINSICS.items() if name.startswith(f"{key}.")), None)
        if function is not None:
            return kind, [f"{function}({', '.join(some)})" for some in zip(*lanes, strict=True)]
        values = ", ".join(some[0] for some in lanes)
        if where == "@":
            return kind, [f"{c_name(name)}({values})"]
        listed = ", ".join("..." if a == "..." else KINDS[a] for a in (takes or "").split(", ") if a)
        listed = listed or ", ".join(KINDS[k] for k, _ in typed)
        return kind, [f"(({KINDS[kind]} (*)({listed}))(uintptr_t){c_name(name)})({values})"]
