"""The case study of Dhanaraj 3.5: the PUMA's positioning arm with journal bearings and harmonic
drives on a straight line.

The document gives Table 3.4, the line px = 0.3, py = pz = s(t), 2 s and 201 rows, and five torques per joint
at 0.6 s. It does not give s(t), the distance between the bearings or the efficiency curve: they are assumed.
"""

from __future__ import annotations

import dataclasses
import math
from functools import lru_cache

import numpy as np

from forearm.arm.arm import Arm, Hand
from forearm.arm.drive import Bearing, Transmission
from forearm.arm.joint import DH, Joint
from forearm.dynamics import inverse
from forearm.files.builtin import load_builtin
from forearm.reproduce.lines import JointMotion, Line, Positioning, half_sine, moved
from forearm.reproduce.recompute.dhanaraj import ROTORS
from forearm.spatial import Floats, pose
from forearm.values import frozen

DURATION, ROWS, PX = 2.0, 201, 0.3  # s, rows of the table, m
# mu, r, break-away, maximum torque
TABLE_3_4 = ((0.1, 0.10, 6.3, 97.6), (0.1, 0.08, 5.5, 186.4), (0.1, 0.07, 2.6, 89.4))
# |total at joint| / maximum torque of Table 3.5, and the efficiency that yields the printed input torque.
LOADS = ((0.03068, 0.4543), (0.08565, 0.5619), (0.007607, 0.3458))

# Assumed and tuned to Table 3.5: torques that come close to it prove nothing.
# m; final value of s, chosen so that the basic torques at 0.6 s come close
S_END = 0.15
DISTANCES = (0.565, 0.2, 0.2)  # m; joint 1's from its printed friction; the others hardly matter
POINTS_OF_CURVE = 24
LIGHTEST = 1e-3  # load below which the efficiency is constant


@frozen
class FrictionStudy:
    """Torques (T, 3) along the motion: rigid-body, bearing friction, gear friction, N m."""

    line: Line
    motion: JointMotion
    basic: Floats
    joint: Floats
    transmission: Floats

    @property
    def at_joint(self) -> Floats:
        """Output torque of the gears."""
        return self.basic + self.joint

    @property
    def total(self) -> Floats:
        """Motor torque times gear ratio."""
        return self.basic + self.joint + self.transmission


def fitted() -> tuple[float, float]:
    """(k, x) of the efficiency k r^x, fitted to the three points of Table 3.5 in logarithms."""
    r, eta = np.log(np.array(LOADS)).T
    exponent, factor = np.polyfit(r, eta, 1)
    return math.exp(factor), float(exponent)


def gears() -> tuple[Transmission, ...]:
    """The harmonic drives: piecewise linear fitted efficiency, break-away and maximum torque of Table 3.4."""
    factor, exponent = fitted()
    loads = np.geomspace(LIGHTEST, 1.0, POINTS_OF_CURVE)
    curve = tuple((float(r), float(min(factor * r**exponent, 1.0))) for r in loads)
    return tuple(
        Transmission(efficiency=curve, rated_torque=most, breakaway=way) for _, _, way, most in TABLE_3_4
    )


def arm() -> Arm:
    """The positioning arm with drives: links of Tables 2.5 and 2.6, rotor inertias in Izz, hand at the end of
    the forearm.
    """
    plain, tables = load_builtin("puma560-dhanaraj3"), load_builtin("puma560-akb")
    for name, rotor in zip(("link2", "link3"), ROTORS[1:3], strict=True):  # link 1 has its own already
        link = tables.link(name)
        inertia = np.array(link.inertia) + np.diag([0.0, 0.0, rotor])
        plain = plain.with_link(
            dataclasses.replace(plain.link(name), mass=link.mass, com=link.com, inertia=inertia)
        )
    bearings = [
        Bearing(kind="journal", mu=mu, radius=radius, distance=distance)
        for (mu, radius, _, _), distance in zip(TABLE_3_4, DISTANCES, strict=True)
    ]
    driven = zip(plain.tree, bearings, gears(), strict=True)
    tree = tuple(dataclasses.replace(joint, bearings=(b,), transmission=gear) for joint, b, gear in driven)
    hand = Hand(link="link3", pose=pose(p=(0.0, geometry(plain).fore, 0.0)))
    return plain.replace(name="puma560-3.5", tree=tree, hand=hand, gravity=(0.0, 0.0, -9.8))


def geometry(of: Arm) -> Positioning:
    """Lengths for the closed form of D.1.3, first roots: Table 2.1 for link 2,
    and 0.4318 m (17 in) for the forearm.

    The forearm lies along -y of frame 3, where link 3's centre of mass is;
    D.1.3 takes +y, and 0.127 m for the offset.
    """
    _, second, third = (joint.placement for joint in of.tree)
    assert isinstance(second, DH)
    assert isinstance(third, DH)
    return Positioning(upper=third.a, fore=-third.a, offset=second.d + third.d)


@lru_cache(maxsize=1)
def study() -> FrictionStudy:
    """Torques along the line by inverse dynamics: rigid arm, arm with bearings, arm with all drives."""
    driven = arm()
    t = np.linspace(0.0, DURATION, ROWS)
    line = half_sine((PX, 0.0, 0.0), (PX, S_END, S_END), t, DURATION)
    motion = moved(driven, line, geometry(driven).joints(line.p))
    state = (motion.q, motion.qd, motion.qdd)
    basic = inverse(driven.rigid(), *state)
    at_joint = inverse(without_gears(driven), *state)
    return FrictionStudy(line, motion, basic, at_joint - basic, inverse(driven, *state) - at_joint)


def without_gears(driven: Arm) -> Arm:
    """The arm with bearings and without gears."""

    def bare(joint: Joint) -> Joint:
        return dataclasses.replace(joint, transmission=None)

    return driven.replace(tree=tuple(bare(joint) for joint in driven.tree))
