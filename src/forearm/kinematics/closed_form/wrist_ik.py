"""Three joints that orient the hand, and the remaining rotation after the joints before them. Over any
scalar.
"""

from __future__ import annotations

from forearm.kinematics.closed_form.geometry import Position, Wrist
from forearm.kinematics.closed_form.linear import Array, Scalar, apply, dot
from forearm.kinematics.closed_form.screws import CommonNormal
from forearm.kinematics.closed_form.subproblems import (
    Turn,
    about,
    direction,
    direction_and_length,
    fixed_turn,
    opposite,
    turn_between,
)
from forearm.symbols.scalars import atan2


def turn_hand(wrist: Wrist, before: Array, hand: Array) -> list[tuple[Turn, Scalar, Scalar]]:
    """Joint 4 and the angles of 5, 6 with before Rz(4) Rx Rz(5) Rx Rz(6) = hand, valid also if only a sum of
    4 and 6 is determined.
    """
    (c4, s4), (c5, s5) = wrist.fourth, wrist.fifth
    zx, zy, zz = (dot([row[j] for row in before], [row[2] for row in hand]) for j in range(3))
    if wrist.right_angled:
        # Both signs of joint 5 share everything: half a turn of joints 4 and 6 goes with them.
        four, across = direction_and_length(zy, zx)
        five = Turn(atan2(across, -zz), -zz, across)
        six = last_turn(wrist, before, hand, four, five)
        return [(four, five.angle, six.angle), (opposite(four), -five.angle, opposite(six).angle)]
    found = []
    cosine5 = (c4 * c5 - zz) * (1.0 / (s4 * s5))
    for five in about(fixed_turn(0.0), cosine5):
        x, y = five.s * s5, -c4 * five.c * s5 - s4 * c5
        four = turn_between(x, y, zx, zy)
        found.append((four, five.angle, last_turn(wrist, before, hand, four, five).angle))
    return found


def last_turn(wrist: Wrist, before: Array, hand: Array, four: Turn, five: Turn) -> Turn:
    """Joint 6 from the x axis before it, in the hand's axes."""
    c4, s4 = wrist.fourth
    x, y, z = five.c, c4 * five.s, s4 * five.s
    axis = apply(before, [four.c * x - four.s * y, four.s * x + four.c * y, z])
    along = [dot(axis, [row[j] for row in hand]) for j in range(2)]
    return direction(-along[1], along[0])


def orientation(position: Position, joints: list[Turn]) -> Array:
    """The rotation of the frame in which axis 4 is z."""
    one, two, three = joints
    R = orientation_behind(position.base, one, position.first)
    (c, s), second = position.twist, position.second
    if second.s == 0.0:  # parallel axes: their angles add up
        both = Turn(
            None,
            two.c * three.c - second.c * (two.s * three.s),
            two.s * three.c + second.c * (two.c * three.s),
        )
        return turned_and_twisted(R, both, second.c * c, second.c * s)
    return turned_and_twisted(turned_and_twisted(R, two, second.c, second.s), three, c, s)


def orientation_behind(base: Array, turn: Turn, link: CommonNormal) -> Array:
    """The rotation of the frame after the first link."""
    return turned_and_twisted(base[:3, :3].tolist(), turn, link.c, link.s)


def turned_and_twisted(R: Array, turn: Turn, c: float, s: float) -> Array:
    """R Rz(turn) Rx(twist), row by row."""
    made = []
    for x, y, z in R:
        x, y = turn.c * x + turn.s * y, turn.c * y - turn.s * x
        made.append([x, c * y + s * z, c * z - s * y])
    return made
