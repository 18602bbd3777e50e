"""A fixed-point program as C99: integer arithmetic only, nothing from math.h."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from forearm.codegen.languages import c_family
from forearm.codegen.languages.c_family import INDENT
from forearm.codegen.text import folded
from forearm.control import fixed_point_sine as sines
from forearm.control.fixed_point_plan import FixedPointStep, Steps, constant
from forearm.symbols import Expr, Graph
from forearm.symbols.graph import ABS, ADD, CHOOSE, CONSTANT, COS, DIV, INPUT, MUL, SIGN, SIN, SQRT, SUB

if TYPE_CHECKING:
    from forearm.control.fixed_code import FixedPoint

SHIFTS = """\
#if (-1 >> 1) != -1
#error "shifting a negative number down must keep its sign"
#endif
"""
ROOT = """\
/* The whole part of a square root. */
static int64_t whole_root(int64_t x)
{
    uint64_t left = x > 0 ? (uint64_t)x : 0, root = 0, bit = UINT64_C(1) << 62;

    while (bit > left)
        bit >>= 2;
    for (; bit != 0; bit >>= 2) {
        if (left >= root + bit) {
            left -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (int64_t)root;
}
"""
WITHIN = """\
/* The number, or the end of the range beyond which it lies. */
static int{word}_t within(int{word}_t x, int{word}_t low, int{word}_t high)
{{
    return x < low ? low : (x > high ? high : x);
}}
"""


def source(program: FixedPoint) -> str:
    """The definition of the function."""
    name, about, steps, word, ends = (program.name, program.about, program.steps, program.word, program.ends)
    graph, (inputs, outputs) = program.graph, program.arguments
    names = _names(graph, steps)
    lines = [
        *c_family.comment(
            [about[0], f"{name}.h has arguments, formats and what the results can be wrong by."]
        )
    ]
    lines += [f'#include "{name}.h"', "", SHIFTS]
    kinds = {step.kind for step in steps.values()}
    lines += [sines.C_TEXT] if kinds & {SIN, COS} else []
    lines += [ROOT] if SQRT in kinds else []
    lines += [WITHIN.format(word=word)] if ends else []
    lines += [*_signature(program), "{"]
    used = {graph.leaves[p].split("[")[0] for p, s in steps.items() if s.kind == INPUT}
    lines += [f"{INDENT}(void){a.name};" for a in inputs if a.name not in used]
    section = ""
    for place, step in steps.items():
        if step.kind in (CONSTANT, INPUT):
            continue
        if graph.sections[place] != section:
            section = graph.sections[place]
            lines += [
                "",
                *([f"{INDENT}/* {' '.join(re.findall(r'[A-Za-z0-9_,.]+', section))} */"] if section else []),
            ]
        lines += folded(f"const int{word}_t {names(place)} = {_text(step, steps, names, word)};", INDENT)
    lines.append("")
    for output in outputs:
        for i, value in enumerate(program.results[output.name]):
            text = _result(value, names, word)
            if output.name in ends:
                text = f"within({text}, {', '.join(map(str, ends[output.name][i]))})"
            lines.append(f"{INDENT}{output.name}[{i}] = {text};")
    return "\n".join([*lines, "}"]) + "\n"


def _signature(program: FixedPoint) -> list[str]:
    """The prototype void NAME(const int32_t q[6], ..., int32_t tau[6]), split into lines."""
    inputs, outputs = (
        [f"int{program.word}_t {a.name}[{max(a.size, 1)}]" for a in some] for some in program.arguments
    )
    taken = [f"const {text}" for text in inputs]
    return folded(f"void {program.name}({', '.join([*taken, *outputs])})")


def header(program: FixedPoint) -> str:
    """The declaration, and the formats as macros that a program can use."""
    name = program.name.upper()
    lines = ["#include <stdint.h>", "", "/* Bits behind the point of each entry: value = number / 2^bits. */"]
    for key, bits in program.formats.items():
        lines.append(f"#define {name}_{key.upper()}_BITS {{{', '.join(map(str, bits))}}}")
    *declared, last = _signature(program)
    return c_family.header(f"{name}_H", program.about, [*declared, f"{last};"], [*lines, ""])


def _names(graph: Graph, steps: Steps) -> Callable[[int], str]:
    """Names as in other generated code, each with its index appended for uniqueness."""

    def name(place: int) -> str:
        step = steps[place]
        if step.kind == CONSTANT:
            return str(step.number) if abs(step.number) < 2**15 else f"INT32_C({step.number})"
        if step.kind == INPUT:
            return graph.leaves[place]
        plain = re.sub(r"\W", "c", graph.names.get(place, "t"), flags=re.ASCII)[:40]
        return f"{plain}_{place}"

    return name


def _text(step: FixedPointStep, steps: Steps, names: Callable[[int], str], word: int) -> str:
    wide = f"int{2 * word}_t"
    a = names(step.left)
    if step.kind == MUL:
        return _narrowed(f"({wide}){a} * {names(step.right)}", step.down, word)
    if step.kind in (ADD, SUB):
        x, y = (_lifted(names(p), up, wide, word) for p, up in step.lifted)
        return _narrowed(f"{x} {'+' if step.kind == ADD else '-'} {y}", step.down, word)
    if step.kind == CHOOSE:
        a, b, x, y = (_lifted(names(p), up, wide, word) for p, up in (*step.lifted, *step.branches))
        return f"(int{word}_t)({a} < {b} ? {x} : {y})"
    if step.kind == DIV:
        return _narrowed(f"{_lifted(a, step.up_a, wide, word)} / {names(step.right)}", step.down, word)
    if step.kind in (SIN, COS):
        bits = steps[step.left].bits + sines.TURN_FRACTION - 32
        phase = f"(uint32_t)({_rounded(f'(int64_t){a} * INT64_C({sines.TURNS})', bits, 64)})"
        turned = f"turn_sine({phase}{' + UINT32_C(1073741824)' if step.kind == COS else ''})"
        return (
            turned if step.down == 0 else f"(int{word}_t)(({turned} + {1 << (step.down - 1)}) >> {step.down})"
        )
    if step.kind == SQRT:
        return f"(int{word}_t)whole_root((int64_t){a} * INT64_C({1 << step.up_a}))"
    if step.kind == ABS:
        return f"(int{word}_t)({a} < 0 ? -{a} : {a})"
    assert step.kind == SIGN, step.kind
    return f"(int{word}_t)(({a} > 0) - ({a} < 0))"


def _lifted(name: str, up: int, wide: str, word: int) -> str:
    """name 2^up as a product, since shifting negative numbers left is undefined."""
    if up == 0:
        return f"({wide}){name}"
    if up > 0:
        return f"({wide}){name} * INT{2 * word}_C({1 << up})"
    return f"({_rounded(f'({wide}){name}', -up, 2 * word)})"


def _rounded(text: str, down: int, width: int) -> str:
    return text if down == 0 else f"({text} + INT{width}_C({1 << (down - 1)})) >> {down}"


def _narrowed(text: str, down: int, word: int) -> str:
    return f"(int{word}_t)({_rounded(text, down, 2 * word)})"


def _result(value: Expr | float, names: Callable[[int], str], word: int) -> str:
    if not isinstance(value, Expr):
        return str(constant(value, word).number)
    text = names(value.node)
    return f"(int{word}_t)(-{text})" if value.negative else text
