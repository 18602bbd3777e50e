"""Checks of the whole: joints that move nothing, and a hand that is not moved."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.checking.finding import Finding
from forearm.kinematics.poses import body_poses

# Against the largest of the joints' inertias: below this a joint carries nothing but rounding.
NOTHING = 1e-12


def structure_findings(arm: Arm) -> list[Finding]:
    """Joints behind which there is no inertia, and a hand that no joint moves."""
    found = []
    if arm.n:
        carried = carried_inertia(arm, 0.3 + 0.37 * np.arange(arm.n, dtype=np.float64))
        for joint, value in zip(arm.joints, carried, strict=True):
            if value <= NOTHING * max(carried.max(), 1e-300):
                text = (
                    f"{joint.name}: it moves neither mass nor inertia, so the inertia matrix is singular and forward "
                    "dynamics is impossible; give the links behind it mass, or its motor a rotor inertia."
                )
                found.append(Finding("warning", "moves-nothing", joint.name, text))
    if arm.moving.frames[arm.hand.link][0] < 0 and arm.n:
        text = f"the hand is on {arm.hand.link}, which no joint moves; name another link as hand."
        found.append(Finding("warning", "hand-fixed", arm.hand.link, text))
    return found


def carried_inertia(arm: Arm, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each freedom accelerates at q, the others held: the diagonal of the inertia matrix, rotors included."""
    poses = body_poses(arm, q)
    bodies = arm.moving.bodies
    diagonal = np.zeros(arm.n)
    for freedom in range(arm.n):
        # Velocity (angular, at the base's origin) of every body when this freedom moves at unit speed.
        twists: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        for index, body in enumerate(bodies):
            w, v = twists[body.parent] if body.parent >= 0 else (np.zeros(3), np.zeros(3))
            if body.freedom == freedom:
                T = body.joint_frame(poses[index])
                z = T[:3, :3] @ body.axis * body.multiplier
                w, v = (w + z, v + np.cross(T[:3, 3], z)) if body.kind == "revolute" else (w, v + z)
            twists.append((w, v))
            R, p = poses[index][:3, :3], poses[index][:3, 3]
            c = R @ body.com + p
            at_com = v + np.cross(w, c)
            diagonal[freedom] += body.mass * at_com @ at_com + w @ (R @ body.inertia @ R.T) @ w
        for body in bodies:
            if body.freedom == freedom and body.joint.motor is not None:
                diagonal[freedom] += body.multiplier**2 * body.joint.motor.reflected_inertia
    return diagonal
