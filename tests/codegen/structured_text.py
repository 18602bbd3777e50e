"""A strict interpreter of the Structured Text that is generated, with a grammar of its own.

Names are declared before use, without regard to case, and are no words of the language; types are those of
IEC 61131-3, with no conversion but that of a literal; subscripts are counted; every line is read to its end.
`units` gives functions and classes of function blocks by name in lower case. A variable that is read before
it is written is NaN, or an error if it is a whole number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from codegen.structured_text_grammar import BUILTIN, DTYPES, Reader, Type, Unit, tokens


def units(text: str) -> dict[str, Any]:
    """What a text declares, to be called: functions with numbers, blocks with arrays by name."""
    reader = Reader(tokens(text))
    scope: dict[str, Any] = {"np": np, "choose": lambda g, no, yes: yes if g else no, **BUILTIN}
    while reader.rest:
        unit = reader.unit()
        source = _function(unit) if unit.kind == "function" else _block(unit)
        exec(compile(source, f"<{unit.name}>", "exec"), scope)
    return {name: scope[name] for name in reader.units}


def _function(unit: Unit) -> str:
    """A function of Python, whose constants are arrays of its own."""
    constants = [
        f"v_{name} = np.array({values!r}, np.{np.dtype(DTYPES[unit.types[name].name]).name})"
        for name, values in unit.initial.items()
    ]
    arguments = ", ".join(f"v_{name}" for name in unit.sections["var_input"])
    body = [f"def {unit.name}({arguments}):", *(f"    {line}" for line in constants), *unit.lines]
    return "\n".join([*body, f"    return v_{unit.name}"]) + "\n"


def _block(unit: Unit) -> str:
    """A class: arrays, outputs and blocks are kept in it; a call takes inputs by name."""
    lines = [f"class {unit.name}:", "    def __init__(self):", "        pass"]
    for section in ("var_input", "var_output", "var"):
        lines += [line for name in unit.sections.get(section, []) for line in _kept(unit, name, section)]
    lines += ["    def __call__(self, **given):", "        for name, value in given.items():"]
    lines += ["            getattr(self, name)[...] = value"]
    taken = [name for name in unit.sections.get("var_input", []) if not unit.types[name].last]
    lines += [f"        v_{name} = self.{name}[()]" for name in taken]
    lines += unit.lines
    for method in unit.methods.values():
        inputs = method.sections.get("var_input", [])
        lines += [f"    def {method.name}(self, {', '.join(f'v_{name}' for name in inputs)}):"]
        made = method.sections.get("var_output", [])
        lines += [f"        v_{name} = {_empty(method.types[name])}" for name in made]
        lines += [
            *method.lines,
            f"        return v_{method.name}, [{', '.join(f'v_{name}' for name in made)}]",
        ]
    return "\n".join(lines) + "\n"


def _kept(unit: Unit, name: str, section: str) -> list[str]:
    of = unit.types[name]
    if of.name not in (*DTYPES, "DINT"):
        return [f"        self.{name} = {of.name}()"]
    if section == "var" and not of.last:
        return []
    if name in unit.initial:
        return [
            f"        self.{name} = np.array({unit.initial[name]!r}, np.{np.dtype(DTYPES[of.name]).name})"
        ]
    return [f"        self.{name} = {_empty(of)}"]


def _empty(of: Type) -> str:
    shape = tuple(last + 1 for last in of.last)
    return f"np.full({shape}, np.nan, np.{np.dtype(DTYPES[of.name]).name})"
