"""Coverage of the joints' capability by logs: range, speed, acceleration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forearm.spatial import Floats

if TYPE_CHECKING:
    from forearm.identification.result import Identification


@dataclass(frozen=True)
class Moved:
    """How far and how fast a joint moved in the logs.

    Attributes:
        reach: fraction of its range, of a full turn without limits; NaN for a prismatic joint without limits.
        speed: largest, rad/s (m/s).
        share: fraction of its maximum speed, NaN if unknown.
        acceleration: rms, rad/s^2 (m/s^2).
        effort: rms, N m (N).
    """

    reach: float
    speed: float
    share: float
    acceleration: float
    effort: float


def movements(found: Identification) -> list[Moved]:
    """How far and how fast each joint moved."""
    accelerations, efforts = _accelerations(found), np.sqrt(np.nanmean(found.measured**2, axis=0))
    made = []
    for i, joint in enumerate(found.before.joints):
        known = [log.signals for log in found.logs]
        fastest = max(float(s.fastest[i]) for s in known)
        share = fastest / joint.max_speed if joint.max_speed else math.nan
        whole = joint.limits.upper - joint.limits.lower
        whole = whole if math.isfinite(whole) else 2.0 * math.pi if joint.kind == "revolute" else math.nan
        crossed = max(float(s.q_high[i]) for s in known) - min(float(s.q_low[i]) for s in known)
        reach = crossed / whole if whole else math.nan
        made.append(Moved(reach, fastest, share, float(accelerations[i]), float(efforts[i])))
    return made


def _accelerations(found: Identification) -> Floats:
    """Rms of qdd (n,), from speeds at the stored samples."""
    steps = np.diff(found.t)
    usual = np.median(steps[steps > 0.0]) if (steps > 0.0).any() else 1.0
    even = (steps > 0.0) & (steps < 3.0 * usual) & (np.diff(found.log_of) == 0.0)
    if not even.any():
        return np.zeros(found.arm.n)
    rates = np.diff(found.speed, axis=0)[even] / steps[even, None]
    return np.asarray(np.sqrt(np.nanmean(rates**2, axis=0)))
