"""Measured friction curves: residual efforts of the frictionless model by speed, with the friction law."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forearm.arm.joint import Joint
from forearm.drives.friction import across, friction_torque
from forearm.spatial import Floats
from forearm.values import frozen

if TYPE_CHECKING:
    from forearm.identification.result import Identification

BINS = 40  # of speed
LEAST = 5  # least samples of a displayed bin
INNER = 0.8  # fraction of the samples of a bin within its bar
POINTS = 161  # points per law curve; odd: the middle is standstill


@frozen
class FrictionCurve:
    """Friction of one joint over speed.

    Attributes:
        speed: middles of bins (B,), rad/s (m/s).
        low, middle, high: of efforts minus the model without friction (B,): inner quantiles, and the median.
        law_speed, law: the fitted law (P,); NaN at standstill.
        before: the law of the arm as given (P,).
    """

    speed: Floats
    low: Floats
    middle: Floats
    high: Floats
    law_speed: Floats
    law: Floats
    before: Floats


def friction_curve(found: Identification, i: int) -> FrictionCurve | None:
    """Of the i-th joint; None if it did not move."""
    new, old = found.arm.joints[i], found.before.joints[i]
    speed = found.speed[:, i]
    most = float(np.nanmax(np.abs(speed), initial=0.0))
    if most == 0.0:
        return None
    gain = found.parameters.get(f"{new.name}.gain", 1.0)
    shown = found.measured[:, i] - found.predicted[:, i] + gain * law_of(new, speed, found.torque_side)
    edges = np.linspace(-most, most, BINS + 1)
    bins = np.digitize(speed, edges[1:-1])
    parts = [(k, shown[(bins == k) & np.isfinite(shown)]) for k in range(BINS)]
    parts = [(k, part) for k, part in parts if len(part) >= LEAST]
    if not parts:
        return None
    ends = [0.5 - 0.5 * INNER, 0.5, 0.5 + 0.5 * INNER]
    low, middle, high = np.array([np.quantile(part, ends) for _, part in parts]).T
    centres = np.array([0.5 * (edges[k] + edges[k + 1]) for k, _ in parts])
    grid = np.linspace(-most, most, POINTS)
    grid[POINTS // 2] = 0.0
    laws = [gain * law_of(joint, grid, found.torque_side) for joint in (new, old)]
    for law in laws:
        law[POINTS // 2] = np.nan
    return FrictionCurve(centres, low, middle, high, grid, laws[0], laws[1])


def law_of(joint: Joint, speed: Floats, torque_side: str) -> Floats:
    """Friction of a joint at speeds (T,), on the joint side, N m (N), as far as observable on that side of
    the gear; load-dependent parts are omitted.
    """
    friction = joint.friction
    if friction is None or (torque_side == "link" and friction.side == "motor"):
        return np.zeros_like(speed)
    is_geared = friction.side == "motor" and joint.motor is not None
    law = across(friction, abs(joint.motor.gear_ratio)) if is_geared and joint.motor else friction
    return np.asarray(friction_torque(law, speed, np.sign(speed)), dtype=np.float64)
