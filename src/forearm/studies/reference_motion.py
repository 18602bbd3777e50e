"""A motion that the rows of a study share: its samples at every step, as text in the study's description."""

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

MOST_SAMPLES = 200_000
WHOLE = 1e-9  # of a step: what a duration may exceed a whole number of them by
AT_REST = 1e-9  # rad/s, m/s
CLOSE = 1e-9  # relative to the largest: what rounding of another processor may make of a motion


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Coordinates, velocities and accelerations wanted at every step and at the end, (steps + 1, n) each."""

    q: Floats
    qd: Floats
    qdd: Floats

    @property
    def steps(self) -> int:
        """How many steps it takes."""
        return len(self.q) - 1

    @property
    def described(self) -> dict[str, Any]:
        """It as JSON knows it, to the last bit."""
        samples = np.stack([self.q, self.qd, self.qdd]).astype("<f8")
        return {
            "samples": len(self.q),
            "joints": self.q.shape[1],
            "q_qd_qdd": base64.b64encode(samples.tobytes()).decode("ascii"),
        }

    def checked(self, arm: Arm, name: str) -> ReferenceMotion:
        """The motion, refused where it is none of this arm.

        Args:
            arm: the arm.
            name: of the motion.
        """
        if any(
            x.shape != (len(self.q), arm.n) or not np.isfinite(x).all() for x in (self.q, self.qd, self.qdd)
        ):
            raise InputError(
                f"motion {name!r}: expected finite samples of {arm.n} joints, as {arm.name!r} has, got shape "
                f"{self.q.shape}."
            )
        return self

    def then_still(self, steps: int) -> ReferenceMotion:
        """The motion, and so many steps more at its end, where it stands still."""
        if not steps:
            return self
        _check_steps(self.steps + steps)
        if np.abs(self.qd[-1]).max() > AT_REST:
            raise InputError(
                "study, settle: the motion does not end at rest, so its end cannot be held; leave it out."
            )
        rest = np.zeros((steps, self.q.shape[1]))
        return ReferenceMotion(
            np.concatenate([self.q, np.repeat(self.q[-1:], steps, axis=0)]),
            np.concatenate([self.qd, rest]),
            np.concatenate([self.qdd, rest]),
        )


def motion_for(arm: Arm, given: Any, step: float, name: str, limits: Mapping[str, Any]) -> ReferenceMotion:
    """Whatever says where an arm is to go, sampled at every step.

    Args:
        arm: the arm.
        given: what `fa.plan` takes, a motion, or samples (q, qd, qdd).
        step: time between samples, s.
        name: of the motion.
        limits: of `fa.plan`, by name, where it plans.
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
        raise InputError(f"motion: expected at most {MOST_SAMPLES} steps, got {count:.6g}; take longer ones.")


def is_close(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two descriptions are of one motion, but for the rounding of the processors that planned it."""
    a, b = motion_of(one), motion_of(other)
    pairs = ((a.q, b.q), (a.qd, b.qd), (a.qdd, b.qdd))
    return all(
        x.shape == y.shape and np.abs(x - y).max() <= CLOSE * np.abs(x).max(initial=1.0) for x, y in pairs
    )


def motion_of(described: Mapping[str, Any]) -> ReferenceMotion:
    """The motion of a description."""
    count, n = int(described["samples"]), int(described["joints"])
    data = base64.b64decode(described["q_qd_qdd"], validate=True)
    if len(data) != 24 * count * n or not 1 < count <= MOST_SAMPLES + 1:
        raise InputError(f"motion: expected {count} samples of {n} joints, got {len(data)} bytes.")
    q, qd, qdd = np.frombuffer(data, "<f8").astype(np.float64).reshape(3, count, n)
    return ReferenceMotion(q, qd, qdd)
