"""Print the comparison of docs/elastic-joints.md: the reduced model beside the one whose rotors spin."""

from __future__ import annotations

from typing import Any

import numpy as np

import forearm as fa
from forearm.arm.elastic import expanded

# Gear ratio and rotor inertia, kg m^2, of joints whose files have none: of the size that such arms have.
ROTORS: dict[str, list[tuple[float, float]]] = {
    "panda": [(100.0, 6e-5)] * 4 + [(100.0, 2e-5)] * 3,
    "ur5": [(101.0, 1.5e-4)] * 3 + [(101.0, 2.5e-5)] * 3,
}
ARMS = ("puma560", "panda", "ur5")
STIFFNESS = 2e4  # N m / rad, of every joint
STATES, SPEED, ACCELERATION = 2000, 1.5, 5.0  # rad/s, rad/s^2: the largest of random motions


def arm_of(name: str, less: float, axis: tuple[float, float, float] | None) -> fa.Arm:
    """The arm with springs, without friction; with gears so many times lower and the same N^2 J; the rotors
    along their joints, or of the reduced model.
    """
    arm = fa.load(name)
    motors = [
        (j.motor.gear_ratio, j.motor.rotor_inertia) if j.motor is not None else ROTORS[name][k]
        for k, j in enumerate(arm.joints)
    ]
    drives: dict[str, Any] = {
        joint.name: {
            "motor": fa.Motor(gear_ratio=N / less, rotor_inertia=J * less**2),
            "elasticity": fa.Elasticity(stiffness=STIFFNESS, rotor_axis=axis),
        }
        for joint, (N, J) in zip(arm.joints, motors, strict=True)
    }
    return arm.with_drives(drives, friction=None)


def torques(arm: fa.Arm, motion: tuple[Any, Any, Any]) -> Any:
    """What motors give for motions with theta = q, by inverse dynamics of links and rotors."""
    both = expanded(arm)
    x, xd, xdd = (np.concatenate([given, given], axis=1) for given in motion)
    made = fa.compile(both).inverse_dynamics(x, xd, xdd)
    return made[:, : arm.n] + made[:, arm.n :]


def row_of(name: str, less: float) -> tuple[float, float, float]:
    """In shares: rms of the difference of torques to that of torques, all joints together and the joint where
    it is most, and the largest difference of a natural frequency with motors free.
    """
    reduced, full = (arm_of(name, less, axis) for axis in (None, (0.0, 0.0, 1.0)))
    rng, n = np.random.default_rng(1), reduced.n
    q = rng.uniform(-2.0, 2.0, (STATES, n))
    motion = q, rng.uniform(-SPEED, SPEED, (STATES, n)), rng.uniform(-ACCELERATION, ACCELERATION, (STATES, n))
    here, there = torques(reduced, motion), torques(full, motion)
    apart = np.sqrt(((there - here) ** 2).mean(axis=0))
    size = np.sqrt((here**2).mean(axis=0))
    a, b = (fa.modes(arm, q[0], gravity=False).free.frequency_hz[n:] for arm in (reduced, full))
    return (
        float(np.linalg.norm(apart) / np.linalg.norm(size)),
        float((apart / size).max()),
        float(np.abs(b / a - 1.0).max()),
    )


def rows() -> list[list[str]]:
    """The table, cell by cell."""
    made = []
    for name in ARMS:
        for less in (1.0, 3.0):
            arm = arm_of(name, less, None)
            ratios = sorted(abs(j.motor.gear_ratio) for j in arm.joints if j.motor is not None)
            gears = f"{ratios[0]:.3g}" if ratios[0] == ratios[-1] else f"{ratios[0]:.3g} to {ratios[-1]:.3g}"
            made.append([name, gears, *(f"{100.0 * share:.2g} %" for share in row_of(name, less))])
    return made


def main() -> None:
    """As Markdown."""
    print("| arm | gear ratios | torques | of one joint | natural frequencies |")
    print("| --- | --- | --- | --- | --- |")
    for row in rows():
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
