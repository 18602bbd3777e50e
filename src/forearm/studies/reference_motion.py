"""The reference motion shared by rows of a study: samples at every step, stored as text in the study's
description.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.control.reference import sampled
from forearm.errors import InputError, located
from forearm.spatial import Floats
from forearm.trajectories.planning import plan
from forearm.values import as_finite

MOST_SAMPLES = 200_000
WHOLE = 1e-9  # of a step: tolerance of a duration to a whole number of steps
AT_REST = 1e-9  # rad/s, m/s
CLOSE = 1e-9  # relative to the largest value: allowed rounding differences between processors


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Reference coordinates, velocities and accelerations at every step and at the end, (steps + 1, n)."""

    q: Floats
    qd: Floats
    qdd: Floats

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.q) - 1

    @property
    def described(self) -> dict[str, Any]:
        """The motion as JSON, bit-exact."""
        samples = np.stack([self.q, self.qd, self.qdd]).astype("<f8")
        return {
            "samples": len(self.q),
            "joints": self.q.shape[1],
            "q_qd_qdd": base64.b64encode(samples.tobytes()).decode("ascii"),
        }

    def checked(self, arm: Arm, name: str) -> ReferenceMotion:
        """The motion, checked against this arm.

        Args:
            arm: the arm.
            name: of the motion.
        """
        for x in (self.q, self.qd, self.qdd):
            as_finite(x, (len(self.q), arm.n), f"motion {name!r}")
        return self

    def then_still(self, steps: int) -> ReferenceMotion:
        """The motion, extended by this many steps at rest at its end."""
        if not steps:
            return self
        _check_steps(self.steps + steps)
        if np.abs(self.qd[-1]).max() > AT_REST:
            raise InputError(
                "the motion does not end at rest, so its end cannot be held; omit settle.", "study", "settle"
            )
        rest = np.zeros((steps, self.q.shape[1]))
        end = np.repeat(self.q[-1:], steps, axis=0)
        pairs = ((self.q, end), (self.qd, rest), (self.qdd, rest))
        return ReferenceMotion(*(np.concatenate(pair) for pair in pairs))


def motion_for(arm: Arm, given: Any, step: float, name: str, limits: Mapping[str, Any]) -> ReferenceMotion:
    """Sample a path, request or motion at every step.

    Args:
        arm: the arm.
        given: a request for `fa.plan`, a motion, or samples (q, qd, qdd).
        step: time between samples, s.
        name: of the motion.
        limits: limits for `fa.plan`, by name, if it plans.
    """
    with located(f"motion {name!r}"):
        motion = given
        is_samples = isinstance(given, tuple) and len(given) == 3 and all(np.ndim(x) == 2 for x in given)
        if not is_samples and not (hasattr(given, "at") and hasattr(given, "duration")):
            motion = plan(arm, given, **limits).motion
        if hasattr(motion, "at") and hasattr(motion, "duration"):
            _check_steps(float(motion.duration) / step)
            times = step * np.arange(math.ceil(float(motion.duration) / step - WHOLE) + 1.0)
            motion = motion.at(np.minimum(times, motion.duration))  # up to its end, if that is within a step
        found = sampled(arm, motion, step)
        _check_steps(len(found.t))
        return ReferenceMotion(found.q, found.qd, found.qdd)


def _check_steps(count: float) -> None:
    if not count <= MOST_SAMPLES:
        raise InputError(
            f"expected at most {MOST_SAMPLES} steps, got {count:.6g}; use a longer step.", "motion"
        )


def is_close(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two descriptions are of one motion, up to rounding of the processors that planned it."""
    a, b = motion_of(one), motion_of(other)
    pairs = ((a.q, b.q), (a.qd, b.qd), (a.qdd, b.qdd))
    return all(
        x.shape == y.shape and np.abs(x - y).max() <= CLOSE * np.abs(x).max(initial=1.0) for x, y in pairs
    )


def motion_of(described: Mapping[str, Any]) -> ReferenceMotion:
    """The motion from a description."""
    count, n = int(described["samples"]), int(described["joints"])
    data = base64.b64decode(described["q_qd_qdd"], validate=True)
    if len(data) != 24 * count * n or not 1 < count <= MOST_SAMPLES + 1:
        raise InputError(f"expected {count} samples of {n} joints, got {len(data)} bytes.", "motion")
    q, qd, qdd = np.frombuffer(data, "<f8").astype(np.float64).reshape(3, count, n)
    return ReferenceMotion(q, qd, qdd)
