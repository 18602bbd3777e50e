"""What a caller must know of a program, as lines for the head comment in every language:
arguments, units, parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from forearm.codegen.program import ARRAY, CALL, Argument, Program, Ref, Routine, Statement
from forearm.codegen.text import number

Shapes = dict[str, tuple[int, ...]]


def parameters(program: Program) -> Argument:
    """The array p, input of the program's `prepare`."""
    return Argument("p", (len(program.parameters),), "parameters, listed below")


def kept(program: Program) -> Argument:
    """The array k, computed by `prepare` from p."""
    return Argument("k", (program.kept,), f"what {program.name}_prepare made of the parameters")


def given(program: Program) -> tuple[Argument, ...]:
    """Inputs of an evaluation: those of the program, then k if there are parameters."""
    return (*program.inputs, *([kept(program)] if program.parameters else []))


def routine_arguments(program: Program, routine: Routine) -> tuple[Argument, ...]:
    """Inputs of a routine: its array, then k if it reads that."""
    return (routine.taken, *([kept(program)] if routine.needs_kept else []))


def shapes(*arguments: Argument) -> Shapes:
    """The shape of each argument by name."""
    return {a.name: a.shape for a in arguments}


def subscripts(ref: Ref, known: Shapes) -> tuple[int, ...]:
    """The subscripts, from 0, of an entry given by its flat index; none for a scalar."""
    return () if ref.index is None else tuple(int(i) for i in np.unravel_index(ref.index, known[ref.name]))


def local_shapes(statements: Iterable[Statement]) -> Shapes:
    """The shapes of local arrays that routines read and write."""
    return {s.target.name: (s.size,) for s in statements if s.role in (ARRAY, CALL)}


def title(program: Program) -> str:
    """The first line about the program."""
    return program.about[0] if program.about else program.name


def argument_lines(program: Program, array: Callable[[Argument], str]) -> list[str]:
    """A line for each argument: direction, name with shape as `array` writes it, meaning."""
    rows = [("in", a) for a in given(program)] + [("out", a) for a in program.outputs]
    return [f"  {direction:3} {array(a)}  {a.meaning}" for direction, a in rows]


def parameter_lines(program: Program, entry: Callable[[Ref], str]) -> list[str]:
    """A line for each parameter: its index in p, its name, the arm's own value."""
    pairs = zip(program.parameters, program.defaults, strict=True)
    return [f"  {entry(Ref('p', i))}  {name} = {number(value)}" for i, (name, value) in enumerate(pairs)]


def full_description(
    program: Program,
    arithmetic: str,
    array: Callable[[Argument], str],
    entry: Callable[[Ref], str],
    example: list[str],
) -> list[str]:
    """The complete head of a file: the program, its arguments, parameters and how to call it."""
    lines = [*program.about, "", f"Arguments, {arithmetic}:", *argument_lines(program, array)]
    if program.parameters:
        lines += [
            "",
            f"Parameters {array(parameters(program))} of {program.name}_prepare, with the values of the arm:",
        ]
        lines += parameter_lines(program, entry)
    return [*lines, "", "Call:", *(f"  {line}" for line in example)]
