"""Inverse dynamics of many data sets: the rows of a file, in compiled code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.motor import voltage_of
from forearm.errors import InputError
from forearm.interpreter.variables import Variables
from forearm.logs.columns import Columns, Question, find_columns
from forearm.logs.stream import STANDARD, Log, check_apart, reading, writing
from forearm.spatial import Floats

SWARTZ = ("theta", "omega", "alpha")
OURS = ("q", "qd", "qdd")
MAX_SHOWN = 20_000  # rows
Inverse = Callable[[Floats, Floats, Floats], Floats]


def torques_to_file(variables: Variables, source: str, target: str) -> int:
    """Write the rows of a file with torques, and voltages if motors are known, appended; return the number of
    rows.
    """
    count = 0
    check_apart(source, target)
    with reading(plain(source)) as log:
        columns, made = _columns(log, variables, is_written=True)
        inverse = _inverse(variables.arm)
        with writing(plain(target), log, replace(columns, made=made)) as writer:
            for block in log.blocks(columns, whole=True):
                writer.write(block, _results(variables, inverse, block.states))
                count += block.count
    return count


def torques_of_file(variables: Variables, source: str) -> tuple[tuple[str, ...], Floats]:
    """Names and values (rows, n or 2 n) of the torques, and voltages if motors are known, for the rows of a
    file.
    """
    with reading(plain(source)) as log:
        columns, made = _columns(log, variables, is_written=False)
        inverse = _inverse(variables.arm)
        results, count = [], 0
        for block in log.blocks(columns, whole=False):
            results.append(_results(variables, inverse, block.states))
            count += block.count
            if count > MAX_SHOWN:
                raise InputError(
                    f"more than {MAX_SHOWN} rows, the limit of the screen; give a file for the results.",
                    log.name,
                )
    return made, np.concatenate(results) if results else np.zeros((0, len(made)))


def plain(path: str) -> str:
    """A file name; standard input and output belong to the session."""
    if path == STANDARD:
        raise InputError("standard input and output are used by the session; give a file name.", "-")
    return path


def _columns(log: Log, variables: Variables, is_written: bool) -> tuple[Columns, tuple[str, ...]]:
    """Columns of theta, omega, alpha (or q, qd, qdd), and the names of the new columns."""
    needed, made = (
        (SWARTZ, "torque") if any(name.startswith(SWARTZ) for name in log.header) else (OURS, "tau")
    )
    question = Question(tuple(j.name for j in variables.arm.joints), needed, made)
    columns = find_columns(log.header, question, log.name, is_written)
    if variables.voltage is None:
        return columns, columns.made
    voltages = tuple("voltage" + name.removeprefix(made) for name in columns.made)
    twice = set(voltages) & set(log.header)
    if is_written and twice:
        raise InputError(
            f"{min(twice)!r} is a result column, but the file has one already; rename it there.", log.name
        )
    return columns, (*columns.made, *voltages)


def _inverse(arm: Arm) -> Inverse:
    from forearm.kernels.kernel import compile as compile_arm  # imported here: it loads the compiler

    return compile_arm(arm).inverse_dynamics


def _results(variables: Variables, inverse: Inverse, states: Mapping[str, Floats]) -> Floats:
    names = SWARTZ if "theta" in states else OURS
    torque = inverse(*(states[name] for name in names))
    if variables.voltage is None:
        return torque
    return np.hstack([torque, voltage_of(variables.arm, torque, states[names[1]])])
