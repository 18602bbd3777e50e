"""Geometry for the closed forms: parameters of the axes, in frames in which most of them are 0 or 1."""

from __future__ import annotations

import numpy as np

from forearm.kinematics.closed_form.screws import CommonNormal, Screws, link_between, snapped
from forearm.portable import atan2, dot, matmul, product
from forearm.spatial import Floats, inverse_pose, pose, rotation_from_z, rotation_z
from forearm.values import frozen

Numbers = tuple[float, ...]


@frozen
class Position:
    """Three joints that position a point: the frame of the first axis in the base, links 1 and 2, the point
    after joint 3.

    Internal angles are q + turn. `u` is the point in the frame of joint 3 (unrotated for a prismatic joint),
    `twist` (cosine, sine) that of the link after it.
    """

    revolute: tuple[bool, ...]
    base: Floats
    first: CommonNormal
    second: CommonNormal
    u: Numbers
    turns: Numbers
    twist: tuple[float, float]

    @property
    def offsets(self) -> Numbers:
        """Offsets subtracted from internal coordinates: the turns of revolute joints."""
        return tuple(turn if turns else 0.0 for turn, turns in zip(self.turns, self.revolute, strict=True))


@frozen
class Wrist:
    """Three axes that orient the hand: the twists between them (cosine, sine), turns as in `Position`, the
    hand after them.
    """

    fourth: tuple[float, float]
    fifth: tuple[float, float]
    turns: Numbers
    hand: Floats

    @property
    def right_angled(self) -> bool:
        """Whether both twists are right angles."""
        return self.fourth[0] == 0.0 and self.fifth[0] == 0.0


@frozen
class Parallel:
    """Joints 2, 3, 4 with parallel axes: the frame of the first axis, the link to the second, lengths to the
    third and fourth.

    `height` is the position of the point `centre`, where axes 5 and 6 meet, along the direction; `reach` its
    position across it, in the frame of axis 4.
    """

    base: Floats
    first: CommonNormal
    lengths: tuple[float, float]
    turns: Numbers
    height: float
    reach: tuple[float, float]


@frozen
class Geometry:
    """An arm with a closed form: `carrier` positions the centre, `wrist` (none with three joints) orients the
    hand.

    `centre` is the point (3,) in the hand's frame that the carrier positions; `backwards` means that the arm
    is solved from its hand; `signs` are -1 for joints with reversed axes; `kind` names the decoupling. `miss`
    is the error of the hand (m, rad) from treating nearly meeting or nearly parallel axes as exact.
    `uses_roots_only` means that square roots suffice, so that `solve` works over any scalar; otherwise a
    quartic is needed.
    """

    kind: str
    n: int
    carrier: Position | Parallel
    wrist: Wrist | None
    centre: Numbers
    backwards: bool
    signs: Numbers = (1.0,) * 6
    miss: float = 0.0
    uses_roots_only: bool = True


def position_geometry(screws: Screws, point: Floats) -> Position:
    """Three joints and the point (3,) that they position, in the base frame at q = 0."""
    w, p, revolute = screws.w, screws.p, screws.revolute
    # A prismatic joint has a direction but no location: its line passes through the origin of the previous
    # frame.
    frame = pose(rotation_from_z(w[0]), p[0] if revolute[0] else (p[1] if revolute[1] else point))
    first, _ = link_between(frame, w[1], p[1] if revolute[1] else frame[:3, 3])
    base = matmul(frame, _along_z(first))
    first, at_second = link_between(base, w[1], p[1] if revolute[1] else base[:3, 3])
    second, at_third = link_between(at_second, w[2], p[2] if revolute[2] else at_second[:3, 3])
    if len(w) > 3:
        third, _ = link_between(at_third, w[3], point)
        turn, twist = third.turn, (third.c, third.s)
    else:
        u = matmul(inverse_pose(at_third)[:3], np.append(point, 1.0))
        turn, twist = (atan2(u[1], u[0]) if revolute[2] else 0.0), (1.0, 0.0)
    turned = matmul(at_third, _rz(turn)) if revolute[2] else at_third
    u = matmul(inverse_pose(turned)[:3], np.append(point, 1.0))
    turns = (0.0, second.turn, turn)
    return Position(revolute[:3], _tidy(base), first, second, tuple(_short(v) for v in u), turns, twist)


