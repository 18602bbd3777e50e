"""Positions and velocities that cannot be what they are said to be: degrees, motor turns, other joints'."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.joint import Joint
from forearm.errors import InputError
from forearm.identification.log_derivatives import smoothed
from forearm.identification.signals.table import LogTable
from forearm.spatial import Floats

DEGREE = math.pi / 180.0
TURN = 2.0 * math.pi
BEYOND = 0.1  # of a joint's range: so far outside of its limits it may be by its zero
FAST = 3.0  # times max_speed: no joint moves like that
NEAR = 1.15  # a factor within which a ratio is one that is known
ALIKE = 0.9  # correlation of velocities that are the same
UNLIKE = 0.5
HALF = 6  # half window of velocities that logged ones are held against


@dataclass(frozen=True)
class Doubt:
    """A unit that a column may have: how many of it are one of ours, what it is, and what to do."""

    factor: float
    what: str
    remedy: str


def position_doubts(
    arm: Arm, table: LogTable, low: Floats, high: Floats, fastest: Floats, is_told: bool
) -> list[str]:
    """Refuse positions from `low` to `high` (n,), with speeds up to `fastest`, that are in other units;
    what may be right is said.
    """
    found = []
    for i, joint in enumerate(arm.joints):
        name = table.names[table.position][i]
        worst = float(high[i] if abs(high[i]) >= abs(low[i]) else low[i])
        outside = max(joint.limits.lower - low[i], high[i] - joint.limits.upper)
        span = joint.limits.upper - joint.limits.lower
        too_far = (
            math.isfinite(span) and outside > max(span, math.pi if joint.kind == "revolute" else 0.0) / 2
        )
        too_fast = joint.max_speed is not None and fastest[i] > FAST * max(joint.max_speed, 1e-300)
        if (too_far or (too_fast and abs(worst) > math.pi)) and not is_told:
            said = (
                f"reaches {worst:.6g}, beyond the limits of {joint.name}, {joint.limits.lower:.4g} to "
                f"{joint.limits.upper:.4g}"
                if too_far
                else f"moves at {fastest[i]:.4g} per s, {joint.name} at {joint.max_speed:.4g} at most"
            )
            raise InputError(
                f"{table.name}, column {name!r}: {said}. {_question(joint, low[i], high[i], fastest[i])}"
            )
        if outside > BEYOND * span and math.isfinite(span):
            found.append(
                f"{name!r} reaches {worst:.4g}, beyond the limits of {joint.name}, {joint.limits.lower:.4g} to "
                f"{joint.limits.upper:.4g}. Is its zero another than the model's?"
            )
    return found


def _question(joint: Joint, low: float, high: float, fastest: float) -> str:
    """Which units would fit, and what to do."""
    doubts = [
        doubt for doubt in _position_units(joint) if _fits(joint, low, high, fastest, doubt.factor)
    ] or _position_units(joint)
    asked = ", or ".join(f"{doubt.what}: {doubt.remedy}" for doubt in doubts)
    sure = " If they are right, say so by units: rad." if joint.kind == "revolute" else ""
    return f"Are these {asked}?{sure}"


def _position_units(joint: Joint) -> list[Doubt]:
    ratio = abs(joint.motor.gear_ratio) if joint.motor is not None else 1.0
    turning = joint.kind == "revolute"
    units = [Doubt(1.0 / DEGREE, "degrees", "say so by units: deg (--units deg)")] if turning else []
    if not turning:
        units.append(Doubt(1e3, "millimetres", "divide them by 1000"))
    if ratio > 1.5:
        units += [
            Doubt(ratio / TURN, f"turns of a motor with gear ratio {ratio:g}", f"multiply them by 2 pi / {ratio:g}"),
            Doubt(ratio, f"motor angles in rad with gear ratio {ratio:g}", f"divide them by {ratio:g}"),
            Doubt(ratio / DEGREE, f"motor angles in degrees with gear ratio {ratio:g}",
                  f"divide them by {ratio:g} and say units: deg"),
        ]  # fmt: skip
    return units


def _fits(joint: Joint, low: float, high: float, fastest: float, factor: float) -> bool:
    lower, upper = joint.limits
    margin = 0.05 * (upper - lower) if math.isfinite(upper - lower) else 0.0
    is_inside = lower - margin <= low / factor and high / factor <= upper + margin
    return is_inside and (joint.max_speed is None or fastest / factor <= 1.2 * joint.max_speed)


def velocity_doubts(arm: Arm, table: LogTable, stretches: Sequence[Floats], is_used: bool) -> list[str]:
    """Logged velocities against those of the positions: wrong units, a wrong sign, another joint's. Where
    velocities are used that is refused.
    """
    if not table.has("qd") or not stretches:
        return []
    q, qd = table.at(table.position), table.at("qd")
    long = [rows for rows in stretches if len(rows) > 2 * HALF + 1]
    if not long:
        return []
    moved = np.concatenate([smoothed(rows[:, 0], rows[:, q], HALF).qd for rows in long])
    told = np.concatenate([rows[HALF : len(rows) - HALF, qd] for rows in long])
    good = np.isfinite(told).all(axis=1)
    said = _velocity_sentences(arm, table, moved[good], told[good])
    if said and is_used:
        raise InputError(
            f"{table.name}, column {said[0]} Or take derivatives from the positions: derivatives='position'."
        )
    return [f"{text} It is not used: velocities are taken from the positions." for text in said]


def _velocity_sentences(arm: Arm, table: LogTable, moved: Floats, told: Floats) -> list[str]:
    sizes = np.sqrt(np.mean(moved**2, axis=0)), np.sqrt(np.mean(told**2, axis=0))
    alike = (told.T @ moved) / (len(moved) * np.maximum(np.outer(sizes[1], sizes[0]), 1e-300))
    said = []
    names, positions = table.names["qd"], table.names[table.position]
    for i, joint in enumerate(arm.joints):
        if sizes[0][i] == 0.0 or sizes[1][i] == 0.0:
            continue
        best = int(np.argmax(np.abs(alike[i])))
        if best != i and abs(alike[i, best]) > ALIKE and abs(alike[i, i]) < UNLIKE:
            said.append(
                f"{names[i]!r} is the velocity of {positions[best]!r}, not of {positions[i]!r}: are columns "
                "swapped? Say which is which by columns, or swap them."
            )
            continue
        if abs(alike[i, i]) < ALIKE:
            continue
        if alike[i, i] < 0.0:
            said.append(
                f"{names[i]!r} has the opposite sign of how {positions[i]!r} changes: turn one of them round."
            )
            continue
        ratio = sizes[1][i] / sizes[0][i]
        for doubt in _velocity_units(joint):
            if doubt.factor / NEAR < ratio < doubt.factor * NEAR:
                said.append(
                    f"{names[i]!r} is {ratio:.4g} times how fast {positions[i]!r} changes: {doubt.what}? "
                    f"{doubt.remedy}"
                )
                break
    return said


def _velocity_units(joint: Joint) -> list[Doubt]:
    """Ratios of logged velocities to those of logged positions, and what makes them."""
    ratio = abs(joint.motor.gear_ratio) if joint.motor is not None else 1.0
    units = []
    if joint.kind == "revolute":
        units = [
            Doubt(1.0 / DEGREE, "velocities in degrees per s, or positions in other units",
                  "Bring both to rad and rad/s."),
            Doubt(DEGREE, "positions in degrees", "Say units: deg, with velocities in degrees per s too."),
            Doubt(TURN, "positions in turns", "Multiply them by 2 pi."),
            Doubt(1.0 / TURN, "velocities in turns per s", "Multiply them by 2 pi."),
            Doubt(60.0 / TURN, "velocities in turns per minute", "Multiply them by 2 pi / 60."),
        ]  # fmt: skip
    if ratio > 1.5:
        units += [
            Doubt(ratio, f"velocities of the motor, gear ratio {ratio:g}", f"Divide them by {ratio:g}."),
            Doubt(1.0 / ratio, f"positions of the motor, gear ratio {ratio:g}", f"Divide them by {ratio:g}."),
        ]
    return units
