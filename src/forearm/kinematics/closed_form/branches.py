"""Every inverse kinematics branch over any scalar: floats, arrays (B,) of poses, graph expressions.

`solve` is the only entry point. It has no pose-dependent condition, so tracing it with expressions yields a
program. Angles are modulo 2 pi; nonexistent branches have clipped roots, which forward kinematics reveals.
"""

from __future__ import annotations

from typing import Any

from forearm.kinematics.closed_form.geometry import Geometry, Parallel, Position, Wrist
from forearm.kinematics.closed_form.joint3 import third_joint
from forearm.kinematics.closed_form.linear import (
    Array,
    Scalar,
    apply,
    behind,
    inverted,
    matmul,
    plus,
    rotation,
)
from forearm.kinematics.closed_form.position_ik import Third, carry
from forearm.kinematics.closed_form.subproblems import about, both_turns, fixed_turn, turn_between
from forearm.kinematics.closed_form.wrist_ik import orientation, orientation_behind, turn_hand

Branch = list[Scalar]


def solve(geometry: Geometry, T: Array, third: Third = third_joint) -> list[Branch]:
    """All branches, each n scalars, for the hand's pose T (4, 4) of scalars: 8 for PUMA, Stanford and UR
    arms.

    `third` finds joint 3; the solver of `quartic.py` is needed where square roots do not suffice, over arrays
    only.
    """
    R, p = rotation(T), [T[i][3] for i in range(3)]
    if geometry.backwards:
        R, p = inverted(R, p)
    centre = plus(p, apply(R, geometry.centre))
    at = behind(geometry.carrier.base, centre)
    if geometry.wrist is None:
        assert isinstance(geometry.carrier, Position)
        found = [off(geometry.carrier.offsets, turns) for turns, _ in carry(geometry.carrier, at, third)]
    else:
        hand = matmul(R, geometry.wrist.hand.T)
        if isinstance(geometry.carrier, Parallel):
            found = parallel_branches(geometry.carrier, geometry.wrist, at, hand)
        else:
            found = spherical_branches(geometry.carrier, geometry.wrist, at, hand, third)
    if any(sign < 0.0 for sign in geometry.signs):
        found = [
            [x if sign > 0.0 else -x for x, sign in zip(branch, geometry.signs, strict=True)]
            for branch in found
        ]
    return [[-x for x in branch[::-1]] for branch in found] if geometry.backwards else found


def spherical_branches(
    position: Position, wrist: Wrist, at: Branch, hand: Array, third: Third
) -> list[Branch]:
    """Joints 1 to 3 position the wrist centre, joints 4 to 6 orient the hand. Pieper 1968; Waters II."""
    found = []
    for turns, joints in carry(position, at, third):
        R = orientation(position, joints)
        first = off(position.offsets, turns)
        found += [
            first + off(wrist.turns, (four.angle, five, six)) for four, five, six in turn_hand(wrist, R, hand)
        ]
    return found


def parallel_branches(carrier: Parallel, wrist: Wrist, at: Branch, hand: Array) -> list[Branch]:
    """Joint 1 from the height of the centre over the plane of joints 2 to 4, the wrist with their sum, then a
    triangle.
    """
    link = carrier.first
    px, py, pz = at
    l2, l3 = carrier.lengths
    found = []
    for one in both_turns(link.s * py, -link.s * px, link.c * pz - carrier.height):
        R = orientation_behind(carrier.base, one, link)
        x, y = one.c * px + one.s * py - link.a, one.c * py - one.s * px
        y = link.c * y + link.s * pz
        for total, five, six in turn_hand(wrist, R, hand):
            ex, ey = carrier.reach
            wx, wy = x - (total.c * ex - total.s * ey), y - (total.s * ex + total.c * ey)
            bend = (wx * wx + wy * wy - (l2 * l2 + l3 * l3)) * (0.5 / (l2 * l3))
            for three in about(fixed_turn(0.0), bend):
                two = turn_between(l2 + l3 * three.c, l3 * three.s, wx, wy)
                q = off(carrier.turns, [one.angle, two.angle, three.angle])
                found.append(
                    [
                        *q,
                        total.angle - two.angle - three.angle - wrist.turns[0],
                        *off(wrist.turns[1:], [five, six]),
                    ]
                )
    return found


def off(turns: Any, angles: Any) -> Branch:
    """Coordinates from the internal angles: q = angle - turn; prismatic coordinates are unchanged."""
    return [x - turn if turn else x for x, turn in zip(angles, turns, strict=True)]
