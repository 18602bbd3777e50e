"""Print the two comparisons of docs/time-optimal.md: planning without friction, and bang-bang motions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import forearm as fa
from forearm.benchmarks.driven_panda import panda_with_friction
from forearm.kinematics.limits import limits_of
from forearm.trajectories import from_motion
from forearm.trajectories.drive_limits import DriveLimits

POINTS = 300
CLOSE = 1e-3  # of limits: where the search for a share of them ends
WITHIN = 1.001  # of a limit


def arms() -> dict[str, tuple[fa.Arm, dict[str, Any]]]:
    """Three arms with the limits that their files lack."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ForearmWarning)
        puma, direct = fa.load("puma560"), fa.load("cmu-dd")
    return {
        "puma560": (puma, {"voltage": 40.0, "velocity": 3.0}),
        "panda": (panda_with_friction(), {}),
        "cmu-dd": (direct, {"velocity": 6.0}),
    }


def waypoints(arm: fa.Arm) -> Any:
    """Five points around the middle of an arm's range."""
    lower, upper = (np.clip(x, -3.0, 3.0) for x in limits_of(arm))
    return lower + (upper - lower) * np.random.default_rng(3).uniform(0.35, 0.65, (5, arm.n))


def worst(arm: fa.Arm, limits: dict[str, Any], plan: Any) -> tuple[float, float]:
    """The largest shares of torques and of voltages that a motion needs, with everything in the model."""
    q, qd, qdd = plan.motion.at(plan.motion.fine_times)
    torque = fa.compile(arm).inverse_dynamics(q, qd, qdd)
    effort = np.array([joint.max_effort for joint in arm.joints])
    motors = [joint.motor for joint in arm.joints]
    volts = 0.0
    if all(motor is not None and motor.resistance is not None for motor in motors):
        drives = DriveLimits.of(arm)
        K, R = drives.K, drives.R
        most = limits.get("voltage", [motor.max_voltage for motor in motors])
        volts = float(np.max(np.abs(R / K * torque + K * qd) / np.array(most)))
    return float(np.max(np.abs(torque) / effort)), volts


def blind(arm: fa.Arm, limits: dict[str, Any], share: float) -> Any:
    """A plan without friction within a share of torques and voltages; of an arm that has none, one of the
    rigid arm, which knows no voltages either.
    """
    known = dict(limits)
    without = arm.with_drives(friction=None)
    if without == arm:
        without, _ = arm.rigid(), known.pop("voltage", None)
    known["torque"] = share * np.array([joint.max_effort for joint in arm.joints])
    if "voltage" in known:
        known["voltage"] *= share
    return fa.time_optimal(without, waypoints(arm), points=POINTS, **known)


def friction_blind() -> list[list[str]]:
    """By arm: how far a plan without friction exceeds limits, and what it costs not to."""
    rows = []
    for name, (arm, limits) in arms().items():
        best = fa.time_optimal(arm, waypoints(arm), points=POINTS, **limits)
        torque, volts = worst(arm, limits, blind(arm, limits, 1.0))
        low, high = 0.02, 1.0
        while high - low > CLOSE:
            share = 0.5 * (low + high)
            try:
                holds = max(worst(arm, limits, blind(arm, limits, share))) <= WITHIN
            except fa.ForearmError:  # too little to hold the arm
                holds = True
            low, high = (share, high) if holds else (low, share)
        try:
            slower = f"{blind(arm, limits, low).duration:.3f}"
            lost = f"{100.0 * (float(slower) / best.duration - 1.0):.0f} %"
        except fa.ForearmError:
            slower, lost = "none", "-"
        rows.append(
            [
                name,
                f"{best.duration:.3f}",
                f"{blind(arm, limits, 1.0).duration:.3f}",
                f"{100.0 * torque:.0f} %",
                f"{100.0 * volts:.0f} %" if volts else "-",
                f"{100.0 * low:.0f} %",
                slower,
                lost,
            ]
        )
    return rows


def bang_bang() -> list[list[str]]:
    """By arm: `fa.plan` between two points, and the shortest time on the very same path."""
    rows = []
    for name, (arm, limits) in arms().items():
        ends = waypoints(arm)[[0, -1]]
        velocity = limits.get("velocity")  # and the torques and voltages of the arm
        motion = fa.plan(arm, ends, velocity=velocity)
        best = fa.time_optimal(arm, from_motion(motion), points=POINTS, velocity=velocity)
        saved = 1.0 - best.duration / motion.duration
        rows.append([name, f"{motion.duration:.3f}", f"{best.duration:.3f}", f"{100.0 * saved:.0f} %"])
    return rows


def main() -> None:
    """Both tables."""
    for table in (friction_blind(), bang_bang()):
        for row in table:
            print(f"| {' | '.join(row)} |")
        print()


if __name__ == "__main__":
    main()
