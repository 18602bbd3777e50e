"""Layout of the skeleton of an arm without shapes: the common normals of its axes, and radii.

A link runs along the common normal from its own axis to the next one; offsets between two normals run along
the axis. Thus tubes meet axes at right angles, and every drum is centred on its joint's axis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.moving import MovingBody
from forearm.portable import dot, matmul, norm
from forearm.spatial import Floats, inverse_pose

PARALLEL = 0.05  # squared sine of the angle between axes below which they count as parallel
OVERSHOOT = 1.2  # of the distance of two joints: normals farther away are not used
THICKEST = 0.045  # radius of the first drum, of the length of the whole arm
OF_SEGMENT = 0.33  # and of the mean length of its segments
TIP = 0.5  # radius of the last drum, of the first
DRUM = 2.1  # length of a drum, of its radius
TUBE = 0.66  # radius of a tube, of the drum's
JOINED = 1.5  # of a drum's length: an offset along the axis up to this is covered by a longer drum
LONGEST_SLIDE = 100.0  # m: larger limits count as none
SMALL = 1e-6  # of the arm's length: shorter pieces are dropped


@dataclass
class JointAxis:
    """A joint's axis: point and direction in the parent's and in its own body's frame, with positions along
    it.

    Positions are lengths from the joint's origin, the same in both frames for a revolute joint.
    """

    turns: bool
    point_in_parent: Floats
    along_in_parent: Floats
    point: Floats
    along: Floats
    reached_at: float = 0.0  # where the parent's tube ends
    left_at: list[float] = field(default_factory=list)  # where tubes of this body begin
    drum_at: float = 0.0
    drum_length: float = 0.0
    radius: float = 0.0

    @property
    def low(self) -> float:
        """The lowest position reached."""
        return min([self.reached_at, self.drum_at, *self.left_at])

    @property
    def high(self) -> float:
        """The highest position reached."""
        return max([self.reached_at, self.drum_at, *self.left_at])

    def at(self, place: float) -> Floats:
        """A point of the axis in its own body's frame."""
        return np.asarray(self.point + place * self.along)

    def at_in_parent(self, place: float) -> Floats:
        """A point of the axis in the parent's frame."""
        return np.asarray(self.point_in_parent + place * self.along_in_parent)


@dataclass(frozen=True)
class LinkPiece:
    """A straight piece of a link, in the frame of its body (-1: the base), to a joint or (-1) to the hand."""

    body: int
    start: Floats
    end: Floats
    to: int


@dataclass
class SkeletonLayout:
    """The axes of an arm by body, the pieces between them, and the total length, m."""

    axes: list[JointAxis]
    segments: list[LinkPiece]
    hand_body: int
    hand: Floats  # (4, 4) in the frame of its body
    size: float
    radius: float  # of the first drum

    def radius_of(self, body: int) -> float:
        """The drum radius of a body's joint; for the base, that of the first."""
        return self.radius if body < 0 else self.axes[body].radius


def layout(arm: Arm) -> SkeletonLayout:
    """The layout of an arm's skeleton."""
    bodies = arm.moving.bodies
    axes = [_axis(body) for body in bodies]
    carrier, T = arm.moving.frames[arm.hand.link]
    hand = matmul(T, arm.hand.pose)
    segments = [_joined(axes, body.parent, j) for j, body in enumerate(bodies)]
    segments.append(_to_hand(axes, carrier, hand[:3, 3]))
    made = SkeletonLayout(axes, segments, carrier, hand, 0.0, 0.0)
    _measure(made, bodies)
    for j in range(len(axes)):
        _place_drum(made, bodies, j)
    return made


def _axis(body: MovingBody) -> JointAxis:
    back = inverse_pose(body.after)
    return JointAxis(
        turns=body.kind == "revolute",
        point_in_parent=body.before[:3, 3],
        along_in_parent=matmul(body.before[:3, :3], body.axis),
        point=back[:3, 3],
        along=matmul(back[:3, :3], body.axis),
    )


def _joined(axes: list[JointAxis], i: int, j: int) -> LinkPiece:
    """The piece of body i from its own axis to that of joint j; both axes record its end points."""
    next_ = axes[j]
    s, t = 0.0, 0.0
    if i < 0:
        start = np.zeros(3)
        t = -dot(next_.point_in_parent, next_.along_in_parent) if next_.turns else 0.0
    else:
        own = axes[i]
        if own.turns and next_.turns:
            s, t = _feet(own.point, own.along, next_.point_in_parent, next_.along_in_parent)
        elif own.turns:
            s = dot(own.along, next_.point_in_parent - own.point)
        elif next_.turns:
            t = dot(next_.along_in_parent, own.point - next_.point_in_parent)
        own.left_at.append(s)
        start = own.at(s)
    next_.reached_at = t
    return LinkPiece(i, start, next_.at_in_parent(t), j)


