"""An arm drawn from its joints alone: drums on its axes, tubes along its links, a base and a hand."""

from __future__ import annotations

from functools import cache

import numpy as np

from forearm.arm.arm import Arm
from forearm.portable import dot, matmul, norm
from forearm.spatial import Floats, pose, rotation_from_z
from forearm.values import frozen
from forearm.visuals import solids
from forearm.visuals.mesh import TriangleMesh
from forearm.visuals.skeleton_layout import SMALL, TUBE, LinkPiece, SkeletonLayout, layout, slide_range

AROUND = 24  # segments of a drum or tube
TAPERS = 20  # steps of tapering, from a point to a cylinder
PALM, FINGER = 0.7, 2.2  # lengths, of the radius of the last tube
STRAIGHT = 0.9  # cosine between the last link and the fingers
ROLES = ("drum", "tube", "hand", "base")


@frozen
class SkeletonShape:
    """A shape on a moving body (-1: the base): an affine transform (4, 4) of a shared mesh, its role, and the
    body whose joint it is, if any.
    """

    body: int
    pose: Floats
    mesh: TriangleMesh
    role: str
    joint: int | None = None


def skeleton_shapes(arm: Arm) -> list[SkeletonShape]:
    """The skeleton shapes of an arm, sized by its links."""
    made = layout(arm)
    drawn = [*_base(arm, made)]
    hand = _hand_place(made)
    for segment in made.segments:
        drawn += _tube(made, segment, hand)
    for j, body in enumerate(arm.moving.bodies):
        drawn += _drum(made, j, hand) if body.kind == "revolute" else _slider(arm, made, j)
    return [*drawn, *_hand(made, hand)]


@cache
def drum_mesh() -> TriangleMesh:
    """A cylinder of radius and length 1 with chamfered edges."""
    profile = [(0.0, -0.5), (0.9, -0.5), (1.0, -0.45), (1.0, 0.45), (0.9, 0.5), (0.0, 0.5)]
    return solids.revolved(profile, AROUND)


@cache
def tube_mesh(taper: int) -> TriangleMesh:
    """An open cone of radius 1 at z = 0 and taper / TAPERS at z = 1."""
    return solids.revolved([(1.0, 0.0), (taper / TAPERS, 1.0)], AROUND)


@cache
def ball_mesh() -> TriangleMesh:
    """A coarse ball of radius 1."""
    return solids.sphere(1.0, 16, 8)


@cache
def box_mesh() -> TriangleMesh:
    """A cube of side 1."""
    return solids.box(1.0, 1.0, 1.0)


def _along(start: Floats, z: Floats, sizes: tuple[float, float, float]) -> Floats:
    """The affine transform that maps the origin to a point and z to a unit vector, and scales."""
    return np.asarray(pose(rotation_from_z(z), start) * np.array([*sizes, 1.0]))


def _cone(body: int, start: Floats, end: Floats, first: float, last: float) -> list[SkeletonShape]:
    """A tube between two points with a radius at each."""
    if first < last:
        start, end, first, last = end, start, last, first
    way = end - start
    length = norm(way)
    taper = min(max(round(TAPERS * last / first), 1), TAPERS)
    T = _along(start, way / length, (first, first, length))
    return [SkeletonShape(body, T, tube_mesh(taper), "tube")]


def _ball(body: int, at: Floats, radius: float, role: str = "tube") -> SkeletonShape:
    return SkeletonShape(body, _along(at, np.array([0.0, 0.0, 1.0]), (radius,) * 3), ball_mesh(), role)


def _tube(made: SkeletonLayout, segment: LinkPiece, hand: Floats) -> list[SkeletonShape]:
    """A piece of a link, with balls at its bends; the last one ends at the palm."""
    end = segment.end if segment.to >= 0 else hand[:3, 3]
    if norm(end - segment.start) <= SMALL * made.size:
        return []
    first = TUBE * made.radius_of(segment.body)
    last = TUBE * made.radius_of(segment.to) if segment.to >= 0 else 0.85 * first
    drawn = _cone(segment.body, segment.start, end, first, last)
    if segment.body >= 0:
        drawn.append(_ball(segment.body, segment.start, first))
    if segment.to >= 0:
        drawn.append(_ball(segment.body, end, last))
    return drawn


def _drum(made: SkeletonLayout, j: int, hand: Floats) -> list[SkeletonShape]:
    """The drum of a revolute joint, and tubes along its axis to pieces farther away."""
    axis = made.axes[j]
    r, half = axis.radius, 0.5 * axis.drum_length
    place = _along(axis.at(axis.drum_at), axis.along, (r, r, 2.0 * half))
    drawn = [SkeletonShape(j, place, drum_mesh(), "drum", j)]
    on_axis = norm(made.hand[:3, 3] - made.segments[-1].start) <= SMALL * made.size
    for end, side in ((axis.low, -1.0), (axis.high, 1.0)):
        is_hand = j == made.hand_body and on_axis and end == axis.left_at[-1]
        end = dot(axis.along, hand[:3, 3] - axis.point) if is_hand else end
        if side * (end - axis.drum_at) > half:
            drawn += _cone(j, axis.at(axis.drum_at + 0.9 * side * half), axis.at(end), TUBE * r, TUBE * r)
            drawn += [] if is_hand else [_ball(j, axis.at(end), TUBE * r)]
    return drawn


