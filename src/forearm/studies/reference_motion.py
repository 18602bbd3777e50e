"""A motion that the rows of a study share: its samples at every step, as text in the study's description."""

from __future__ import annotations

import base64
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

    def then_still(self, steps: int) -> ReferenceMotion:
        """The motion, and so many steps more at its end, where it stands still."""
        _check_steps(self.steps + steps)
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
        if hasattr(motion, "duration"):
            _check_steps(float(motion.duration) / step)
        found = sampled(arm, motion, step)
        _check_steps(len(found.t))
        return ReferenceMotion(found.q, found.qd, found.qdd)


def _check_steps(count: float) -> None:
    if not count <= MOST_SAMPLES:
        raise InputError(f"motion: expected at most {MOST_SAMPLES} steps, got {count:.6g}; take longer ones.")


def motion_of(described: Mapping[str, Any]) -> ReferenceMotion:
    """The motion of a description."""
    count, n = int(described["samples"]), int(described["joints"])
    data = base64.b64decode(described["q_qd_qdd"], validate=True)
    if len(data) != 24 * count * n or not 1 < count <= MOST_SAMPLES + 1:
        raise InputError(f"motion: expected {count} samples of {n} joints, got {len(data)} bytes.")
    q, qd, qdd = np.frombuffer(data, "<f8").astype(np.float64).reshape(3, count, n)
    return ReferenceMotion(q, qd, qdd)