def _feet(p: Floats, a: Floats, q: Floats, b: Floats) -> tuple[float, float]:
    """Feet of the common normal of two lines; for parallel lines, of the normal through q."""
    w = p - q
    cosine, d, e = dot(a, b), dot(a, w), dot(b, w)
    sine2 = 1.0 - cosine * cosine
    if sine2 < PARALLEL:
        return -d, 0.0
    reach = OVERSHOOT * norm(w)
    s = min(max((cosine * e - d) / sine2, -reach), reach)
    t = min(max(e + s * cosine, -reach), reach)
    return t * cosine - d, t


def _to_hand(axes: list[JointAxis], carrier: int, tip: Floats) -> LinkPiece:
    if carrier < 0:
        return LinkPiece(carrier, np.zeros(3), tip, -1)
    own = axes[carrier]
    place = dot(own.along, tip - own.point) if own.turns else 0.0
    own.left_at.append(place)
    return LinkPiece(carrier, own.at(place), tip, -1)


def _measure(made: SkeletonLayout, bodies: tuple[MovingBody, ...]) -> None:
    """Lengths from each joint to the farthest tip, and radii that decrease with them."""
    pieces = [norm(s.end - s.start) for s in made.segments]
    spans = [
        axis.high - axis.low if axis.turns else _slide(body)
        for axis, body in zip(made.axes, bodies, strict=True)
    ]
    behind = list(spans)
    before = {s.to: piece for s, piece in zip(made.segments, pieces, strict=True) if s.to >= 0}
    if made.hand_body >= 0:
        behind[made.hand_body] += pieces[-1]
    whole = pieces[-1] if made.hand_body < 0 else 0.0
    for j in range(len(bodies) - 1, -1, -1):
        i, length = bodies[j].parent, behind[j] + before[j]
        if i < 0:
            whole = max(whole, length)
        else:
            behind[i] = max(behind[i], spans[i] + length)
    size = whole or 1.0
    long_ = [v for v in (*pieces, *spans) if v > 0.02 * size] or [size]
    made.size = size
    made.radius = min(THICKEST * size, OF_SEGMENT * math.fsum(long_) / len(long_))
    for axis, length in zip(made.axes, behind, strict=True):
        axis.radius = made.radius * (TIP + (1.0 - TIP) * min(length / size, 1.0))
        axis.drum_length = DRUM * axis.radius


def slide_range(body: MovingBody, size: float) -> tuple[float, float]:
    """The range of a prismatic joint, m, within twice the arm's size; half the size without limits."""
    lower, upper = body.joint.limits
    ends = [v if math.isfinite(v) else sign * 0.25 * size for v, sign in ((lower, -1.0), (upper, 1.0))]
    return max(min(ends), -2.0 * size), min(max(ends), 2.0 * size)


def _slide(body: MovingBody) -> float:
    """Largest extension of a prismatic joint, m; 0 if not given."""
    farthest = max(abs(v) for v in body.joint.limits)
    return farthest if farthest < LONGEST_SLIDE else 0.0


def _place_drum(made: SkeletonLayout, bodies: tuple[MovingBody, ...], j: int) -> None:
    """Centre the drum on what it connects; shifted along its axis if it would overlap another drum."""
    axis = made.axes[j]
    if not axis.turns:
        return
    low = min([axis.reached_at, *axis.left_at])
    high = max([axis.reached_at, *axis.left_at])
    axis.drum_at = 0.5 * (low + high)
    if high - low <= JOINED * axis.drum_length:
        axis.drum_length = max(axis.drum_length, high - low + 2.0 * TUBE * axis.radius)
    i = bodies[j].parent
    if i < 0 or not made.axes[i].turns:
        return
    before = made.axes[i]
    gap = axis.at_in_parent(axis.drum_at) - before.at(before.drum_at)
    if norm(gap) < 0.8 * axis.radius and high - low < axis.radius:
        axis.drum_at += _outwards(made, j) * (before.radius + 0.5 * axis.drum_length)


def _outwards(made: SkeletonLayout, j: int) -> float:
    """The direction along an axis towards the rest of the arm."""
    axis = made.axes[j]
    ends = [dot(axis.along, s.end - axis.point) for s in made.segments if s.body == j]
    hand = dot(axis.along, made.hand[:3, 2]) if made.hand_body == j else 0.0
    way = max(ends, key=abs, default=0.0)
    way = way if abs(way) > SMALL * made.size else hand
    return -1.0 if way < 0.0 else 1.0