def _slider(arm: Arm, made: SkeletonLayout, j: int) -> list[SkeletonShape]:
    """The sleeve of a prismatic joint, on the parent, and the bar that slides through it."""
    axis, body = made.axes[j], arm.moving.bodies[j]
    lower, upper = slide_range(body, made.size)
    r = axis.radius
    low, high = min(-upper, 0.0) - 0.6 * r, max(-lower, 0.0) + 0.6 * r
    sleeve = _along(axis.point_in_parent, axis.along_in_parent, (2.4 * r, 2.4 * r, 2.6 * r))
    bar = _along(axis.at(0.5 * (low + high)), axis.along, (1.3 * r, 1.3 * r, high - low))
    return [
        SkeletonShape(body.parent, sleeve, box_mesh(), "drum", j),
        SkeletonShape(j, bar, box_mesh(), "tube"),
    ]


def _base(arm: Arm, made: SkeletonLayout) -> list[SkeletonShape]:
    """A plate under the first joint, perpendicular to the direction up from it."""
    r = made.radius
    firsts = [j for j, body in enumerate(arm.moving.bodies) if body.parent < 0]
    up = np.array([0.0, 0.0, 1.0])
    size = norm(arm.gravity)
    up = -arm.gravity / size if size > 0.0 else up
    stands = False  # whether the arm rises from the origin by itself
    lowest = 0.0
    for j in firsts[:1]:
        axis = made.axes[j]
        way = made.segments[j].end
        if norm(way) <= r and axis.turns:
            far = max(axis.high, axis.low, key=lambda place: abs(place - axis.reached_at))
            way = axis.at_in_parent(far) - way
        if norm(way) > r:
            up, stands = way / norm(way), True
        elif axis.turns and abs(dot(axis.along_in_parent, up)) > 0.7:
            stands = True
        if stands and axis.turns:
            middle = dot(axis.at_in_parent(axis.drum_at), up)
            lowest = min(0.0, middle - 0.5 * axis.drum_length * abs(dot(axis.along_in_parent, up)))
    foot = lowest * up if stands else -1.5 * r * up
    plate = SkeletonShape(-1, _along(foot, up, (1.9 * r, 1.9 * r, 0.4 * r)), drum_mesh(), "base")
    if stands:
        return [plate]
    return [plate, *_post(foot, r)]


def _post(foot: Floats, r: float) -> list[SkeletonShape]:
    drawn = _cone(-1, foot, np.zeros(3), 1.1 * r, 0.8 * r)
    return [SkeletonShape(-1, shape.pose, shape.mesh, "base") for shape in drawn]


def _hand_place(made: SkeletonLayout) -> Floats:
    """The palm (4, 4): z points forwards along the axis of the hand's frame nearest to the last link.

    The fingertips are at the hand's origin if there is room behind it, otherwise the palm is.
    """
    tip, incoming = _tip_outside_drum(made)
    R = made.hand[:3, :3]
    room = norm(incoming)
    scores = [dot(R[:, k], incoming) / (room or 1.0) for k in (2, 0, 1)]
    best = max(range(3), key=lambda k: (round(abs(scores[k]), 6), -k))
    frame = R[:, ([0, 1, 2], [1, 2, 0], [2, 0, 1])[best]]
    if scores[best] < -SMALL:
        frame = frame * np.array([-1.0, 1.0, -1.0])
    length = (FINGER + PALM) * TUBE * made.radius_of(made.hand_body)
    back = length if room > 1.5 * length and abs(scores[best]) > STRAIGHT else 0.0
    return pose(frame, tip - back * frame[:, 2])


def _tip_outside_drum(made: SkeletonLayout) -> tuple[Floats, Floats]:
    """Position and direction of the drawn hand, outside its own drum."""
    tip = made.hand[:3, 3]
    way = tip - made.segments[-1].start
    if made.hand_body < 0 or norm(way) > SMALL * made.size:
        return tip, way
    axis = made.axes[made.hand_body]
    if not axis.turns:
        return tip, way
    offset = dot(axis.along, tip - axis.point) - axis.drum_at
    aside = -1.0 if axis.drum_at < axis.reached_at else 1.0  # to the shifted position of the drum
    half = 0.5 * axis.drum_length
    if abs(offset) > half and offset * aside > 0.0:
        return tip, offset * axis.along
    side = (
        aside if abs(offset) > half or abs(offset) <= SMALL * made.size else float(np.copysign(1.0, offset))
    )
    return axis.at(axis.drum_at + side * half), side * half * axis.along


def _hand(made: SkeletonLayout, palm: Floats) -> list[SkeletonShape]:
    """A palm and two fingers."""
    r = TUBE * made.radius_of(made.hand_body)
    height, finger = PALM * r, FINGER * r
    boxes = [((0.0, 0.5 * height), (3.2 * r, 1.7 * r, height))]
    boxes += [((side * 1.25 * r, height + 0.5 * finger), (0.6 * r, 1.3 * r, finger)) for side in (-1.0, 1.0)]
    return [
        SkeletonShape(
            made.hand_body, matmul(palm, pose(p=(x, 0.0, z))) * np.array([*sizes, 1.0]), box_mesh(), "hand"
        )
        for (x, z), sizes in boxes
    ]
