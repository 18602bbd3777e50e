"""Elementary equations of the closed forms, over any scalar and without conditions: matching rotations,
quadratics.

Roots of negative numbers are taken as 0: such a branch does not exist, which forward kinematics reveals.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from forearm.kinematics.closed_form.linear import Scalar
from forearm.portable import cos_sin
from forearm.symbols.scalars import atan2, hinge, root, sign

# Added to the cosine part, so that an undetermined direction yields the angle 0; its square fits a float32.
TINY = 1e-18


class Turn(NamedTuple):
    """An angle (modulo 2 pi) with its cosine and sine."""

    angle: Scalar
    c: Scalar
    s: Scalar


def direction(y: Scalar, x: Scalar) -> Turn:
    """The angle of (x, y), 0 if both are 0."""
    return direction_and_length(y, x)[0]


def direction_and_length(y: Scalar, x: Scalar) -> tuple[Turn, Scalar]:
    """The angle of (x, y), 0 if both are 0, and the length."""
    x = x + TINY
    length = root(x * x + y * y)
    over = 1.0 / length
    return Turn(atan2(y, x), x * over, y * over), length


def fixed_turn(angle: float) -> Turn:
    """A known angle; right angles are exact."""
    c, s = cos_sin(angle)
    return Turn(angle, *(float(round(v)) if abs(v - round(v)) < 1e-15 else v for v in (c, s)))


def opposite(turn: Turn) -> Turn:
    """The angle plus half a turn, within -pi to pi if the angle was."""
    return Turn(turn.angle - math.pi * sign(turn.angle + TINY), -turn.c, -turn.s)


def turn_between(x: Scalar, y: Scalar, to_x: Scalar, to_y: Scalar) -> Turn:
    """The rotation from (x, y) to (to_x, to_y)."""
    return direction(x * to_y - y * to_x, x * to_x + y * to_y)


def both_turns(A: Scalar, B: Scalar, C: Scalar) -> tuple[Turn, Turn]:
    """The two angles with A cos + B sin = C."""
    w = root(hinge(A * A + B * B - C * C))
    AC, BC, Aw, Bw = A * C, B * C, A * w, B * w
    return direction(BC + Aw, AC - Bw), direction(BC - Aw, AC + Bw)


def about(middle: Turn, cosine: Scalar) -> tuple[Turn, Turn]:
    """The two angles on either side of a known one, at an angle of this cosine."""
    sine = root(hinge(1.0 - cosine * cosine))
    off = atan2(sine, cosine)
    cc, ss, cs, sc = middle.c * cosine, middle.s * sine, middle.c * sine, middle.s * cosine
    return Turn(middle.angle + off, cc - ss, sc + cs), Turn(middle.angle - off, cc + ss, sc - cs)


def quadratic(e0: Scalar, e1: Scalar, e2: float) -> tuple[Scalar, Scalar]:
    """The two roots of e0 + e1 x + e2 x^2, e2 a nonzero constant."""
    half = (-0.5 / e2) * e1
    w = root(hinge(half * half - e0 * (1.0 / e2)))
    return half + w, half - w
