"""The arm in moments: each body as mass, first and second moments about its origin, over any scalar.

A segment's frame has z along its axis if it is revolute; the body of a prismatic joint keeps the axes of the
body it slides on. `frames` chooses the frames, `plan` shifts origins and moments so that few operations
remain, the recursions only read the result.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import Any

import numpy as np

from forearm.model import Array, Model, Scalar, Vector, by_parent, cos_sin
from forearm.portable import matmul, product
from forearm.spatial import TENSOR, Floats, pseudo_from_inertia
from forearm.values import frozen

Pair = tuple[Scalar, Scalar]  # cosine and sine
NO_TURN: Pair = (1.0, 0.0)
SYMMETRIC = tuple(TENSOR.values())  # the entries of a symmetric matrix, by rows
QUARTERS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


@frozen
class Segment:
    """One moving body:
    where its joint is on its parent, and its moments m, h = sum of m x, J = sum of m x x^T.

    From the parent's axes to its own: a rotation `phi` about z, a twist `alpha` about x, the joint's rotation
    about z, each a pair (cos, sin). `l` leads from the parent's origin to its own in the parent's axes, at q
    = 0 if it is prismatic. `axis` is the joint's direction in its own axes. `offset` is added to the joint's
    coordinate.
    """

    parent: int
    revolute: bool
    phi: Pair
    alpha: Pair
    l: Array  # noqa: E741
    axis: Array
    offset: Scalar
    m: Scalar
    h: Array
    J: Array
    still: bool = False  # rotationally symmetric: its own rotation is omitted
    squares: str = "both"  # how wx^2 and wy^2 are computed: see recursion.squares_of
    # its moment is passed directly to the body that carries its run of parallel axes
    straight: bool = False


@frozen
class Chain:
    """The segments of a model, parents first;
    `g` is gravitational acceleration in the axes of the chain's own base frame.

    `R_base` rotates those axes into the arm's base axes. `own[k]` is the pose of the model's body k in
    segment k's frame. `grounded` is the first moment moved to the base, which affects potential energy only.
    """

    model: Model
    segments: tuple[Segment, ...]
    g: Array
    R_base: Floats
    own: tuple[Floats, ...]
    grounded: Array = field(default_factory=lambda: np.zeros(3))
    summed: bool = True  # whether angles are added along runs of parallel axes

    def children(self) -> list[list[int]]:
        """The children of each segment."""
        return by_parent([segment.parent for segment in self.segments])

    def runs(self) -> list[int]:
        """For each segment the first of the run of parallel revolute axes that it belongs to."""
        first: list[int] = []
        for i, s in enumerate(self.segments):
            parallel = self.summed and s.parent >= 0 and s.revolute and self.segments[s.parent].revolute
            parallel = parallel and is_pair(s.alpha, NO_TURN) and is_pair(s.phi, NO_TURN)
            first.append(first[s.parent] if parallel else i)
        return first

    def changed(self, index: int, **changes: Any) -> Chain:
        """The same chain with changes to one segment."""
        segments = list(self.segments)
        segments[index] = replace(segments[index], **changes)
        return replace(self, segments=tuple(segments))


@frozen
class SegmentRotation:
    """From the axes of a segment to those of its parent: the joint's own rotation (none if prismatic), the
    twist, the rotation phi.
    """

    segment: Segment
    pair: Pair

    def up(self, v: Array) -> Array:
        """To the parent's axes."""
        return about_z(self.segment.phi, about_x(self.segment.alpha, about_z(self.pair, v)))

    def down(self, v: Array) -> Array:
        """From the parent's axes."""
        return about_z(back(self.pair), about_x(back(self.segment.alpha), about_z(back(self.segment.phi), v)))


def turns(chain: Chain, q: Vector) -> list[SegmentRotation]:
    """The rotations of all joints at q, one coordinate per segment."""
    return [
        SegmentRotation(s, cos_sin_of(q[i], s.offset) if s.revolute and not s.still else NO_TURN)
        for i, s in enumerate(chain.segments)
    ]


def levers(chain: Chain, q: Vector) -> list[Array]:
    """From each parent's origin to each segment's, in the parent's axes."""
    return [s.l if s.revolute else s.l + s.axis * (q[i] + s.offset) for i, s in enumerate(chain.segments)]


def cos_sin_of(q: Scalar, offset: Scalar) -> Pair:
    """cos and sin of q + offset; multiples of a quarter turn only exchange them."""
    if isinstance(offset, float) and (quarter := _quarters(offset)) is not None:
        (c, s), (c0, s0) = cos_sin(q), QUARTERS[quarter % 4]
        return c * c0 - s * s0, s * c0 + c * s0
    return cos_sin(q + offset)


def about_z(turn: Pair, v: Array) -> Array:
    """v rotated about z."""
    c, s = turn
    x, y, z = v
    return np.array([c * x - s * y, s * x + c * y, z], dtype=v.dtype if v.dtype == object else None)


def about_x(turn: Pair, v: Array) -> Array:
    """v rotated about x."""
    c, s = turn
    x, y, z = v
    return np.array([x, c * y - s * z, s * y + c * z], dtype=v.dtype if v.dtype == object else None)


def back(turn: Pair) -> Pair:
    """The inverse rotation."""
    return turn[0], -turn[1]


def is_pair(turn: Pair, other: Pair) -> bool:
    """Whether a rotation is known to be this one."""
    return all(isinstance(a, float) and a == b for a, b in zip(turn, other, strict=True))


def moments(m: Scalar, r: Array, I: Array) -> tuple[Scalar, Array, Array]:  # noqa: E741
    """m, h = m r and J = sum of m x x^T about the origin, from mass, centre and inertia about the centre."""
    J = pseudo_from_inertia(I)
    return m, m * r, J + m * np.outer(r, r)


def moved(m: Scalar, h: Array, J: Array, R: Array, p: Array) -> tuple[Scalar, Array, Array]:
    """The moments in another frame, where x becomes R x + p."""
    Rh = matmul(R, h)
    return m, Rh + m * p, product(R, J, R.T) + np.outer(Rh, p) + np.outer(p, Rh) + m * np.outer(p, p)


def _quarters(angle: float) -> int | None:
    quarter = round(angle / (math.pi / 2.0))
    return quarter if angle == quarter * (math.pi / 2.0) else None
