"""Constants of Dhanaraj's programs D.2 to D.4."""

from __future__ import annotations

import math

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.dh import from_dh
from forearm.dynamics import closed_form
from forearm.files.builtin import load_builtin
from forearm.reproduce.recompute import Figures
from forearm.spatial import Floats

ROTORS = (1.14, 4.71, 0.83, 0.20, 0.179, 0.193)  # kg m^2, added to the links' Izz


def d4_arm(m3: float) -> Arm:
    """The positioning arm of Dhanaraj D.4 as decoded: 10 kg at the tip, rotor inertias in the links."""
    return from_dh(
        "d4",
        [(0.0, 0.0, 0.0, 0.0), (0.0, -math.pi / 2, 0.2435, 0.0), (0.4318, 0.0, -0.0934, 0.0)],
        convention="modified",
        mass=[0.0, 17.4, m3],
        com=[(0.0, 0.0, 0.0), (-0.068, 0.0, 0.0), (0.0, -0.2954, 0.0)],
        inertia=[np.diag([0.0, 0.0, 1.49]), np.diag([0.13, 0.524, 5.249]), np.diag([2.0565, 0.0154, 2.9065])],
        gravity=(0.0, 0.0, -9.8),
    )


def d4_inertia() -> Figures:
    """Dhanaraj D.4, subroutine acccoeff: its constants from our inertia matrix at right angles."""

    def D(q2: float, q3: float) -> Floats:
        return closed_form(d4_arm(16.04), [0.0, math.radians(q2), math.radians(q3)]).D

    zero, up = D(0.0, 0.0), D(0.0, 90.0)
    slope22, slope23 = up[1, 1] - zero[1, 1], up[1, 2] - zero[1, 2]
    return {
        "ac(2,2) factor": slope22,
        "ac(2,2) constant": zero[1, 1] / slope22,
        "ac(2,3) factor": slope23,
        "ac(2,3) constant": zero[1, 2] / slope23,
        "ac(3,3)": zero[2, 2],
        "ac(1,3) factor": -zero[0, 2],
        "ac(1,2) constant": D(90.0, 0.0)[0, 1] / -zero[0, 2],
    }


def d4_velocity() -> Figures:
    """Dhanaraj D.4, subroutine velcoeff: the constants of gravity and of v2 v3, with its other m3."""
    zero = closed_form(d4_arm(16.05), [0.0, 0.0, 0.0])
    right = closed_form(d4_arm(16.05), [0.0, 0.0, math.radians(90.0)])
    factor = 6.883283  # common factor of the document, by which ours are divided
    return {
        "vc(2), c2": zero.c[1] / factor,
        "vc(2), c2 s3": (right.c[1] - zero.c[1]) / factor,
        "vc(2), c3 v2 v3": 2.0 * zero.h[1, 1, 2] / factor,
        "vc(3), c3 v2^2": zero.h[2, 1, 1] / factor,
    }


def puma_inertias() -> Figures:
    """Dhanaraj D.2, D.3.4: Table 2.6 moved from the centre of mass to the link frame's origin, with the rotor
    inertia added to Izz.
    """
    arm = load_builtin("puma560-akb")
    moments = [np.diag(arm.link(f"link{i}").inertia_about_origin) for i in range(1, arm.n + 1)]
    return {
        f"I{axis}{axis}{i}": moment + (rotor if axis == "Z" else 0.0)
        for i, (row, rotor) in enumerate(zip(moments, ROTORS, strict=True), start=1)
        for axis, moment in zip("XYZ", row, strict=True)
    }
