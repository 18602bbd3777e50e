"""Implausible positions and velocities: degrees, motor turns, swapped joints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.arm.joint import Joint
from forearm.errors import InputError, Keyword, Sentence
from forearm.identification.log_derivatives import smoothed
from forearm.identification.signals.table import LogTable
from forearm.logs.columns import listed
from forearm.spatial import Floats
from forearm.values import frozen

DEGREE = math.pi / 180.0
TURN = 2.0 * math.pi
BEYOND = 0.1  # of a joint's range: excess over its limits explained by a zero offset
FAST = 10.0  # times max_speed: implausible
NARROW = 0.01  # of a joint's range: too small to be a motion
NEAR = 1.15  # factor within which a ratio counts as a known one
ALIKE = 0.9  # correlation of velocities that are the same
UNLIKE = 0.5
HALF = 6  # half window of velocities compared with logged ones


@frozen
class MotionRange:
    """Extent of positions, (n,) each: minimum, maximum, a speed that is seldom exceeded, and whether their
    unit is certain.
    """

    low: Floats
    high: Floats
    fastest: Floats
    is_sure: NDArray[np.bool_]


@dataclass(frozen=True)
class UnitDoubt:
    """A possible unit of a column: its factor to SI, its name, and the remedy."""

    factor: float
    what: str
    remedy: str


def position_doubts(arm: Arm, table: LogTable, motion: MotionRange) -> list[str]:
    """Refuse positions in other units; report what may be right."""
    found = []
    for i, joint in enumerate(arm.joints):
        name, (lower, upper) = table.names[table.position][i], joint.limits
        low, high = float(motion.low[i]), float(motion.high[i])
        worst = low if abs(low) > abs(high) else high
        outside, span = max(lower - low, high - upper), upper - lower
        least = math.pi if joint.kind == "revolute" else 0.0
        if span == 0.0:
            continue  # default limits
        limits = f"the limits of {joint.name}, {lower:.4g} to {upper:.4g}"
        if not motion.is_sure[i] and outside > max(span, least) / 2.0:
            raise InputError(
                f"reaches {worst:.6g}, beyond {limits}. {_question(arm, motion, i)}",
                table.name,
                f"column {name!r}",
            )
        top = joint.max_speed
        if not motion.is_sure[i] and top is not None and motion.fastest[i] > FAST * top > 0.0:
            raise InputError(
                f"moves at {motion.fastest[i]:.4g} per s; the limit of {joint.name} is "
                f"{top:.4g}. {_question(arm, motion, i)}",
                table.name,
                f"column {name!r}",
            )
        if outside > BEYOND * span and math.isfinite(span):
            found.append(
                f"{name!r} reaches {worst:.4g}, beyond {limits}. Does its zero differ from the model's?"
            )
    return found


def _question(arm: Arm, motion: MotionRange, i: int) -> str:
    """Units that would bring all joints like it, or joint i alone, within limits, and the remedy."""
    joint = arm.joints[i]
    units = _position_units(joint)
    alike = [(k, j) for k, j in enumerate(arm.joints) if j.kind == joint.kind]
    of_all = [unit for k, unit in enumerate(units) if _fits(motion, alike, k)]
    of_this = [unit for k, unit in enumerate(units) if _fits(motion, [(i, joint)], k)]
    asked = "; or ".join(f"{unit.what}? {unit.remedy}" for unit in of_all or of_this or units)
    sure = " If the values are right, set units to rad." if joint.kind == "revolute" else ""
    return f"Are these {asked}.{sure}" if asked else f"Check its unit.{sure}"


def _position_units(joint: Joint) -> list[UnitDoubt]:
    """Units that a joint's positions may be in by mistake, the same list for all joints of a kind with
    gears.
    """
    if joint.kind != "revolute":
        return [UnitDoubt(1e3, "millimetres", "Divide them by 1000")]
    units = [UnitDoubt(1.0 / DEGREE, "degrees", "Set units to deg (--units deg)")]
    ratio = _ratio(joint)
    if ratio > 1.5:
        units += [
            UnitDoubt(
                ratio / TURN, f"motor turns, with gear ratio {ratio:g}", f"Multiply them by 2 pi / {ratio:g}"
            ),
            UnitDoubt(ratio, f"rad of the motor, with gear ratio {ratio:g}", f"Divide them by {ratio:g}"),
        ]
    return units


def _fits(motion: MotionRange, joints: Sequence[tuple[int, Joint]], k: int) -> bool:
    """Whether unit k of each of these joints yields feasible motions."""
    widths = []
    for i, joint in joints:
        if len(_position_units(joint)) <= k:
            continue
        factor = _position_units(joint)[k].factor
        low, high, (lower, upper) = motion.low[i] / factor, motion.high[i] / factor, joint.limits
        span = upper - lower
        margin = BEYOND * span if math.isfinite(span) else 0.0
        is_slow = joint.max_speed is None or motion.fastest[i] / factor <= FAST * joint.max_speed
        if not (lower - margin <= low and high <= upper + margin and is_slow):
            return False
        widths.append((high - low) / (span if math.isfinite(span) else TURN))
    return bool(max(widths) > NARROW)


def velocity_doubts(arm: Arm, table: LogTable, stretches: Sequence[Floats], is_used: bool) -> list[str]:
    """Compare logged velocities with those of the positions: wrong unit, sign or joint. Refused if velocities
    are used.
    """
    long = [rows for rows in stretches if len(rows) > 2 * HALF + 1]
    if not table.has("qd") or not long:
        return []
    q, qd = table.at(table.position), table.at("qd")
    moved = np.concatenate([smoothed(rows[:, 0], rows[:, q], HALF).qd for rows in long])
    told = np.concatenate([rows[HALF : len(rows) - HALF, qd] for rows in long])
    good = np.isfinite(told).all(axis=1)
    if not good.any():
        return []
    said = _velocity_sentences(arm, table, moved[good], told[good])
    if said and is_used:
        remedy = Keyword("derivatives", "position")
        text = f"column {said[0]} Or compute derivatives from the positions: "
        raise InputError(Sentence(text, remedy, "."), table.name)
    return [f"{text} Velocities are computed from the positions instead." for text in said]


def _velocity_sentences(arm: Arm, table: LogTable, moved: Floats, told: Floats) -> list[str]:
    sizes = np.sqrt(np.mean(moved**2, axis=0)), np.sqrt(np.mean(told**2, axis=0))
    alike = (told.T @ moved) / (len(moved) * np.maximum(np.outer(sizes[1], sizes[0]), 1e-300))
    names, positions = table.names["qd"], table.names[table.position]
    said = []
    scaled: dict[UnitDoubt, list[int]] = {}
    for i, joint in enumerate(arm.joints):
        best = int(np.argmax(np.abs(alike[i])))
        if best != i and abs(alike[i, best]) > ALIKE and abs(alike[i, i]) < UNLIKE:
            said.append(
                f"{names[i]!r} is the velocity of {positions[best]!r}, not of {positions[i]!r}. Are columns "
                "swapped? Assign them with columns."
            )
        elif alike[i, i] < -ALIKE:
            said.append(f"{names[i]!r} has the opposite sign of the change of {positions[i]!r}. Reverse one.")
        elif alike[i, i] > ALIKE:
            ratio = sizes[1][i] / sizes[0][i]
            units = [u for u in _velocity_units(joint) if u.factor / NEAR < ratio < u.factor * NEAR]
            if units:
                scaled.setdefault(units[0], []).append(i)
    for unit, which in scaled.items():
        said.append(
            f"{listed([repr(names[i]) for i in which])}: {unit.factor:.4g} times how fast "
            f"{listed([repr(positions[i]) for i in which])} change{'s' if len(which) == 1 else ''}: "
            f"{unit.what}? {unit.remedy}"
        )
    return said


def _velocity_units(joint: Joint) -> list[UnitDoubt]:
    """Ratios of logged velocities to those of logged positions, and their causes."""
    ratio = _ratio(joint)
    units = []
    if joint.kind == "revolute":
        units = [
            UnitDoubt(1.0 / DEGREE, "velocities in degrees per s", "Bring positions and velocities to rad."),
            UnitDoubt(DEGREE, "positions in degrees", "Bring positions and velocities to rad."),
            UnitDoubt(TURN, "positions in turns", "Multiply them by 2 pi."),
            UnitDoubt(1.0 / TURN, "velocities in turns per s", "Multiply them by 2 pi."),
            UnitDoubt(60.0 / TURN, "velocities in turns per minute", "Multiply them by 2 pi / 60."),
        ]
    if ratio > 1.5:
        units += [
            UnitDoubt(ratio, f"velocities of the motor, gear ratio {ratio:g}", f"Divide them by {ratio:g}."),
            UnitDoubt(1.0 / ratio, f"positions of the motor, gear ratio {ratio:g}", f"Divide by {ratio:g}."),
        ]
    return units


def _ratio(joint: Joint) -> float:
    return abs(joint.motor.gear_ratio) if joint.motor is not None else 1.0
