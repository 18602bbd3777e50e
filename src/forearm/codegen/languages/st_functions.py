"""What Structured Text lacks on some PLCs: sign, atan2, rounding to even, look-ups; and number literals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

from forearm.codegen.languages import c_family
from forearm.codegen.program import Program
from forearm.codegen.text import folded, functions, number, tables
from forearm.symbols.table import LookupTable

INDENT = "    "
OWN = ("sign", "atan2", "rint")
WHOLE = {"LREAL": 4503599627370496.0, "REAL": 8388608.0}  # from here on every number is an integer
NUMBER = re.compile(r"\b\d+\.\d+")
SIGN = """
FUNCTION NAME_sign : LREAL
VAR_INPUT
    x : LREAL;
END_VAR

    IF x > 0.0 THEN
        NAME_sign := 1.0;
    ELSIF x < 0.0 THEN
        NAME_sign := -1.0;
    ELSE
        NAME_sign := x;
    END_IF;
END_FUNCTION"""
# The larger of the two is the denominator, so that the quotient is at most 1.
ATAN2 = """
FUNCTION NAME_atan2 : LREAL
VAR_INPUT
    y, x : LREAL;
END_VAR
VAR
    angle : LREAL;
END_VAR

    IF ABS(x) > ABS(y) THEN
        angle := ATAN(y / x);
        IF x < 0.0 THEN
            angle := angle + SEL(y < 0.0, HALF_TURN, -HALF_TURN);
        END_IF;
    ELSIF ABS(y) > 0.0 THEN
        angle := SEL(y < 0.0, QUARTER_TURN, -QUARTER_TURN) - ATAN(x / y);
    ELSE
        angle := x + y;
    END_IF;
    NAME_atan2 := angle;
END_FUNCTION"""
# Adding and subtracting a number of that size removes the fractional digits; each result is rounded when
# stored.
RINT = """
FUNCTION NAME_rint : LREAL
VAR_INPUT
    x : LREAL;
END_VAR
VAR
    whole, large : LREAL;
END_VAR

    IF ABS(x) < WHOLE THEN
        large := SEL(x < 0.0, WHOLE, -WHOLE);
        whole := x + large;
        whole := whole - large;
    ELSE
        whole := x;
    END_IF;
    NAME_rint := whole;
END_FUNCTION"""
LOOK_UP = """
VAR_INPUT
    x : LREAL;
END_VAR
VAR
    low, high, middle, piece : DINT;
    value : LREAL;
END_VAR

    low := 0;
    high := BREAKS;
    WHILE low < high DO
        middle := (low + high) / 2;
        IF numbers[middle] <= x THEN
            low := middle + 1;
        ELSE
            high := middle;
        END_IF;
    END_WHILE;
    piece := BREAKS + low * WIDTH;
    value := numbers[piece + 1];
    FOR middle := 2 TO ORDER DO
        value := value * (x - numbers[piece]) + numbers[piece + middle];
    END_FOR;
"""


def definitions(program: Program, kind: str, comment: Callable[[Iterable[str]], list[str]]) -> list[str]:
    """The functions that a program calls and a PLC may lack."""
    statements = program.every_statement
    needed = functions(statements)
    lines: list[str] = []
    for own, text in (("sign", SIGN), ("atan2", ATAN2), ("rint", RINT)):
        lines += _of_program(text, program.name, kind) if own in needed else []
    for table, name in tables(statements).items():
        lines += ["", *comment(c_family.LAYOUT), *_table(table, f"{program.name}_{name}", kind)]
    return lines


def called(name: str, program: Program) -> str:
    """SIN, or the program's own."""
    return f"{program.name}_{name}" if name in OWN else name.upper()


def literal(value: float, kind: str) -> str:
    """A number with digits on both sides of the point, as IEC 61131-3 requires, and with its type if REAL."""
    digits, exponent, power = number(value).partition("e")
    digits = digits if "." in digits else f"{digits}.0"
    text = f"{digits}{exponent.upper()}{power}"
    return text if kind == "LREAL" else f"REAL#{text}"


def _of_program(text: str, name: str, kind: str) -> list[str]:
    """A function on LREAL, renamed for the program and converted to its type."""
    constants = {"QUARTER_TURN": math.pi / 2.0, "HALF_TURN": math.pi, "WHOLE": WHOLE[kind]}
    text = text.replace("LREAL", kind).replace("NAME", name)
    for word, value in constants.items():
        text = text.replace(word, number(value))
    return (text if kind == "LREAL" else NUMBER.sub(r"REAL#\g<0>", text)).splitlines()


def _table(table: LookupTable, name: str, kind: str) -> list[str]:
    """The function of a table."""
    numbers = ", ".join(literal(value, kind) for value in table.numbers)
    text = LOOK_UP.replace("BREAKS", str(len(table.breaks))).replace("WIDTH", str(table.order + 1))
    text = text.replace("ORDER", str(table.order)).replace("LREAL", kind)
    lines = [
        f"FUNCTION {name} : {kind}",
        *text.strip("\n").splitlines(),
        f"{INDENT}{name} := value;",
        "END_FUNCTION",
    ]
    constant = f"numbers : ARRAY[0..{len(table.numbers) - 1}] OF {kind} := [{numbers}];"
    place = lines.index("VAR")
    return [*lines[:place], "VAR CONSTANT", *folded(constant, INDENT), "END_VAR", *lines[place:]]
