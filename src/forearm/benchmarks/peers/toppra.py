"""TOPP-RA (Pham and Pham 2018) along the same path: velocities, accelerations and torques without friction.

It uses our compiled inverse dynamics, so that only the planning is compared.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from forearm.arm.arm import Arm
from forearm.benchmarks.timing import Work, keeping
from forearm.kernels.kernel import compile as compile_arm
from forearm.spatial import Floats
from forearm.trajectories.paths import JointPath


@dataclass(frozen=True, eq=False)
class Toppra:
    """A rigid arm along a cubic spline of `fa.trajectories.spline`, from rest to rest.

    Attributes:
        arm: the arm.
        path: the spline, continuity 2.
        velocity, torque: limits (n,), rad/s and N m.
        acceleration: limits (n,), rad/s^2; None: unlimited.
    """

    arm: Arm
    path: JointPath
    velocity: Floats
    torque: Floats
    acceleration: Floats | None = None

    def trajectory(self, intervals: int, interpolation: bool) -> Any:
        """Its trajectory on an even grid with this many intervals, by its interpolation scheme, which
        enforces limits at both ends of each, or by collocation, its default.
        """
        toppra, algorithm = import_module("toppra"), import_module("toppra.algorithm")
        logging.getLogger("toppra").setLevel(logging.ERROR)
        constraint = import_module("toppra.constraint")
        kind = constraint.DiscretizationType
        scheme = kind.Interpolation if interpolation else kind.Collocation
        wanted = [
            constraint.JointVelocityConstraint(_both(self.velocity)),
            constraint.JointTorqueConstraint(
                compile_arm(self.arm).inverse_dynamics, _both(self.torque), np.zeros(self.arm.n), scheme
            ),
        ]
        if self.acceleration is not None:
            limits = _both(self.acceleration)
            wanted.append(constraint.JointAccelerationConstraint(limits, discretization_scheme=scheme))
        breaks = self.path.breaks
        spline = toppra.SplineInterpolator(breaks, self.path.at(breaks)[0], bc_type="natural")
        grid = np.linspace(0.0, self.path.length, intervals + 1)
        planner = algorithm.TOPPRA(wanted, spline, gridpoints=grid, parametrizer="ParametrizeConstAccel")
        found = planner.compute_trajectory(0.0, 0.0)
        if found is None:
            raise RuntimeError(f"toppra found nothing along {self.path.name!r} at {intervals} intervals")
        return found

    def duration(self, intervals: int, interpolation: bool) -> float:
        """Duration of the trajectory, s."""
        return float(self.trajectory(intervals, interpolation).duration)

    def work(self, intervals: int) -> Work:
        """The work to be timed, by its interpolation scheme; the result is the duration."""
        return keeping("toppra", lambda: [self.duration(intervals, True)])


def _both(limits: Floats) -> Floats:
    return np.stack([-limits, limits], axis=1)