def wrist_geometry(before: Floats, w: Floats, home: Floats) -> Wrist:
    """Three axes of directions w (3, 3) after a rotation `before` (3, 3) whose z is the first of them, and
    the hand's.
    """
    at = pose(before)
    fourth, at_fifth = link_between(at, w[1], np.zeros(3))
    fifth, at_sixth = link_between(at_fifth, w[2], np.zeros(3))
    hand = matmul(at_sixth[:3, :3].T, home[:3, :3])
    return Wrist((fourth.c, fourth.s), (fifth.c, fifth.s), (fourth.turn, fifth.turn, 0.0), _tidy(hand))


def spherical_geometry(screws: Screws, centre: Floats, backwards: bool) -> Geometry:
    """An arm whose last three axes meet in `centre`."""
    position = position_geometry(screws, centre)
    wrist = wrist_geometry(home_rotation(position), screws.w[3:], screws.home)
    kind = "first three axes meet" if backwards else "last three axes meet"
    return Geometry(kind, 6, position, wrist, in_hand(screws, centre), backwards)


def parallel_geometry(screws: Screws, centre: Floats, backwards: bool) -> Geometry:
    """An arm whose axes 2, 3, 4 are parallel and whose axes 5, 6 meet in `centre`."""
    signs = [
        1.0 if dot(axis, screws.w[1]) > 0.0 or i not in (2, 3) else -1.0 for i, axis in enumerate(screws.w)
    ]
    w, p = screws.w * np.array(signs)[:, None], screws.p
    frame = pose(rotation_from_z(w[0]), p[0])
    first, _ = link_between(frame, w[1], p[1])
    base = matmul(frame, _along_z(first))
    first, at_second = link_between(base, w[1], p[1])
    second, at_third = link_between(at_second, w[2], p[2])
    third, at_fourth = link_between(at_third, w[3], p[3])
    wrist = wrist_geometry(at_fourth[:3, :3], w[3:], screws.home)
    e = matmul(inverse_pose(at_fourth)[:3], np.append(centre, 1.0))
    turn = wrist.turns[0]
    reach = matmul(_rz(-turn)[:2, :2], e[:2])
    height = matmul(inverse_pose(at_second)[:3], np.append(centre, 1.0))[2]
    carrier = Parallel(
        base=_tidy(base),
        first=first,
        lengths=(second.a, third.a),
        turns=(0.0, second.turn, third.turn),
        height=_short(height),
        reach=(_short(reach[0]), _short(reach[1])),
    )
    kind = (
        f"axes {'3, 4, 5' if backwards else '2, 3, 4'} parallel, {'1 and 2' if backwards else '5 and 6'} meet"
    )
    return Geometry(kind, 6, carrier, wrist, in_hand(screws, centre), backwards, tuple(signs))


def home_rotation(position: Position) -> Floats:
    """The rotation at q = 0 of the frame in which axis 4 is z."""
    R = position.base[:3, :3]
    twists = ((position.first.c, position.first.s), (position.second.c, position.second.s), position.twist)
    for turn, (c, s) in zip(position.turns, twists, strict=True):
        R = product(R, _rz(turn)[:3, :3], np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]))
    return R


def in_hand(screws: Screws, point: Floats) -> Numbers:
    """A point of the base frame, at q = 0, in the hand's frame."""
    return tuple(_short(v) for v in matmul(inverse_pose(screws.home)[:3], np.append(point, 1.0)))


def _along_z(link: CommonNormal) -> Floats:
    T = _rz(link.turn)
    T[2, 3] = link.d
    return T


def _rz(angle: float) -> Floats:
    return pose(rotation_z(angle))


def _short(value: float) -> float:
    """A length, 0 if negligible."""
    return 0.0 if abs(value) < 1e-12 else float(value)


def _tidy(T: Floats) -> Floats:
    """Zeros and ones of a rotation made exact, and negligible lengths set to 0."""
    made: Floats = np.vectorize(snapped)(T)
    if T.shape == (4, 4):
        made[:3, 3] = [_short(v) for v in T[:3, 3]]
    made.flags.writeable = False
    return made
