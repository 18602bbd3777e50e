"""Capability of each joint by itself along a path: its acceleration up to each velocity, and the top velocity
that minimises its duration.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.joint import drives_of
from forearm.errors import InputError, Keyword, Sentence
from forearm.spatial import Floats
from forearm.trajectories.demands import MOST_ROWS, Demands
from forearm.trajectories.drive_limits import WORDS, DriveLimits
from forearm.values import frozen

BETWEEN = 20  # configurations sampled between two points
LEVELS = 12  # velocities sampled, in addition to one near 0
SLOW = 1e-9  # of the top velocity: equivalent to breaking loose
NO_INERTIA = 1e-15  # kg m^2 or kg: smaller values are rounding
SAME = 1e-12  # relative: equal times up to rounding


@frozen
class JointCapability:
    """Accelerations (l, n) that each joint can sustain up to velocities (l, n), increasing from near 0."""

    demands: Demands
    way: Floats  # (k, n): direction in each segment
    velocity: Floats  # (l, n)
    acceleration: Floats  # (l, n), non-increasing, 0 or less if the drive is too weak
    gravity: Floats  # (p, n)
    plain: Floats  # (n,): accelerations without friction

    @staticmethod
    def of(q: Floats, velocity: Floats, demands: Demands) -> JointCapability:
        """Capability along the lines between points (k, n), up to these velocities (n,); an error if gravity
        alone exceeds a limit, or a joint has no limit.
        """
        arm, kernel, limits = demands.arm, demands.kernel, demands.limits
        _check_bounded(arm, limits)
        n, count = arm.n, max(len(q) - 1, 1)
        between = int(np.clip(MOST_ROWS // (count * n * (LEVELS + 1)), 2, BETWEEN))
        shares = np.linspace(0.0, 1.0, between, endpoint=False)[:, None]
        way = np.diff(q, axis=0)
        postures = np.vstack([*(a + shares * (b - a) for a, b in pairwise(q)), q[-1:]])
        gravity = kernel.gravity(postures)
        _check_gravity(limits, gravity)
        inertia = np.diagonal(kernel.inertia_matrix(postures), axis1=1, axis2=2)
        _check_inertia(arm, inertia)
        plain = ((limits.at_rest - np.abs(gravity)) / inertia).min(axis=0)
        # upper bound: full acceleration over half of the longest displacement
        top = np.minimum(velocity, np.sqrt(plain * np.maximum(np.abs(way).max(axis=0), SLOW)))
        levels = np.concatenate([[SLOW], np.linspace(0.0, 1.0, LEVELS + 1)[1:]])[:, None] * top
        ahead = np.where(way < 0.0, -1.0, 1.0)
        ahead = np.vstack([np.repeat(ahead, between, axis=0), ahead[-1:]])
        need = _needs(demands, postures, ahead, levels)
        spare = np.minimum.accumulate(limits.spare(need, levels[:, None, :]), axis=0)
        return JointCapability(demands, way, levels, (spare / inertia).min(axis=1), gravity, plain)

    @cached_property
    def best_velocities(self) -> Floats:
        """(n,): the velocity with which each joint alone takes the least time; infinite if no velocity is too
        high.
        """
        v, a = self.velocity[:, None, :], np.maximum(self.acceleration, 0.0)[:, None, :]
        d = np.abs(self.way)
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(d * a >= v * v, d / v + v / a, 2.0 * np.sqrt(d / a))
        time = np.where(d == 0.0, 0.0, np.where(a > 0.0, times, np.inf)).sum(axis=1)
        good = time <= time.min(axis=0) * (1.0 + SAME)
        level = len(time) - 1 - np.argmax(good[::-1], axis=0)
        chosen = self.velocity[level, np.arange(len(level))]
        return np.where(level == len(time) - 1, np.inf, chosen)

    def accelerations(self, velocity: Floats) -> Floats:
        """Acceleration of each joint up to these velocities (n,); without friction where friction leaves
        none.
        """
        tables = zip(velocity, self.velocity.T, self.acceleration.T, strict=True)
        found = np.array([np.interp(v, x, a) for v, x, a in tables])
        return np.where(found > 0.0, found, self.plain)

    @cached_property
    def share_at_rest(self) -> float:
        """Largest share of a limit used by gravity."""
        return float((np.abs(self.gravity) / self.demands.limits.at_rest).max())

    def speed_shares(self, velocity: Floats) -> Floats:
        """Share of a limit used by velocities (n,): by viscous friction, and by back-EMF."""
        viscous = np.zeros(self.demands.arm.n)
        for drive in drives_of(self.demands.arm):
            viscous[drive.freedom] += drive.multiplier**2 * drive.at_joint.viscous
        return self.demands.limits.shares(viscous * velocity, velocity)


def _needs(demands: Demands, postures: Floats, ahead: Floats, levels: Floats) -> Floats:
    """Torques (l, p, n), positive forwards, that each joint needs to move by itself at its velocities (l, n)
    in its directions (p, n).
    """
    count, n = postures.shape
    qd = np.einsum("ln,pn,nm->lpnm", levels, ahead, np.eye(n)).reshape(-1, n)
    q = np.broadcast_to(postures[None, :, None, :], (len(levels), count, n, n)).reshape(-1, n)
    tau = demands.kernel.inverse_dynamics(q, qd, np.zeros_like(qd)).reshape(len(levels), count, n, n)
    return np.diagonal(tau, axis1=2, axis2=3) * ahead


def _no_default(why: str, remedy: str = "write max_effort into the arm file") -> InputError:
    return InputError(
        Sentence(
            f"the request gives no acceleration, and there is no default because {why}; give ",
            Keyword("acceleration"),
            f", set it under [limits] of a request file, or {remedy}.",
        ),
        "plan",
    )


def _check_bounded(arm: Arm, limits: DriveLimits) -> None:
    """Refuse joints without a torque limit, or with a limit of 0."""
    unknown, weak = (
        ", ".join(name for name, is_so in zip(limits.names, chosen, strict=True) if is_so)
        for chosen in (np.isinf(limits.at_rest), limits.effort == 0.0)
    )
    if unknown:
        raise _no_default(
            f"there is neither max_effort nor a motor with a current or voltage limit at {unknown} of "
            f"{arm.name!r}"
        )
    if weak:
        raise _no_default(f"the max_effort of {weak} of {arm.name!r} is 0")


def _check_gravity(limits: DriveLimits, gravity: Floats) -> None:
    share = np.abs(gravity) / limits.at_rest
    if (share >= 1.0).any():
        k, j = np.argwhere(share >= 1.0)[0]
        raise InputError(
            f"gravity alone takes {_at_rest(limits, j, abs(float(gravity[k, j])))} on the "
            "path; use other points, or a lighter payload.",
            "plan",
        )


def _check_inertia(arm: Arm, inertia: Floats) -> None:
    idle = inertia.min(axis=0) < NO_INERTIA
    if idle.any():
        name = arm.joints[int(idle.argmax())].name
        raise _no_default(
            f"{name} of {arm.name!r} moves no mass, so that no torque bounds it",
            "give its links mass and inertia",
        )


def _at_rest(limits: DriveLimits, j: int, torque: float) -> str:
    """Share of the tightest limit that a torque at rest uses, for a message."""
    uses = limits.uses(np.zeros(1), torque * np.eye(len(limits.names))[[j]], np.zeros((1, len(limits.names))))
    most = max((use for use in uses if use.joint == limits.names[j]), key=lambda use: use.share)
    return f"{most.needed:.4g} of the {most.allowed:g} {WORDS[most.quantity][0]} of {most.joint}"
