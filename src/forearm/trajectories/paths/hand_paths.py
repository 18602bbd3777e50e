"""Joint paths for Cartesian lines, rounded polylines and circles of the hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.errors import InputError
from forearm.reading.fields import ListField, NumberField
from forearm.records import declared, flat, number, record
from forearm.spatial import Floats
from forearm.trajectories.hand_way import CircularWay, HandWay, straight
from forearm.trajectories.line_checks import end_of_branch, singular_places
from forearm.trajectories.line_joints import CLEAR, joints_along
from forearm.trajectories.line_path import LineTask, Stretch, follow_way
from forearm.trajectories.lines import hand_corners, line_task
from forearm.trajectories.paths.blends import blended
from forearm.trajectories.paths.joint_path import JointPath
from forearm.trajectories.paths.sampled import quintic_pieces
from forearm.values import as_finite, check_number

LEFT = 1e-12  # m and rad, at the hand
FLAT = 1e-9  # of their distance: three positions closer to a line define no circle


def hand_lines(
    arm: Arm,
    q0: ArrayLike,
    to: ArrayLike,
    attitude: str = "constant",
    blend: float = 0.0,
    name: str = "hand lines",
) -> JointPath:
    """The joint path for the hand moving from its position at q0 straight to a position, or through several;
    s is the arc length of the hand's path in m.

    The hand is on its line to 1e-9 m. Redundant arms hold the joint combinations that do not move the hand at
    q0.

    Args:
        arm: the arm.
        q0: joint coordinates (n,) at the start, rad or m.
        to: position (3,) or positions (m, 3) in the base frame, m.
        attitude: "constant", that of q0, or "free" if the arm has too few joints to keep it.
        blend: distance at which the hand may pass corners, m, as in `blended`; if 0, or if the joints cannot
            follow the rounded path, the corners stay, and a motion stops there.
        name: of the path, for messages.
    """
    check_arm(arm, "arm", moves=True)
    q = as_finite(q0, (arm.n,), "q0")
    task, corners = line_task(arm, q, attitude), hand_corners(arm, q, to)
    blend = check_number(blend, "blend", minimum=0.0)
    if blend and len(corners) > 2:
        rounded = blended(corners, blend)
        try:
            return path_along(task, q, [rounded], name)
        except InputError:
            pass  # obstacles on the straight lines, if any, are reported below
    return path_along(task, q, [straight(start, end) for start, end in pairwise(corners)], name)


@record
class Rotation:
    """A rotation about an axis, in the base frame."""

    centre: tuple[float, float, float] | None = declared(
        ListField(NumberField(), 3, "a point on the axis, m, instead of `through` and `to`"), default=None
    )
    axis: tuple[float, float, float] | None = declared(
        ListField(NumberField(), 3, "its direction; positive rotation is right-handed about it"), default=None
    )
    angle: float = number(
        "rotation angle; negative: left-handed (default: a full circle)",
        "rad",
        default=2.0 * np.pi,
        minimum=-100.0 * np.pi,
        maximum=100.0 * np.pi,
    )


@flat(rotation=Rotation)
def hand_circle(
    arm: Arm,
    q0: ArrayLike,
    through: ArrayLike | None = None,
    to: ArrayLike | None = None,
    *,
    rotation: Rotation | None = None,
    attitude: str = "constant",
    name: str = "hand circle",
) -> JointPath:
    """The joint path for the hand moving along a circle from its position at q0; s is the arc length in m.

    Either `through` one position `to` another, or about an axis by an angle.

    Args:
        arm: the arm.
        q0: joint coordinates (n,) at the start, rad or m.
        through: a position (3,) on the arc, base frame, m.
        to: its end (3,).
        rotation: instead of these, what is listed below as one record.
        attitude: "constant", that of q0, or "free" if the arm has too few joints to keep it.
        name: of the path, for messages.
    """
    check_arm(arm, "arm", moves=True)
    q = as_finite(q0, (arm.n,), "q0")
    task = line_task(arm, q, attitude)
    start, rotation = task.pose[:3, 3], rotation or Rotation()
    given = [x is not None for x in (through, to, rotation.centre, rotation.axis)]
    if given == [True, True, False, False]:
        positions = {"through": through, "to": to}
        way = _arc(start, *(as_finite(cast(Any, x), (3,), what) for what, x in positions.items()))
    elif given == [False, False, True, True]:
        way = _about(start, np.array(rotation.centre), np.array(rotation.axis), rotation.angle)
    else:
        raise InputError("expected both through and to, or both centre and axis.", "hand_circle")
    return path_along(task, q, [way], name)


def _arc(start: Floats, through: Floats, to: Floats) -> CircularWay:
    """The circular arc from one position through a second to a third."""
    a, b = through - start, to - start
    size = float(max(np.linalg.norm(a), np.linalg.norm(b)))
    if float(np.linalg.norm(b)) <= FLAT * size:
        raise InputError(
            "the hand is there already, and a circle needs three positions; use centre and axis for a full "
            "circle.",
            "to",
        )
    normal = np.cross(a, b)
    if float(np.linalg.norm(normal)) <= FLAT * size**2:
        raise InputError(
            "it lies on the straight line from the hand to the end, or at one of them, so "
            "there is no circle; use hand_lines, or a position off the line.",
            "through",
        )
    across = np.cross((a @ a) * b - (b @ b) * a, normal) / (2.0 * (normal @ normal))
    axis = normal / np.linalg.norm(normal)
    outward = -across
    towards = b - across
    turn = float(np.arctan2(np.cross(outward, towards) @ axis, outward @ towards)) % (2.0 * np.pi)
    return _about(start, start + across, axis, turn)


def _about(start: Floats, centre: Floats, axis: Floats, angle: float) -> CircularWay:
    size = float(np.linalg.norm(axis))
    if size == 0.0:
        raise InputError("its direction must not be 0.", "axis")
    z = axis / size * (1.0 if angle >= 0.0 else -1.0)
    middle = centre + z * ((start - centre) @ z)
    radius = float(np.linalg.norm(start - middle))
    length = radius * abs(angle)
    if length < FLAT:
        raise InputError(
            f"the hand at {np.round(start, 6).tolist()} would move {length:.3g} m only; it "
            "must be off the axis, and the angle not 0.",
            "centre",
            "axis",
            "angle",
        )
    x = (start - middle) / radius
    return CircularWay(middle, x, np.cross(z, x), radius, length)


def path_along(task: LineTask, q: Floats, ways: Sequence[HandWay], name: str) -> JointPath:
    """The joint path along successive Cartesian paths, or an error with the obstacles."""
    breaks, pieces = [np.zeros(1)], []
    for way in ways:
        begin = float(breaks[-1][-1])

        def whole(s: float, begin: float = begin) -> float:
            return begin + s

        stretch = follow_way(task, q, way)
        if not stretch.whole:
            raise InputError(f"{end_of_branch(task, stretch, whole, 'm').text}", name)
        cuts = way.breaks if isinstance(way, JointPath) else np.array([0.0, way.length])

        def curve(s: Floats, stretch: Stretch = stretch) -> Floats:
            return np.stack(joints_along(task, stretch, s), axis=1)

        try:
            s, c = quintic_pieces(curve, cuts, name, lambda values: _doubt(task, values[:, 0]))
        except InputError as error:
            singular = [p.text for p in singular_places(task, stretch, whole, "m")]
            raise InputError(f"{name}: {' '.join(singular)}" if singular else str(error)) from error
        breaks.append(begin + s[1:])
        pieces.append(c)
        q = stretch.q[-1]
    return JointPath(np.concatenate(breaks), np.concatenate(pieces), name)


def _doubt(task: LineTask, q: Floats) -> Floats:
    """Uncertainty of q, dq/ds and d2q/ds2 in configurations (m, n), (m, 3): Newton's method leaves 1e-12 at
    the hand, amplified near singularities; beside these, limits are used.
    """
    closeness = np.maximum(task.closeness(q), CLEAR)
    return np.asarray(LEFT * closeness[:, None] ** -np.array([1.0, 2.0, 3.0]))
