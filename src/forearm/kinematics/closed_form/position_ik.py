"""Three joints of any kind that position a point: joint 3 first, found by `joint3.py`, then 2, then 1.

f is the point before the motion of joint 2, g after it; the link to the first axis gives p_x' = a + g_x, p_y'
= c g_y - s g_z, p_z = s g_y + c g_z before the motion of joint 1. Over any scalar.
"""

from __future__ import annotations

from collections.abc import Callable

from forearm.kinematics.closed_form.geometry import Position
from forearm.kinematics.closed_form.joint3 import carried, turned, value
from forearm.kinematics.closed_form.linear import Scalar, Vector
from forearm.kinematics.closed_form.subproblems import Turn, about, both_turns, fixed_turn, turn_between
from forearm.portable import atan2, hypot
from forearm.symbols.scalars import hinge, root

Third = Callable[[Position, Scalar, Scalar, Scalar], list[Turn]]


def carry(position: Position, at: Vector, third: Third) -> list[tuple[Vector, list[Turn]]]:
    """Coordinates (angles q + turn, or displacements) of three joints that move the point to `at`, and their
    turns.
    """
    if has_parallel_links(position):
        return carry_parallel(position, at)
    px, py, pz = at
    f, link, d = carried(position), position.first, position.second.d
    a, c, s = link.a, link.c, link.s
    kinds = position.revolute[:2]
    found = []
    for three in third(position, px, py, pz):
        fx, fy, fz = (value(form, position, three) for form in (f.x, f.y, f.z))
        if kinds[1]:
            for two in second_joint(position, at, three, (fx, fy, fz)):
                gx, gy, gz = two.c * fx - two.s * fy, two.s * fx + two.c * fy, fz + d
                found.append(
                    (first_joint(position, at, (a + gx, c * gy - s * gz, s * gy + c * gz)), two, three)
                )
            continue
        gx, gy = (value(form, position, three) for form in turned(position, f))
        for one, gz in slid_second(position, at, gx, gy):
            two = fixed_turn(position.turns[1])._replace(angle=gz - fz - d)
            ends = (a + gx, c * gy - s * gz, s * gy + c * gz)
            found.append((one if kinds[0] else first_joint(position, at, ends), two, three))
    return [([turn.angle for turn in turns], list(turns)) for turns in found]


def has_parallel_links(position: Position) -> bool:
    """Whether joints 2 and 3 have parallel revolute axes, and joint 1 another direction: most industrial
    arms.
    """
    return all(position.revolute) and position.second.s == 0.0 and position.first.s != 0.0


def carry_parallel(position: Position, at: Vector) -> list[tuple[Vector, list[Turn]]]:
    """`carry` for parallel axes 2 and 3: the height gives joint 1 on either side, then a triangle. Dhanaraj
    D.1.3.
    """
    (px, py, pz), link, (ux, uy, uz) = at, position.first, position.u
    a, c, s, up = link.a, link.c, link.s, position.second.c
    l2, l3 = position.second.a, hypot(ux, uy)
    gz = position.second.d + up * uz
    gy = (pz - c * gz) * (1.0 / s)
    y = c * gy - s * gz
    side = root(hinge(px * px + py * py - y * y))
    found = []
    for x in (side, -side):
        one = turn_between(x, y, px, py)
        gx = x - a
        bend = (gx * gx + gy * gy - (l2 * l2 + l3 * l3)) * (0.5 / (l2 * l3))
        for three in about(fixed_turn(-atan2(uy, ux)), bend):
            two = turn_between(l2 + ux * three.c - uy * three.s, up * (ux * three.s + uy * three.c), gx, gy)
            found.append(([one.angle, two.angle, three.angle], [one, two, three]))
    return found


def second_joint(position: Position, at: Vector, three: Turn, f: tuple[Scalar, ...]) -> tuple[Turn, ...]:
    """Revolute joint 2: g = Rz(q2) f, of which the pose gives g_x or g_y or both."""
    (px, py, pz), (fx, fy, fz) = at, f
    link, d = position.first, position.second.d
    a, c, s = link.a, link.c, link.s
    gz = fz + d
    if position.revolute[0]:
        gy = (pz - c * gz) * (1.0 / s) if s else None
        square = value(carried(position).square, position, three) + 2.0 * d * fz + d * d if a else None
        gx = (px * px + py * py + pz * pz - a * a - square) * (0.5 / a) if a else None
    else:
        gx, gy = px - a, ((py + s * gz) * (1.0 / c) if c else None)
    if gx is None:
        return both_turns(fy, fx, gy)  # g_y = fx sin + fy cos
    if gy is None:
        return both_turns(fx, -fy, gx)
    return (turn_between(fx, fy, gx, gy),)


def slid_second(position: Position, at: Vector, gx: Scalar, gy: Scalar) -> list[tuple[Turn, Scalar]]:
    """Prismatic joint 2: g_z, with joint 1 if revolute (a placeholder if prismatic)."""
    (px, py, pz), (a, c, s) = at, (position.first.a, position.first.c, position.first.s)
    none = fixed_turn(0.0)
    if not position.revolute[0]:
        return [(none, (c * gy - py) * (1.0 / s))]  # p_y = c g_y - s g_z
    x = a + gx
    if c:
        gz = (pz - s * gy) * (1.0 / c)
        return [(turn_between(x, c * gy - s * gz, px, py), gz)]
    y = root(hinge(px * px + py * py - x * x))  # undetermined by the first axis: on either side of it
    return [(turn_between(x, side, px, py), side * (-1.0 / s)) for side in (y, -y)]


def first_joint(position: Position, at: Vector, end: tuple[Scalar, ...]) -> Turn:
    """Joint 1 from the point before it (end) and its target."""
    if position.revolute[0]:
        return turn_between(end[0], end[1], at[0], at[1])
    return fixed_turn(0.0)._replace(angle=at[2] - end[2])
