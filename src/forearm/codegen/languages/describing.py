"""What a caller must know of a program, as lines for the head comment in every language:
arguments, units, parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from forearm.codegen.program import ARRAY, CALL, REPEAT, Argument, Arguments, Program, Ref, Statements
from forearm.codegen.text import number, paragraphs, read

Shapes = dict[str, tuple[int, ...]]


def parameters(program: Program) -> Argument:
    """The array p, input of the program's `prepare`."""
    return Argument("p", (len(program.parameters),), "parameters, listed below")


def kept(program: Program) -> Argument:
    """The array k, computed by `prepare` from p."""
    return Argument("k", (program.kept,), f"what {program.name}_prepare made of the parameters")


def given(program: Program) -> Arguments:
    """Inputs of an evaluation: those of the program, then k if there are parameters."""
    return (*program.inputs, *([kept(program)] if program.parameters else []))


@dataclass(frozen=True)
class TextFunction:
    """A function of a program as text: a routine, `prepare` or the evaluation."""

    name: str
    taken: Arguments
    made: Arguments
    statements: Statements
    is_routine: bool = False

    @property
    def arguments(self) -> Arguments:
        """Inputs and outputs."""
        return (*self.taken, *self.made)

    @property
    def arrays(self) -> Shapes:
        """The shapes of local arrays that routines read and write."""
        return {s.target.name: (s.size,) for s in self.statements if s.role in (ARRAY, CALL)}

    @property
    def shapes(self) -> Shapes:
        """The shape of each array by name."""
        return {a.name: a.shape for a in self.arguments} | self.arrays

    @property
    def unused(self) -> list[str]:
        """Arguments that no statement mentions."""
        used = read(self.statements) | {s.target.name for s in self.statements}
        return [a.name for a in self.arguments if a.name not in used]

    @property
    def counters(self) -> list[str]:
        """The counters of loops, each once."""
        return list(dict.fromkeys(s.target.name for s in self.statements if s.role == REPEAT))

    @property
    def values(self) -> list[str]:
        """The local scalars that are no counters, each once."""
        own = dict.fromkeys(s.target.name for s in self.statements if s.target.index is None)
        return [name for name in own if name not in self.counters and name not in self.arrays]


def functions_of(
    program: Program, called: Callable[[str], str] = str
) -> tuple[list[TextFunction], list[TextFunction], TextFunction]:
    """Routines, by names that `called` makes of their own; `prepare`, if there are parameters; the
    evaluation.
    """
    routines = [
        TextFunction(
            called(r.name),
            (r.taken, *([kept(program)] if r.needs_kept else [])),
            (r.made,),
            r.statements,
            True,
        )
        for r in program.routines
    ]
    p, k = parameters(program), kept(program)
    prepare = TextFunction(f"{program.name}_prepare", (p,), (k,), program.prepare)
    evaluation = TextFunction(program.name, given(program), program.outputs, program.statements)
    return routines, [prepare] if program.parameters else [], evaluation


def names(arguments: Iterable[Argument]) -> str:
    """The names of arguments, with commas between."""
    return ", ".join(a.name for a in arguments)


def marked(lines: Iterable[str], mark: str) -> list[str]:
    """Comment lines that begin with a mark."""
    return [f"{mark} {line}".rstrip() for line in paragraphs(lines)]


def subscripts(ref: Ref, known: Shapes) -> tuple[int, ...]:
    """The subscripts, from 0, of an entry given by its flat index; none for a scalar."""
    return () if ref.index is None else tuple(int(i) for i in np.unravel_index(ref.index, known[ref.name]))


def one_based(ref: Ref) -> str:
    """p(1), an entry in languages that count from 1."""
    return f"{ref.name}({(ref.index or 0) + 1})"


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
